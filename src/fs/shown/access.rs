//! Modes and owners: what is kept of a file beside its version, and what the mount's options say of the rest.
//! The kernel judges by them who may do what (default_permissions).

use std::sync::Arc;

use crate::Result;
use crate::fs::base::{Fs, not_permitted};
use crate::fs::bytes::content::Session;
use crate::fs::caller::Creator;
use crate::fs::nodes::modes::Modes;
use crate::fs::nodes::node::NodeState;
use crate::fs::shown::{kernel, known};
use crate::model::{FileAttributes, FileChange, MODE_BITS};
use crate::tree::found::Facts;
use crate::tree::path::parent_of;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
use crate::tree::view::View;

/// Bits with which a program runs as somebody else.
const PRIVILEGES: u16 = 0o6000;
/// Of them the one of the group, and who it is for: without that bit it has another meaning.
const SET_GROUP: u16 = 0o2000;
const GROUP_RUNS: u16 = 0o0010;

/// Permission bits, owner and group as `stat` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fs) struct Access {
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
}

/// What a node has of which nothing is kept.
fn access_by_options(fs: &Fs, key: &NodeKey) -> Access {
    let (uid, gid) = (fs.options.uid, fs.options.gid);
    let mode = if key.place.is_dir() { 0o777 & !fs.options.dir_mask } else { 0o666 & !fs.options.file_mask };
    Access { mode, uid, gid }
}

pub fn access_of(fs: &Fs, key: &NodeKey, state: &NodeState, facts: Option<&Facts>) -> Access {
    let base = access_by_options(fs, key);
    let read_only = matches!(key.place, Place::Info(_) | Place::InfoOf(_) | Place::TableInfo(..) | Place::FamilyComplete(..))
            || matches!(key.view, View::At(_))
            || key.asked.is_some()
            || matches!(key.place, Place::Asking(..) | Place::Count(_) | Place::Changes(_) | Place::Exports(_) | Place::Export(..))
            // What a backup copies has the modes that it is to have again.
            || key.snapshot.is_some() && key.view != View::History;
    let around = around(fs, key);
    let kept = match facts {
        _ if key.place.is_dir() => around.and(of_directory(fs, key, state)).into(),
        Some(Facts::Text { file, .. } | Facts::Scratch { file, .. }) => file.clone(),
        _ => kept(state),
    };
    let mode = kept.mode().unwrap_or(base.mode);
    Access {
        mode: match &key.place {
            // It gives nothing, and whoever writes to it changes any row.
            Place::Import(..) => mode & 0o200,
            Place::Imports(_) => mode & !0o222,
            // A cell of which no mode is kept has that of the options.
            Place::Json(row) if read_only => mode & base.mode & !closed_by_families(fs, row) & !0o222,
            Place::Json(row) => mode & base.mode & !closed_by_families(fs, row),
            _ if read_only => mode & !0o222 & open_to(key),
            // Whoever may make nothing in the directory changes nothing of its schema.
            Place::Schema(_) => mode & !(around.mode.map_or(0, |mode| !mode) & 0o222),
            _ => mode,
        },
        uid: kept.uid().or(around.uid).unwrap_or(base.uid),
        gid: kept.gid().or(around.gid).unwrap_or(base.gid),
    }
}

/// What was set on the directory of the tree that versions or a schema stand in: by that these are made, changed and
/// removed, too.
fn around(fs: &Fs, key: &NodeKey) -> FileChange {
    if !matches!(key.place, Place::Versions(_) | Place::Schema(_)) {
        return FileChange::default();
    }
    let mut at = parent_of(key);
    while let Some(over) = at {
        if Modes::is_level(&over.place) {
            return behind_present(fs, &over, fs.modes.get(&over));
        }
        at = parent_of(&over);
    }
    FileChange::default()
}

/// What was set on a directory. In the history, the past and snapshots too it keeps others from what is below it, as it
/// does now, unless something else was set there.
fn of_directory(fs: &Fs, key: &NodeKey, state: &NodeState) -> FileChange {
    let own = if !state.unlinked && Modes::holds(key) { fs.modes.get(key) } else { state.times().access };
    behind_present(fs, key, own)
}

fn behind_present(fs: &Fs, key: &NodeKey, own: FileChange) -> FileChange {
    match key.view {
        View::Plain if key.snapshot.is_none() => own,
        _ => fs.modes.get(&NodeKey::plain(key.place.clone())).and(own),
    }
}

/// Bits that the text of a row has not, for the group and the others: it shows and sets what is in all of its families.
fn closed_by_families(fs: &Fs, row: &RowPlace) -> u16 {
    let everybody = 0o066;
    let Ok(catalogue) = fs.tree.backend.catalogue() else { return everybody };
    let Some(table) = catalogue.tables.get(&row.table) else { return everybody };
    let place =
        |family: &String| FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: family.clone() };
    let places = table.families.keys().map(|family| NodeKey::plain(Place::Family(Arc::new(place(family)))));
    places.fold(0, |closed, place| closed | closed_by_directory(fs, fs.modes.get(&place)))
}

/// Who may not list a directory and look into it may not read what is in it, and who may not write there may not either.
fn closed_by_directory(fs: &Fs, FileChange { mode, uid, gid, .. }: FileChange) -> u16 {
    let mode = mode.unwrap_or(0o777 & !fs.options.dir_mask);
    let closed = |bits: u16| match bits & 0o7 {
        0o7 => 0,
        0o5 => 0o2,
        _ => 0o6,
    };
    // To one of another owner or group, those of the mount's are others.
    let of_group = if uid.is_none() && gid.is_none() { mode >> 3 } else { mode };
    closed(of_group) << 3 | closed(mode)
}

