//! Printing: cells for people and for programs.

use std::io::{BufWriter, StdoutLock, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value as Json;

use super::Answer;
use crate::error::CLOSED;
pub use crate::model::json_bytes;
use crate::model::{Cell, CellKind, Cells, Piece, cell_json, to_string_binary};
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

/// Waits so long; fails at once when the reader of standard output has gone.
pub fn wait_for_reader(time: Duration) -> Result<()> {
    let stdout = std::io::stdout();
    let mut asked = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
    // A signal only ends the wait sooner.
    if !poll(&mut asked, timeout).is_ok_and(|ready| ready > 0) {
        return Ok(());
    }
    if asked[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP)) {
        return Err(failed(&std::io::ErrorKind::BrokenPipe.into()));
    }
    // There is no standard output: what is printed next fails, or goes nowhere.
    std::thread::sleep(time);
    Ok(())
}

pub(super) fn failed(source: &std::io::Error) -> Error {
    match source.kind() {
        std::io::ErrorKind::BrokenPipe => Error::new(ErrorKind::Disconnected, CLOSED),
        _ => Error::io("standard output", source),
    }
}

/// One cell for people: row, column, timestamp, value, separated by tabs.
fn cell_line(row: &str, cell: &Cell) -> String {
    let qualifier = to_string_binary(&cell.qualifier);
    let last = match cell.kind {
        CellKind::Put => to_string_binary(&cell.value),
        CellKind::Tombstone(kind) => format!("({})", kind.name()),
    };
    format!("{row}\t{}:{qualifier}\t{}\t{last}", cell.family, cell.timestamp)
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
    spells: Spells,
}

/// How keys of rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spells {
    Bytes,
    /// They are texts already.
    Text,
}

impl CellPrinter {
    pub fn new(form: Form) -> Self {
        Self {
            output: Output::new(),
            form,
            row: Vec::new(),
            whole: Cells::default(),
            missing: 0,
            count: 0,
            spells: Spells::Bytes,
        }
    }

    /// Rows are texts already, which are printed as they are.
    #[must_use]
    pub fn with_keys_as_they_are(self) -> Self {
        Self { spells: Spells::Text, ..self }
    }

    fn row_text(&self) -> String {
        match self.spells {
            Spells::Bytes => to_string_binary(&self.row),
            Spells::Text => String::from_utf8_lossy(&self.row).into_owned(),
        }
    }

    pub fn take(&mut self, piece: &Piece) -> Result<()> {
        if let Piece::Row(row) = piece {
            self.row.clone_from(row);
            return Ok(());
        }
        self.count += u64::from(matches!(piece, Piece::Cell(_) | Piece::Head(..)));
        match self.form {
            Form::Json => match self.whole.take(piece) {
                Some(cell) => self.output.json(&cell_json(&self.row, &cell)),
                None => Ok(()),
            },
            Form::Text => self.text(piece),
            Form::Value if self.count == 1 => self.value(piece),
            Form::Value => Ok(()),
        }
    }

    fn text(&mut self, piece: &Piece) -> Result<()> {
        match piece {
            Piece::Cell(cell) => self.output.line(&cell_line(&self.row_text(), cell)),
            Piece::Head(cell, len) => {
                self.missing = *len;
                self.output.bytes(cell_line(&self.row_text(), cell).as_bytes())
            }
            Piece::Value(bytes) => {
                self.missing = self.missing.saturating_sub(bytes.len() as u64);
                self.output.bytes(to_string_binary(bytes).as_bytes())?;
                if self.missing == 0 { self.output.line("") } else { Ok(()) }
            }
            Piece::Row(_) | Piece::Found(_) | Piece::End => Ok(()),
        }
    }

    fn value(&mut self, piece: &Piece) -> Result<()> {
        match piece {
            Piece::Cell(cell) => self.output.bytes(&cell.value),
            Piece::Value(bytes) => self.output.bytes(bytes),
            Piece::Row(_) | Piece::Head(..) | Piece::Found(_) | Piece::End => Ok(()),
        }
    }

    /// Writes out what is left; whether there was a cell.
    pub fn finish(self) -> Result<Answer> {
        let answer = if self.count > 0 { Answer::Yes } else { Answer::No };
        self.output.finish()?;
        Ok(answer)
    }
}
