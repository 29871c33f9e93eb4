//! Constraints of families: judged where a batch is committed, so that every way in passes by here.
//!
//! The caller holds the locks of the batch's rows. What a rule asks of rows it asks of the store as it will be with the
//! batch. A row of another table is looked for, not locked: what deletes it in the same moment comes before or after.

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::format::key;
use crate::model::declared::constraint::shown_value;
use crate::model::{
    CellInfo, ConstraintSchema, FamilyId, FamilySchema, IndexColumn, Qualifier, Rule, TableName, TableSchema,
    Timestamp, to_string_binary,
};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::Engine;
use crate::store::memory::memtable::{Frozen, Memtable, Memtables};
use crate::store::plan::batch::Ready;
use crate::store::read::lookup::read_reference;
use crate::visibility::{self, FamilyReader, ReadRules};
use crate::{Error, ErrorKind, Result};

/// Cells of the first page of a look at a row.
const FEW: usize = 4;

/// What of a batch is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Every put that is not of a version that was deleted long ago.
    Puts,
    /// Of the puts of a column the newest: the others are the history of a row that moves.
    Newest,
    /// Nothing: what comes from a backup was taken once, in an order of its own, and attributes of files are no values.
    Nothing,
}

/// A value that is judged: the column, its length, and its bytes where they are needed.
struct Judging<'a> {
    qualifier: &'a Qualifier,
    len: u64,
    bytes: &'a dyn Fn() -> Result<Vec<u8>>,
}

/// Refuses a batch that breaks a constraint (`Refused`), whole.
pub fn check_constraints(engine: &Engine, batch: &[Ready<'_>], judged: Judged) -> Result<()> {
    let proof = engine.proving.now();
    let has_any = |family: &FamilySchema| {
        !family.constraints.is_empty() || proof.as_ref().is_some_and(|proof| proof.is_of(family.id))
    };
    if judged == Judged::Nothing || !batch.iter().any(|cell| cell.is_live() && has_any(cell.family)) {
        return Ok(());
    }
    // Rules of single values need none.
    let made = OnceCell::new();
    let after = || made.get_or_init(|| snapshot_after(engine, batch));
    let newest = newest_of(batch, judged);
    let mut rows = FxHashSet::default();
    for cell in batch.iter().filter(|cell| cell.is_live() && has_any(cell.family)) {
        let is_newest = newest.get(&column_of(cell)).is_none_or(|newest| *newest == cell.timestamp);
        let is_first = rows.insert((cell.family.id, cell.row));
        for constraint in cell.family.constraints.values() {
            judge_cell(engine, &after, cell, constraint, (is_newest, is_first))?;
        }
        let Some(proof) = &proof else { continue };
        for constraint in proof.of(cell.family.id) {
            let judged = judge_cell(engine, &after, cell, constraint, (is_newest, is_first));
            proof.note(judged)?;
        }
    }
    Ok(())
}

/// Judges a put by one constraint: its value, and its row where that is wanted.
fn judge_cell<'s>(
    engine: &Engine,
    after: &dyn Fn() -> &'s ReadView,
    cell: &Ready<'_>,
    constraint: &ConstraintSchema,
    (value, row): (bool, bool),
) -> Result<()> {
    let rule = constraint.rule()?;
    if value && rule.is_of(&cell.qualifier) {
        let len = cell.cell.value().value_len();
        let read = || engine.values.of_memory(&cell.cell, 0, usize::try_from(len).unwrap_or(usize::MAX));
        let judging = Judging { qualifier: &cell.qualifier, len, bytes: &read };
        if let Some(why) = wrong_value(engine, after, rule, &judging)? {
            return Err(refusal(
                constraint,
                cell.table,
                cell.family,
                &at(cell.row, Some((cell.family, &cell.qualifier)), &why),
            ));
        }
    }
    if row && let Some(why) = lacking(engine, after, rule, cell.table, cell.row)? {
        return Err(refusal(constraint, cell.table, cell.family, &at(cell.row, None, &why)));
    }
    Ok(())
}

/// Why a value breaks a rule.
fn wrong_value<'s>(
    engine: &Engine,
    view: &dyn Fn() -> &'s ReadView,
    rule: &Rule,
    value: &Judging<'_>,
) -> Result<Option<String>> {
    if let Some(why) = rule.wrong_len(value.len) {
        return Ok(Some(why));
    }
    if !rule.looks_inside() {
        return Ok(None);
    }
    let bytes = (value.bytes)()?;
    match (rule.wrong_value(&bytes), &rule.references) {
        (Some(why), _) => Ok(Some(why)),
        (None, Some(table)) => no_such_row(engine, view(), table, &bytes),
        (None, None) => Ok(None),
    }
}

/// Why bytes are not the key of a row of a table.
fn no_such_row(engine: &Engine, view: &ReadView, name: &TableName, row: &[u8]) -> Result<Option<String>> {
    let catalogue = engine.catalogue.load();
    let Some(table) = catalogue.tables.get(name) else {
        return Ok(Some(format!("it is to be the key of a row of {name}, and there is no such table")));
    };
    for family in table.families.values() {
        let prefix = key::row_prefix(row);
        let mut cursor = engine.row_cursor(view, family.id, &prefix, FEW)?;
        if FamilyReader::new(cursor.row(prefix), ReadRules::plain(&family.rules, engine.now())).next()?.is_some() {
            return Ok(None);
        }
    }
    let newline = if row.ends_with(b"\n") { "; it ends in a newline, which `printf` leaves away" } else { "" };
    Ok(Some(format!("table {name} has no row {}{newline}", shown_value(row))))
}

