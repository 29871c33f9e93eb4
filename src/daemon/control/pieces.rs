//! Rows as a client reads them: pieces from the daemon.

use super::line::{Line, answer, out_of_step};
use super::protocol::Response;
use crate::Result;
use crate::model::{Piece, Results, RowResult};

/// Rows of one scan, from a connection of its own.
pub struct RemoteRows {
    line: Line,
    pieces: std::vec::IntoIter<Piece>,
    results: Results,
    ended: bool,
}

impl From<Line> for RemoteRows {
    /// The scan has been asked for on this connection.
    fn from(line: Line) -> Self {
        Self { line, pieces: Vec::new().into_iter(), results: Results::default(), ended: false }
    }
}

impl RemoteRows {
    fn read(&mut self) -> Result<Option<RowResult>> {
        loop {
            if let Some(row) = self.pieces.by_ref().find_map(|piece| self.results.take(&piece)) {
                return Ok(Some(row));
            }
            match more_pieces(&mut self.line)? {
                Some(pieces) => self.pieces = pieces.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for RemoteRows {
    type Item = Result<RowResult>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let row = self.read().transpose();
        self.ended = !matches!(row, Some(Ok(_)));
        row
    }
}

/// The next pieces of an answer; `None` at its end.
pub fn more_pieces(line: &mut Line) -> Result<Option<Vec<Piece>>> {
    match answer(line)? {
        Response::Pieces(pieces) => Ok(Some(pieces)),
        Response::End => Ok(None),
        _ => Err(out_of_step()),
    }
}
