//! put, get, delete, deleteall, scan, count.

use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::args::{ConditionArgs, CountArgs, DeleteArgs, DeleteallArgs, GetArgs, PutArgs, ReadArgs, ScanArgs};
use super::given::{self, Subject, open};
use super::output::{CellPrinter, Form, Output};
use super::progress::Progress;
use super::put_lines;
use super::{Answer, key};
use crate::backend::Backend;
use crate::fs::{Beyond, Content};
use crate::model::{
    ColumnKey, CompareOp, Condition, DeleteKind, DeleteMarker, Get, Mutated, Mutation, Origin, PutCell, ReadSpec,
    RowKey, RowMutations, Scan, TableName, Tells, Time, TimeRange, Timestamp, Value, check_value_len, to_bytes_binary,
};
use crate::{Error, ErrorKind, Result};

/// `FAMILY:QUALIFIER` or `FAMILY`.
pub(super) fn split_column(column: &OsStr) -> Result<(String, Option<Vec<u8>>)> {
    let bytes = column.as_bytes();
    let (family, qualifier) = match bytes.iter().position(|b| *b == b':') {
        Some(at) => (&bytes[..at], Some(to_bytes_binary(&bytes[at + 1..]))),
        None => (bytes, None),
    };
    let family = String::from_utf8(family.to_vec());
    let family = family.map_err(|_| Error::new(ErrorKind::IllegalArgument, "a family's name is text"))?;
    Ok((family, qualifier))
}

pub fn full_column(column: &OsStr) -> Result<(String, Vec<u8>)> {
    let (family, qualifier) = split_column(column)?;
    let text = || format!("`{}` names a family; a column is FAMILY:QUALIFIER", family.escape_debug());
    let qualifier = qualifier.ok_or_else(|| Error::new(ErrorKind::IllegalArgument, text()))?;
    Ok((family, qualifier))
}

fn explicit_time(timestamp: Option<i64>) -> Result<Time> {
    match timestamp {
        None => Ok(Time::AfterNewest),
        Some(t) if (0..=Timestamp::MAX.0).contains(&t) => Ok(Time::At(Timestamp(t))),
        Some(t) => {
            Err(Error::new(ErrorKind::IllegalArgument, format!("timestamp {t}: 0 to {} is allowed", Timestamp::MAX)))
        }
    }
}

/// The condition of a change; `changed` is the column that it is about if no other is given.
pub(super) fn condition(args: &ConditionArgs, changed: Option<(&str, &[u8])>) -> Result<Option<Condition>> {
    let value = match (&args.if_value, args.if_absent) {
        (Some(value), _) => Some(given::bytes(value)),
        (None, true) => None,
        (None, false) if args.if_column.is_some() => {
            return Err(given::wrong("--if-column goes with --if-value VALUE or --if-absent"));
        }
        (None, false) => return Ok(None),
    };
    let (family, qualifier) = match (&args.if_column, changed) {
        (Some(column), _) => full_column(column)?,
        (None, Some((family, qualifier))) => (family.to_owned(), qualifier.to_vec()),
        (None, None) => return Err(given::wrong("--if-column says which column the condition is about")),
    };
    Ok(Some(Condition::Column { family, qualifier, op: CompareOp::Equal, value, time_range: TimeRange::ALL }))
}

/// Applies one mutation of a row.
pub fn mutated(
    backend: &dyn Backend,
    table: TableName,
    row: RowKey,
    mutation: Mutation,
    condition: Option<Condition>,
) -> Result<Mutated> {
    let mutations = RowMutations { table, row, mutations: vec![mutation], durability: None, origin: Origin::default() };
    backend.mutate(mutations, condition)
}

fn mutate(
    backend: &dyn Backend,
    table: TableName,
    row: RowKey,
    mutation: Mutation,
    condition: Option<Condition>,
) -> Result<Answer> {
    let done = mutated(backend, table, row, mutation, condition)?;
    Ok(if done.applied { Answer::Yes } else { Answer::No })
}

/// Waits for the first bytes of standard input, or its end: whoever writes them may need the store until then.
pub(super) fn await_input() -> Result<()> {
    loop {
        match std::io::stdin().lock().fill_buf() {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read standard input", &e)),
            Ok(_) => return Ok(()),
        }
    }
}

pub fn put(args: PutArgs, json: bool) -> Result<Answer> {
    if args.row == "-" || args.value.as_ref().is_some_and(|value| value == "-") {
        await_input()?;
    }
    let (backend, table) = open(&args.store, &args.table)?;
    let (column, value) = match (&args.column, &args.value) {
        (None, None) if json && args.row == "-" => {
            return put_lines::put(backend.as_ref(), &table, std::io::stdin().lock());
        }
        (Some(column), Some(value)) => (column, value),
        _ => {
            return Err(given::wrong("put takes STORE TABLE ROW FAMILY:QUALIFIER VALUE, or with --json STORE TABLE -"));
        }
    };
    let (family, qualifier) = full_column(column)?;
    let condition = condition(&args.condition, Some((&family, &qualifier)))?;
    let row = args.key.row(backend.as_ref(), &table, &args.row)?;
    let column =
        ColumnKey { table: table.clone(), row: row.clone(), family: family.clone(), qualifier: qualifier.clone() };
    let put = PutCell {
        time: explicit_time(args.timestamp)?,
        value: put_argument(value, &column, backend.as_ref())?,
        ttl_ms: args.ttl,
        file: backend.kept_attributes(&column).unwrap_or_default(),
        ended_at: None,
        family: family.clone(),
        qualifier: qualifier.clone(),
    };
    mutate(backend.as_ref(), table, row, Mutation::Put(vec![put]), condition)
}

