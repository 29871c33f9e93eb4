//! rename(2): history belongs to the name; the newest version moves.

use std::sync::Arc;

use crate::backend::{Directory, RenameMode, Versions};
use crate::fs::base::{Fs, not_permitted};
use crate::fs::ops::rename_cell::{cell_name, no_such_target};
use crate::model::{ColumnKey, Origin, TimeRange};
use crate::tree::list::listing;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace, SchemaPlace};
use crate::tree::view::View;
use crate::tree::{facts, resolve, ungiven};
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// Moves `name` of `parent` to `new_name` of `new_parent`.
    pub fn rename(&self, parent: u64, name: &[u8], new_parent: u64, new_name: &[u8], mode: RenameMode) -> Result<()> {
        let from_dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        crate::fs::counts::subject::has_source();
        let to_dir = self.node(new_parent)?.key();
        crate::fs::counts::subject::is_named(new_name);
        let from = resolve::target(&self.tree, &from_dir, name)?;
        let to = resolve::target(&self.tree, &to_dir, new_name).map_err(no_such_target)?;
        self.check_writable(&from)?;
        self.check_writable(&to)?;
        if from == to {
            return Ok(());
        }
        if from.view != to.view {
            return Err(cross("the history and the tree are different; copy"));
        }
        self.rename_key(&from, &to, mode).map_err(not_taken)?;
        self.touch_directory(parent);
        self.touch_directory(new_parent);
        self.absent.remove(new_parent, new_name);
        self.touch(&to);
        Ok(())
    }

    fn rename_key(&self, from: &NodeKey, to: &NodeKey, mode: RenameMode) -> Result<()> {
        let in_history = from.view == View::History;
        match (&from.place, &to.place) {
            (Place::Scratch(_), _) => self.rename_in_history(from, to, mode),
            (Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_), _) if in_history => {
                Err(not_permitted("directories are renamed outside .history"))
            }
            (Place::Table(one), Place::Table(other)) => self.rename_table(from, to, one, other, mode),
            (Place::Row(one), Place::Row(other)) => self.rename_row(from, to, one, other, mode),
            (Place::Family(one), Place::Family(other)) => self.rename_family(from, to, one, other, mode),
            (Place::Schema(one), Place::Schema(other)) => self.rename_schema(from, to, one, other),
            (Place::Namespace(one), Place::Namespace(other)) => self.rename_namespace(from, to, (one, other), mode),
            (one, other) => match (cell_name(one), cell_name(other)) {
                (Some(source), Some(target)) => self.rename_cell(from, to, source, target, mode),
                _ if mode == RenameMode::Exchange => {
                    let text = "only two cells, or two tables, can be exchanged";
                    Err(Error::new(ErrorKind::IllegalArgument, text))
                }
                _ => match other {
                    Place::Versions(column) => Err(ungiven::versions_are_given(&self.tree, column)),
                    _ => Err(not_permitted("a thing can only be renamed to a name of the same level")),
                },
            },
        }
    }

    fn rename_row(
        &self,
        from: &NodeKey,
        to: &NodeKey,
        one: &Arc<RowPlace>,
        other: &Arc<RowPlace>,
        mode: RenameMode,
    ) -> Result<()> {
        let whole = |row: &RowPlace| Directory { table: row.table.clone(), row: row.row.clone(), family: None };
        self.check_moves((&whole(one), &whole(other)), (from, to), mode)?;
        for family in self.tree.backend.list_families(&one.table, &one.row, TimeRange::ALL, Versions::LiveAndKept)? {
            self.declare_if_asked(&FamilyPlace { table: other.table.clone(), row: other.row.clone(), family })?;
        }
        self.move_directory(from, to, &whole(one), &whole(other))?;
        for family in self.tree.uncommitted.dirs.families(one)? {
            let place =
                |row: &RowPlace| FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: family.clone() };
            self.tree.uncommitted.dirs.remove_family(&place(one))?;
            self.tree.uncommitted.dirs.add_family(&place(other))?;
        }
        self.tree.uncommitted.dirs.remove_row(one)?;
        self.tree.uncommitted.dirs.add_row(other)
    }

    fn rename_family(
        &self,
        from: &NodeKey,
        to: &NodeKey,
        one: &Arc<FamilyPlace>,
        other: &Arc<FamilyPlace>,
        mode: RenameMode,
    ) -> Result<()> {
        let whole =
            |f: &FamilyPlace| Directory { table: f.table.clone(), row: f.row.clone(), family: Some(f.family.clone()) };
        self.check_moves((&whole(one), &whole(other)), (from, to), mode)?;
        self.declare_if_asked(other)?;
        self.move_directory(from, to, &whole(one), &whole(other))?;
        self.tree.uncommitted.dirs.remove_family(one)?;
        self.tree.uncommitted.dirs.add_family(other)?;
        let row = RowPlace { table: one.table.clone(), row: one.row.clone() };
        self.tree.uncommitted.dirs.add_row(&row)
    }

    /// Moves all cells below a directory, and the nodes that the kernel holds there.
    fn move_directory(&self, from: &NodeKey, to: &NodeKey, one: &Directory, other: &Directory) -> Result<()> {
        let below = |column: &ColumnKey| {
            column.table == one.table
                && column.row == one.row
                && one.family.as_ref().is_none_or(|family| *family == column.family)
        };
        let committed = self.commit_below(below)?;
        self.tree.backend.rename_directory(one, other, Origin(self.nodes.number(from)))?;
        self.modes.rename(from, to)?;
        self.move_node(from, to, None);
        self.nodes.rename_all(|place| place.below(one, other));
        self.follow_newest(committed)
    }

    /// Refuses what will not be moved, before families are declared for it.
    fn check_moves(
        &self,
        (one, other): (&Directory, &Directory),
        (from, to): (&NodeKey, &NodeKey),
        mode: RenameMode,
    ) -> Result<()> {
        self.check_directories(from, to, mode)?;
        let backend = &self.tree.backend;
        if backend.moves_directories() { Ok(()) } else { backend.rename_directory(one, other, Origin::default()) }
    }

    fn check_directories(&self, from: &NodeKey, to: &NodeKey, mode: RenameMode) -> Result<()> {
        if mode == RenameMode::Exchange {
            let text = "two rows or families cannot be exchanged; rename one after the other";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        if facts::at(&self.tree, from)?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, "no such directory"));
        }
        if facts::at(&self.tree, to)?.is_some() {
            if mode != RenameMode::Replace {
                return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
            }
            if !listing::page(&self.tree, to, None, 1)?.is_empty() {
                return Err(Error::new(
                    ErrorKind::NotEmpty,
                    "the target directory is not empty: move it away, or remove it with `rm -r`, before",
                ));
            }
        }
        Ok(())
    }

    fn rename_schema(
        &self,
        from: &NodeKey,
        to: &NodeKey,
        one: &Arc<SchemaPlace>,
        other: &Arc<SchemaPlace>,
    ) -> Result<()> {
        let (bytes, mtime) = self.texts.get(one).ok_or_else(|| not_permitted("an attribute is copied, not renamed"))?;
        match other.as_ref() {
            SchemaPlace::Scratch { .. } => return Err(not_permitted("scratch files are renamed over attributes")),
            place if place.is_dir() => return Err(not_permitted("a directory is not replaced by a file")),
            place => {
                let origin = Origin(self.nodes.number(to));
                self.set_attribute(place, Some(&bytes), origin)?;
                self.set_attribute_time(place, mtime, origin)?;
            }
        }
        self.texts.remove(one);
        self.move_node(from, to, None);
        Ok(())
    }
}

fn cross(text: &str) -> Error {
    Error::new(ErrorKind::CrossDevice, text)
}

/// As [`no_such_target`], of what the target does not take: a check refuses it. Other arguments that make no sense stay
/// EINVAL: rename(2) has that for its flags.
fn not_taken(refused: Error) -> Error {
    if refused.kind == ErrorKind::Refused { no_such_target(refused) } else { refused }
}