/// Which required columns a row lacks.
fn lacking<'s>(
    engine: &Engine,
    view: &dyn Fn() -> &'s ReadView,
    rule: &Rule,
    table: &TableSchema,
    row: &[u8],
) -> Result<Option<String>> {
    for IndexColumn { family: name, qualifier } in &rule.required {
        let column = format!("{name}:{}", to_string_binary(qualifier));
        let Some(family) = table.families.get(name) else {
            return Ok(Some(format!("{column} is required, and the table has no family {name}")));
        };
        if newest_by_rules(engine, view(), family, row, qualifier)?.is_none() {
            return Ok(Some(format!("the row has no {column}, which is required: put it in the same step, or before")));
        }
    }
    Ok(None)
}

/// As `point::newest_in`, without its short cuts: they know nothing of a batch that is not written yet.
pub(super) fn newest_by_rules(
    engine: &Engine,
    view: &ReadView,
    family: &FamilySchema,
    row: &[u8],
    qualifier: &Qualifier,
) -> Result<Option<CellInfo>> {
    let prefix = key::row_prefix(row);
    let column = key::column_prefix(&prefix, qualifier);
    let mut cursor = Cursor::of_column(view, family.id, &prefix, &column)?;
    visibility::newest(cursor.row(prefix), ReadRules::plain(&family.rules, engine.now()), qualifier)
}

/// What reads will see once the batch is written: it stands in a memtable of its own, before all others.
pub(super) fn snapshot_after(engine: &Engine, batch: &[Ready<'_>]) -> ReadView {
    let view = engine.view();
    let read_point = crate::model::SeqNo(view.read_point.0.saturating_add(1));
    let own = Memtable::default();
    for ready in batch {
        own.insert(ready.family.id, ready.cell_at(read_point));
    }
    let mut frozen = view.tables.frozen.clone();
    frozen.push(Frozen { table: Arc::clone(&view.tables.active), last: view.read_point });
    let tables = Arc::new(Memtables { active: Arc::new(own), frozen });
    ReadView { read_point, tables, ..view }
}

/// What breaks a constraint in a row that is stored, in words: of its cells in the family, and of the row.
pub fn broken_in(
    engine: &Engine,
    view: &ReadView,
    (table, family): (&TableSchema, &FamilySchema),
    (row, cursor): (&[u8], &mut Cursor),
    constraints: &[&ConstraintSchema],
    found: &mut dyn FnMut(String) -> bool,
) -> Result<()> {
    let rules = constraints.iter().map(|of| of.rule()).collect::<Result<Vec<_>>>()?;
    let prefix = key::row_prefix(row);
    let mut reader = FamilyReader::new(cursor.row(prefix), ReadRules::plain(&family.rules, engine.now()));
    let mut is_shown = false;
    let mut last: Option<Qualifier> = None;
    while let Some(visible) = reader.next()? {
        is_shown = true;
        // Plain reads give as many versions as the rules say; the newest comes first.
        if last.as_ref() == Some(&visible.cell.qualifier) {
            continue;
        }
        let qualifier = last.insert(visible.cell.qualifier.clone());
        let len = visible.cell.value.len();
        let most = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = || read_reference(engine, view, &visible.cell.value, 0, most);
        for rule in rules.iter().filter(|rule| rule.is_of(qualifier)) {
            let judging = Judging { qualifier, len, bytes: &bytes };
            if let Some(why) = wrong_value(engine, &|| view, rule, &judging)?
                && !found(at(row, Some((family, judging.qualifier)), &why))
            {
                return Ok(());
            }
        }
    }
    for rule in rules.iter().filter(|_| is_shown) {
        if let Some(why) = lacking(engine, &|| view, rule, table, row)?
            && !found(at(row, None, &why))
        {
            return Ok(());
        }
    }
    Ok(())
}

/// A column of a batch.
type Column<'b> = (FamilyId, &'b [u8], &'b [u8]);

fn column_of<'b>(cell: &'b Ready<'_>) -> Column<'b> {
    (cell.family.id, cell.row, &cell.qualifier)
}

/// When the newest put of each column is of; nothing where all are judged.
fn newest_of<'b>(batch: &'b [Ready<'_>], judged: Judged) -> FxHashMap<Column<'b>, Timestamp> {
    let mut newest: FxHashMap<Column<'b>, Timestamp> = FxHashMap::default();
    for cell in batch.iter().filter(|cell| judged == Judged::Newest && cell.is_live()) {
        let time = newest.entry(column_of(cell)).or_insert(cell.timestamp);
        *time = cell.timestamp.max(*time);
    }
    newest
}

fn at(row: &[u8], column: Option<(&FamilySchema, &Qualifier)>, why: &str) -> String {
    let column = column.map(|(family, qualifier)| format!(", {}:{}", family.name, to_string_binary(qualifier)));
    format!("row {}{}: {why}", to_string_binary(row), column.unwrap_or_default())
}

fn refusal(constraint: &ConstraintSchema, table: &TableSchema, family: &FamilySchema, what: &str) -> Error {
    let (name, family, table) = (&constraint.name, &family.name, &table.name);
    Error::new(ErrorKind::Refused, format!("check {name} of family {family}, table {table}: {what}"))
}