/// A long value from standard input goes to the store as it comes, or lies in a file; one that is too long is not read
/// to its end.
fn put_argument(value: &OsStr, column: &ColumnKey, backend: &dyn Backend) -> Result<Value> {
    if value != "-" {
        return Ok(Value::Bytes(given::bytes(value)));
    }
    let (mut content, mut input) = (Content::empty(), std::io::stdin().lock());
    let draft = || backend.draft(&column.table, &column.family, None);
    let (limit, spill_dir, mut buffer) = (backend.value_limit(), std::env::temp_dir(), vec![0; 64 << 10]);
    let beyond = Beyond { draft: &draft, spill_dir: &spill_dir };
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return content.value(),
            Ok(len) => {
                check_value_len(&column.family, &column.qualifier, content.len() + len as u64, limit)?;
                content.write(content.len(), &buffer[..len], &beyond)?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read standard input", &e)),
        }
    }
}

/// A value that is held whole; what is longer than the limit is not read to its end.
pub fn value_argument(value: &OsStr, family: &str, qualifier: &[u8], limit: u64) -> Result<Vec<u8>> {
    if value != "-" {
        return Ok(given::bytes(value));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::io("read standard input", &e))?;
    check_value_len(family, qualifier, bytes.len() as u64, limit)?;
    Ok(bytes)
}

fn read_spec(subject: &Subject, columns: &[std::ffi::OsString], args: ReadArgs) -> Result<ReadSpec> {
    let mut read = ReadSpec {
        max_versions: args.versions,
        filter: args.filter.as_deref().map(given::bytes),
        ..ReadSpec::default()
    };
    read.time_range = subject.time_range().unwrap_or(read.time_range);
    let given = columns.iter().map(|column| split_column(column)).collect::<Result<Vec<_>>>()?;
    for (family, qualifier) in subject.columns.iter().cloned().chain(given) {
        match qualifier {
            None => {
                read.columns.insert(family, None);
            }
            Some(qualifier) => {
                if let Some(qualifiers) = read.columns.entry(family).or_insert_with(|| Some(Default::default())) {
                    qualifiers.insert(qualifier);
                }
            }
        }
    }
    if let Some(t) = args.timestamp {
        read.time_range = TimeRange::new(t, t.saturating_add(1))?;
    }
    if let Some(range) = args.timerange {
        let ends = range.split_once(',').and_then(|(from, to)| from.trim().parse().ok().zip(to.trim().parse().ok()));
        let text = "--timerange takes FROM,TO in milliseconds since 1970";
        let (from, to) = ends.ok_or_else(|| Error::new(ErrorKind::IllegalArgument, text))?;
        read.time_range = TimeRange::new(from, to)?;
    }
    Ok(read)
}

pub fn get(args: GetArgs, json: bool) -> Result<Answer> {
    if args.value && json {
        return Err(given::wrong(
            "--value prints the bytes of a value, and --json a line a cell: leave one of them out",
        ));
    }
    let (mut subject, rest) = Subject::of(&args.store, &args.rest)?;
    let mut rest = rest.into_iter();
    let row = match subject.row.take() {
        Some(row) => row,
        None => {
            let text = rest.next().ok_or_else(|| given::wrong("a row is missing: STORE TABLE ROW"))?;
            args.key.row(subject.backend.as_ref(), &subject.table, &text)?
        }
    };
    let read = read_spec(&subject, rest.as_slice(), args.read)?;
    let form = if args.value { Form::Value } else { form(json) };
    let mut printer = CellPrinter::new(form);
    let others = args.rows.iter().map(|row| args.key.row(subject.backend.as_ref(), &subject.table, row));
    for row in std::iter::once(Ok(row)).chain(others) {
        let row = row?;
        let get = Get { table: subject.table.clone(), row, read: read.clone() };
        subject.backend.get_pieces(&get, &mut |piece| printer.take(piece))?;
    }
    printer.finish()
}

fn form(json: bool) -> Form {
    if json { Form::Json } else { Form::Text }
}

