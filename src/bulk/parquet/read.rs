//! Rows of a Parquet file, as the changes that they ask for.
//!
//! Holds a page of each column, and a row. A number becomes a decimal, or a counter's eight bytes where the file or a schema
//! file says so; a date or a time is written as ISO 8601 has it; what is null is no cell.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use parquet::basic::Compression;
use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::serialized_reader::{ReadOptions, ReadOptionsBuilder};
use parquet::record::reader::RowIter;
use parquet::schema::types::TypePtr;

use super::outline::{COUNTERS, ColumnType, Outline};
use super::value::{Kind, bytes};
use crate::bulk::read::change::{Changes, Fault, Terms};
use crate::bulk::read::delimited::Columns;
use crate::model::{json_bytes, split_column_name};
use crate::{Error, ErrorKind, Result};

/// A row of the file.
pub struct Row {
    /// From 1.
    pub number: u64,
    pub changes: std::result::Result<Changes, Fault>,
    /// The same as a line of JSON, for those who put bad rows aside.
    pub text: Vec<u8>,
}

/// See the module.
pub struct Rows {
    rows: RowIter<'static>,
    columns: Columns,
    names: Vec<String>,
    /// What their numbers are.
    kinds: Vec<Kind>,
    /// Of the row that was read last.
    number: u64,
    /// Rows behind those that were passed, as the footer says.
    left: u64,
    is_over: bool,
}

fn refused(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalArgument, text.into())
}

impl Rows {
    /// Refuses what is no Parquet file, has no row key, or columns in columns. `columns`: what the fields are, in their
    /// order; `None`: their names say it. `passed`: rows that are not wanted again.
    pub fn open<R: ChunkReader + 'static>(
        file: R,
        columns: Option<Columns>,
        outline: &Outline,
        passed: u64,
    ) -> Result<Self> {
        let skipped = Rc::new(Cell::new(0));
        let options = behind(passed, &skipped);
        let file = held(|| SerializedFileReader::new_with_options(file, options))?.map_err(|e| {
            refused(format!("it is no Parquet file, or its end is missing, where the footer stands ({e})"))
        })?;
        check_codecs(&file)?;
        let meta = file.metadata().file_metadata();
        let names = names(meta)?;
        let columns = match columns {
            Some(columns) if columns.count() == names.len() => columns,
            Some(columns) => {
                let (named, has) = (columns.count(), names.join(", "));
                let text = format!("--columns names {named} columns, and the file has {}: {has}", names.len());
                return Err(refused(text));
            }
            None => Columns::parse(&names.iter().map(|name| own_name(name)).collect::<Vec<_>>()).map_err(|e| {
                let all = names.join(", ");
                refused(format!("{}. The columns of the file are {all}: say with --columns what each is", e.message))
            })?,
        };
        let kinds = kinds(meta, outline, &names, &columns);
        let groups = file.metadata().row_groups();
        let left = groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or_default());
        let left = left.fold(0, u64::saturating_add).saturating_sub(passed - skipped.get());
        let rows = held(|| RowIter::from_file_into(Box::new(file)))?;
        let mut rows = Self { rows, columns, names, kinds, number: skipped.get(), left, is_over: false };
        while rows.number < passed && rows.read().transpose()?.is_some() {}
        Ok(rows)
    }

    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// How many rows it had when it was opened, behind those that were passed.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next row. After an error there is none: what follows cannot be read.
    pub fn next(&mut self, terms: &Terms) -> Option<Result<Row>> {
        let row = match self.read()? {
            Ok(row) => row,
            Err(e) => return Some(Err(e)),
        };
        let mut values = Vec::with_capacity(self.names.len());
        for ((_, value), at) in row.get_column_iter().zip(0..) {
            let kind = self.kinds.get(at).copied().unwrap_or_default();
            values.push(bytes(value, kind, self.columns.is_time(at)));
        }
        let text = self.text(&values);
        let changes = self.columns.changes(&|at| values.get(at)?.as_deref(), terms);
        Some(Ok(Row { number: self.number, changes, text }))
    }

    /// The next row as the library has it.
    fn read(&mut self) -> Option<Result<parquet::record::Row>> {
        if self.is_over {
            return None;
        }
        self.number += 1;
        let failed = match held(|| self.rows.next()) {
            Ok(None) => return None,
            Ok(Some(Ok(row))) => return Some(Ok(row)),
            Ok(Some(Err(e))) => refused(format!("row {}: the file is damaged ({e})", self.number)),
            Err(e) => e.context(format!("row {}", self.number)),
        };
        self.is_over = true;
        Some(Err(failed))
    }

    fn text(&self, values: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut object = serde_json::Map::new();
        for (name, value) in self.columns.names().zip(values) {
            if let Some(value) = value {
                object.insert(name, json_bytes(value));
            }
        }
        serde_json::Value::Object(object).to_string().into_bytes()
    }
}