/// What is kept of the version that reads see, with what goes with the next commit.
fn kept(state: &NodeState) -> FileAttributes {
    let stored = state.cell.as_ref().map(|cell| cell.tags.file.clone()).unwrap_or_default();
    match &state.session {
        Some(session) => stored.with(&session.file),
        None => stored,
    }
}

/// What the next version of a file keeps: of the version before what is not about its bytes, then what was
/// set since. What the options say anyway is not kept unless something else was.
pub fn next_attributes(fs: &Fs, key: &NodeKey, before: &FileAttributes, change: FileChange) -> FileAttributes {
    let (base, before) = (access_by_options(fs, key), before.of_next_version());
    before.with(&FileChange {
        mode: change.mode.filter(|mode| before.mode().is_some() || *mode != base.mode),
        uid: change.uid.filter(|uid| before.uid().is_some() || *uid != base.uid),
        gid: change.gid.filter(|gid| before.gid().is_some() || *gid != base.gid),
        ..change
    })
}

/// As [`next_attributes`], of what a session's commit makes.
pub fn attributes_of_commit(fs: &Fs, key: &NodeKey, state: &NodeState, session: &Session) -> FileAttributes {
    let stored = state.cell.as_ref().map(|cell| cell.tags.file.clone()).unwrap_or_default();
    next_attributes(fs, key, &stored, session.file)
}

/// What a new file or directory has of its creator where that is not what the options say. Its group is the directory's
/// where that has the set-group-ID bit, which new directories get too (inode(7)).
pub fn by_creator(fs: &Fs, key: &NodeKey, creator: Creator) -> FileChange {
    let (base, told, Creator { caller, mode, umask }) = (access_by_options(fs, key), fs.options.told, creator);
    let mask = if key.place.is_dir() { told.dir_mask } else { told.file_mask };
    let mode = mode as u16 & MODE_BITS & !mask.unwrap_or(umask as u16);
    let (group, inherited) = match group_of_directory(fs, key) {
        Some(gid) if key.place.is_dir() => (gid, SET_GROUP),
        Some(gid) => (gid, 0),
        None => (caller.gid, 0),
    };
    let mode = mode | inherited;
    FileChange {
        mtime: None,
        mode: Some(mode).filter(|mode| *mode != base.mode),
        uid: Some(told.uid.unwrap_or(caller.uid)).filter(|uid| *uid != base.uid),
        gid: Some(told.gid.unwrap_or(group)).filter(|gid| *gid != base.gid),
    }
}

/// The group that all in a directory gets, if it has the set-group-ID bit.
fn group_of_directory(fs: &Fs, key: &NodeKey) -> Option<u32> {
    let directory = fs.modes.get(&parent_of(key)?);
    let gives = directory.mode.is_some_and(|mode| mode & SET_GROUP != 0);
    gives.then(|| directory.gid.unwrap_or(fs.options.gid))
}

/// Other bytes end the bits with which a file is run as its owner. The kernel, which has its attributes still, is told.
pub fn end_privileges(fs: &Fs, ino: u64, session: &mut Session, stored: Option<u16>) {
    if let Some(mode) = session.file.mode.or(stored).and_then(without_privileges) {
        session.file.mode = Some(mode);
        kernel::invalidate_inode(fs, ino);
    }
}

/// A version of a file that is another's: where its directory has the sticky bit, it is made or moved there by the owner
/// of one of both, or by root, for it may take the file's place (inode(7) has it so of removals and renames).
pub fn check_sticky(fs: &Fs, key: &NodeKey, by: u32) -> Result<()> {
    let (Place::Version(column, _) | Place::Ended(column, ..)) = &key.place else { return Ok(()) };
    let (table, row, family) = (column.table.clone(), column.row.clone(), column.family.clone());
    let directory = fs.modes.get(&NodeKey::plain(Place::Family(Arc::new(FamilyPlace { table, row, family }))));
    let is_sticky = directory.mode.is_some_and(|mode| u32::from(mode) & libc::S_ISVTX != 0);
    let is_of = |uid: Option<u32>| uid.unwrap_or(fs.options.uid) == by;
    if by == 0 || !is_sticky || is_of(directory.uid) {
        return Ok(());
    }
    match known::facts(fs, &NodeKey::plain(Place::Cell(Arc::clone(column))))? {
        Some(Facts::Cell(cell)) if !is_of(cell.tags.file.uid()) => {
            Err(not_permitted("the directory has the sticky bit, and the file of which this is a version is another's"))
        }
        _ => Ok(()),
    }
}

/// Whose bits a generated file may have: what shows values is its owner's alone, as they may be kept from others.
fn open_to(key: &NodeKey) -> u16 {
    let tells_values = key.is_question() && key.asked.as_ref().is_some_and(|asked| asked.tells_values());
    if tells_values || matches!(key.place, Place::Export(..) | Place::Changes(_)) { 0o700 } else { 0o777 }
}

/// The mode without those bits; `None` if it has none.
pub fn without_privileges(mode: u16) -> Option<u16> {
    let ended = if mode & GROUP_RUNS == 0 { PRIVILEGES & !SET_GROUP } else { PRIVILEGES };
    (mode & ended != 0).then_some(mode & !ended)
}