pub fn delete(args: DeleteArgs) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let row = args.key.row(backend.as_ref(), &table, &args.row)?;
    if let (Some(_), (family, None)) = (args.timestamp, split_column(&args.column)?) {
        let marker = DeleteMarker {
            kind: DeleteKind::FamilyVersion { family },
            time: explicit_time(args.timestamp)?,
            erases: false,
        };
        let condition = condition(&args.condition, None)?;
        return mutate(backend.as_ref(), table, row, Mutation::Delete(vec![marker]), condition);
    }
    let (family, qualifier) = full_column(&args.column)?;
    let condition = condition(&args.condition, Some((&family, &qualifier)))?;
    let kind = match args.timestamp {
        Some(_) => DeleteKind::Version { family, qualifier },
        None => DeleteKind::Column { family, qualifier },
    };
    let marker = DeleteMarker { kind, time: explicit_time(args.timestamp)?, erases: false };
    mutate(backend.as_ref(), table, row, Mutation::Delete(vec![marker]), condition)
}

pub fn deleteall(args: DeleteallArgs) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let row = args.key.row(backend.as_ref(), &table, &args.row)?;
    let column = args.column.as_deref().filter(|column| !column.is_empty());
    let column = column.map(split_column).transpose()?;
    let changed = column.as_ref().and_then(|(family, qualifier)| Some((family.as_str(), qualifier.as_deref()?)));
    let condition = condition(&args.condition, changed)?;
    let kind = match column {
        None => DeleteKind::Row,
        Some((family, None)) => DeleteKind::Family { family },
        Some((family, Some(qualifier))) => DeleteKind::Column { family, qualifier },
    };
    let marker = DeleteMarker { kind, time: explicit_time(args.timestamp)?, erases: false };
    mutate(backend.as_ref(), table, row, Mutation::Delete(vec![marker]), condition)
}

const ONE_ROW: &str = "the path is that of one row, and --prefix, --start, --stop and --by-key say which rows: give the \
                       path of the table with them, or the row without them";

/// What `scan` and `export` are asked for.
pub(super) fn scan_of(args: ScanArgs) -> Result<(Subject, Scan)> {
    let (subject, columns) = Subject::of(&args.store, &args.rest)?;
    let mut scan = Scan::all(subject.table.clone());
    if let Some(row) = &subject.row {
        if args.prefix.is_some() || args.start.is_some() || args.stop.is_some() {
            return Err(given::wrong(ONE_ROW));
        }
        scan.start.clone_from(row);
        match args.reversed {
            true => (scan.stop, scan.stop_inclusive) = (row.clone(), true),
            false => scan.stop = [row.as_slice(), &[0]].concat(),
        }
    }
    if let Some(prefix) = &args.prefix {
        let prefix = given::bytes(prefix);
        scan = if args.reversed { scan.with_prefix_reversed(&prefix) } else { scan.with_prefix(&prefix) };
    }
    if let Some(start) = &args.start {
        scan.start = given::bytes(start);
    }
    if let Some(stop) = &args.stop {
        scan.stop = given::bytes(stop);
    }
    (scan.reversed, scan.limit) = (args.reversed, args.limit);
    scan.read = read_spec(&subject, &columns, args.read)?;
    scan.read.raw = args.raw;
    super::index::ask(subject.backend.as_ref(), &mut scan, &args.by)?;
    Ok((subject, scan))
}

pub fn scan(mut args: ScanArgs, json: bool) -> Result<Answer> {
    let by_key =
        args.by_key.by_key.take().map(|first| key::Wanted { first, start: args.start.take(), stop: args.stop.take() });
    let (subject, scan) = scan_of(args)?;
    let mut printer = CellPrinter::new(form(json));
    if let Some(wanted) = by_key {
        if subject.row.is_some() {
            return Err(given::wrong(ONE_ROW));
        }
        return key::scan(subject.backend.as_ref(), scan, &wanted, printer.with_keys_as_they_are());
    }
    subject.backend.scan_pieces(&scan, &mut |piece| printer.take(piece))?;
    printer.finish()
}

/// Rows of a scan, by a look at each.
fn count_each(backend: &dyn Backend, mut scan: Scan) -> Result<u64> {
    (scan.tells, scan.read.max_per_family) = (Tells::Infos, Some(1));
    let mut rows = 0;
    let progress = Progress::counting("rows");
    for row in backend.scan(&scan)? {
        row?;
        rows += 1;
        progress.add(1);
    }
    Ok(rows)
}

pub fn count(args: CountArgs, json: bool) -> Result<Answer> {
    let (backend, table) = match &args.table {
        Some(table) => open(&args.store, table)?,
        None => given::table_at(&args.store)?,
    };
    let mut scan = Scan::all(table);
    if let Some(prefix) = &args.prefix {
        scan = scan.with_prefix(&given::bytes(prefix));
    }
    super::index::ask(backend.as_ref(), &mut scan, &args.by)?;
    let rows = match backend.count_rows(&scan)? {
        Some(rows) => rows,
        None => count_each(backend.as_ref(), scan)?,
    };
    let mut output = Output::new();
    if json {
        output.json(&json!({ "rows": rows }))?
    } else {
        output.line(&rows.to_string())?
    }
    output.finish()?;
    Ok(Answer::Yes)
}
