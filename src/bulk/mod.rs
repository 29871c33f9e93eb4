//! Rows on their way out of a table, and into one: the formats of an export, each written piece by piece as a scan gives
//! them, and read in batches by an import.
//!
//! An export holds one value, of `csv` and `tsv` one row, of `parquet` a group of rows. Must not know where the bytes go or
//! come from.

mod bad;
mod batch;
mod columns;
pub mod copy;
mod delimited;
mod history;
mod import;
mod json;
mod load;
mod parquet;
mod reached;
mod read;
mod target;

pub use bad::{Bad, Counted, TellBad, refusal, unended_line};
pub use columns::{check_columns, columns_of};
pub use history::history;
pub use import::{Import, Plan};
pub use parquet::outline::Outline;
pub use parquet::read::Rows;
pub use reached::{Position, Tally};
pub use read::array::Array;
pub use read::delimited::{Columns, Empty};
pub use read::records::read_records;
pub use target::{import_mtime, import_time};

pub use json::change_lines;

use crate::Result;
use crate::model::{Piece, Qualifier};

/// Bytes on their way out: taken before they become many more.
pub type Out = Vec<u8>;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A line a cell: row, `family:qualifier`, timestamp, TTL, type of a tombstone.
    Jsonl,
    /// An array of rows, each with the newest version of its columns.
    Json,
    /// A line a row, a field a column.
    Csv,
    Tsv,
    /// A typed column a field.
    Parquet,
}

/// Of them those that a file of a mount takes, by its name, ascending.
pub const IMPORTS: [(&str, Format, Empty); 5] = [
    ("csv", Format::Csv, Empty::Absent),
    ("csv,keep-empty", Format::Csv, Empty::Value),
    ("jsonl", Format::Jsonl, Empty::Absent),
    ("tsv", Format::Tsv, Empty::Absent),
    ("tsv,keep-empty", Format::Tsv, Empty::Value),
];

/// Their names, ascending.
pub const FORMATS: [(&str, Format); 5] = [
    ("csv", Format::Csv),
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("parquet", Format::Parquet),
    ("tsv", Format::Tsv),
];

impl Format {
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether it is written by columns that are known beforehand.
    pub fn needs_columns(self) -> bool {
        matches!(self, Format::Csv | Format::Tsv | Format::Parquet)
    }
}

/// Writes the pieces of an answer in a format.
pub trait Writer: Send {
    /// What stands before the first row.
    fn begin(&mut self, out: &mut Out);
    fn piece(&mut self, piece: &Piece, out: &mut Out) -> Result<()>;
    /// What stands behind the last one.
    fn end(&mut self, out: &mut Out) -> Result<()>;
}

/// A writer; `columns`: of a format that needs them, in their order; `outline`: what is known of their types.
pub fn writer(format: Format, columns: Vec<(String, Qualifier)>, outline: &Outline) -> Box<dyn Writer> {
    match format {
        Format::Jsonl => Box::<json::Lines>::default(),
        Format::Json => Box::<json::Rows>::default(),
        Format::Csv => Box::new(delimited::Delimited::new(delimited::Dialect::Csv, columns)),
        Format::Tsv => Box::new(delimited::Delimited::new(delimited::Dialect::Tsv, columns)),
        Format::Parquet => Box::new(parquet::write::Parquet::new(columns, outline)),
    }
}
