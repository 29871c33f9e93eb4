//! get, scan, count, get_counter, get_splits.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::{ColumnText, Command, check_families, row_key};
use crate::model::declared::region::Region;
use crate::model::{
    Cell, CellKind, Cells, Get, Piece, ReadSpec, Scan, TableSchema, TakePiece, Tells, TimeRange, after_prefix,
    cell_json, to_string_binary,
};
use crate::shell::arguments::{Arguments, Options};
use crate::shell::eval::convert::{convert, counter, local_time};
use crate::shell::eval::failure::{Failure, Outcome, refuse};
use crate::shell::eval::value::Value;
use crate::shell::print::Form;
use crate::shell::regions::regions;
use crate::shell::session::Session;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "get" => get,
        "scan" => scan,
        "count" => count,
        "get_counter" => get_counter,
        "get_splits" => get_splits,
        _ => return None,
    })
}

/// How cells are shown.
#[derive(Default)]
struct Format {
    /// Of single columns: family, qualifier, method.
    converters: BTreeMap<(String, Vec<u8>), String>,
    /// Of everything, keys too (FORMATTER).
    formatter: Option<String>,
    /// Characters of `timestamp=.., value=..`.
    max_length: Option<usize>,
    /// The cells are of hbase:meta, whose regions are shown in words.
    is_of_meta: bool,
}

impl Format {
    fn take(options: &mut Options) -> Outcome<Self> {
        let max_length = options.integer("MAXLENGTH", 0)?;
        options.take("MAXLENGTH");
        let formatter = options.take("FORMATTER").filter(|name| *name != Value::Nil).map(|name| name.to_text());
        let class = options.take("FORMATTER_CLASS").map(|name| name.to_text()).unwrap_or_default();
        if !class.is_empty() && class != "org.apache.hadoop.hbase.util.Bytes" {
            return refuse(format!("FORMATTER_CLASS {class}: there is only org.apache.hadoop.hbase.util.Bytes"));
        }
        let max_length = max_length.and_then(|most| usize::try_from(most).ok());
        Ok(Self { converters: BTreeMap::new(), formatter, max_length, is_of_meta: false })
    }

    fn key(&self, bytes: &[u8]) -> Outcome<String> {
        convert(bytes, self.formatter.as_deref().unwrap_or("toStringBinary"))
    }

    fn column(&self, cell: &Cell) -> Outcome<String> {
        Ok(format!("{}:{}", self.key(cell.family.as_bytes())?, self.key(&cell.qualifier)?))
    }

    /// `timestamp=.., value=..` or `timestamp=.., type=..`.
    fn cell(&self, cell: &Cell, zone: &TimeZone) -> Outcome<String> {
        let time = local_time(cell.timestamp, zone);
        let text = match cell.kind {
            CellKind::Tombstone(kind) => format!("timestamp={time}, type={}", kind.name()),
            CellKind::Put => {
                format!("timestamp={time}, value={}", self.value(cell)?)
            }
        };
        Ok(match self.max_length {
            Some(most) => text.chars().take(most).collect(),
            None => text,
        })
    }

    fn value(&self, cell: &Cell) -> Outcome<String> {
        if self.is_of_meta
            && (cell.family.as_str(), cell.qualifier.as_slice()) == ("info", b"regioninfo")
            && let Some(region) = Region::of_info(&cell.value)
        {
            return Ok(region.shown());
        }
        let own = self.converters.get(&(cell.family.clone(), cell.qualifier.clone()));
        let method = own.or(self.formatter.as_ref()).map_or("toStringBinary", String::as_str);
        convert(&cell.value, method_name(method)?)
    }
}

/// `toInt`, or `c(org.apache.hadoop.hbase.util.Bytes).toInt`.
fn method_name(text: &str) -> Outcome<&str> {
    let Some((class, method)) = text.strip_prefix("c(").and_then(|rest| rest.split_once(").")) else {
        return Ok(text);
    };
    if class == "org.apache.hadoop.hbase.util.Bytes" {
        return Ok(method);
    }
    refuse(format!("converter {class}: there is only org.apache.hadoop.hbase.util.Bytes"))
}

/// Adds columns to a request, and their converters to the format. Of a family and its columns the last one named decides
/// (Scan.addFamily, Scan.addColumn).
fn add_columns(read: &mut ReadSpec, format: &mut Format, columns: &[Value]) {
    for column in columns {
        let ColumnText { family, qualifier, converter } = ColumnText::parse(&column.to_bytes());
        if let Some(converter) = converter {
            let key = (family.clone(), qualifier.clone().unwrap_or_default());
            format.converters.insert(key, converter);
        }
        match qualifier {
            None => {
                read.columns.insert(family, None);
            }
            Some(qualifier) => {
                read.columns.entry(family).or_default().get_or_insert_default().insert(qualifier);
            }
        }
    }
}

/// FILTER: a text of the filter language.
fn filter(options: &mut Options) -> Outcome<Option<Vec<u8>>> {
    match options.take("FILTER") {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(other) => refuse(format!("FILTER takes a text of the filter language, not {}", other.inspect())),
    }
}

