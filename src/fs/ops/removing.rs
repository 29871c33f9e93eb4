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

use crate::Result;
use crate::fs::base::{Fs, not_permitted};
use crate::fs::handles::table::Handle;
use crate::fs::kinds::attribute;
use crate::model::{Origin, TableName, Timestamp};
use crate::tree::facts;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::texts::name_of;
use crate::tree::view::View;

/// Whether the name goes with its directory; it is hidden then and stays set.
pub fn goes_with_directory(fs: &Fs, dir: &NodeKey, place: &SchemaPlace, pid: u32) -> bool {
    let Some(owner) = held_owner(fs, dir, place, pid).filter(|_| dir.view == View::Plain) else { return false };
    note_whole(fs, &owner, pid);
    fs.removals.hide(owner, place, fs.tree.backend.now());
    true
}

/// The directory that a name goes with, among those that the program holds open.
fn held_owner(fs: &Fs, dir: &NodeKey, place: &SchemaPlace, pid: u32) -> Option<SchemaPlace> {
    let Place::Schema(dir) = &dir.place else { return None };
    let is_held = |owner: &SchemaPlace| holds(fs, owner.clone(), pid);
    if let Some(owner) = owner_of(dir).filter(is_held) {
        return Some(owner);
    }
    let owner = match (dir.as_ref(), place) {
        (SchemaPlace::Constraint(..), SchemaPlace::ConstraintAttribute { .. }) => dir.as_ref().clone(),
        // With all of a schema no index goes.
        (SchemaPlace::Index(table, _), SchemaPlace::IndexAttribute { .. })
            if !is_held(&SchemaPlace::Table(table.clone())) =>
        {
            dir.as_ref().clone()
        }
        _ => return None,
    };
    Some(owner).filter(is_held)
}

fn holds(fs: &Fs, dir: SchemaPlace, pid: u32) -> bool {
    let of = NodeKey::plain(Place::Schema(dir.into()));
    fs.handles.any(|handle| match handle {
        Handle::Dir(dir) => dir.pid == pid && dir.node.key() == of,
        Handle::File(_) | Handle::Text(_) => false,
    })
}

/// Notes who removes all of a table's schema: he removes its own attributes while he holds it open.
fn note_whole(fs: &Fs, owner: &SchemaPlace, pid: u32) {
    let SchemaPlace::TableAttributes(table) = owner else { return };
    let holds = |(table, pid): &(TableName, u32)| holds(fs, SchemaPlace::Table(table.clone()), *pid);
    fs.removals.note_whole((table.clone(), pid), holds);
}

/// Whether a program removes a family for itself, although it holds all of the schema open.
fn is_meant(fs: &Fs, place: &SchemaPlace, table: &TableName, pid: u32) -> bool {
    let first = name_of(&SchemaPlace::TableAttributes(table.clone()));
    let is_family = matches!(place, SchemaPlace::Family(..)) && name_of(place) > first;
    is_family && !fs.removals.is_whole(&(table.clone(), pid))
}

/// Refuses to remove what goes with all of a table's schema, which stays; what of it is hidden is there again.
pub fn check_removal(fs: &Fs, key: &NodeKey, pid: u32) -> Result<()> {
    let Place::Schema(place) = &key.place else { return Ok(()) };
    let table = match place.as_ref() {
        SchemaPlace::TableAttributes(_) | SchemaPlace::Constraint(..) if key.view == View::Plain => {
            note_whole(fs, place, pid);
            fs.removals.take(place);
            return Ok(());
        }
        SchemaPlace::Family(table, _)
        | SchemaPlace::Recipe(table)
        | SchemaPlace::Indexes(table)
        | SchemaPlace::Index(table, _)
        | SchemaPlace::IndexAttribute { table, .. } => table,
        _ => return Ok(()),
    };
    let is_index = matches!(place.as_ref(), SchemaPlace::Index(..));
    if key.view != View::Plain {
        return Ok(());
    }
    let is_refused = holds(fs, SchemaPlace::Table(table.clone()), pid) && !is_meant(fs, place, table, pid);
    // What goes is taken of a family with its cells, later.
    if is_refused || is_index {
        fs.removals.take(place);
    }
    if !is_refused {
        return Ok(());
    }
    let text = format!(
        "a table keeps its schema: `rm -r` of .schema/FAMILY drops one family of {table}, `rm -r` of the table all of \
         it; nothing was changed"
    );
    Err(not_permitted(&text))
}

/// Attributes whose directory has stayed are unset.
pub fn end_removals(fs: &Fs, now: Timestamp) -> Result<()> {
    for place in fs.removals.over(now) {
        let is_attribute = matches!(
            place,
            SchemaPlace::Attribute { .. }
                | SchemaPlace::FreeKey { .. }
                | SchemaPlace::ConstraintAttribute { .. }
                | SchemaPlace::IndexAttribute { .. }
        );
        // Its directory may have gone otherwise.
        if is_attribute && facts::at(&fs.tree, &NodeKey::plain(Place::Schema(place.clone().into())))?.is_some() {
            attribute::set_attribute(fs, &place, None, Origin::default())?;
        }
    }
    Ok(())
}

/// The family, or the table's own attributes, that a directory of attributes is part of.
fn owner_of(dir: &SchemaPlace) -> Option<SchemaPlace> {
    match dir {
        SchemaPlace::TableAttributes(_) | SchemaPlace::Family(..) => Some(dir.clone()),
        SchemaPlace::Free { table, family: None, .. } => Some(SchemaPlace::TableAttributes(table.clone())),
        SchemaPlace::Free { table, family: Some(family), .. }
        | SchemaPlace::Constraints(table, family)
        | SchemaPlace::Constraint(table, family, _) => Some(SchemaPlace::Family(table.clone(), family.clone())),
        _ => None,
    }
}
