//! Cells as JSON, one object each: what programs read.

use base64::Engine as _;
use serde_json::{Map, Value as Json, json};

use crate::model::{Cell, CellKind, Qualifier};

/// UTF-8 as text, anything else as `{"base64": ...}`.
pub fn json_bytes(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

/// `family:qualifier`; a qualifier that is not UTF-8 as `base64,...` after the colon.
pub fn column_name(family: &str, qualifier: &[u8]) -> String {
    match std::str::from_utf8(qualifier) {
        Ok(text) if !text.starts_with(BASE64) => format!("{family}:{text}"),
        _ => format!("{family}:{BASE64}{}", base64::engine::general_purpose::STANDARD.encode(qualifier)),
    }
}

/// Undoes [`column_name`]; what is wrong as a sentence.
pub fn split_column_name(name: &str) -> Result<(String, Qualifier), String> {
    let (family, qualifier) =
        name.split_once(':').ok_or_else(|| format!("`{}`: a column is FAMILY:QUALIFIER", name.escape_debug()))?;
    let qualifier = match qualifier.strip_prefix(BASE64) {
        Some(encoded) => {
            let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
            decoded.map_err(|e| format!("`{}`: {e}", name.escape_debug()))?
        }
        None => qualifier.as_bytes().to_vec(),
    };
    Ok((family.to_owned(), qualifier))
}

/// What stands before the base64 of a qualifier.
const BASE64: &str = "base64,";

/// One cell of a row: row, family, qualifier, timestamp, value or kind of tombstone, TTL; of a version that is kept as
/// deleted also when it was.
pub fn cell_json(row: &[u8], cell: &Cell) -> Json {
    let mut object = Map::new();
    object.insert("row".into(), json_bytes(row));
    object.insert("family".into(), json!(cell.family));
    object.insert("qualifier".into(), json_bytes(&cell.qualifier));
    object.insert("timestamp".into(), json!(cell.timestamp.0));
    match cell.kind {
        CellKind::Put => object.insert("value".into(), json_bytes(&cell.value)),
        CellKind::Tombstone(kind) => object.insert("type".into(), json!(kind.name())),
    };
    if let Some(ttl) = cell.tags.ttl_ms {
        object.insert("ttl".into(), json!(ttl));
    }
    if let Some(at) = cell.tags.ended_at {
        object.insert("deleted".into(), json!(at.0));
    }
    Json::Object(object)
}
