//! rename(2): history belongs to the name; the newest version moves.

use std::sync::Arc;

use crate::backend::{Directory, RenameMode, Versions};
use crate::fs::base::{Fs, not_permitted};
use crate::fs::counts::subject;
use crate::fs::kinds::{attribute, declare, history};
use crate::fs::ops::rename_cell::{cell_name, no_such_target};
use crate::fs::ops::{rename_cell, rename_table};
use crate::fs::requests::writable;
use crate::fs::session::moving;
use crate::fs::shown::{access, kernel, known, touch};
use crate::model::{Origin, TimeRange};
use crate::tree::list::listing;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace, SchemaPlace};
use crate::tree::view::View;
use crate::tree::{facts, resolve, ungiven};
use crate::{Error, ErrorKind, Result};

/// Moves `name` of `parent` to `new_name` of `new_parent`.
pub fn rename(fs: &Fs, parent: u64, name: &[u8], new_parent: u64, new_name: &[u8], mode: RenameMode) -> Result<()> {
    fs.node(parent)?;
    subject::is_named(name);
    subject::has_source();
    fs.node(new_parent)?;
    subject::is_named(new_name);
    let (_stays, _alone) = match moves_much(&resolve::target(&fs.tree, &fs.node(parent)?.key(), name)?, mode) {
        true => (None, Some(fs.moves.write())),
        false => (Some(fs.moves.read_recursive()), None),
    };
    let (from_dir, to_dir) = (fs.node(parent)?.key(), fs.node(new_parent)?.key());
    let from = resolve::target(&fs.tree, &from_dir, name)?;
    let to = resolve::target(&fs.tree, &to_dir, new_name).map_err(no_such_target)?;
    writable::check_writable(fs, &from)?;
    writable::check_writable(fs, &to)?;
    access::check_sticky(fs, &to, subject::caller().uid)?;
    if from == to {
        return Ok(());
    }
    if from.view != to.view {
        return Err(cross("the history and the tree are different; copy"));
    }
    // Order: before it is there, else the kernel is told to drop the name of what has just come. It looks up no name in
    // these directories meanwhile.
    fs.absent.remove(new_parent, new_name);
    if let Err(e) = rename_key(fs, &from, &to, mode) {
        kernel::remember_absent(fs, new_parent, new_name);
        return Err(not_taken(e));
    }
    touch::touch_directory(fs, parent);
    touch::touch_directory(fs, new_parent);
    touch::touch(fs, &to);
    Ok(())
}

/// Whether more changes its place than a file.
fn moves_much(from: &NodeKey, mode: RenameMode) -> bool {
    mode == RenameMode::Exchange
        || matches!(from.place, Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_))
}

fn rename_key(fs: &Fs, from: &NodeKey, to: &NodeKey, mode: RenameMode) -> Result<()> {
    let in_history = from.view == View::History;
    match (&from.place, &to.place) {
        (Place::Scratch(_), _) => history::rename_in_history(fs, from, to, mode),
        (Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_), _) if in_history => {
            Err(not_permitted("directories are renamed outside .history"))
        }
        (Place::Table(one), Place::Table(other)) => rename_table::rename_table(fs, from, to, one, other, mode),
        (Place::Row(one), Place::Row(other)) => rename_row(fs, from, to, one, other, mode),
        (Place::Family(one), Place::Family(other)) => rename_family(fs, from, to, one, other, mode),
        (Place::Schema(one), Place::Schema(other)) => rename_schema(fs, (from, to), (one, other), mode),
        (Place::Namespace(one), Place::Namespace(other)) => {
            rename_table::rename_namespace(fs, from, to, (one, other), mode)
        }
        (one, other) => match (cell_name(one), cell_name(other)) {
            (Some(source), Some(target)) => rename_cell::rename_cell(fs, from, to, source, target, mode),
            _ if mode == RenameMode::Exchange => {
                let text = "only two cells, or two tables, can be exchanged";
                Err(Error::new(ErrorKind::IllegalArgument, text))
            }
            _ => match other {
                Place::Versions(column) => Err(ungiven::versions_are_given(&fs.tree, column)),
                _ => Err(not_permitted("a thing can only be renamed to a name of the same level")),
            },
        },
    }
}

pub(in crate::fs) fn rename_row(
    fs: &Fs,
    from: &NodeKey,
    to: &NodeKey,
    one: &Arc<RowPlace>,
    other: &Arc<RowPlace>,
    mode: RenameMode,
) -> Result<()> {
    let whole = |row: &RowPlace| Directory { table: row.table.clone(), row: row.row.clone(), family: None };
    check_moves(fs, (&whole(one), &whole(other)), (from, to), mode)?;
    for family in fs.tree.backend.list_families(&one.table, &one.row, TimeRange::ALL, Versions::LiveAndKept)? {
        declare::declare_if_asked(fs, &FamilyPlace { table: other.table.clone(), row: other.row.clone(), family })?;
    }
    move_directory(fs, from, to, &whole(one), &whole(other))?;
    carry_row(fs, one, other)
}

