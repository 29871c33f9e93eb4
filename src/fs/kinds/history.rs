//! Writing below `.history`: versions by their names, scratch files, and keys of shortened names.
//!
//! What a program writes there becomes one Put a version, with the mtime and the TTL that were set on the
//! file, whatever the order in which names and keys arrive.

use std::sync::Arc;

use crate::backend::RenameMode;
use crate::fs::base::{Fs, not_permitted};
use crate::fs::bytes::content::Content;
use crate::fs::bytes::scratch::Meta;
use crate::fs::kinds::declare;
use crate::fs::kinds::judge::wrong_key;
use crate::fs::nodes::node::Node;
use crate::fs::requests::writable;
use crate::fs::session::{commit, moving, write};
use crate::fs::shown::{access, known};
use crate::model::{
    AttributeChange, CatalogueChange, CellInfo, ColumnKey, FileAttributes, Mutation, Origin, PutCell, TableName, Time,
    Timestamp, Value,
};
use crate::tree::history::places::{waiting_family, waiting_row};
use crate::tree::names::escape::{At, Level, NAME_MAX, STEM_MAX, Spelling};
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{
    FamilyPlace, NodeKey, Place, RowPlace, SchemaPlace, ScratchDir, ScratchPlace, WaitingPlace, family_of,
};
use crate::tree::view::View;
use crate::tree::{facts, resolve};
use crate::{Error, ErrorKind, Result};

/// Scratch files that are looked at together.
const PAGE: usize = 256;

/// A version that the history names: its column, its timestamp, and its end if it is a deleted one.
type Version<'p> = (&'p Arc<ColumnKey>, Timestamp, Option<Timestamp>);

fn history(place: Place) -> NodeKey {
    NodeKey { view: View::History, ..NodeKey::plain(place) }
}

fn version_of(place: &Place) -> Option<Version<'_>> {
    match place {
        Place::Version(column, timestamp) => Some((column, *timestamp, None)),
        Place::Ended(column, timestamp, end) => Some((column, *timestamp, Some(*end))),
        _ => None,
    }
}

/// mkdir(2) below `.history`.
pub fn make_in_history(fs: &Fs, key: &NodeKey) -> Result<()> {
    let (backend, tree) = (&fs.tree.backend, &fs.tree);
    let origin = Origin(fs.nodes.number(key));
    match &key.place {
        Place::Namespace(name) => {
            backend.alter(declare::create_namespace(name), origin)?;
            tree.unmade.namespace(name);
            Ok(())
        }
        Place::Table(name) => {
            backend.alter(CatalogueChange::CreateTable(declare::new_table(name)), origin)?;
            tree.unmade.table(name);
            Ok(())
        }
        Place::Row(row) => tree.restored.add_row(row),
        Place::Family(family) => make_restored_family(fs, family),
        Place::Waiting(waiting) => match &waiting.family {
            None => tree.waiting.add_row(&waiting_row(waiting)),
            Some(family) => tree.waiting.add_family(&waiting_family(waiting, family)),
        },
        Place::Schema(place) if tree.unmade.make(place) => Ok(()),
        Place::Schema(place) => match place.as_ref() {
            SchemaPlace::Family(table, family) => declare_restored(fs, table, family, true),
            SchemaPlace::Index(table, index) => declare::declare_index(fs, table, index, Origin::default()),
            place @ SchemaPlace::Constraint(..) => declare::declare_constraint(fs, place, Origin::default()),
            _ => Err(not_permitted("only families are made here")),
        },
        _ => Err(not_permitted("the history has no directories at this level")),
    }
}

/// The directory of a family in a row; the family is declared if the table lacks it.
fn make_restored_family(fs: &Fs, family: &FamilyPlace) -> Result<()> {
    declare_restored(fs, &family.table, &family.family, false)?;
    fs.tree.restored.add_family(family)
}

