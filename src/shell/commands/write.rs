//! put, delete, deleteall, incr, append, truncate, truncate_preserve.

use super::change::{change, change_splits};
use super::tables::set_state;
use super::{ColumnText, Command, check_families, row_key};
use crate::model::{
    Append, CatalogueChange, Cell, ColumnDelta, ColumnKey, DeleteKind, DeleteMarker, FileChange, Increment, Mutation,
    Origin, PutCell, RowKey, RowMutations, Scan, TableName, TableState, Time, TimeRange, Timestamp, Value as Bytes,
    parse_cell_ttl, to_string_binary,
};
use crate::shell::arguments::{Arguments, Options};
use crate::shell::eval::convert::counter;
use crate::shell::eval::failure::{Failure, Outcome, refuse};
use crate::shell::eval::value::Value;
use crate::shell::session::Session;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "put" => put,
        "delete" => delete,
        "deleteall" => deleteall,
        "incr" => incr,
        "append" => append,
        "truncate" => truncate,
        "truncate_preserve" => truncate_preserve,
        _ => return None,
    })
}

fn mutate(session: &Session<'_>, table: TableName, row: RowKey, mutation: Mutation) -> Outcome<Vec<Cell>> {
    let backend = session.backend()?;
    if takes_the_clock(&mutation) {
        session.pace.wait(&table, &row);
    }
    let changed = (table.clone(), row.clone());
    let mutations = RowMutations { table, row, mutations: vec![mutation], durability: None, origin: Origin::default() };
    let done = backend.mutate(mutations, None);
    // Also where it has failed: it may be done.
    session.pace.changed(changed.0, changed.1);
    Ok(done?.results)
}

/// Whether no timestamp was given for it.
fn takes_the_clock(mutation: &Mutation) -> bool {
    match mutation {
        Mutation::Put(cells) => cells.iter().any(|cell| cell.time == Time::Now),
        Mutation::Restore(cell) => cell.time == Time::Now,
        Mutation::Delete(markers) => markers.iter().any(|marker| marker.time == Time::Now),
        Mutation::Increment(_) | Mutation::Append(_) => true,
    }
}

/// A timestamp, or a hash or nil in its place: then the clock.
fn time(value: &Value) -> Outcome<Time> {
    match value {
        // LATEST_TIMESTAMP means the clock.
        Value::Nil | Value::Hash(_) | Value::Integer(i64::MAX) => Ok(Time::Now),
        Value::Integer(time) if *time < 0 => refuse(format!("Timestamp cannot be negative. ts={time}")),
        Value::Integer(time) => Ok(Time::At(Timestamp(*time))),
        other => Err(Failure::Ruby(
            "TypeError",
            format!("a timestamp is a whole number of milliseconds, not {}", other.inspect()),
        )),
    }
}

/// TTL of the options, which may stand in the timestamp's place. ATTRIBUTES are the client's own and not kept.
fn cell_ttl(arguments: &Arguments, places: &[usize]) -> Outcome<Option<u64>> {
    let mut ttl = None;
    for options in places.iter().map(|at| arguments.options(*at)) {
        no_visibility(&options)?;
        match options.get("TTL") {
            None => {}
            Some(ms) => ttl = Some(parse_cell_ttl(&ms.inspect()).or_else(|e| refuse(e.message))?),
        }
    }
    Ok(ttl)
}

fn no_visibility(options: &Options) -> Outcome<()> {
    if options.has("VISIBILITY") {
        return refuse("VISIBILITY: this store has no visibility labels");
    }
    Ok(())
}

/// The row and column of a write.
struct Target {
    row: RowKey,
    family: String,
    qualifier: Vec<u8>,
}

fn target(arguments: &Arguments) -> Outcome<Target> {
    let row = row_key(arguments.bytes(1))?;
    let column = ColumnText::parse(&arguments.bytes(2));
    Ok(Target { row, family: column.family, qualifier: column.qualifier.unwrap_or_default() })
}

impl Session<'_> {
    /// The name of a table that takes writes into a family of the target.
    fn write_table(&self, text: &str, row: &[u8], family: Option<&str>) -> Outcome<TableName> {
        let table = self.enabled_table(text)?;
        if !table.read_only() {
            check_families(self, &table, row, family.into_iter())?;
        }
        Ok(table.name)
    }
}

fn put(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let Target { row, family, qualifier } = target(arguments)?;
    let (time, ttl_ms) = (time(arguments.get(4))?, cell_ttl(arguments, &[4, 5])?);
    let table = session.write_table(&arguments.text(0), &row, Some(&family))?;
    let column = ColumnKey { table, row, family, qualifier };
    let file = session.backend()?.kept_attributes(&column).unwrap_or_default();
    let ColumnKey { table, row, family, qualifier } = column;
    let value = Bytes::Bytes(arguments.bytes(3));
    let cell = PutCell { family, qualifier, time, value, ttl_ms, file, ended_at: None };
    mutate(session, table, row, Mutation::Put(vec![cell]))?;
    Ok(Value::Nil)
}

/// Which versions a delete of a column is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    One,
    All,
}

