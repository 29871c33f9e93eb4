//! Rows as a Parquet file.
//!
//! Holds a row group: [`GROUP_BYTES`] of values or [`GROUP_ROWS`] rows, one column of it once more while it is encoded, and
//! one row. The footer grows with the groups: some 200 bytes a column and group.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::outline::{COUNTERS, ColumnType, Outline, TIME};
use crate::bulk::delimited::KEY;
use crate::bulk::{Out, Writer};
use crate::env::sync::Mutex;
use crate::model::{Cells, Piece, Qualifier, RowKey, Timestamp, column_name};
use crate::{Error, ErrorKind, Result};

/// Bytes of values, and rows, after which a row group ends.
const GROUP_BYTES: usize = 32 << 20;
const GROUP_ROWS: usize = 128 << 10;
/// Bytes that a held value takes beside its own.
const OVERHEAD: usize = 48;
/// Longest value: a page has to hold it.
const VALUE_MAX: u64 = 256 << 20;

/// Where the file is written to; what is in it is taken after each group.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Out>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The values of a column in the rows of a group.
struct Column {
    name: String,
    kind: Option<ColumnType>,
    /// Each with the number of its row in the group, ascending.
    values: Vec<(u32, ByteArray)>,
}

/// See the module.
pub struct Parquet {
    key: Column,
    /// Of each row, if that is a column.
    times: Option<Vec<i64>>,
    columns: Vec<Column>,
    /// Where each column is.
    places: BTreeMap<(String, Qualifier), usize>,
    row: RowKey,
    newest: Timestamp,
    cells: Cells,
    rows: u32,
    bytes: usize,
    /// Rows of the groups before.
    passed: u64,
    sink: Sink,
    /// Opened with the first group, once the types are known.
    file: Option<SerializedFileWriter<Sink>>,
}

fn failed(e: &parquet::errors::ParquetError) -> Error {
    Error::new(ErrorKind::Unsupported, format!("parquet: {e}"))
}

impl Parquet {
    /// Of these columns, in this order; their types are those of the outline, or what the first group shows.
    pub fn new(columns: Vec<(String, Qualifier)>, outline: &Outline) -> Self {
        let column = |column: &(String, Qualifier)| Column {
            name: column_name(&column.0, &column.1),
            kind: outline.columns.get(column).copied(),
            values: Vec::new(),
        };
        Self {
            key: Column { name: String::from_utf8_lossy(KEY).into_owned(), kind: outline.key, values: Vec::new() },
            times: outline.has_time.then(Vec::new),
            columns: columns.iter().map(column).collect(),
            places: columns.into_iter().zip(0..).collect(),
            row: RowKey::new(),
            newest: Timestamp::ZERO,
            cells: Cells::default(),
            rows: 0,
            bytes: 0,
            passed: 0,
            sink: Sink::default(),
            file: None,
        }
    }

    /// Writes the rows that are held as a group.
    fn write_group(&mut self, out: &mut Out) -> Result<()> {
        if self.file.is_none() {
            self.open()?;
        }
        let (rows, passed) = (self.rows, self.passed);
        if let Some(file) = self.file.as_mut().filter(|_| rows > 0) {
            let mut group = file.next_row_group().map_err(|e| failed(&e))?;
            self.key.write(&mut group, rows, passed)?;
            if let Some(times) = &mut self.times {
                put::<Int64Type>(&mut group, &std::mem::take(times), None)?;
            }
            for column in &mut self.columns {
                column.write(&mut group, rows, passed)?;
            }
            group.close().map_err(|e| failed(&e))?;
        }
        self.passed += u64::from(rows);
        (self.rows, self.bytes) = (0, 0);
        out.append(&mut self.sink.0.lock());
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        for column in std::iter::once(&mut self.key).chain(&mut self.columns) {
            column.kind.get_or_insert_with(|| shown(&column.values));
        }
        let mut fields = vec![self.key.field(Repetition::REQUIRED)?];
        if self.times.is_some() {
            let of = Type::primitive_type_builder(TIME, PhysicalType::INT64)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MILLIS)));
            fields.push(Arc::new(of.build().map_err(|e| failed(&e))?));
        }
        for column in &self.columns {
            fields.push(column.field(Repetition::OPTIONAL)?);
        }
        let schema = Type::group_type_builder("schema").with_fields(fields).build().map_err(|e| failed(&e))?;
        let counters = self.columns.iter().filter(|column| column.kind == Some(ColumnType::U64));
        let counters: Vec<&str> = counters.map(|column| column.name.as_str()).collect();
        let counters = serde_json::json!(counters).to_string();
        let level = ZstdLevel::try_new(1).map_err(|e| failed(&e))?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("cellfs {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(None)
            .set_key_value_metadata(Some(vec![KeyValue::new(COUNTERS.to_owned(), counters)]))
            .build();
        let file = SerializedFileWriter::new(self.sink.clone(), Arc::new(schema), Arc::new(properties));
        self.file = Some(file.map_err(|e| failed(&e))?);
        Ok(())
    }
}

/// The type of values that nothing else is known of.
fn shown(values: &[(u32, ByteArray)]) -> ColumnType {
    let is_text = values.iter().all(|(_, value)| std::str::from_utf8(value.data()).is_ok());
    if is_text { ColumnType::Utf8 } else { ColumnType::Binary }
}

