//! In which pass a cell of a row is written, so that the target shows and keeps what the source does.

use std::collections::BTreeSet;

use super::kept::{Kept, hidden_before_end};
use super::masked::Masked;
use super::rows::{Place, is_put, place};
use super::there::There;
use super::{Job, RowKey};
use crate::Result;
use crate::backend::Backend;
use crate::model::{Cell, TableName};

/// In the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    Hidden,
    Tombstones,
    /// Deleted versions that a later tombstone hides from reads of the past too, each with its end.
    HiddenKept,
    /// These tombstones.
    LaterTombstones,
    /// Other deleted versions, each with its end: which tombstones came before it nobody is told.
    Kept,
    Shown,
}

pub const PASSES: [Pass; 6] =
    [Pass::Hidden, Pass::Tombstones, Pass::HiddenKept, Pass::LaterTombstones, Pass::Kept, Pass::Shown];

/// The families of a table that have NEW_VERSION_BEHAVIOR.
#[derive(Clone, Debug, Default)]
pub struct NewFamilies {
    pub of_source: BTreeSet<String>,
    /// Those that have it on both sides, which keep deleted versions by their ends.
    pub of_both: BTreeSet<String>,
}

impl NewFamilies {
    pub fn of(job: &Job) -> Result<Self> {
        let of_source = new_families(&*job.from, &job.table)?;
        let is_of_clusters = job.from.is_shared() || job.to.is_shared();
        let of_target = if is_of_clusters { BTreeSet::new() } else { new_families(&*job.to, &job.target)? };
        let of_both = of_source.intersection(&of_target).cloned().collect();
        Ok(Self { of_source, of_both })
    }
}

fn new_families(backend: &dyn Backend, table: &TableName) -> Result<BTreeSet<String>> {
    let catalogue = backend.catalogue()?;
    let families = catalogue.tables.get(table).into_iter().flat_map(|table| &table.families);
    let new = families.filter(|(_, family)| family.rules.new_version_behavior);
    Ok(new.map(|(name, _)| name.clone()).collect())
}

/// Looks at the cells of one row, in the order of raw scans.
pub struct Sorting<'a> {
    families: &'a NewFamilies,
    masked: Masked<'a>,
    kept: Kept<'a>,
    there: Option<There<'a>>,
    /// Where the last put stood.
    last: Option<Place>,
}

impl<'a> Sorting<'a> {
    pub fn new(job: &'a Job, row: &'a RowKey, families: &'a NewFamilies) -> Result<Self> {
        let kept = Kept::new(&job.from, &job.table, row);
        let there = if families.of_both.is_empty() { None } else { There::of(job, row)? };
        Ok(Self { families, masked: Masked::new(&families.of_source), kept, there, last: None })
    }

    /// `None`: the target has it as it is to be, or nobody is to see it again. A deleted version that is kept gets its end.
    pub fn pass_of(&mut self, cell: &mut Cell, is_shown: bool) -> Result<Option<Pass>> {
        let is_masked = self.masked.has(cell, is_shown);
        // Of what was put twice at one time the first that comes is what there is.
        if is_put(cell) && self.last.replace(place(cell)) == Some(place(cell)) {
            return Ok(None);
        }
        if !self.families.of_both.contains(&cell.family) || is_put(cell) && is_shown {
            let pass = match is_put(cell) {
                true if is_shown => Pass::Shown,
                true => Pass::Hidden,
                false => Pass::Tombstones,
            };
            return Ok(Some(pass).filter(|_| !is_masked));
        }
        let pass = match is_put(cell) {
            true => {
                let Some(info) = self.kept.find(cell)? else { return Ok(None) };
                cell.tags.ended_at = info.deleted_at;
                if hidden_before_end(info).is_some() { Pass::HiddenKept } else { Pass::Kept }
            }
            false if self.kept.is_later(cell)? => Pass::LaterTombstones,
            false => Pass::Tombstones,
        };
        let is_there = self.there.as_mut().map_or(Ok(false), |there| there.has(cell))?;
        Ok(Some(pass).filter(|_| !is_there))
    }
}
