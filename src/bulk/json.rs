//! `jsonl` and `json`: the form of `ROW/.json`, with the row's key, and in lines with what else there is of a cell.

use serde_json::{Map, Value as Json, json};

use super::{Out, Writer};
use crate::Result;
use crate::backend::{Change, Committed};
use crate::model::{Cell, CellKind, Cells, Piece, RowKey, SeqNo, column_name, json_bytes, json_text};

/// A line a cell.
#[derive(Default)]
pub(super) struct Lines {
    row: RowKey,
    cells: Cells,
}

impl Writer for Lines {
    fn begin(&mut self, _out: &mut Out) {}

    fn piece(&mut self, piece: &Piece, out: &mut Out) -> Result<()> {
        if let Piece::Row(row) = piece {
            self.row.clone_from(row);
        }
        if let Some(cell) = self.cells.take(piece) {
            line(&self.row, &cell, out);
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Out) -> Result<()> {
        Ok(())
    }
}

/// A cell and all that is known of it. A tombstone has null for its value, and its type; a version that was deleted and
/// is kept, when it was.
pub(super) fn line(row: &[u8], cell: &Cell, out: &mut Out) {
    out.extend_from_slice(b"{\"row\":");
    write_bytes(row, out);
    out.push(b',');
    write_text(&column_name(&cell.family, &cell.qualifier), out);
    out.push(b':');
    match cell.kind {
        CellKind::Put => write_bytes(&cell.value, out),
        CellKind::Tombstone(_) => out.extend_from_slice(b"null"),
    }
    let mut member =
        |name: &str, value: &dyn std::fmt::Display| out.extend(format!(",\"{name}\":{value}").into_bytes());
    member("timestamp", &cell.timestamp.0);
    if let Some(ttl) = cell.tags.ttl_ms {
        member("ttl", &ttl);
    }
    if let Some(at) = cell.tags.ended_at {
        member("deleted", &at.0);
    }
    if let CellKind::Tombstone(kind) = cell.kind {
        member("type", &format_args!("\"{}\"", kind.name()));
        if cell.tags.erases {
            member("erases", &true);
        }
    }
    let file = &cell.tags.file;
    if let Some(time) = file.mtime() {
        member("mtime", &format_args!("\"{}.{:09}\"", time.seconds, time.nanos));
    }
    if let Some(mode) = file.mode() {
        member("mode", &format_args!("\"{mode:o}\""));
    }
    file.uid().iter().for_each(|uid| member("uid", uid));
    file.gid().iter().for_each(|gid| member("gid", gid));
    out.extend_from_slice(b"}\n");
}

fn write_text(text: &str, out: &mut Out) {
    // Bytes in memory take all that is written.
    let _ = serde_json::to_writer(out, text);
}

/// As [`json_bytes`].
fn write_bytes(bytes: &[u8], out: &mut Out) {
    match json_text(bytes) {
        Some(text) => write_text(text, out),
        None => out.extend(json_bytes(bytes).to_string().into_bytes()),
    }
}

/// The lines of the change feed for a commit.
pub fn change_lines(committed: &Committed) -> impl Iterator<Item = Json> {
    let of = committed.changes.len();
    (1..).zip(&committed.changes).map(move |(part, change)| change_line((committed.seq, part, of), change))
}

/// A line: the number of its commit, which of so many changes of that it is if there are several, the table, and the cell as
/// a line of jsonl has it. Of a large value there is its length alone.
fn change_line((seq, part, of): (SeqNo, usize, usize), change: &Change) -> Json {
    let mut object = Map::new();
    object.insert("seq".to_owned(), json!(seq.0));
    if of > 1 {
        object.insert("part".to_owned(), json!(part));
        object.insert("parts".to_owned(), json!(of));
    }
    object.insert("table".to_owned(), json!(change.table.to_string()));
    object.insert("row".to_owned(), json_bytes(&change.row));
    let value = change.value.as_ref().filter(|_| change.kind.is_put());
    let value = value.map_or(Json::Null, |value| json_bytes(value));
    object.insert(column_name(&change.family, &change.qualifier), value);
    object.insert("timestamp".to_owned(), json!(change.timestamp.0));
    if let Some(ttl) = change.ttl_ms {
        object.insert("ttl".to_owned(), json!(ttl));
    }
    if let Some(at) = change.deleted_at {
        object.insert("deleted".to_owned(), json!(at.0));
    }
    match change.kind {
        CellKind::Tombstone(kind) => drop(object.insert("type".to_owned(), json!(kind.name()))),
        CellKind::Put if change.value.is_none() => drop(object.insert("length".to_owned(), json!(change.len))),
        CellKind::Put => {}
    }
    Json::Object(object)
}

/// An array of rows.
#[derive(Default)]
pub(super) struct Rows {
    /// Whether a row was written.
    is_begun: bool,
    cells: Cells,
    /// The last column of the row.
    column: Option<(String, Vec<u8>)>,
}

impl Writer for Rows {
    fn begin(&mut self, out: &mut Out) {
        out.push(b'[');
    }

    fn piece(&mut self, piece: &Piece, out: &mut Out) -> Result<()> {
        if let Piece::Row(row) = piece {
            let before = if std::mem::replace(&mut self.is_begun, true) { ",\n" } else { "\n" };
            out.extend(format!("{before}{{\"row\":{}", json_bytes(row)).into_bytes());
            self.column = None;
        }
        if let Some(cell) = self.cells.take(piece) {
            let column = (cell.family, cell.qualifier);
            // Of a column with several versions the newest.
            if cell.kind.is_put() && self.column.as_ref() != Some(&column) {
                let name = json!(column_name(&column.0, &column.1));
                out.extend(format!(",{name}:{}", json_bytes(&cell.value)).into_bytes());
                self.column = Some(column);
            }
        }
        if *piece == Piece::End {
            out.push(b'}');
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<()> {
        out.extend_from_slice(b"\n]\n");
        Ok(())
    }
}
