//! Cells as JSON, one object each: what programs read.

use base64::Engine as _;
use serde_json::{Map, Value as Json, json};

use crate::model::{Cell, CellKind, Qualifier};

/// From how many bytes on it counts how long a text is as JSON: shorter ones are for people.
const LONG: usize = 64 << 10;

/// UTF-8 as text, anything else as `{"base64": ...}`.
pub fn json_bytes(bytes: &[u8]) -> Json {
    match json_text(bytes) {
        Some(text) => json!(text),
        None => json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

/// What is a text in JSON: UTF-8, but no long one whose escapes take more room than base64. A byte of 0 takes six.
pub fn json_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    if bytes.len() < LONG {
        return Some(text);
    }
    let escaped: usize = bytes.iter().map(|byte| escaped_len(*byte)).sum();
    (escaped <= bytes.len().div_ceil(3) * 4).then_some(text)
}

fn escaped_len(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
        0..0x20 => 6,
        _ => 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_base64_where_that_is_shorter() {
        for (piece, is_text) in
            [("v", true), ("line of text\n", true), ("\0", false), ("\"\\", false), ("\u{7f}é", true)]
        {
            let long = piece.repeat(LONG);
            assert_eq!(json_text(long.as_bytes()).is_some(), is_text, "{piece:?}");
            let (escaped, encoded) = (json!(long).to_string().len() - 2, long.len().div_ceil(3) * 4);
            assert_eq!(escaped <= encoded, is_text, "{piece:?}");
            assert_eq!(json_text(piece.as_bytes()), Some(piece));
        }
        assert_eq!(json_text(b"\xFF"), None);
    }
}