fn check_columns(session: &Session<'_>, table: &TableSchema, row: &[u8], read: &ReadSpec) -> Outcome<()> {
    check_families(session, table, row, read.columns.keys().map(String::as_str))
}

fn versions(options: &Options) -> Outcome<u32> {
    match options.integer("VERSIONS", 1)?.unwrap_or(1) {
        number if number > 0 => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        _ => refuse("maxVersions must be positive"),
    }
}

/// What a get asks for, from the hash or the columns after the row.
fn get_request(arguments: &Arguments) -> Outcome<(ReadSpec, Format)> {
    let mut read = ReadSpec::default();
    if !matches!(arguments.get(2), Value::Hash(_)) {
        let mut format = Format::default();
        add_columns(&mut read, &mut format, &arguments.flat_from(2));
        return Ok((read, format));
    }
    let shown = arguments.get(2).inspect();
    let mut options = arguments.options(2);
    let mut format = Format::take(&mut options)?;
    read.filter = filter(&mut options)?;
    options.take("CONSISTENCY");
    options.take("REGION_REPLICA_ID");
    if options.is_empty() {
        return Ok((read, format));
    }
    match options.get("COLUMN").or_else(|| options.get("COLUMNS")) {
        Some(Value::Array(columns)) => add_columns(&mut read, &mut format, columns),
        Some(column @ Value::Text(_)) => add_columns(&mut read, &mut format, std::slice::from_ref(column)),
        Some(_) => return refuse(format!("Failed parse column argument type {shown}, Hash")),
        None => {
            let known = ["ATTRIBUTES", "AUTHORIZATIONS", "TIMESTAMP", "TIMERANGE"];
            if !known.iter().any(|key| options.get(key).is_some()) {
                return refuse(format!("Failed parse of {shown}, Hash"));
            }
        }
    }
    read.max_versions = versions(&options)?;
    match options.get("TIMESTAMP") {
        Some(Value::Integer(time)) => read.time_range = TimeRange::new(*time, time.saturating_add(1))?,
        // Ruby's "x".to_i.
        Some(_) => read.time_range = TimeRange::new(0, 1)?,
        None => {}
    }
    if let Some((from, to)) = options.time_range()? {
        read.time_range = TimeRange::new(from, to)?;
    }
    Ok((read, format))
}

fn get(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    session.printer.heading("COLUMN", "CELL")?;
    let row = row_key(arguments.bytes(1))?;
    let (read, mut format) = get_request(arguments)?;
    let table = session.enabled_table(&arguments.text(0))?;
    format.is_of_meta = table.name.is_meta();
    check_columns(session, &table, &row, &read)?;
    let backend = session.backend()?;
    let (get, mut cells, mut found) = (Get { table: table.name, row, read }, Cells::default(), false);
    let mut show = |piece: &Piece| {
        session.check_interrupt()?;
        let Some(cell) = cells.take(piece) else { return Ok(()) };
        found = true;
        if session.printer.form() == Form::Json {
            return session.printer.json(&cell_json(&get.row, &cell));
        }
        session.printer.row(&format.column(&cell)?, &format.cell(&cell, &session.zone)?)
    };
    by_piece(|take| backend.get_pieces(&get, take), &mut show)?;
    session.printer.rows(u64::from(found))?;
    Ok(Value::Nil)
}

/// Shows what is read piece by piece: one cell is held at a time.
fn by_piece(
    read: impl FnOnce(TakePiece<'_>) -> crate::Result<()>,
    show: &mut dyn FnMut(&Piece) -> Outcome<()>,
) -> Outcome<()> {
    let mut failed = None;
    let done = read(&mut |piece| {
        show(piece).map_err(|failure| {
            failed = Some(failure);
            crate::Error::new(crate::ErrorKind::Disconnected, "the output has ended")
        })
    });
    match failed {
        Some(failure) => Err(failure),
        None => Ok(done?),
    }
}

/// What a scan asks for.
fn scan_request(session: &Session<'_>, table: &TableSchema, options: &mut Options) -> Outcome<(Scan, Format)> {
    let mut format = Format::take(options)?;
    let mut scan = Scan::all(table.name.clone());
    let read = &mut scan.read;
    match options.get("COLUMNS").or_else(|| options.get("COLUMN")) {
        None => {}
        Some(Value::Array(columns)) => add_columns(read, &mut format, columns),
        Some(column @ Value::Text(_)) => add_columns(read, &mut format, std::slice::from_ref(column)),
        Some(_) => return refuse("COLUMNS must be specified as a String or an Array"),
    }
    read.filter = filter(options)?;
    read.raw = options.flag("RAW");
    let versions = options.integer("VERSIONS", 1)?.unwrap_or(1).max(1);
    read.max_versions = u32::try_from(versions).unwrap_or(u32::MAX);
    if let Some(time) = options.integer("TIMESTAMP", 0)? {
        read.time_range = TimeRange::new(time, time.saturating_add(1))?;
    }
    if let Some((from, to)) = options.time_range()? {
        read.time_range = TimeRange::new(from, to)?;
    }
    let bytes = |key: &str| options.get(key).map(Value::to_bytes).unwrap_or_default();
    (scan.start, scan.stop) = (bytes("STARTROW"), bytes("STOPROW"));
    // A get, as Scan.setStopRow has it.
    scan.stop_inclusive = !scan.start.is_empty() && scan.start == scan.stop;
    let prefix = bytes("ROWPREFIXFILTER");
    if !prefix.is_empty() {
        scan.stop = after_prefix(&prefix);
        (scan.start, scan.stop_inclusive) = (prefix, false);
    }
    scan.reversed = options.flag("REVERSED");
    scan.limit = options.integer("LIMIT", 0)?.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0);
    scan.batch = options.integer("BATCH", 0)?.and_then(|batch| u32::try_from(batch).ok()).filter(|batch| *batch > 0);
    check_columns(session, table, &scan.start, &scan.read)?;
    Ok((scan, format))
}

