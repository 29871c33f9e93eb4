//! Values that no two rows may have: judged where a batch is committed, beside all others of the same value.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::entry::cut;
use super::gate::Gate;
use super::lookup::{Bound, Bounds, LookUp};
use crate::env::sync::MutexGuard;
use crate::model::{
    By, CellKind, FamilyId, IndexColumn, IndexSchema, ReadSpec, RowKey, TableSchema, TimeRange, Tombstone,
    to_string_binary,
};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::store::engine::values::INLINE;
use crate::store::plan::batch::Ready;
use crate::store::read::lookup::read_reference;
use crate::store::read::point;
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
    let view = engine.view();
    let mut claims = Vec::new();
    let puts = newest_puts(batch);
    for (table, index, row) in touched(batch) {
        if let Some(values) = values_after(engine, &view, &puts, (table, index, row))? {
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
        if let Some(holder) = holder(engine, &view, claim, batch)? {
            return Err(taken(claim, &holder));
        }
    }
    Ok(held)
}

/// What a row has in all columns of an index after a batch; `None`: in one of them nothing.
fn values_after(
    engine: &Engine,
    view: &ReadView,
    puts: &Puts<'_>,
    (table, index, row): (&TableSchema, &IndexSchema, &[u8]),
) -> Result<Option<Vec<Vec<u8>>>> {
    let mut values = Vec::with_capacity(index.columns.len());
    for column in &index.columns {
        let family = table.families.get(&column.family);
        let put = family.and_then(|family| puts.get(&(family.id, row, column.qualifier.as_slice())));
        let value = match (put, family) {
            (Some(ready), _) if ready.cell.is_root() => return Err(too_long(index)),
            (Some(ready), _) => Some(ready.cell.stored().to_vec()),
            (None, Some(family)) => {
                let newest = point::newest_in(engine, view, family, row, &column.qualifier, TimeRange::ALL)?;
                // It was there before the index was, or came from a backup.
                if newest.as_ref().is_some_and(|cell| cell.len() > INLINE) {
                    return Err(too_long(index));
                }
                newest.map(|cell| read_reference(engine, view, &cell.value, 0, INLINE as usize)).transpose()?
            }
            (None, None) => None,
        };
        let Some(value) = value else { return Ok(None) };
        values.push(value);
    }
    Ok(Some(values))
}

/// Another row that has what is claimed, and keeps it.
fn holder(engine: &Engine, view: &ReadView, claim: &Claim<'_>, batch: &[Ready<'_>]) -> Result<Option<RowKey>> {
    let Claim { table, index, row, values } = claim;
    let loses = |other: &[u8]| {
        batch.iter().any(|cell| {
            let is_column = |column: &IndexColumn| {
                cell.family.name == column.family
                    && match cell.kind {
                        CellKind::Put | CellKind::Tombstone(Tombstone::Column) => cell.qualifier == column.qualifier,
                        CellKind::Tombstone(Tombstone::Family) => true,
                        // What was before that version may be the same.
                        CellKind::Tombstone(Tombstone::Version | Tombstone::FamilyVersion) => false,
                    }
            };
            cell.table.id == table.id && cell.row == other && index.columns.iter().any(is_column)
        })
    };
    find_holder(engine, view, (table, index), values, &|other| other != *row && !loses(other))
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

/// Of each column that a batch writes, by family, row and qualifier.
type Puts<'b> = FxHashMap<(FamilyId, &'b [u8], &'b [u8]), &'b Ready<'b>>;

/// The newest live put of each column.
fn newest_puts<'b>(batch: &'b [Ready<'b>]) -> Puts<'b> {
    let mut puts = Puts::default();
    for cell in batch.iter().filter(|cell| cell.is_live()) {
        let newest = puts.entry((cell.family.id, cell.row, &cell.qualifier)).or_insert(cell);
        if cell.timestamp >= newest.timestamp {
            *newest = cell;
        }
    }
    puts
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
