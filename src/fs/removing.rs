//! `rm -r TABLE/.schema/FAMILY`: the names below go one by one, and the family last, with what it had.
//!
//! A program that holds the directory open while it unlinks an attribute in it removes all of it. What it unlinks is
//! hidden and stays set until the directory goes too: unset, VERSIONS and KEEP_DELETED_CELLS would let a compaction
//! take the history that undrop brings back. Where the directory stays, the attributes are unset a little later.

use super::Fs;
use super::handles::Handle;
use crate::Result;
use crate::env::sync::Mutex;
use crate::model::{Origin, TableName, Timestamp};
use crate::tree::place::{NodeKey, Place, SchemaPlace, View};

/// How long after the last name the directory goes, ms.
const PATIENCE_MS: i64 = 2_000;

/// A family that is being removed.
struct Removal {
    table: TableName,
    family: String,
    hidden: Vec<SchemaPlace>,
    last: Timestamp,
}

/// See the module.
#[derive(Default)]
pub(super) struct Removals(Mutex<Vec<Removal>>);

impl Removals {
    fn hide(&self, (table, family): (&TableName, &str), place: &SchemaPlace, now: Timestamp) {
        let mut removals = self.0.lock();
        let known = removals.iter_mut().find(|removal| removal.table == *table && removal.family == family);
        match known {
            Some(removal) => {
                removal.hidden.push(place.clone());
                removal.last = now;
            }
            None => {
                let (table, family, hidden) = (table.clone(), family.to_owned(), vec![place.clone()]);
                removals.push(Removal { table, family, hidden, last: now });
            }
        }
    }

    fn hides(&self, place: &SchemaPlace) -> bool {
        self.0.lock().iter().any(|removal| removal.hidden.contains(place))
    }

    /// The directory itself goes; whether names in it went before.
    pub(super) fn take(&self, table: &TableName, family: &str) -> bool {
        let mut removals = self.0.lock();
        let before = removals.len();
        removals.retain(|removal| !(removal.table == *table && removal.family == family));
        removals.len() < before
    }

    /// The name is made again.
    pub(super) fn show(&self, place: &SchemaPlace) {
        for removal in self.0.lock().iter_mut() {
            removal.hidden.retain(|hidden| hidden != place);
        }
    }

    fn over(&self, now: Timestamp) -> Vec<SchemaPlace> {
        let mut removals = self.0.lock();
        let is_over = |removal: &Removal| now.0 - removal.last.0 > PATIENCE_MS;
        let over = removals.extract_if(.., |removal| is_over(removal));
        over.flat_map(|removal| removal.hidden).collect()
    }
}

impl Fs {
    /// Whether the name goes with its family; it is hidden then and stays set.
    pub(super) fn goes_with_family(&self, dir: &NodeKey, place: &SchemaPlace, pid: u32) -> bool {
        let Some((table, family)) = family_of(dir).filter(|_| dir.view == View::Plain) else { return false };
        let of = NodeKey::plain(Place::Schema(SchemaPlace::Family(table.clone(), family.to_owned()).into()));
        let holds = |handle: &Handle| match handle {
            Handle::Dir(dir) => dir.pid == pid && dir.node.key() == of,
            Handle::File(_) | Handle::Text(_) => false,
        };
        let goes = self.handles.any(holds);
        if goes {
            self.removals.hide((table, family), place, self.tree.backend.now());
        }
        goes
    }

    /// Whether a name was removed, and its family is about to be.
    pub(super) fn is_hidden(&self, key: &NodeKey) -> bool {
        matches!(&key.place, Place::Schema(place) if key.is_present() && self.removals.hides(place))
    }

    /// Attributes whose directory has stayed are unset.
    pub(super) fn end_removals(&self, now: Timestamp) -> Result<()> {
        for place in self.removals.over(now) {
            if matches!(place, SchemaPlace::Attribute { .. } | SchemaPlace::FreeKey { .. }) {
                self.set_attribute(&place, None, Origin::default())?;
            }
        }
        Ok(())
    }
}

/// The family whose schema a directory is.
fn family_of(dir: &NodeKey) -> Option<(&TableName, &str)> {
    let Place::Schema(place) = &dir.place else { return None };
    match place.as_ref() {
        SchemaPlace::Family(table, family) => Some((table, family)),
        SchemaPlace::Free { table, family: Some(family), .. }
        | SchemaPlace::Constraints(table, family)
        | SchemaPlace::Constraint(table, family, _) => Some((table, family)),
        _ => None,
    }
}
