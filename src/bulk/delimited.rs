//! `csv` and `tsv`: a line of names, then a line a row, as HBase's ImportTsv reads them.

use super::{Out, Writer};
use crate::Result;
use crate::model::{Cell, Cells, Piece, Qualifier, RowKey};

/// The name of the row's key.
pub(super) const KEY: &[u8] = b"HBASE_ROW_KEY";

/// How fields are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// RFC 4180, with line feeds.
    Csv,
    /// Tabs; a tab, a line feed, a carriage return and a backslash in a field are written with a backslash.
    Tsv,
}

pub(super) struct Delimited {
    dialect: Dialect,
    columns: Vec<(String, Qualifier)>,
    row: RowKey,
    /// Of each column: whether the row has it, and its value, in a buffer that is used again.
    values: Vec<(bool, Vec<u8>)>,
    /// The column at which the next cell is looked for first: they come in order.
    next: usize,
    cells: Cells,
}

impl Delimited {
    pub fn new(dialect: Dialect, columns: Vec<(String, Qualifier)>) -> Self {
        let values = vec![(false, Vec::new()); columns.len()];
        Self { dialect, columns, row: RowKey::new(), values, next: 0, cells: Cells::default() }
    }

    fn separator(&self) -> u8 {
        match self.dialect {
            Dialect::Csv => b',',
            Dialect::Tsv => b'\t',
        }
    }

    fn field(&self, bytes: &[u8], out: &mut Out) {
        match self.dialect {
            Dialect::Csv if needs_quotes(bytes) => {
                out.push(b'"');
                for byte in bytes {
                    out.extend(std::iter::repeat_n(*byte, if *byte == b'"' { 2 } else { 1 }));
                }
                out.push(b'"');
            }
            Dialect::Csv => out.extend_from_slice(bytes),
            Dialect::Tsv => bytes.iter().for_each(|byte| match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                other => out.push(*other),
            }),
        }
    }

    fn take(&mut self, cell: &Cell) {
        if !cell.kind.is_put() {
            return;
        }
        let is_of = |column: &(String, Qualifier)| column.1 == cell.qualifier && column.0 == cell.family;
        let place = |column: &(String, Qualifier)| {
            (column.0.as_str(), column.1.as_slice()).cmp(&(cell.family.as_str(), cell.qualifier.as_slice()))
        };
        let at = match self.columns.get(self.next).is_some_and(is_of) {
            true => Ok(self.next),
            false => self.columns.binary_search_by(place),
        };
        let Ok(at) = at else { return };
        self.next = at + 1;
        let (is_there, value) = &mut self.values[at];
        // The newest version comes first.
        if !*is_there {
            *is_there = true;
            value.clone_from(&cell.value);
        }
    }

    fn write_row(&mut self, out: &mut Out) {
        let separator = self.separator();
        self.field(&self.row, out);
        for (is_there, value) in &self.values {
            out.push(separator);
            if *is_there {
                self.field(value, out);
            }
        }
        out.push(b'\n');
        self.values.iter_mut().for_each(|(is_there, _)| *is_there = false);
        self.next = 0;
    }
}

/// Whether a field of csv can be told from others only in quotes.
fn needs_quotes(bytes: &[u8]) -> bool {
    memchr::memchr3(b',', b'"', b'\n', bytes).is_some() || memchr::memchr(b'\r', bytes).is_some()
}

impl Writer for Delimited {
    fn begin(&mut self, out: &mut Out) {
        out.extend_from_slice(KEY);
        for (family, qualifier) in &self.columns {
            out.push(self.separator());
            self.field(&[family.as_bytes(), b":", qualifier].concat(), out);
        }
        out.push(b'\n');
    }

    fn piece(&mut self, piece: &Piece, out: &mut Out) -> Result<()> {
        match piece {
            Piece::Row(row) => self.row.clone_from(row),
            Piece::Cell(cell) => self.take(cell),
            Piece::End => self.write_row(out),
            Piece::Head(..) | Piece::Value(_) | Piece::Found(_) => {
                if let Some(cell) = self.cells.take(piece) {
                    self.take(&cell);
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Out) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CellKind, Tags, Timestamp};

    fn cell(qualifier: &str, value: &str) -> Piece {
        Piece::Cell(Cell {
            family: "f".to_owned(),
            qualifier: qualifier.into(),
            timestamp: Timestamp(1),
            kind: CellKind::Put,
            tags: Tags::default(),
            value: value.into(),
        })
    }

    fn written(dialect: Dialect) -> String {
        let columns = ["a", "b,c"].map(|q| ("f".to_owned(), q.as_bytes().to_vec())).to_vec();
        let (mut writer, mut out) = (Delimited::new(dialect, columns), Out::new());
        writer.begin(&mut out);
        let pieces = [
            Piece::Row(b"r\t1".to_vec()),
            cell("a", "say \"hi\"\n"),
            cell("a", "older"),
            cell("unknown", "x"),
            Piece::End,
            Piece::Row(b"s".to_vec()),
            cell("b,c", "\\plain"),
            Piece::End,
        ];
        pieces.iter().for_each(|piece| writer.piece(piece, &mut out).unwrap());
        writer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_that_need_it_are_quoted() {
        let csv = "HBASE_ROW_KEY,f:a,\"f:b,c\"\nr\t1,\"say \"\"hi\"\"\n\",\ns,,\\plain\n";
        assert_eq!(written(Dialect::Csv), csv);
        let tsv = "HBASE_ROW_KEY\tf:a\tf:b,c\nr\\t1\tsay \"hi\"\\n\t\ns\t\t\\\\plain\n";
        assert_eq!(written(Dialect::Tsv), tsv);
    }
}
