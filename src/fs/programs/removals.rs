//! `rm -r TABLE/.schema/FAMILY`: the names below go one by one, and the family last, with what it had.
//!
//! A program that holds the directory open while it unlinks an attribute in it removes all of it. What it unlinks is
//! hidden and stays set until the directory goes too: unset, VERSIONS and KEEP_DELETED_CELLS would let a compaction
//! take the history that undrop brings back. Where the directory stays, the attributes are unset a little later.
//!
//! All of `TABLE/.schema` does not go: who holds it open while he removes all that is in it is refused the families, and
//! what he has unlinked is there again. So it is of the table's own attributes, whose directory stays. He is told by these:
//! they are listed before the families, so who wants all comes to them first. Who holds it and wants a family gets that.
//!
//! A check or an index goes likewise: without its type a check takes everything, and without its columns it is of others.

use crate::env::sync::Mutex;
use crate::model::{TableName, Timestamp};
use crate::tree::place::SchemaPlace;

/// How long after the last name the directory goes, ms.
const PATIENCE_MS: i64 = 2_000;

/// A directory of attributes that is being removed.
struct Removal {
    owner: SchemaPlace,
    hidden: Vec<SchemaPlace>,
    last: Timestamp,
}

impl Removal {
    /// What of it goes where the directory has stayed. A check stays as it was if it is its family's removal that was broken
    /// off, or if its columns were among the names: it would be of all columns.
    fn ended(self) -> Vec<SchemaPlace> {
        let is_checks = matches!(self.owner, SchemaPlace::Constraint(..));
        let keeps_checks = !is_checks || self.hidden.iter().any(is_checked_columns);
        let is_kept = |place: &SchemaPlace| keeps_checks && matches!(place, SchemaPlace::ConstraintAttribute { .. });
        self.hidden.into_iter().filter(|place| !is_kept(place)).collect()
    }
}

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Removals {
    directories: Mutex<Vec<Removal>>,
    /// Programs that remove all of a table's schema.
    whole: Mutex<Vec<(TableName, u32)>>,
}

impl Removals {
    pub(in crate::fs) fn hide(&self, owner: SchemaPlace, place: &SchemaPlace, now: Timestamp) {
        let mut removals = self.directories.lock();
        match removals.iter_mut().find(|removal| removal.owner == owner) {
            Some(removal) => {
                removal.hidden.push(place.clone());
                removal.last = now;
            }
            None => removals.push(Removal { owner, hidden: vec![place.clone()], last: now }),
        }
    }

    pub(in crate::fs) fn hides(&self, place: &SchemaPlace) -> bool {
        self.directories.lock().iter().any(|removal| removal.hidden.contains(place))
    }

    /// The directory itself goes, or is refused to go; whether names in it went before.
    pub(in crate::fs) fn take(&self, owner: &SchemaPlace) -> bool {
        let mut removals = self.directories.lock();
        let before = removals.len();
        removals.retain(|removal| removal.owner != *owner);
        removals.len() < before
    }

    /// The name is made again.
    pub(in crate::fs) fn show(&self, place: &SchemaPlace) {
        for removal in self.directories.lock().iter_mut() {
            removal.hidden.retain(|hidden| hidden != place);
        }
    }

    /// A program removes all of a table's schema if it `holds` that; so do others as long as they hold theirs.
    pub(in crate::fs) fn note_whole(&self, one: (TableName, u32), holds: impl Fn(&(TableName, u32)) -> bool) {
        let mut whole = self.whole.lock();
        whole.retain(|other| *other != one && holds(other));
        if holds(&one) {
            whole.push(one);
        }
    }

    /// Whether a program removes all of a table's schema.
    pub(in crate::fs) fn is_whole(&self, one: &(TableName, u32)) -> bool {
        self.whole.lock().contains(one)
    }

    /// What was hidden in directories that have stayed, and is to be unset.
    pub(in crate::fs) fn over(&self, now: Timestamp) -> Vec<SchemaPlace> {
        let mut removals = self.directories.lock();
        let is_over = |removal: &Removal| now.0 - removal.last.0 > PATIENCE_MS;
        let over = removals.extract_if(.., |removal| is_over(removal));
        over.flat_map(Removal::ended).collect()
    }
}

/// Whether it says which columns a check is of.
fn is_checked_columns(place: &SchemaPlace) -> bool {
    matches!(place, SchemaPlace::ConstraintAttribute { name, .. } if name == "columns")
}
