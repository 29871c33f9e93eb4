//! Moves that a command has the daemon make: whoever has open what moves goes on at its new name, as after rename(2).
//!
//! The kernel does not know of them: it is told to drop the names of before. What has come to the new name it looks up as
//! what it holds already.

use std::sync::Arc;

use crate::Result;
use crate::backend::{Directory, RenameMode, Versions};
use crate::fs::base::Fs;
use crate::fs::ops::{rename, rename_table as tables};
use crate::fs::session::moving;
use crate::fs::shown::kernel;
use crate::model::{CatalogueChange, ColumnKey, Origin, SeqNo, TableName, TimeRange};
use crate::tree::facts;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};

/// A table gets another name that is free.
pub fn rename_table(fs: &Fs, from: &TableName, to: &TableName) -> Result<()> {
    let _alone = fs.moves.write();
    let (one, other) = (Arc::new(from.clone()), Arc::new(to.clone()));
    let [old, new] = [&one, &other].map(|table| NodeKey::plain(Place::Table(Arc::clone(table))));
    if facts::at(&fs.tree, &new)?.is_some() {
        // It is refused there.
        let change = CatalogueChange::RenameTable { from: from.clone(), to: to.clone() };
        return fs.tree.backend.alter(change, Origin::default());
    }
    // Order: before the old name is dropped, or there would be none for a while. Who looks for it waits for the move.
    kernel::invalidate_name(fs, &new);
    tables::rename_table(fs, &old, &new, &one, &other, RenameMode::NoReplace)?;
    kernel::invalidate_name(fs, &old);
    Ok(())
}

/// A row, or a family of a row, moves in one step.
pub fn rename_directory(fs: &Fs, from: &Directory, to: &Directory) -> Result<bool> {
    let _alone = fs.moves.write();
    let (one, other) = (RowOrFamily::of(from), RowOrFamily::of(to));
    let (old, new) = (one.key(), other.key());
    let is_known = fs.nodes.find(&new).is_some();
    // Order: as in [`rename_table`].
    kernel::invalidate_name(fs, &new);
    match (&one, &other) {
        (RowOrFamily::Row(one), RowOrFamily::Row(other)) => {
            rename::rename_row(fs, &old, &new, one, other, RenameMode::Replace)?;
        }
        (RowOrFamily::Family(one), RowOrFamily::Family(other)) => {
            rename::rename_family(fs, &old, &new, one, other, RenameMode::Replace)?;
        }
        _ => return fs.tree.backend.rename_directory(from, to, Origin::default()),
    }
    kernel::invalidate_name(fs, &old);
    if is_known {
        // It is that of an empty directory which was replaced.
        kernel::invalidate_name(fs, &new);
    }
    Ok(true)
}

/// See [`crate::backend::Backend::erase_copied`].
pub fn erase_copied(fs: &Fs, from: &ColumnKey, to: &ColumnKey, last: Option<SeqNo>) -> Result<bool> {
    let _alone = fs.moves.write();
    let mut is_erased = false;
    let erase = || {
        is_erased = fs.tree.backend.erase_copied(from, to, last)?;
        if is_erased && last.is_some() {
            let (one, other) = (Arc::new(from.clone()), Arc::new(to.clone()));
            fs.tree.uncommitted.remove_cell(&one);
            let cell = fs.nodes.find(&NodeKey::plain(Place::Cell(one)));
            for node in cell.into_iter().chain(fs.nodes.versions_of(from)) {
                let old = node.key();
                moving::join_node(fs, &old, &old.sibling(old.place.of_column(Arc::clone(&other))));
            }
        }
        Ok(())
    };
    moving::move_below(fs, |column| column == from, erase)?;
    Ok(is_erased)
}

/// See [`crate::backend::Backend::leave`].
pub fn leave(fs: &Fs, from: &Directory, to: &Directory) -> Result<bool> {
    let _alone = fs.moves.write();
    let (one, other) = (RowOrFamily::of(from), RowOrFamily::of(to));
    let (old, new) = (one.key(), other.key());
    let mut is_left = false;
    let leave = || {
        let families = fs.tree.backend.list_families(&from.table, &from.row, TimeRange::ALL, Versions::Live)?;
        is_left = families.iter().all(|family| from.family.as_ref().is_some_and(|own| own != family));
        if is_left {
            fs.modes.rename(&old, &new)?;
            moving::join_node(fs, &old, &new);
            fs.nodes.rename_all(|place| place.below(from, to));
        }
        Ok(())
    };
    moving::move_below(fs, |column| from.holds(column), leave)?;
    match (one, other) {
        (RowOrFamily::Row(one), RowOrFamily::Row(other)) if is_left => rename::carry_row(fs, &one, &other)?,
        (RowOrFamily::Family(one), RowOrFamily::Family(other)) if is_left => rename::carry_family(fs, &one, &other)?,
        _ => {}
    }
    Ok(is_left)
}

enum RowOrFamily {
    Row(Arc<RowPlace>),
    Family(Arc<FamilyPlace>),
}

impl RowOrFamily {
    fn of(directory: &Directory) -> Self {
        let (table, row) = (directory.table.clone(), directory.row.clone());
        match directory.family.clone() {
            None => Self::Row(Arc::new(RowPlace { table, row })),
            Some(family) => Self::Family(Arc::new(FamilyPlace { table, row, family })),
        }
    }

    fn key(&self) -> NodeKey {
        NodeKey::plain(match self {
            Self::Row(row) => Place::Row(Arc::clone(row)),
            Self::Family(family) => Place::Family(Arc::clone(family)),
        })
    }
}
