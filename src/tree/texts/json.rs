//! A row as JSON: `{"family:qualifier": "text"}`, bytes that are not UTF-8 as `{"base64": "..."}`.
//!
//! A patch names what changes: null deletes a column, what is absent stays.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};

use crate::backend::{Backend, Versions};
use crate::model::{
    DeleteKind, DeleteMarker, FileAttributes, Get, Mutation, Origin, PutCell, ReadSpec, RowMutations, RowResult, Time,
    TimeRange, Value, column_name, split_column_name,
};
use crate::tree::place::RowPlace;
use crate::{Error, ErrorKind, Result};

/// Most bytes of qualifiers and values that are shown, and of a patch.
pub const JSON_MAX: usize = 16 << 20;
/// Columns that are looked at in one step.
const COLUMNS: usize = 1000;

/// The newest versions of a row. `ValueTooLarge` past [`JSON_MAX`].
pub fn read(backend: &dyn Backend, row: &RowPlace, range: TimeRange) -> Result<RowResult> {
    check_size(backend, row, range)?;
    let read = ReadSpec { time_range: range, ..ReadSpec::default() };
    backend.get(&Get { table: row.table.clone(), row: row.row.clone(), read })
}

/// Refuses a row that would take too much memory, before any of its values is read.
fn check_size(backend: &dyn Backend, row: &RowPlace, range: TimeRange) -> Result<()> {
    let mut bytes = 0;
    for family in backend.list_families(&row.table, &row.row, range, Versions::Live)? {
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = backend.list_columns(&row.table, &row.row, &family, after.as_deref(), range, COLUMNS)?;
            bytes += page.iter().map(|(qualifier, cell)| qualifier.len() as u64 + cell.len()).sum::<u64>();
            if bytes > JSON_MAX as u64 {
                let text = format!("the row has more than {} MiB; read its cells, or use cellfs get", JSON_MAX >> 20);
                return Err(Error::new(ErrorKind::ValueTooLarge, text));
            }
            if page.len() < COLUMNS {
                break;
            }
            after = page.into_iter().next_back().map(|(qualifier, _)| qualifier);
        }
    }
    Ok(())
}

/// The text of a row, one column a line.
pub fn render(result: &RowResult) -> Vec<u8> {
    let mut object = Map::new();
    for cell in &result.cells {
        object.insert(column_name(&cell.family, &cell.qualifier), bytes(&cell.value));
    }
    let mut text = serde_json::to_vec_pretty(&Json::Object(object)).unwrap_or_default();
    text.push(b'\n');
    text
}

fn bytes(value: &[u8]) -> Json {
    match std::str::from_utf8(value) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": STANDARD.encode(value) }),
    }
}

/// Whether a text may become a patch with what follows.
pub fn may_go_on(text: &[u8]) -> bool {
    serde_json::from_slice::<Json>(text).is_err_and(|e| e.is_eof())
}

/// The mutations that a patch asks for, of one row and so atomic.
pub fn patch(row: &RowPlace, text: &[u8], origin: Origin) -> Result<RowMutations> {
    let object: BTreeMap<String, &RawValue> = serde_json::from_slice(text).map_err(|e| match e.classify() {
        Category::Data => wrong("a row is an object of columns"),
        Category::Syntax | Category::Eof | Category::Io => wrong(&format!("not JSON: {e}")),
    })?;
    let (mut puts, mut markers) = (Vec::new(), Vec::new());
    for (name, value) in object {
        let (family, qualifier) = split_column_name(&name).map_err(|text| wrong(&text))?;
        match value_bytes(&name, value)? {
            Some(value) => puts.push(PutCell {
                family,
                qualifier,
                time: Time::AfterNewest,
                value: Value::Bytes(value),
                ttl_ms: None,
                file: FileAttributes::default(),
                ended_at: None,
            }),
            None => markers.push(DeleteMarker {
                kind: DeleteKind::Column { family, qualifier },
                time: Time::AfterNewest,
                erases: false,
            }),
        }
    }
    let mut mutations = Vec::new();
    if !puts.is_empty() {
        mutations.push(Mutation::Put(puts));
    }
    if !markers.is_empty() {
        mutations.push(Mutation::Delete(markers));
    }
    Ok(RowMutations { table: row.table.clone(), row: row.row.clone(), mutations, durability: None, origin })
}

/// `None` for null.
fn value_bytes(name: &str, value: &RawValue) -> Result<Option<Vec<u8>>> {
    // As it is written: a number may have more digits than any type.
    if value.get().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | 't' | 'f')) {
        return Ok(Some(value.get().as_bytes().to_vec()));
    }
    let value: Json = serde_json::from_str(value.get()).map_err(|e| wrong(&format!("`{name}`: {e}")))?;
    let text = "a value is a text, a number, true, false, {\"base64\": \"...\"}, or null to delete the column";
    match value {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text.into_bytes())),
        Json::Object(object) if object.len() == 1 => {
            let encoded = object.get("base64").and_then(Json::as_str);
            let encoded = encoded.ok_or_else(|| wrong(&format!("`{name}`: {text}")))?;
            STANDARD.decode(encoded).map(Some).map_err(|e| wrong(&format!("`{name}`: {e}")))
        }
        _ => Err(wrong(&format!("`{name}`: {text}"))),
    }
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("{text}; nothing was changed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cell, CellKind, TableName, Tags, Timestamp};

    fn row() -> RowPlace {
        RowPlace { table: TableName::parse("t").unwrap(), row: b"r".to_vec() }
    }

    #[test]
    fn what_is_rendered_can_be_written_back() {
        let cell = |qualifier: &[u8], value: &[u8]| Cell {
            family: "f".into(),
            qualifier: qualifier.to_vec(),
            timestamp: Timestamp(1),
            kind: CellKind::Put,
            tags: Tags::default(),
            value: value.to_vec(),
        };
        let cells =
            vec![cell(b"", b""), cell(b"a:b", b"text \"quoted\""), cell(b"base64,x", b"1"), cell(b"\xff", b"\xfe\x00")];
        let text = render(&RowResult { row: b"r".to_vec(), cells: cells.clone() });
        let patched = patch(&row(), &text, Origin(0)).unwrap();
        let [Mutation::Put(puts)] = patched.mutations.as_slice() else { panic!("one Put") };
        let back: std::collections::BTreeMap<_, _> = puts
            .iter()
            .map(|put| match &put.value {
                Value::Bytes(bytes) => (put.qualifier.clone(), bytes.clone()),
                _ => panic!("bytes"),
            })
            .collect();
        assert_eq!(back, cells.into_iter().map(|c| (c.qualifier, c.value)).collect());
    }

    #[test]
    fn null_deletes_and_nonsense_is_refused() {
        let patched = patch(&row(), br#"{"f:gone": null}"#, Origin(0)).unwrap();
        assert!(matches!(patched.mutations.as_slice(), [Mutation::Delete(markers)] if markers.len() == 1));
        for wrong in ["[1]", "{", r#"{"f": "x"}"#, r#"{"f:q": [5]}"#, r#"{"f:q": {"base64": "%"}}"#] {
            assert!(patch(&row(), wrong.as_bytes(), Origin(0)).is_err(), "{wrong}");
        }
    }
}