/// What the mount shows of a row beyond its cells goes with it.
pub(in crate::fs) fn carry_row(fs: &Fs, one: &RowPlace, other: &RowPlace) -> Result<()> {
    for family in fs.tree.uncommitted.dirs.families(one)? {
        let place =
            |row: &RowPlace| FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: family.clone() };
        fs.tree.uncommitted.dirs.remove_family(&place(one))?;
        fs.tree.uncommitted.dirs.add_family(&place(other))?;
    }
    fs.tree.uncommitted.dirs.remove_row(one)?;
    fs.tree.uncommitted.dirs.add_row(other)
}

pub(in crate::fs) fn rename_family(
    fs: &Fs,
    from: &NodeKey,
    to: &NodeKey,
    one: &Arc<FamilyPlace>,
    other: &Arc<FamilyPlace>,
    mode: RenameMode,
) -> Result<()> {
    let whole =
        |f: &FamilyPlace| Directory { table: f.table.clone(), row: f.row.clone(), family: Some(f.family.clone()) };
    check_moves(fs, (&whole(one), &whole(other)), (from, to), mode)?;
    declare::declare_if_asked(fs, other)?;
    move_directory(fs, from, to, &whole(one), &whole(other))?;
    carry_family(fs, one, other)
}

/// As [`carry_row`], of a family of a row; the row stays.
pub(in crate::fs) fn carry_family(fs: &Fs, one: &FamilyPlace, other: &FamilyPlace) -> Result<()> {
    fs.tree.uncommitted.dirs.remove_family(one)?;
    fs.tree.uncommitted.dirs.add_family(other)?;
    let row = RowPlace { table: one.table.clone(), row: one.row.clone() };
    fs.tree.uncommitted.dirs.add_row(&row)
}

/// Moves all cells below a directory, and the nodes that the kernel holds there.
fn move_directory(fs: &Fs, from: &NodeKey, to: &NodeKey, one: &Directory, other: &Directory) -> Result<()> {
    let shift = || {
        fs.tree.backend.rename_directory(one, other, Origin(fs.nodes.number(from)))?;
        fs.modes.rename(from, to)?;
        moving::move_node(fs, from, to, None);
        fs.nodes.rename_all(|place| place.below(one, other));
        Ok(())
    };
    moving::move_below(fs, |column| one.holds(column), shift)
}

/// Refuses what will not be moved, before families are declared for it.
fn check_moves(
    fs: &Fs,
    (one, other): (&Directory, &Directory),
    (from, to): (&NodeKey, &NodeKey),
    mode: RenameMode,
) -> Result<()> {
    check_directories(fs, from, to, mode)?;
    let backend = &fs.tree.backend;
    if backend.moves_directories() { Ok(()) } else { backend.rename_directory(one, other, Origin::default()).map(drop) }
}

fn check_directories(fs: &Fs, from: &NodeKey, to: &NodeKey, mode: RenameMode) -> Result<()> {
    if mode == RenameMode::Exchange {
        let text = "two rows or families cannot be exchanged; rename one after the other";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    if facts::at(&fs.tree, from)?.is_none() {
        return Err(Error::new(ErrorKind::NotFound, "no such directory"));
    }
    if facts::at(&fs.tree, to)?.is_some() {
        if mode != RenameMode::Replace {
            return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
        }
        if !listing::page(&fs.tree, to, None, 1)?.is_empty() {
            return Err(Error::new(
                ErrorKind::NotEmpty,
                "the target directory is not empty: move it away, or remove it with `rm -r`, before",
            ));
        }
    }
    Ok(())
}

fn rename_schema(
    fs: &Fs,
    (from, to): (&NodeKey, &NodeKey),
    (one, other): (&Arc<SchemaPlace>, &Arc<SchemaPlace>),
    mode: RenameMode,
) -> Result<()> {
    match mode {
        RenameMode::Exchange => {
            let text = "only two cells, or two tables, can be exchanged: write both attributes anew";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        RenameMode::NoReplace if known::facts(fs, to)?.is_some() => {
            return Err(Error::new(ErrorKind::AlreadyExists, "the attribute is set"));
        }
        RenameMode::NoReplace | RenameMode::Replace => {}
    }
    let (bytes, mtime) = fs.texts.get(one).ok_or_else(|| not_permitted("an attribute is copied, not renamed"))?;
    match other.as_ref() {
        SchemaPlace::Scratch { .. } => return Err(not_permitted("scratch files are renamed over attributes")),
        place if place.is_dir() => return Err(not_permitted("a directory is not replaced by a file")),
        place => {
            let origin = Origin(fs.nodes.number(to));
            attribute::set_attribute(fs, place, Some(&bytes), origin)?;
            attribute::set_attribute_time(fs, place, mtime, origin)?;
        }
    }
    fs.texts.remove(one);
    moving::move_node(fs, from, to, None);
    Ok(())
}

fn cross(text: &str) -> Error {
    Error::new(ErrorKind::CrossDevice, text)
}

/// As [`no_such_target`], of what the target does not take: a check refuses it. Other arguments that make no sense stay
/// EINVAL: rename(2) has that for its flags.
fn not_taken(refused: Error) -> Error {
    if refused.kind == ErrorKind::Refused { no_such_target(refused) } else { refused }
}
