//! Which records of a format are cut and read how: what an import does, and what tries it without a store.

use super::change::{Changes, Fault, Terms};
use super::delimited::{Columns, Empty, Lines};
use super::json;
use super::split::{Shape, Splitter};
use crate::bulk::Format;
use crate::bulk::delimited::Dialect;
use crate::model::Timestamp;

/// Reads records of a format.
pub enum Reader {
    Json,
    Delimited(Box<Lines>),
    /// Of what is no stream.
    Never,
}

impl Reader {
    pub fn new(format: Format, empty: Empty, columns: Option<Columns>) -> Self {
        match format {
            Format::Csv => Self::delimited(Dialect::Csv, empty, columns),
            Format::Tsv => Self::delimited(Dialect::Tsv, empty, columns),
            Format::Jsonl | Format::Json => Self::Json,
            Format::Parquet => Self::Never,
        }
    }

    fn delimited(dialect: Dialect, empty: Empty, columns: Option<Columns>) -> Self {
        Self::Delimited(Box::new(Lines::new(dialect, empty, columns)))
    }

    /// As from that byte of a file on, which another run has read up to there.
    #[must_use]
    pub fn going_on_at(mut self, bytes: u64) -> Self {
        if let (Self::Delimited(lines), 1..) = (&mut self, bytes) {
            lines.pass_head();
        }
        self
    }

    /// What a record says that begins in this line; `None`: it names the columns.
    pub fn read(&mut self, (line, record): (u64, &[u8]), terms: &Terms) -> Result<Option<Changes>, Fault> {
        match self {
            Self::Json => json::read(record, terms).map(Some),
            Self::Delimited(lines) => lines.read((line, record), terms),
            Self::Never => Err(Fault::whole("Parquet has its footer at the end: it is read from a file")),
        }
    }

    /// Whether a record says nothing. White space is keys and values of tsv.
    pub fn is_blank(&self, record: &[u8]) -> bool {
        match self {
            Self::Delimited(lines) if lines.takes_space() => record.is_empty(),
            _ => record.trim_ascii().is_empty(),
        }
    }

    /// Whether nothing can be read before a record has named the columns.
    pub fn lacks_names(&self) -> bool {
        matches!(self, Self::Delimited(lines) if lines.columns().is_none())
    }

    /// Whether what is left of a record that was cut reads as a whole one.
    pub fn takes_cut(&self) -> bool {
        matches!(self, Self::Delimited(_))
    }

    /// Of `csv` and `tsv`, once they are known.
    pub fn columns(&self) -> Option<&Columns> {
        if let Self::Delimited(lines) = self { lines.columns() } else { None }
    }
}

/// How the records of a format are told apart.
pub fn shape(format: Format) -> Shape {
    match format {
        Format::Csv => Shape::Quoted { separator: b',' },
        Format::Tsv | Format::Jsonl | Format::Parquet => Shape::Lines,
        Format::Json => Shape::Objects,
    }
}

/// Each record of a stream that comes in pieces: its line, and in words what it says or why it says nothing. For tests:
/// it holds them all.
pub fn read_records<'t>(format: Format, pieces: impl Iterator<Item = &'t [u8]>) -> Vec<(u64, String)> {
    let (mut splitter, mut found) = (Splitter::new(shape(format), (0, 0)), Vec::new());
    let mut reader = Reader::new(format, Empty::Absent, None);
    let terms = Terms { time: Timestamp(0), mtime: None, value_limit: 1 << 20 };
    let mut take = |bytes: &[u8], line| found.push((line, format!("{:?}", reader.read((line, bytes), &terms))));
    for piece in pieces {
        splitter.push(piece);
        while let Some(span) = splitter.next() {
            take(&splitter.bytes()[span.range], span.line);
        }
    }
    if let Some(span) = splitter.take_rest() {
        take(&splitter.bytes()[span.range], span.line);
    }
    found
}
