//! Records that an import does not take, and how they are told.

use super::read::change::Fault;
use crate::{Error, ErrorKind, Result};

/// How records are told apart in sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Lines,
    Rows,
}

impl Counted {
    pub(super) fn unit(self) -> &'static str {
        if self == Self::Rows { "row" } else { "line" }
    }
}

/// A record that is not taken.
pub struct Bad<'r> {
    pub counted: Counted,
    /// Its line, or row.
    pub line: u64,
    pub fault: Fault,
    /// Its bytes, without the line feed.
    pub record: &'r [u8],
}

impl Bad<'_> {
    /// How many lines, or rows, it has.
    pub(super) fn units(&self) -> u64 {
        match self.counted {
            Counted::Rows => 1,
            Counted::Lines => 1 + self.record.iter().filter(|byte| **byte == b'\n').count() as u64,
        }
    }

    /// Line, column and reason.
    pub fn sentence(&self) -> String {
        let unit = self.counted.unit();
        match self.fault.column {
            Some(column) => format!("{unit} {}, column {column}: {}", self.line, self.fault.reason),
            None => format!("{unit} {}: {}", self.line, self.fault.reason),
        }
    }
}

/// Told of each bad record; an error ends the import, when what came before is written.
pub type TellBad<'t> = &'t mut dyn FnMut(&Bad<'_>) -> Result<()>;

/// What is said of a last line that may be a part of one.
pub fn unended_line(line: u64) -> String {
    format!("line {line}, the last one, has no line feed at its end: what is stored of it may be cut off")
}

/// What a bad record says where it ends the import.
pub fn refusal(bad: &Bad<'_>) -> Error {
    let text = format!("{}; {}", bad.sentence(), before(bad.line, bad.counted));
    Error::new(ErrorKind::IllegalArgument, text)
}

/// Of a record of which so many bytes are not all.
pub(super) fn too_long(line: u64, most: usize) -> Error {
    let text = format!(
        "line {line}: it has more than {} MiB (a quote that is not closed, or another format? cellfs import takes 256 MiB a \
         line, cellfs copy values of any length); {}",
        most >> 20,
        before(line, Counted::Lines)
    );
    Error::new(ErrorKind::IllegalArgument, text)
}

/// What became of the records before one that ends the import.
fn before(line: u64, counted: Counted) -> String {
    if line == 1 { "nothing is imported".to_owned() } else { format!("the {}s before it are imported", counted.unit()) }
}
