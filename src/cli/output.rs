//! Printing: cells for people and for programs.

use std::io::{BufWriter, StdoutLock, Write};

use base64::Engine as _;
use serde_json::{Map, Value as Json, json};

use crate::error::CLOSED;
use crate::model::{Cell, CellKind, RowResult, to_string_binary};
use crate::{Error, ErrorKind, Result};

/// Standard output, buffered; errors of it become ours.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub fn new() -> Self {
        Self { out: BufWriter::new(std::io::stdout().lock()) }
    }

    pub fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}").map_err(|e| failed(&e))
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| failed(&e))
    }

    pub fn json(&mut self, value: &Json) -> Result<()> {
        self.line(&value.to_string())
    }

    pub fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(&e))
    }
}

fn failed(source: &std::io::Error) -> Error {
    match source.kind() {
        std::io::ErrorKind::BrokenPipe => Error::new(ErrorKind::Disconnected, CLOSED),
        _ => Error::io("standard output", source),
    }
}

/// UTF-8 as text, anything else as `{"base64": ...}`.
pub fn json_bytes(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

/// One cell for people: row, column, timestamp, value, separated by tabs.
pub fn cell_line(row: &[u8], cell: &Cell) -> String {
    let (row, qualifier) = (to_string_binary(row), to_string_binary(&cell.qualifier));
    let last = match cell.kind {
        CellKind::Put => to_string_binary(&cell.value),
        CellKind::Tombstone(kind) => format!("({})", kind.name()),
    };
    format!("{row}\t{}:{qualifier}\t{}\t{last}", cell.family, cell.timestamp)
}

/// One cell for programs.
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
    Json::Object(object)
}

/// All cells of a result.
pub fn print_row(output: &mut Output, result: &RowResult, json: bool) -> Result<()> {
    for cell in &result.cells {
        match json {
            true => output.json(&cell_json(&result.row, cell))?,
            false => output.line(&cell_line(&result.row, cell))?,
        }
    }
    Ok(())
}
