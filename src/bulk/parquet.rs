//! `parquet`: a typed column a field, in row groups; its footer stands at the end, so that it is written as a stream and
//! read from a file.
//!
//! Columns are called as in `jsonl`, the row's key as in `csv`.

pub mod outline;
pub mod read;
mod value;
pub mod write;