impl Column {
    fn field(&self, repetition: Repetition) -> Result<TypePtr> {
        let (physical, logical) = match self.kind {
            Some(ColumnType::Utf8) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Some(ColumnType::Json) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)),
            Some(ColumnType::I64 | ColumnType::U64) => (PhysicalType::INT64, None),
            Some(ColumnType::Binary) | None => (PhysicalType::BYTE_ARRAY, None),
        };
        let of = Type::primitive_type_builder(&self.name, physical);
        let built = of.with_repetition(repetition).with_logical_type(logical).build();
        Ok(Arc::new(built.map_err(|e| failed(&e))?))
    }

    /// Writes what a group has of it. `rows`: of the group, `passed`: before it.
    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, Sink>, rows: u32, passed: u64) -> Result<()> {
        let values = std::mem::take(&mut self.values);
        let mut levels = vec![0; rows as usize];
        values.iter().for_each(|(row, _)| levels[*row as usize] = 1);
        // The key is in each row.
        let levels = (self.name.as_bytes() != KEY).then_some(levels);
        let numbers = matches!(self.kind, Some(ColumnType::I64 | ColumnType::U64));
        if numbers {
            let read = |(row, value): &(u32, ByteArray)| self.number(value.data()).ok_or((*row, value.data().len()));
            let read = values.iter().map(read).collect::<std::result::Result<Vec<i64>, _>>();
            return put::<Int64Type>(group, &read.map_err(|(row, _)| self.wrong(passed + u64::from(row)))?, levels);
        }
        if matches!(self.kind, Some(ColumnType::Utf8 | ColumnType::Json))
            && let Some((row, _)) = values.iter().find(|(_, value)| std::str::from_utf8(value.data()).is_err())
        {
            return Err(self.wrong(passed + u64::from(*row)));
        }
        let values: Vec<ByteArray> = values.into_iter().map(|(_, value)| value).collect();
        put::<ByteArrayType>(group, &values, levels)
    }

    fn number(&self, value: &[u8]) -> Option<i64> {
        match self.kind {
            Some(ColumnType::U64) => value.try_into().ok().map(i64::from_be_bytes),
            _ => std::str::from_utf8(value.strip_suffix(b"\n").unwrap_or(value)).ok()?.parse().ok(),
        }
    }

    /// `row`: from 0.
    fn wrong(&self, row: u64) -> Error {
        let (name, kind) = (&self.name, self.kind.map_or("", ColumnType::name));
        let text = format!(
            "row {} of the answer: {name} has a value that is no {kind}, as the checks of the table, a schema file or the \
             rows before say of that column. Export with --schema FILE, in which a line is `{name} binary`",
            row + 1
        );
        Error::new(ErrorKind::IllegalArgument, text)
    }
}

/// Writes the next column of a group.
fn put<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    values: &[T::T],
    levels: Option<Vec<i16>>,
) -> Result<()> {
    let column = group.next_column().map_err(|e| failed(&e))?;
    let mut column = column.ok_or_else(|| Error::new(ErrorKind::Unsupported, "parquet: there is a column too many"))?;
    column.typed::<T>().write_batch(values, levels.as_deref(), None).map_err(|e| failed(&e))?;
    column.close().map_err(|e| failed(&e))
}

impl Writer for Parquet {
    fn begin(&mut self, _out: &mut Out) {}

    fn piece(&mut self, piece: &Piece, out: &mut Out) -> Result<()> {
        match piece {
            Piece::Row(row) => {
                self.row.clone_from(row);
                self.newest = Timestamp::ZERO;
            }
            Piece::Head(cell, len) if *len > VALUE_MAX => {
                let text = format!(
                    "row {}, {}: the value has {len} bytes; Parquet takes {VALUE_MAX} here: take jsonl, or leave the \
                     column out",
                    String::from_utf8_lossy(&self.row).escape_debug(),
                    column_name(&cell.family, &cell.qualifier)
                );
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
            _ => {}
        }
        if let Some(cell) = self.cells.take(piece).filter(|cell| cell.kind.is_put()) {
            self.newest = self.newest.max(cell.timestamp);
            if let Some(at) = self.places.get(&(cell.family, cell.qualifier)) {
                let values = &mut self.columns[*at].values;
                // The newest version comes first.
                if values.last().is_none_or(|(row, _)| *row != self.rows) {
                    self.bytes += cell.value.len() + OVERHEAD;
                    values.push((self.rows, cell.value.into()));
                }
            }
        }
        if *piece == Piece::End {
            self.bytes += self.row.len() + OVERHEAD;
            self.key.values.push((self.rows, std::mem::take(&mut self.row).into()));
            self.times.iter_mut().for_each(|times| times.push(self.newest.0));
            self.rows += 1;
            if self.bytes >= GROUP_BYTES || self.rows as usize >= GROUP_ROWS {
                self.write_group(out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<()> {
        self.write_group(out)?;
        if let Some(file) = self.file.take() {
            file.close().map_err(|e| failed(&e))?;
        }
        out.append(&mut self.sink.0.lock());
        Ok(())
    }
}
