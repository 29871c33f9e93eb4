//! `rm -r TABLE/.schema/FAMILY`: the names below go one by one, and the family last, with what it had.
//!
//! A program that holds the directory open while it unlinks an attribute in it removes all of it. What it unlinks is
//! hidden and stays set until the directory goes too: unset, VERSIONS and KEEP_DELETED_CELLS would let a compaction
//! take the history that undrop brings back. Where the directory stays, the attributes are unset a little later.
//!
//! All of `TABLE/.schema` does not go: who holds it open while he removes what is in it is refused the families, and what
//! he has unlinked is there again. So it is of the table's own attributes, whose directory stays.

use super::handles::Handle;
use super::{Fs, not_permitted};
use crate::Result;
use crate::env::sync::Mutex;
use crate::model::{Origin, TableName, Timestamp};
use crate::tree::place::{NodeKey, Place, SchemaPlace, View};

/// How long after the last name the directory goes, ms.
const PATIENCE_MS: i64 = 2_000;

/// A family, or the attributes of a table, that are being removed.
struct Removal {
    table: TableName,
    /// `None`: the table's own attributes.
    family: Option<String>,
    hidden: Vec<SchemaPlace>,
    last: Timestamp,
}

/// See the module.
#[derive(Default)]
pub(super) struct Removals(Mutex<Vec<Removal>>);

impl Removals {
    fn hide(&self, (table, family): (&TableName, Option<&str>), place: &SchemaPlace, now: Timestamp) {
        let mut removals = self.0.lock();
        let is_it = |removal: &&mut Removal| removal.table == *table && removal.family.as_deref() == family;
        let known = removals.iter_mut().find(is_it);
        match known {
            Some(removal) => {
                removal.hidden.push(place.clone());
                removal.last = now;
            }
            None => {
                let (table, family, hidden) = (table.clone(), family.map(str::to_owned), vec![place.clone()]);
                removals.push(Removal { table, family, hidden, last: now });
            }
        }
    }

    fn hides(&self, place: &SchemaPlace) -> bool {
        self.0.lock().iter().any(|removal| removal.hidden.contains(place))
    }

    /// The directory itself goes, or is refused to go; whether names in it went before.
    pub(super) fn take(&self, table: &TableName, family: Option<&str>) -> bool {
        let mut removals = self.0.lock();
        let before = removals.len();
        removals.retain(|removal| !(removal.table == *table && removal.family.as_deref() == family));
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
    /// Whether the name goes with its directory; it is hidden then and stays set.
    pub(super) fn goes_with_directory(&self, dir: &NodeKey, place: &SchemaPlace, pid: u32) -> bool {
        let Some((table, family)) = owner_of(dir).filter(|_| dir.view == View::Plain) else { return false };
        let of = match family {
            Some(family) => SchemaPlace::Family(table.clone(), family.to_owned()),
            None => SchemaPlace::TableAttributes(table.clone()),
        };
        let goes = self.holds(of, pid);
        if goes {
            self.removals.hide((table, family), place, self.tree.backend.now());
        }
        goes
    }

    fn holds(&self, dir: SchemaPlace, pid: u32) -> bool {
        let of = NodeKey::plain(Place::Schema(dir.into()));
        self.handles.any(|handle| match handle {
            Handle::Dir(dir) => dir.pid == pid && dir.node.key() == of,
            Handle::File(_) | Handle::Text(_) => false,
        })
    }

    /// Refuses to remove what goes with all of a table's schema, which stays; what of it is hidden is there again.
    pub(super) fn check_removal(&self, key: &NodeKey, pid: u32) -> Result<()> {
        let Place::Schema(place) = &key.place else { return Ok(()) };
        let (table, family) = match place.as_ref() {
            SchemaPlace::TableAttributes(table) if key.view == View::Plain => {
                self.removals.take(table, None);
                return Ok(());
            }
            SchemaPlace::Family(table, family) => (table, Some(family)),
            SchemaPlace::Recipe(table)
            | SchemaPlace::Indexes(table)
            | SchemaPlace::Index(table, _)
            | SchemaPlace::IndexAttribute { table, .. } => (table, None),
            _ => return Ok(()),
        };
        if key.view != View::Plain || !self.holds(SchemaPlace::Table(table.clone()), pid) {
            return Ok(());
        }
        if let Some(family) = family {
            self.removals.take(table, Some(family));
        }
        let text = format!(
            "a table keeps its schema: `rm -r` of .schema/FAMILY drops one family of {table}, `rm -r` of the table all of \
             it; nothing was changed"
        );
        Err(not_permitted(&text))
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

/// The table, and the family of it, whose attributes a directory has.
fn owner_of(dir: &NodeKey) -> Option<(&TableName, Option<&str>)> {
    let Place::Schema(place) = &dir.place else { return None };
    match place.as_ref() {
        SchemaPlace::TableAttributes(table) => Some((table, None)),
        SchemaPlace::Free { table, family, .. } => Some((table, family.as_deref())),
        SchemaPlace::Family(table, family)
        | SchemaPlace::Constraints(table, family)
        | SchemaPlace::Constraint(table, family, _) => Some((table, Some(family))),
        _ => None,
    }
}