/// Options of scan and count.
fn scan_options(arguments: &Arguments) -> Outcome<Options> {
    match arguments.get(1) {
        Value::Nil | Value::Hash(_) => Ok(arguments.options(1)),
        other => {
            let text = format!("undefined method `any?' for {}:{}", other.inspect(), other.class());
            Err(Failure::Ruby("NoMethodError", text))
        }
    }
}

fn scan(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    // Like HBase's shell, it looks at the table's name before it prints anything.
    crate::shell::eval::failure::table_name(&arguments.text(0))?;
    session.printer.heading("ROW", "COLUMN+CELL")?;
    let mut options = scan_options(arguments)?;
    let table = session.enabled_table(&arguments.text(0))?;
    let (scan, mut format) = scan_request(session, &table, &mut options)?;
    format.is_of_meta = table.name.is_meta();
    let backend = session.backend()?;
    let (mut count, mut row, mut cells) = (0, String::new(), Cells::default());
    let mut key = Vec::new();
    let mut show = |piece: &Piece| {
        session.check_interrupt()?;
        if let Piece::Row(next) = piece {
            count += 1;
            row = format.key(next)?;
            key.clone_from(next);
        }
        let Some(cell) = cells.take(piece) else { return Ok(()) };
        if session.printer.form() == Form::Json {
            return session.printer.json(&cell_json(&key, &cell));
        }
        let text = format!("column={}, {}", format.column(&cell)?, format.cell(&cell, &session.zone)?);
        session.printer.row(&row, &text)
    };
    by_piece(|take| backend.scan_pieces(&scan, take), &mut show)?;
    session.printer.rows(count)?;
    Ok(Value::Nil)
}

fn count(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let (mut options, interval) = match arguments.get(1) {
        Value::Integer(interval) => (Options::default(), Some(*interval)),
        _ => {
            let options = scan_options(arguments)?;
            let interval = options.integer("INTERVAL", 0)?;
            (options, interval)
        }
    };
    let interval = interval.and_then(|interval| u64::try_from(interval).ok()).unwrap_or(1000).max(1);
    let table = session.enabled_table(&arguments.text(0))?;
    let (mut scan, _) = scan_request(session, &table, &mut options)?;
    // One cell a row is enough to know that the row is there.
    match scan.read.filter.take() {
        None => (scan.tells, scan.read.max_per_family) = (Tells::Infos, Some(1)),
        Some(filter) => scan.read.filter = Some([b"(", filter.as_slice(), b") AND FirstKeyOnlyFilter()"].concat()),
    }
    let backend = session.backend()?;
    let mut count = 0u64;
    for result in backend.scan(&scan)? {
        session.check_interrupt()?;
        let row = result?.row;
        count += 1;
        if count.is_multiple_of(interval) {
            session.printer.line(&format!("Current count: {count}, row: {}", to_string_binary(&row)))?;
        }
    }
    session.printer.rows(count)?;
    Ok(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn get_counter(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let row = row_key(arguments.bytes(1))?;
    let mut read = ReadSpec::default();
    add_columns(&mut read, &mut Format::default(), std::slice::from_ref(arguments.get(2)));
    let table = session.enabled_table(&arguments.text(0))?;
    check_columns(session, &table, &row, &read)?;
    let result = session.backend()?.get(&Get { table: table.name, row, read })?;
    let text = match result.cells.first() {
        Some(cell) => format!("COUNTER VALUE = {}", counter(&cell.value)?),
        None => "No counter found at specified coordinates".to_owned(),
    };
    session.printer.line(&text)?;
    Ok(Value::Nil)
}

fn get_splits(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let regions = regions(&*session.backend()?, &session.table(&arguments.text(0))?)?;
    let texts: Vec<String> = regions.iter().skip(1).map(|region| to_string_binary(&region.start)).collect();
    session.printer.line(&format!("Total number of splits = {}", texts.len() + 1))?;
    for text in &texts {
        session.printer.line(text)?;
    }
    Ok(Value::Array(texts.iter().map(Value::text).collect()))
}
