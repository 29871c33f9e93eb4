//! Removing names: cells, versions, attributes.

use std::sync::Arc;

use crate::backend::{Backend, RowListing, Versions};
use crate::fs::base::{Fs, not_permitted};
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::kinds::attribute;
use crate::fs::kinds::history;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::ops::removing;
use crate::fs::requests::writable;
use crate::fs::session::commit;
use crate::fs::session::write;
use crate::fs::shown::expiry;
use crate::fs::shown::kernel;
use crate::fs::shown::touch;
use crate::model::{CatalogueChange, ColumnKey, DeleteKind, Origin, Scan, TableName, Time, TimeRange};
use crate::tree::place::{NodeKey, Place, SchemaPlace, ScratchPlace, family_of};
use crate::tree::schema::{constraint as schema_constraint, texts as schema};
use crate::tree::view::View;
use crate::tree::{facts, resolve};
use crate::{Error, ErrorKind, Result};

/// What is known of a name that goes before the store is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// Bytes that the store does not know yet.
    Bytes,
    /// It is the name of a version.
    Stored,
}

/// Rows that a walk looks at in one step.
const ROWS: usize = 1000;

/// unlink(2).
pub fn unlink(fs: &Fs, parent: u64, name: &[u8], caller: Caller) -> Result<()> {
    let dir = fs.node(parent)?.key();
    subject::is_named(name);
    let key = resolve::target(&fs.tree, &dir, name)?;
    writable::check_writable(fs, &key)?;
    if let Place::Schema(place) = &key.place
        && facts::at(&fs.tree, &key)?.is_some()
        && removing::goes_with_directory(fs, &dir, place, caller.pid)
    {
        lose_name(fs, fs.nodes.find(&key));
        return Ok(());
    }
    removing::check_removal(fs, &key, caller.pid)?;
    unlink_key(fs, &key, name)?;
    touch::touch_directory(fs, parent);
    Ok(())
}

fn unlink_key(fs: &Fs, key: &NodeKey, name: &[u8]) -> Result<()> {
    match &key.place {
        Place::Cell(column) => unlink_cell(fs, key, column, name),
        Place::Version(column, timestamp) => {
            let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
            let kind = DeleteKind::Version { family, qualifier };
            // Already gone is no error: the name was there when it was looked up.
            let delete = || commit::delete(fs, column, kind, Time::At(*timestamp), false, fs.nodes.number(key));
            write::holding(fs, key, delete)?;
            lose_name(fs, fs.nodes.find(key));
            kernel::drop_attributes(fs, column);
            Ok(())
        }
        Place::Ended(column, timestamp, _) => {
            // An emptied directory stays until it is removed, as everywhere.
            fs.tree.restored.add_family(&family_of(column))?;
            write::holding(fs, key, || history::purge_version(fs, key, column, *timestamp))?;
            lose_name(fs, fs.nodes.find(key));
            Ok(())
        }
        Place::Scratch(place) => unlink_scratch(fs, key, place),
        Place::KeyFile(_) | Place::RowKey(_) if key.view == View::History => {
            fs.tree.keys.hide(&key.place)?;
            lose_name(fs, fs.nodes.find(key));
            Ok(())
        }
        Place::Schema(place) => unlink_schema(fs, key, place),
        _ => Err(not_permitted("a generated entry cannot be removed")),
    }
}

fn unlink_cell(fs: &Fs, key: &NodeKey, column: &Arc<ColumnKey>, name: &[u8]) -> Result<()> {
    let Some(node) = fs.nodes.find(key) else {
        return unlink_stored(fs, key, column, name, Known::Nothing, fs.nodes.number(key));
    };
    {
        // Order: no commit between the look and the tombstone, or a version would outlive its name.
        let mut state = node.state();
        let known = known_to_unlink(fs, &node, &state);
        if node.opens() > 0 {
            // An open file stays readable and writable after its name is gone.
            write::session(fs, &node, &mut state)?;
        }
        unlink_stored(fs, key, column, name, known, node.ino).inspect_err(|_| state.end_idle_session())?;
        state.unlinked = true;
    }
    fs.nodes.detach(&node);
    Ok(())
}

/// What the node of a cell tells of it.
fn known_to_unlink(fs: &Fs, node: &Node, state: &NodeState) -> Known {
    if state.session.is_some() {
        return Known::Bytes;
    }
    // What others do on a server is not told at once.
    let is_told = fs.tree.backend.is_prompt() && !node.is_stale() && !state.unlinked;
    match state.cell.as_deref().filter(|_| is_told) {
        Some(cell) if expiry::is_fresh(fs, cell) => Known::Stored,
        _ => Known::Nothing,
    }
}