fn declare_restored(fs: &Fs, table: &TableName, family: &str, by_schema: bool) -> Result<()> {
    let catalogue = fs.tree.backend.catalogue()?;
    let declared = catalogue.tables.get(table).is_some_and(|table| table.families.contains_key(family));
    if declared && !by_schema {
        return Ok(());
    }
    let change = CatalogueChange::RestoreFamily { table: table.clone(), family: family.to_owned() };
    fs.tree.backend.alter(change, Origin::default())?;
    fs.tree.unmade.family(table, family, by_schema);
    Ok(())
}

/// rename(2) below `.history`: a scratch file gets its name.
pub fn rename_in_history(fs: &Fs, from: &NodeKey, to: &NodeKey, mode: RenameMode) -> Result<()> {
    let Place::Scratch(source) = &from.place else {
        return Err(not_permitted("only versions and scratch files are renamed below .history"));
    };
    if mode == RenameMode::Exchange {
        return Err(Error::new(ErrorKind::IllegalArgument, "scratch files cannot be exchanged"));
    }
    if mode == RenameMode::NoReplace && exists(fs, to)? {
        return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
    }
    let node = fs.nodes.find(from);
    if let Some(node) = &node {
        moving::commit_open(fs, node)?;
    }
    let gone = || Error::new(ErrorKind::NotFound, "no such scratch file");
    let (meta, mut content) = fs.scratch.read(source)?.ok_or_else(gone)?;
    let mut cell = None;
    match &to.place {
        Place::Scratch(target) => fs.scratch.write(target, &content, &meta)?,
        Place::KeyFile(_) | Place::RowKey(_) => write_key(fs, &to.place, &key_bytes(&mut content)?)?,
        place => {
            let version = version_of(place);
            let version = version.ok_or_else(|| not_permitted("a scratch file becomes a version or a key file"))?;
            let restored = || restore(fs, version, &meta, &mut content, fs.nodes.number(to));
            cell = Some(write::holding(fs, to, restored)?);
        }
    }
    fs.scratch.remove(source)?;
    moving::move_node(fs, from, to, cell);
    if let Some(node) = node {
        let mut state = node.state();
        if state.session.as_ref().is_some_and(|session| session.dirty_handles == 0) {
            state.session = None;
        }
    }
    key_arrived(fs, &to.place)
}

fn exists(fs: &Fs, key: &NodeKey) -> Result<bool> {
    Ok(known::own_facts(fs, key)?.is_some() || facts::at(&fs.tree, key)?.is_some())
}

/// One Put of a version with its mtime, TTL and end.
fn restore(
    fs: &Fs,
    (column, timestamp, ended_at): Version<'_>,
    meta: &Meta,
    content: &mut Content,
    origin: u64,
) -> Result<CellInfo> {
    let key = history(Place::Version(Arc::clone(column), timestamp));
    let put = PutCell {
        family: column.family.clone(),
        qualifier: column.qualifier.clone(),
        time: Time::At(timestamp),
        value: content.value()?,
        ttl_ms: meta.ttl_ms,
        file: access::next_attributes(fs, &key, &FileAttributes::default(), meta.file),
        ended_at,
    };
    commit::write_version(fs, column, Mutation::Restore(Box::new(put)), Origin(origin))
}

/// Sets attributes of a stored version.
pub fn set_version_attributes(
    fs: &Fs,
    key: &NodeKey,
    cell: &CellInfo,
    change: &AttributeChange,
    origin: Origin,
) -> Result<CellInfo> {
    let gone = || Error::new(ErrorKind::NotPermitted, "only cells have such attributes");
    let column = key.place.column().ok_or_else(gone)?;
    let done = fs.tree.backend.set_attributes(column, cell, change, origin);
    match (done, version_of(&key.place)) {
        (Err(e), Some((column, timestamp, ended_at)))
            if e.kind == ErrorKind::ReadOnlyTable && writable::restores(fs, key) =>
        {
            let put = PutCell {
                family: column.family.clone(),
                qualifier: column.qualifier.clone(),
                time: Time::At(timestamp),
                value: Value::Shared(cell.clone()),
                ttl_ms: change.ttl_ms.unwrap_or(cell.tags.ttl_ms),
                file: cell.tags.file.with(&change.file),
                ended_at,
            };
            commit::write_version(fs, column, Mutation::Restore(Box::new(put)), origin)
        }
        (done, _) => done,
    }
}

