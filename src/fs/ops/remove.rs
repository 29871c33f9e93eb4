//! Removing names: cells, versions, attributes.

use std::sync::Arc;

use crate::backend::{Backend, RowListing, Versions};
use crate::fs::base::Fs;
use crate::fs::base::not_permitted;
use crate::fs::caller::Caller;
use crate::fs::nodes::node::{Node, NodeState};
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

impl Fs {
    /// unlink(2).
    pub fn unlink(&self, parent: u64, name: &[u8], caller: Caller) -> Result<()> {
        let dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        let key = resolve::target(&self.tree, &dir, name)?;
        self.check_writable(&key)?;
        if let Place::Schema(place) = &key.place
            && facts::at(&self.tree, &key)?.is_some()
            && self.goes_with_directory(&dir, place, caller.pid)
        {
            self.lose_name(self.nodes.find(&key));
            return Ok(());
        }
        self.check_removal(&key, caller.pid)?;
        self.unlink_key(&key, name)?;
        self.touch_directory(parent);
        Ok(())
    }

    fn unlink_key(&self, key: &NodeKey, name: &[u8]) -> Result<()> {
        match &key.place {
            Place::Cell(column) => self.unlink_cell(key, column, name),
            Place::Version(column, timestamp) => {
                let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
                let kind = DeleteKind::Version { family, qualifier };
                // Already gone is no error: the name was there when it was looked up.
                self.delete(column, kind, Time::At(*timestamp), false, self.nodes.number(key))?;
                self.lose_name(self.nodes.find(key));
                Ok(())
            }
            Place::Ended(column, timestamp, _) => {
                // An emptied directory stays until it is removed, as everywhere.
                self.tree.restored.add_family(&family_of(column))?;
                self.purge_version(key, column, *timestamp)?;
                self.lose_name(self.nodes.find(key));
                Ok(())
            }
            Place::Scratch(place) => self.unlink_scratch(key, place),
            Place::KeyFile(_) | Place::RowKey(_) if key.view == View::History => {
                self.tree.keys.hide(&key.place)?;
                self.lose_name(self.nodes.find(key));
                Ok(())
            }
            Place::Schema(place) => self.unlink_schema(key, place),
            _ => Err(not_permitted("a generated entry cannot be removed")),
        }
    }

    fn unlink_cell(&self, key: &NodeKey, column: &Arc<ColumnKey>, name: &[u8]) -> Result<()> {
        let Some(node) = self.nodes.find(key) else {
            return self.unlink_stored(key, column, name, Known::Nothing, self.nodes.number(key));
        };
        {
            // Order: no commit between the look and the tombstone, or a version would outlive its name.
            let mut state = node.state();
            let known = self.known_to_unlink(&node, &state);
            if node.opens() > 0 {
                // An open file stays readable and writable after its name is gone.
                self.session(&node, &mut state)?;
            }
            self.unlink_stored(key, column, name, known, node.ino).inspect_err(|_| state.end_idle_session())?;
            state.unlinked = true;
        }
        self.nodes.detach(&node);
        Ok(())
    }

    /// What the node of a cell tells of it.
    fn known_to_unlink(&self, node: &Node, state: &NodeState) -> Known {
        if state.session.is_some() {
            return Known::Bytes;
        }
        // What others do on a server is not told at once.
        let is_told = self.tree.backend.is_prompt() && !node.is_stale() && !state.unlinked;
        match state.cell.as_deref().filter(|_| is_told) {
            Some(cell) if self.is_fresh(cell) => Known::Stored,
            _ => Known::Nothing,
        }
    }

    fn unlink_stored(&self, key: &NodeKey, column: &ColumnKey, name: &[u8], known: Known, origin: u64) -> Result<()> {
        let is_stored = match known {
            Known::Stored => true,
            Known::Bytes | Known::Nothing => match self.tree.backend.newest(column, key.view.time_range()) {
                Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => false,
                other => other?.is_some(),
            },
        };
        if !is_stored && known == Known::Nothing {
            return Err(Error::new(ErrorKind::NotFound, "no such cell"));
        }
        self.tree.uncommitted.dirs.add_family_of(column)?;
        if is_stored {
            let erases = self.is_temporary(column, name)?;
            let kind = DeleteKind::Column { family: column.family.clone(), qualifier: column.qualifier.clone() };
            self.delete(column, kind, Time::AfterNewest, erases, origin)?;
        }
        self.tree.uncommitted.remove_cell(column);
        Ok(())
    }

    fn lose_name(&self, node: Option<Arc<Node>>) {
        if let Some(node) = node {
            self.nodes.detach(&node);
            node.state().unlinked = true;
        }
    }

    fn unlink_scratch(&self, key: &NodeKey, place: &ScratchPlace) -> Result<()> {
        let node = self.nodes.find(key);
        if let Some(node) = &node {
            // An open file stays readable and writable after its name is gone.
            if node.opens() > 0 {
                self.session(node, &mut node.state())?;
            }
        }
        if !self.scratch.remove(place)? {
            return Err(Error::new(ErrorKind::NotFound, "no such scratch file"));
        }
        self.lose_name(node);
        Ok(())
    }

    /// Whether a name is a temporary file's, and the column has no history but one version.
    fn is_temporary(&self, column: &ColumnKey, name: &[u8]) -> Result<bool> {
        let Ok(name) = std::str::from_utf8(name) else { return Ok(false) };
        if !self.options.temporary.iter().any(|pattern| pattern.matches(name)) {
            return Ok(false);
        }
        Ok(self.tree.backend.list_versions(column, Versions::LiveAndKept, None, 2)?.len() == 1)
    }

    fn unlink_schema(&self, key: &NodeKey, place: &SchemaPlace) -> Result<()> {
        if place.is_dir() {
            return Err(not_permitted("a family, an index or a check is removed with rmdir"));
        }
        if !self.texts.remove(place) {
            if facts::at(&self.tree, key)?.is_none() {
                return Err(Error::new(ErrorKind::NotFound, "the attribute is not set"));
            }
            self.unset(key, place)?;
        }
        self.lose_name(self.nodes.find(key));
        Ok(())
    }

    /// In the history an attribute that is always there must go too, or a restore that unlinks first never ends.
    fn unset(&self, key: &NodeKey, place: &SchemaPlace) -> Result<()> {
        let origin = Origin(self.nodes.number(key));
        if let (View::History, SchemaPlace::Attribute { table, family: Some(family), name }) = (key.view, place)
            && schema::is_implied(name)
        {
            let (table, family, name) = (table.clone(), family.clone(), name.clone());
            return self.tree.backend.alter(CatalogueChange::UnsetForRestore { table, family, name }, origin);
        }
        if key.view == View::Plain {
            schema_constraint::check_unset(self.tree.backend.catalogue()?.as_ref(), place)?;
        }
        self.set_attribute(place, None, origin)
    }
}

/// Whether a row has a visible or a kept cell in the family.
pub(in crate::fs) fn family_keeps(backend: &dyn Backend, table: &TableName, family: &str) -> Result<bool> {
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
pub(in crate::fs) fn family_in_use(backend: &dyn Backend, table: &TableName, family: &str) -> Result<bool> {
    let mut scan = Scan::all(table.clone());
    scan.limit = Some(1);
    scan.read.columns.insert(family.to_owned(), None);
    let first = backend.scan(&scan)?.next().transpose()?;
    Ok(first.is_some())
}