/// The marker of `delete` and `deleteall` for a column text; an empty one means the row.
fn marker(column: &Value, extent: Extent, time: Time) -> DeleteMarker {
    let text = column.to_bytes();
    let kind = if text.is_empty() {
        DeleteKind::Row
    } else {
        let ColumnText { family, qualifier, .. } = ColumnText::parse(&text);
        match (qualifier, extent) {
            (Some(qualifier), Extent::One) => DeleteKind::Version { family, qualifier },
            (Some(qualifier), Extent::All) => DeleteKind::Column { family, qualifier },
            (None, Extent::One) => DeleteKind::FamilyVersion { family },
            (None, Extent::All) => DeleteKind::Family { family },
        }
    };
    DeleteMarker { kind, time, erases: false }
}

fn family_of(kind: &DeleteKind) -> Option<&str> {
    match kind {
        DeleteKind::Version { family, .. }
        | DeleteKind::Column { family, .. }
        | DeleteKind::Family { family }
        | DeleteKind::FamilyVersion { family } => Some(family),
        DeleteKind::Row => None,
    }
}

fn delete_as(session: &mut Session<'_>, arguments: &Arguments, extent: Extent) -> Outcome<Value> {
    if let Some(column @ Value::Text(_)) = Some(arguments.get(3)) {
        return refuse(format!("one column at a time: {} stands where the timestamp is", column.inspect()));
    }
    no_visibility(&arguments.options(3))?;
    no_visibility(&arguments.options(4))?;
    let marker = marker(arguments.get(2), extent, time(arguments.get(3))?);
    if let Value::Hash(_) = arguments.get(1) {
        return delete_rows(session, arguments, &marker);
    }
    let row = row_key(arguments.bytes(1))?;
    let table = session.write_table(&arguments.text(0), &row, family_of(&marker.kind))?;
    mutate(session, table, row, Mutation::Delete(vec![marker]))?;
    Ok(Value::Nil)
}

/// `{ROWPREFIXFILTER => 'p'}`: row by row.
fn delete_rows(session: &Session<'_>, arguments: &Arguments, marker: &DeleteMarker) -> Outcome<Value> {
    let options = arguments.options(1);
    let Some(prefix) = options.get("ROWPREFIXFILTER").map(Value::to_bytes) else {
        return refuse("give ROWPREFIXFILTER => 'prefix', or a row");
    };
    let table = session.write_table(&arguments.text(0), &prefix, family_of(&marker.kind))?;
    let mut scan = Scan::all(table.clone()).with_prefix(&prefix);
    scan.read.filter = Some(b"FirstKeyOnlyFilter() AND KeyOnlyFilter()".to_vec());
    for result in session.backend()?.scan(&scan)? {
        mutate(session, table.clone(), result?.row, Mutation::Delete(vec![marker.clone()]))?;
    }
    Ok(Value::Nil)
}

fn delete(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    delete_as(session, arguments, Extent::One)
}

fn deleteall(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    delete_as(session, arguments, Extent::All)
}

fn incr(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let Target { row, family, qualifier } = target(arguments)?;
    let delta = match arguments.get(3) {
        Value::Nil | Value::Hash(_) => 1,
        Value::Integer(delta) => *delta,
        Value::Float(delta) => *delta as i64,
        other => return refuse(format!("cannot convert instance of class org.jruby.Ruby{} to long", other.class())),
    };
    let ttl_ms = cell_ttl(arguments, &[3, 4])?;
    let table = session.write_table(&arguments.text(0), &row, Some(&family))?;
    let columns = vec![ColumnDelta { family, qualifier, delta }];
    let increment =
        Increment { columns, time: Time::Now, ttl_ms, file: FileChange::default(), time_range: TimeRange::ALL };
    let results = mutate(session, table, row, Mutation::Increment(increment))?;
    let text = match results.first() {
        Some(cell) => format!("COUNTER VALUE = {}", counter(&cell.value)?),
        None => "No counter found at specified coordinates".to_owned(),
    };
    session.printer.line(&text)?;
    Ok(Value::Nil)
}

fn append(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let Target { row, family, qualifier } = target(arguments)?;
    let ttl_ms = cell_ttl(arguments, &[4])?;
    let table = session.write_table(&arguments.text(0), &row, Some(&family))?;
    let columns = vec![ColumnDelta { family, qualifier, delta: arguments.bytes(3) }];
    let append = Append {
        columns,
        time: Time::Now,
        ttl_ms,
        file: FileChange::default(),
        time_range: TimeRange::ALL,
        returns: true,
    };
    let results = mutate(session, table, row, Mutation::Append(append))?;
    if let Some(cell) = results.first() {
        session.printer.line(&format!("CURRENT VALUE = {}", to_string_binary(&cell.value)))?;
    }
    Ok(Value::Nil)
}

/// Whether split points outlive a truncation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Splits {
    Dropped,
    Preserved,
}

fn truncate_with(session: &mut Session<'_>, arguments: &Arguments, splits: Splits) -> Outcome<Value> {
    let name = arguments.text(0);
    session.printer.line(&format!("Truncating '{name}' table (it may take a while):"))?;
    let table = session.table(&name)?;
    if table.state == TableState::Enabled {
        session.printer.line("Disabling table...")?;
    }
    session.printer.line("Truncating table...")?;
    change(session, CatalogueChange::SetCellsAside { name: table.name.clone() })?;
    set_state(session, &table, TableState::Enabled)?;
    if splits == Splits::Dropped {
        change_splits(session, &table.name, &|_| Vec::new())?;
    }
    Ok(Value::Nil)
}

fn truncate(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    truncate_with(session, arguments, Splits::Dropped)
}

fn truncate_preserve(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    truncate_with(session, arguments, Splits::Preserved)
}
