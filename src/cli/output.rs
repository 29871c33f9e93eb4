//! Printing: cells for people and for programs.

use std::io::{BufWriter, StdoutLock, Write};

use base64::Engine as _;
use serde_json::{Map, Value as Json, json};

use super::Answer;
use crate::error::CLOSED;
use crate::model::{Cell, CellKind, Cells, Piece, to_string_binary};
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
fn cell_line(row: &[u8], cell: &Cell) -> String {
    let (row, qualifier) = (to_string_binary(row), to_string_binary(&cell.qualifier));
    let last = match cell.kind {
        CellKind::Put => to_string_binary(&cell.value),
        CellKind::Tombstone(kind) => format!("({})", kind.name()),
    };
    format!("{row}\t{}:{qualifier}\t{}\t{last}", cell.family, cell.timestamp)
}

/// One cell for programs.
fn cell_json(row: &[u8], cell: &Cell) -> Json {
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

/// How cells are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    /// Holds one value at a time: whether it is UTF-8 is known at its end.
    Json,
    /// The value of the first cell alone, byte for byte.
    Value,
}

/// Prints cells as their pieces come; `Text` and `Value` hold no more than a piece.
pub struct CellPrinter {
    output: Output,
    form: Form,
    row: Vec<u8>,
    whole: Cells,
    /// Bytes of a value that have still to come.
    missing: u64,
    /// Cells that have begun.
    pub count: u64,
}

impl CellPrinter {
    pub fn new(form: Form) -> Self {
        Self { output: Output::new(), form, row: Vec::new(), whole: Cells::default(), missing: 0, count: 0 }
    }

    pub fn take(&mut self, piece: Piece) -> Result<()> {
        if let Piece::Row(row) = piece {
            self.row = row;
            return Ok(());
        }
        self.count += u64::from(matches!(piece, Piece::Cell(_) | Piece::Head(..)));
        match self.form {
            Form::Json => match self.whole.take(piece) {
                Some(cell) => self.output.json(&cell_json(&self.row, &cell)),
                None => Ok(()),
            },
            Form::Text => self.text(&piece),
            Form::Value if self.count == 1 => self.value(&piece),
            Form::Value => Ok(()),
        }
    }

    fn text(&mut self, piece: &Piece) -> Result<()> {
        match piece {
            Piece::Cell(cell) => self.output.line(&cell_line(&self.row, cell)),
            Piece::Head(cell, len) => {
                self.missing = *len;
                self.output.bytes(cell_line(&self.row, cell).as_bytes())
            }
            Piece::Value(bytes) => {
                self.missing = self.missing.saturating_sub(bytes.len() as u64);
                self.output.bytes(to_string_binary(bytes).as_bytes())?;
                if self.missing == 0 { self.output.line("") } else { Ok(()) }
            }
            Piece::Row(_) | Piece::End => Ok(()),
        }
    }

    fn value(&mut self, piece: &Piece) -> Result<()> {
        match piece {
            Piece::Cell(cell) => self.output.bytes(&cell.value),
            Piece::Value(bytes) => self.output.bytes(bytes),
            Piece::Row(_) | Piece::Head(..) | Piece::End => Ok(()),
        }
    }

    /// Writes out what is left; whether there was a cell.
    pub fn finish(self) -> Result<Answer> {
        let answer = if self.count > 0 { Answer::Yes } else { Answer::No };
        self.output.finish()?;
        Ok(answer)
    }
}
