//! `csv` and `tsv`: a line of names, then a line a row, as HBase's ImportTsv reads them.

use super::{Out, Writer};
use crate::Result;
use crate::model::{Cells, Piece, Qualifier, RowKey};

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
    /// Of each column of the row.
    values: Vec<Option<Vec<u8>>>,
    cells: Cells,
}

impl Delimited {
    pub fn new(dialect: Dialect, columns: Vec<(String, Qualifier)>) -> Self {
        let values = vec![None; columns.len()];
        Self { dialect, columns, row: RowKey::new(), values, cells: Cells::default() }
    }

    fn separator(&self) -> u8 {
        match self.dialect {
            Dialect::Csv => b',',
            Dialect::Tsv => b'\t',
        }
    }

    fn field(&self, bytes: &[u8], out: &mut Out) {
        match self.dialect {
            Dialect::Csv if bytes.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) => {
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
        if let Piece::Row(row) = piece {
            self.row.clone_from(row);
        }
        if let Some(cell) = self.cells.take(piece).filter(|cell| cell.kind.is_put()) {
            let place = |column: &(String, Qualifier)| {
                (column.0.as_str(), column.1.as_slice()).cmp(&(cell.family.as_str(), cell.qualifier.as_slice()))
            };
            if let Ok(at) = self.columns.binary_search_by(place) {
                // The newest version comes first.
                self.values[at].get_or_insert(cell.value);
            }
        }
        if *piece == Piece::End {
            self.field(&self.row, out);
            for value in std::mem::replace(&mut self.values, vec![None; self.columns.len()]) {
                out.push(self.separator());
                self.field(&value.unwrap_or_default(), out);
            }
            out.push(b'\n');
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
    use crate::model::{Cell, CellKind, Tags, Timestamp};

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
