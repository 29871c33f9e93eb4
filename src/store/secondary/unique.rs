//! Values that no two rows may have: judged where a batch is committed, beside all others of the same value.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::constraint::{newest_by_rules, snapshot_after};
use super::entry::cut;
use super::gate::Gate;
use super::lookup::{Bound, Bounds, LookUp};
use crate::env::sync::MutexGuard;
use crate::model::{By, IndexSchema, ReadSpec, RowKey, TableSchema, to_string_binary};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::store::engine::values::INLINE;
use crate::store::plan::batch::Ready;
use crate::store::read::lookup::read_reference;
use crate::{Error, ErrorKind, Result};

/// Bytes of a value that a sentence shows.
const SHOWN: usize = 64;

/// What a row of a batch will have in the columns of a unique index.
struct Claim<'a> {
    table: &'a TableSchema,
    index: &'a IndexSchema,
    row: &'a [u8],
    values: Vec<Vec<u8>>,
}

/// Refuses a batch that gives a row what another row has in a unique index (`AlreadyExists`); while what is answered
/// is held, nobody else gets it. The caller holds the locks of its rows.
///
/// Only puts are judged: what shows again because a newer version was deleted or has expired is not.
pub fn hold_unique<'e>(engine: &'e Engine, batch: &[Ready<'_>]) -> Result<Vec<MutexGuard<'e, ()>>> {
    if !batch.iter().any(|cell| cell.table.indexes.values().any(|index| index.unique)) {
        return Ok(Vec::new());
    }
    let after = snapshot_after(engine, batch);
    let mut claims = Vec::new();
    for (table, index, row) in touched(batch) {
        if let Some(values) = values_in(engine, &after, (table, index), row)? {
            claims.push(Claim { table, index, row, values });
        }
    }
    // Order: after the locks of rows, so that two of these never wait for each other.
    let held = engine.unique.lock_many(claims.iter().map(hash));
    // Order: after the locks: what was committed under them before is seen.
    let view = engine.view();
    let mut claimed = BTreeMap::new();
    for claim in &claims {
        // Another row of the same batch.
        if let Some(holder) = claimed.insert((claim.index.entries.id, &claim.values), claim.row.to_vec())
            && holder != claim.row
        {
            return Err(taken(claim, &holder));
        }
        if let Some(holder) = holder(engine, (&view, &after), claim, batch)? {
            return Err(taken(claim, &holder));
        }
    }
    Ok(held)
}

/// What a row has in all columns of an index, as a view has it; `None`: in one of them nothing.
fn values_in(
    engine: &Engine,
    view: &ReadView,
    (table, index): (&TableSchema, &IndexSchema),
    row: &[u8],
) -> Result<Option<Vec<Vec<u8>>>> {
    let mut values = Vec::with_capacity(index.columns.len());
    for column in &index.columns {
        let Some(family) = table.families.get(&column.family) else { return Ok(None) };
        let Some(cell) = newest_by_rules(engine, view, family, row, &column.qualifier)? else { return Ok(None) };
        // It may have been there before the index was, or have come from a backup.
        if cell.len() > INLINE {
            return Err(too_long(index));
        }
        values.push(read_reference(engine, view, &cell.value, 0, INLINE as usize)?);
    }
    Ok(Some(values))
}

/// Another row that has what is claimed, and keeps it. A row that the batch changes is looked at as it will be.
fn holder(
    engine: &Engine,
    (view, after): (&ReadView, &ReadView),
    claim: &Claim<'_>,
    batch: &[Ready<'_>],
) -> Result<Option<RowKey>> {
    let Claim { table, index, row, values } = claim;
    let is_changed = |other: &[u8]| batch.iter().any(|cell| cell.table.id == table.id && cell.row == other);
    let failed = RefCell::new(None);
    let keeps = |other: &[u8]| match values_in(engine, after, (table, index), other) {
        Ok(kept) => kept.as_ref() == Some(values),
        Err(e) => {
            failed.replace(Some(e));
            true
        }
    };
    let is_wanted = |other: &[u8]| other != *row && (!is_changed(other) || keeps(other));
    let found = find_holder(engine, view, (table, index), values, &is_wanted)?;
    failed.into_inner().map_or(Ok(found), Err)
}

/// The first row with these values that is wanted, among those that have entries.
pub fn find_holder(
    engine: &Engine,
    view: &ReadView,
    (table, index): (&TableSchema, &IndexSchema),
    values: &[Vec<u8>],
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<RowKey>> {
    let by = By { index: index.name.clone(), equals: values.to_vec(), ..By::default() };
    let gate = Gate::new(table, &by, &ReadSpec::default())?;
    let mut look = LookUp::of_value(gate, index, &values[0]);
    let mut passed: Option<RowKey> = None;
    loop {
        let lower = Bound { row: passed.as_deref().unwrap_or_default(), inclusive: false };
        let bounds = Bounds { lower, upper: Bound { row: &[], inclusive: false }, reversed: false };
        let Some(row) = look.next(view, bounds)? else { return Ok(None) };
        if wanted(&row) && look.gate.admits(engine, view, &row)? {
            return Ok(Some(row));
        }
        passed = Some(row);
    }
}

/// The rows of a batch that get another value in a unique index, each index once.
fn touched<'a>(batch: &[Ready<'a>]) -> Vec<(&'a TableSchema, &'a IndexSchema, &'a [u8])> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for cell in batch.iter().filter(|cell| cell.is_live()) {
        for index in cell.table.indexes.values().filter(|index| index.unique) {
            let is_in = index
                .columns
                .iter()
                .any(|column| column.family == cell.family.name && column.qualifier == cell.qualifier);
            if is_in && seen.insert((index.entries.id, cell.row)) {
                found.push((cell.table, index, cell.row));
            }
        }
    }
    found
}

fn hash(claim: &Claim<'_>) -> u64 {
    FxBuildHasher.hash_one((claim.index.entries.id.0, cut(&claim.values[0])))
}

fn too_long(index: &IndexSchema) -> Error {
    let text = format!("index {} is unique: values of its columns have at most {INLINE} bytes", index.name);
    Error::new(ErrorKind::ValueTooLarge, text)
}

/// Values as sentences show them.
pub fn shown(values: &[Vec<u8>]) -> String {
    let of = |value: &Vec<u8>| {
        let rest = if value.len() > SHOWN { "..." } else { "" };
        format!("`{}{rest}`", to_string_binary(&value[..value.len().min(SHOWN)]))
    };
    values.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn taken(claim: &Claim<'_>, holder: &[u8]) -> Error {
    let text = format!(
        "index {} of table {} is unique, and row {} has {} already: give that row another value, or delete it, first",
        claim.index.name,
        claim.table.name,
        to_string_binary(holder),
        shown(&claim.values)
    );
    Error::new(ErrorKind::AlreadyExists, text)
}