/// Leaves out the groups of rows that were passed as a whole, and counts their rows.
fn behind(passed: u64, skipped: &Rc<Cell<u64>>) -> ReadOptions {
    let (skipped, mut before) = (Rc::clone(skipped), 0_u64);
    let is_wanted = move |group: &RowGroupMetaData, _: usize| {
        before = before.saturating_add(u64::try_from(group.num_rows()).unwrap_or_default());
        if before <= passed {
            skipped.set(before);
        }
        before > passed
    };
    ReadOptionsBuilder::new().with_predicate(Box::new(is_wanted)).build()
}

/// What the library makes of bytes; where it takes damage for a fault of its own, it gives up by a panic.
fn held<T>(read: impl FnOnce() -> T) -> Result<T> {
    // What it has read so far is not looked at again.
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| refused("the file is damaged"))
}

/// Refuses values that are packed in another way than snappy and zstd.
fn check_codecs<R: ChunkReader + 'static>(file: &SerializedFileReader<R>) -> Result<()> {
    let groups = file.metadata().row_groups();
    let mut codecs = groups.iter().flat_map(|group| group.columns()).map(|column| column.compression());
    let known =
        |codec: &Compression| matches!(codec, Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_));
    match codecs.find(|codec| !known(codec)) {
        Some(codec) => Err(refused(format!("it is compressed by {codec}: write it with zstd, snappy or none"))),
        None => Ok(()),
    }
}

/// The names of the columns.
fn names(meta: &FileMetaData) -> Result<Vec<String>> {
    let fields = meta.schema().get_fields();
    if let Some(nested) = fields.iter().find(|field| !field.is_primitive()) {
        let text = format!("column {} has columns in it, or a list; write each as a column of its own", nested.name());
        return Err(refused(text));
    }
    Ok(fields.iter().map(|field| field.name().to_owned()).collect())
}

/// A name as `csv` has it: its bytes.
fn own_name(name: &str) -> Vec<u8> {
    match split_column_name(name) {
        Ok((family, qualifier)) => [family.as_bytes(), b":", &qualifier].concat(),
        Err(_) => name.as_bytes().to_vec(),
    }
}

fn kinds(meta: &FileMetaData, outline: &Outline, names: &[String], columns: &Columns) -> Vec<Kind> {
    let known = meta.key_value_metadata().into_iter().flatten().find(|pair| pair.key == COUNTERS);
    let known: BTreeSet<String> =
        known.and_then(|pair| serde_json::from_str(pair.value.as_deref()?).ok()).unwrap_or_default();
    let asked = |at: usize| columns.cell(at).and_then(|cell| outline.columns.get(&cell));
    let is_counter = |(at, name): (usize, &String)| match asked(at) {
        Some(kind) => *kind == ColumnType::U64,
        None => known.contains(name),
    };
    let kind = |of: (usize, &String), field: &TypePtr| if is_counter(of) { Kind::Counter } else { Kind::of(field) };
    names.iter().enumerate().zip(meta.schema().get_fields()).map(|(of, field)| kind(of, field)).collect()
}
