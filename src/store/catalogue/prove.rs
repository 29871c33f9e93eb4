//! Constraints that are added to a table with data: what is stored is judged first, while writers go on.
//!
//! Until they are declared, writers note what breaks them and are not refused. Once nothing stored does, and no writer
//! has, writers are refused for the moment that the change of the catalogue takes. A crash in between leaves nothing:
//! all of this is in memory.

use std::sync::Arc;

use crate::env::sync::MutexGuard;
use crate::format::key;
use crate::model::{Catalogue, CatalogueChange, ConstraintSchema, FamilyId, FamilySchema, TableSchema};
use crate::store::cursor::walk::Cursor;
use crate::store::engine::Engine;
use crate::store::engine::proving::Proof;
use crate::store::layout::far::FAR;
use crate::store::secondary::constraint;
use crate::{Error, ErrorKind, Result};

/// Rows after which a new snapshot is taken, so that memtables and files can go.
const ROWS: u64 = 4096;
/// What breaks a constraint is told of so many cells.
const TOLD: usize = 5;
/// Most constraints of a family: each is looked at with every put.
const CONSTRAINTS_MAX: usize = 64;

/// Constraints that hold for all that is stored, as long as this is held.
pub struct Proven<'e> {
    engine: &'e Engine,
    proof: Arc<Proof>,
    _one: MutexGuard<'e, ()>,
}

impl Drop for Proven<'_> {
    fn drop(&mut self) {
        self.engine.proving.end();
    }
}

/// The table as a change makes it, if that is what it does to the catalogue as it is.
fn altered<'c>(catalogue: &Catalogue, change: &'c CatalogueChange) -> Option<&'c TableSchema> {
    match change {
        CatalogueChange::AlterTable(table) => Some(table),
        CatalogueChange::At { version, change } if *version == catalogue.version => altered(catalogue, change),
        _ => None,
    }
}

/// The constraints that a change declares of families that may have data.
fn added(catalogue: &Catalogue, change: &CatalogueChange) -> Vec<(FamilyId, ConstraintSchema)> {
    let Some(new) = altered(catalogue, change) else { return Vec::new() };
    let Some(old) = catalogue.tables.get(&new.name) else { return Vec::new() };
    let of_family = |family: &FamilySchema| {
        let before = old.families.get(&family.name)?;
        let is_new =
            |of: &&ConstraintSchema| before.constraints.get(&of.name) != Some(of) && !of.attributes().is_empty();
        Some(family.constraints.values().filter(is_new).map(|of| (before.id, of.clone())).collect::<Vec<_>>())
    };
    new.families.values().filter_map(of_family).flatten().collect()
}

/// Refuses constraints that make no sense, and a family that goes while another's constraint requires a column of it.
pub fn check_declared(old: Option<&TableSchema>, new: &mut TableSchema) -> Result<()> {
    for family in new.families.values_mut() {
        if family.constraints.len() > CONSTRAINTS_MAX {
            let text = format!("family {}: it can have {CONSTRAINTS_MAX} checks at most", family.name);
            return Err(Error::new(ErrorKind::Constraint, text));
        }
        for (name, constraint) in &mut family.constraints {
            constraint.name.clone_from(name);
            constraint.rule()?;
        }
    }
    old.map_or(Ok(()), |old| check_required(old, new))
}

/// Refuses that a family goes which has a required column of another.
pub fn check_required(old: &TableSchema, new: &TableSchema) -> Result<()> {
    let gone = |name: &str| old.families.contains_key(name) && !new.families.contains_key(name);
    for family in new.families.values() {
        for constraint in family.constraints.values() {
            if let Some(column) = constraint.rule()?.required.iter().find(|column| gone(&column.family)) {
                let (of, name, table) = (&column.family, &constraint.name, &new.name);
                let text = format!(
                    "check {name} of family {} of table {table} requires a column of family {of}: drop that check first",
                    family.name
                );
                return Err(Error::new(ErrorKind::Constraint, text));
            }
        }
    }
    Ok(())
}

/// Judges what is stored by the constraints that a change adds; `None`: it adds none to what may have data.
///
/// `Refused`: what breaks them, the first few.
pub fn prove<'e>(engine: &'e Engine, change: &CatalogueChange) -> Result<Option<Proven<'e>>> {
    if added(&engine.catalogue.load(), change).is_empty() {
        return Ok(None);
    }
    let one = engine.proving.one();
    let catalogue = engine.catalogue.load_full();
    let constraints = added(&catalogue, change);
    let Some(table) = altered(&catalogue, change).and_then(|new| catalogue.tables.get(&new.name)) else {
        return Ok(None);
    };
    constraints.iter().try_for_each(|(_, constraint)| constraint.rule().map(drop))?;
    let proven = Proven { engine, proof: engine.proving.begin(constraints), _one: one };
    // Order: those that write without knowing of it are done before anything is read.
    drop(engine.turns.declare());
    let mut told = Vec::new();
    for family in table.families.values().filter(|family| proven.proof.is_of(family.id)) {
        broken_stored(engine, table, family, &proven.proof, &mut told)?;
    }
    if !told.is_empty() {
        return Err(refused(table, &told));
    }
    proven.proof.begin_refusing();
    // Order: those that only note it are done before that is looked at.
    drop(engine.turns.declare());
    match proven.proof.take_broken() {
        Some(e) => Err(refused(table, &[e.message])),
        None => Ok(Some(proven)),
    }
}

/// Walks over what is stored of a family, and tells the first cells that break a constraint.
fn broken_stored(
    engine: &Engine,
    table: &TableSchema,
    family: &FamilySchema,
    proof: &Proof,
    told: &mut Vec<String>,
) -> Result<()> {
    let constraints: Vec<&ConstraintSchema> = proof.of(family.id).collect();
    let mut from = Vec::new();
    loop {
        engine.go_on()?;
        let view = engine.view();
        let mut cursor = Cursor::new(&view, family.id, &from, FAR, 1024)?;
        for _ in 0..ROWS {
            let Some(key) = cursor.key() else { return Ok(()) };
            let prefix = key::row_prefix_len(key).map(|len| key[..len].to_vec());
            let Some((prefix, row)) = prefix.and_then(|prefix| key::row_of(&prefix).map(|row| (prefix, row))) else {
                return Err(Error::new(ErrorKind::Corrupt, "a stored cell has a key that is none"));
            };
            constraint::broken_in(engine, &view, (table, family), (&row, &mut cursor), &constraints, &mut |what| {
                told.push(what);
                told.len() < TOLD
            })?;
            if told.len() >= TOLD {
                return Ok(());
            }
            cursor.seek(&key::prefix_end(&prefix))?;
        }
        match cursor.key() {
            Some(key) => from = key.to_vec(),
            None => return Ok(()),
        }
    }
}

impl Proven<'_> {
    /// Whether a change adds no more to a catalogue than what is proven.
    pub fn covers(proven: Option<&Self>, catalogue: &Catalogue, change: &CatalogueChange) -> Result<()> {
        let holds = |one| proven.is_some_and(|proven| proven.proof.has(one));
        match added(catalogue, change).iter().all(holds) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Overtaken, "another change of the schema came between; try again")),
        }
    }
}

fn refused(table: &TableSchema, told: &[String]) -> Error {
    let more = if told.len() >= TOLD { ", and perhaps more" } else { "" };
    let text =
        format!("nothing is changed: table {} has what the check refuses: {}{more}", table.name, told.join("; "));
    Error::new(ErrorKind::Refused, text)
}