/// Takes what was written into a key file.
pub fn write_key(fs: &Fs, place: &Place, bytes: &[u8]) -> Result<()> {
    let wrong = |key: &[u8]| bytes != key;
    match place {
        Place::KeyFile(column) if !wrong(&column.qualifier) => column_key(fs, &family_of(column), bytes),
        Place::RowKey(row) if !wrong(&row.row) => fs.tree.keys.write_row(row),
        _ => Err(wrong_key()),
    }
}

/// A scratch file was written: if it is the key file of a name that was not known, what waits for it goes on.
pub fn key_arrived(fs: &Fs, place: &Place) -> Result<()> {
    let Place::Scratch(scratch) = place else { return Ok(()) };
    match &scratch.dir {
        ScratchDir::Family(family) => match suffix::split(&scratch.name, At::Version) {
            Some((stem, Some(Suffix::Key))) => new_column_key(fs, scratch, family, stem),
            _ => Ok(()),
        },
        ScratchDir::Waiting(waiting) if waiting.family.is_none() && scratch.name == b".key" => {
            new_row_key(fs, scratch, waiting)
        }
        _ => Ok(()),
    }
}

/// The key that was written, whose name is shortened to one of `limits` here.
fn key_of_scratch(
    fs: &Fs,
    scratch: &ScratchPlace,
    level: Level,
    name: &[u8],
    limits: &[usize],
) -> Result<Option<Vec<u8>>> {
    let Some((_, mut content)) = fs.scratch.read(scratch)? else { return Ok(None) };
    let bytes = key_bytes(&mut content)?;
    // Nothing yet is no key: a shell's FLUSH comes before its WRITE.
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_its = |limit: &usize| Spelling::default().file_name(level, &bytes, *limit) == name;
    if limits.iter().any(is_its) { Ok(Some(bytes)) } else { Err(wrong_key()) }
}

fn new_column_key(fs: &Fs, scratch: &ScratchPlace, family: &FamilyPlace, stem: &[u8]) -> Result<()> {
    let Some(key) = key_of_scratch(fs, scratch, Level::Qualifier, stem, &[STEM_MAX, NAME_MAX])? else { return Ok(()) };
    fs.scratch.remove(scratch)?;
    let column = Arc::new(family.column(key.clone()));
    rekey(fs, &Place::Scratch(Arc::new(scratch.clone())), Place::KeyFile(column));
    column_key(fs, family, &key)
}

/// The key of a column is known now: versions that waited for it are put.
fn column_key(fs: &Fs, family: &FamilyPlace, key: &[u8]) -> Result<()> {
    fs.tree.keys.write_column(family, key)?;
    let stem = Spelling::default().file_name(Level::Qualifier, key, STEM_MAX);
    let dir = ScratchDir::Family(family.clone());
    each_scratch(fs, &dir, |name| match suffix::split(name, At::Version) {
        Some((of, Some(_))) if of == stem => promote(fs, &dir, name, &dir.place()),
        _ => Ok(()),
    })
}

/// The key of a row is known now: what waited below its name goes to its place.
fn new_row_key(fs: &Fs, scratch: &ScratchPlace, waiting: &WaitingPlace) -> Result<()> {
    let Some(key) = key_of_scratch(fs, scratch, Level::Row, &waiting.name, &[NAME_MAX])? else { return Ok(()) };
    crate::model::check_row(&key)?;
    let row = RowPlace { table: waiting.table.clone(), row: key };
    fs.scratch.remove(scratch)?;
    fs.tree.keys.write_row(&row)?;
    fs.tree.restored.add_row(&row)?;
    rekey(fs, &Place::Scratch(Arc::new(scratch.clone())), Place::RowKey(Arc::new(row.clone())));
    let place = Place::Row(Arc::new(row.clone()));
    rekey(fs, &Place::Waiting(Arc::new(waiting.clone())), place.clone());
    promote_all(fs, ScratchDir::Waiting(waiting.clone()), &place)?;
    for name in fs.tree.waiting.families(&waiting_row(waiting))? {
        let family = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: name.clone() };
        make_restored_family(fs, &family)?;
        let waiting_family = WaitingPlace { family: Some(name), ..waiting.clone() };
        let place = Place::Family(Arc::new(family));
        rekey(fs, &Place::Waiting(Arc::new(waiting_family.clone())), place.clone());
        promote_all(fs, ScratchDir::Waiting(waiting_family), &place)?;
    }
    forget_waiting(fs, waiting)
}