fn unlink_stored(fs: &Fs, key: &NodeKey, column: &ColumnKey, name: &[u8], known: Known, origin: u64) -> Result<()> {
    let is_stored = match known {
        Known::Stored => true,
        Known::Bytes | Known::Nothing => match fs.tree.backend.newest(column, key.view.time_range()) {
            Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => false,
            other => other?.is_some(),
        },
    };
    if !is_stored && known == Known::Nothing {
        return Err(Error::new(ErrorKind::NotFound, "no such cell"));
    }
    fs.tree.uncommitted.dirs.add_family_of(column)?;
    if is_stored {
        let erases = is_temporary(fs, column, name)?;
        let kind = DeleteKind::Column { family: column.family.clone(), qualifier: column.qualifier.clone() };
        commit::delete(fs, column, kind, Time::AfterNewest, erases, origin)?;
    }
    fs.tree.uncommitted.remove_cell(column);
    Ok(())
}

fn lose_name(fs: &Fs, node: Option<Arc<Node>>) {
    if let Some(node) = node {
        fs.nodes.detach(&node);
        node.state().unlinked = true;
    }
}

fn unlink_scratch(fs: &Fs, key: &NodeKey, place: &ScratchPlace) -> Result<()> {
    let node = fs.nodes.find(key);
    if let Some(node) = &node {
        // An open file stays readable and writable after its name is gone.
        if node.opens() > 0 {
            write::session(fs, node, &mut node.state())?;
        }
    }
    if !fs.scratch.remove(place)? {
        return Err(Error::new(ErrorKind::NotFound, "no such scratch file"));
    }
    lose_name(fs, node);
    Ok(())
}

/// Whether a name is a temporary file's, and the column has no history but one version.
fn is_temporary(fs: &Fs, column: &ColumnKey, name: &[u8]) -> Result<bool> {
    let Ok(name) = std::str::from_utf8(name) else { return Ok(false) };
    if !fs.options.temporary.iter().any(|pattern| pattern.matches(name)) {
        return Ok(false);
    }
    Ok(fs.tree.backend.list_versions(column, Versions::LiveAndKept, None, 2)?.len() == 1)
}

fn unlink_schema(fs: &Fs, key: &NodeKey, place: &SchemaPlace) -> Result<()> {
    if place.is_dir() {
        return Err(not_permitted("a family, an index or a check is removed with rmdir"));
    }
    if !fs.texts.remove(place) {
        if facts::at(&fs.tree, key)?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, "the attribute is not set"));
        }
        unset(fs, key, place)?;
    }
    lose_name(fs, fs.nodes.find(key));
    Ok(())
}

/// In the history an attribute that is always there must go too, or a restore that unlinks first never ends.
fn unset(fs: &Fs, key: &NodeKey, place: &SchemaPlace) -> Result<()> {
    let origin = Origin(fs.nodes.number(key));
    if let (View::History, SchemaPlace::Attribute { table, family: Some(family), name }) = (key.view, place)
        && schema::is_implied(name)
    {
        let (table, family, name) = (table.clone(), family.clone(), name.clone());
        return fs.tree.backend.alter(CatalogueChange::UnsetForRestore { table, family, name }, origin);
    }
    if key.view == View::Plain {
        schema_constraint::check_unset(fs.tree.backend.catalogue()?.as_ref(), place)?;
    }
    attribute::set_attribute(fs, place, None, origin)
}

/// Whether a row has a visible or a kept cell in the family.
pub fn family_keeps(backend: &dyn Backend, table: &TableName, family: &str) -> Result<bool> {
    let mut after = None;
    loop {
        let (time_range, which) = (TimeRange::ALL, Versions::LiveAndKept);
        let listing = RowListing { table: table.clone(), after, before: Vec::new(), time_range, which, limit: ROWS };
        let rows = backend.list_rows(&listing)?;
        for row in rows.iter() {
            if backend.list_families(table, row, time_range, which)?.iter().any(|name| name == family) {
                return Ok(true);
            }
        }
        if rows.len() < ROWS {
            return Ok(false);
        }
        after = rows.last().map(<[u8]>::to_vec);
    }
}

/// Whether a row has a visible cell in the family.
pub fn family_in_use(backend: &dyn Backend, table: &TableName, family: &str) -> Result<bool> {
    let mut scan = Scan::all(table.clone());
    scan.limit = Some(1);
    scan.read.columns.insert(family.to_owned(), None);
    let first = backend.scan(&scan)?.next().transpose()?;
    Ok(first.is_some())
}
