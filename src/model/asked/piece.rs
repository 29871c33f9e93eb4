//! Results of gets and scans in pieces, so that neither a wide row nor a long value has to be held whole.

use serde::{Deserialize, Serialize};

use crate::model::{Cell, CellInfo, CellKind, Qualifier, RowKey, RowResult};

/// A longer value goes in pieces of so many bytes.
pub const VALUE_PIECE: usize = 256 << 10;

/// A part of a result. `Row`, its cells in order, `End`; then the next result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// A result begins; it has at least one cell.
    Row(RowKey),
    /// A cell with all of its value.
    Cell(Cell),
    /// A cell without its value, which has so many bytes, more than none, and follows in [`Piece::Value`]s.
    Head(Cell, u64),
    /// The next bytes of the cell's value.
    Value(Vec<u8>),
    /// A cell of a scan that tells infos.
    Found(Box<FoundCell>),
    /// The result is whole.
    End,
}

/// A cell of an answer, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCell {
    pub family: String,
    pub qualifier: Qualifier,
    pub kind: CellKind,
    /// Of a value that the filter empties: that of an empty one.
    pub info: CellInfo,
}

impl Piece {
    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Piece::Row(row) => row.len(),
                Piece::Cell(cell) | Piece::Head(cell, _) => cell.qualifier.len() + cell.value.len() + cell.family.len(),
                Piece::Value(bytes) => bytes.len(),
                Piece::Found(cell) => size_of::<FoundCell>() + cell.qualifier.len() + cell.family.len(),
                Piece::End => 0,
            }
    }
}

/// Takes pieces, which are lent: whoever gives them may use their buffers again. An error ends the read.
pub type TakePiece<'a> = &'a mut dyn FnMut(&Piece) -> crate::Result<()>;

/// Cells with whole values, of pieces: holds one cell at a time.
#[derive(Default)]
pub struct Cells {
    open: Option<(Cell, u64)>,
}

impl Cells {
    /// Takes the next piece; a cell once it is whole.
    pub fn take(&mut self, piece: &Piece) -> Option<Cell> {
        match piece {
            Piece::Cell(cell) => return Some(cell.clone()),
            Piece::Head(cell, len) => self.open = Some((cell.clone(), *len)),
            Piece::Value(bytes) => {
                let (cell, len) = self.open.as_mut()?;
                cell.value.extend_from_slice(bytes);
                if cell.value.len() as u64 >= *len {
                    return self.open.take().map(|(cell, _)| cell);
                }
            }
            Piece::Row(_) | Piece::Found(_) | Piece::End => {}
        }
        None
    }
}

/// Whole results, of pieces: for those who need a row in memory.
#[derive(Default)]
pub struct Results {
    open: Option<RowResult>,
    cells: Cells,
}

impl Results {
    /// Takes the next piece; a result once it is whole.
    pub fn take(&mut self, piece: &Piece) -> Option<RowResult> {
        match piece {
            Piece::Row(row) => self.open = Some(RowResult { row: row.clone(), cells: Vec::new() }),
            Piece::End => return self.open.take(),
            part => {
                if let (Some(cell), Some(open)) = (self.cells.take(part), &mut self.open) {
                    open.cells.push(cell);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CellKind, Tags, Timestamp};

    #[test]
    fn results_are_put_together_from_pieces() {
        let cell = |value: &[u8]| Cell {
            family: "f".into(),
            qualifier: b"q".to_vec(),
            timestamp: Timestamp(1),
            kind: CellKind::Put,
            tags: Tags::default(),
            value: value.to_vec(),
        };
        let mut results = Results::default();
        let pieces = [
            Piece::Row(b"r".to_vec()),
            Piece::Cell(cell(b"whole")),
            Piece::Head(cell(b""), 5),
            Piece::Value(b"ab".to_vec()),
            Piece::Value(b"cde".to_vec()),
            Piece::Cell(cell(b"")),
        ];
        assert!(pieces.iter().all(|piece| results.take(piece).is_none()));
        let whole = results.take(&Piece::End);
        let cells = vec![cell(b"whole"), cell(b"abcde"), cell(b"")];
        assert_eq!(whole, Some(RowResult { row: b"r".to_vec(), cells }));
        assert_eq!(results.take(&Piece::End), None);
    }
}