fn forget_waiting(fs: &Fs, waiting: &WaitingPlace) -> Result<()> {
    let row = waiting_row(waiting);
    for family in fs.tree.waiting.families(&row)? {
        fs.tree.waiting.remove_family(&waiting_family(waiting, &family))?;
    }
    fs.tree.waiting.remove_row(&row).map(|_| ())
}

fn promote_all(fs: &Fs, dir: ScratchDir, to: &Place) -> Result<()> {
    each_scratch(fs, &dir, |name| promote(fs, &dir, name, to))
}

/// Calls `visit` with the names of a directory's scratch files, page by page.
fn each_scratch(fs: &Fs, dir: &ScratchDir, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let names = fs.scratch.names(dir, after.as_deref(), PAGE)?;
        names.iter().try_for_each(|name| visit(name))?;
        match names.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

/// A file that waited goes to the place that its name has in `to` by now.
fn promote(fs: &Fs, dir: &ScratchDir, name: &[u8], to: &Place) -> Result<()> {
    let source = ScratchPlace { dir: dir.clone(), name: name.to_vec() };
    let target = resolve::target(&fs.tree, &history(to.clone()), name)?;
    let from = Place::Scratch(Arc::new(source.clone()));
    if target.place == from {
        return Ok(());
    }
    let Some((meta, mut content)) = fs.scratch.read(&source)? else { return Ok(()) };
    // An open file that is being written is committed at its new place.
    let is_dirty = |node: &Arc<Node>| node.state().session.as_ref().is_some_and(|s| s.dirty_handles > 0);
    let dirty = fs.nodes.find(&history(from.clone())).is_some_and(|node| is_dirty(&node));
    match (&target.place, version_of(&target.place)) {
        (Place::Scratch(target), _) => fs.scratch.write(target, &content, &meta)?,
        (_, Some(version)) if !dirty => {
            restore(fs, version, &meta, &mut content, fs.nodes.number(&target))?;
        }
        _ => {}
    }
    fs.scratch.remove(&source)?;
    rekey(fs, &from, target.place.clone());
    // It may be the key of a column, which waited for the row's.
    key_arrived(fs, &target.place)
}

/// A held node goes on at another place.
fn rekey(fs: &Fs, from: &Place, to: Place) {
    for view in [View::History, View::Plain] {
        if let Some(node) = fs.nodes.find(&NodeKey { view, ..NodeKey::plain(from.clone()) }) {
            fs.nodes.rename(&node, NodeKey { view, ..NodeKey::plain(to.clone()) });
        }
    }
}

/// Purges a deleted version: nothing of it is kept.
pub fn purge_version(fs: &Fs, key: &NodeKey, column: &ColumnKey, timestamp: Timestamp) -> Result<()> {
    if facts::at(&fs.tree, key)?.is_none() && fs.nodes.find(key).is_none() {
        return Err(Error::new(ErrorKind::NotFound, "no such deleted version is kept"));
    }
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let kind = crate::model::DeleteKind::Version { family, qualifier };
    commit::delete(fs, column, kind, Time::At(timestamp), true, fs.nodes.number(key))
}

/// The bytes of a key file.
fn key_bytes(content: &mut Content) -> Result<Vec<u8>> {
    content.read(0, usize::try_from(content.len()).unwrap_or(usize::MAX))
}
