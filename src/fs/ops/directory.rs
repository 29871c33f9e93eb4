//! Directories: making and removing them.

use crate::fs::base::Fs;
use crate::fs::base::not_permitted;
use crate::fs::caller::Caller;
use crate::fs::caller::Creator;
use crate::fs::kinds::declare::create_namespace;
use crate::fs::kinds::declare::new_table;
use crate::fs::nodes::modes::Modes;
use crate::fs::shown::attr::EntryReply;
use crate::model::{CatalogueChange, Origin, TableName, TableState};
use crate::tree::found::Facts;
use crate::tree::list::listing;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::{constraint as schema_constraint, family as schema_family, index as schema_index};
use crate::tree::view::View;
use crate::tree::{facts, resolve, ungiven};
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// Makes a namespace, table, row, family of a row, or declares a family below `.schema`.
    pub fn mkdir(&self, parent: u64, name: &[u8], creator: Creator) -> Result<EntryReply> {
        let dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        self.check_writable(&dir)?;
        let key = resolve::target(&*self.tree_of(&dir)?, &dir, name)?;
        if let Some(entry) = self.known(&key)? {
            if self.is_made_by_copy(&key)? {
                return Ok(entry);
            }
            self.forget(entry.attr.ino, 1);
            return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
        }
        self.check_row_table(&key)?;
        let access = self.by_creator(&key, creator);
        // Order: before there is anything that the kernel could forget again.
        self.modes.set(&key, access)?;
        let made = if key.view == View::History { self.make_in_history(&key) } else { self.make(&key) };
        if made.is_err() {
            self.modes.forget(&key)?;
        }
        made?;
        self.touch_directory(parent);
        self.absent.remove(parent, name);
        let entry = self.entry(&key, Some(Facts::Dir));
        if access.is_empty() || Modes::holds(&key) {
            return Ok(entry);
        }
        let node = self.node(entry.attr.ino)?;
        let mut state = node.state();
        state.times_mut().access = access;
        Ok(EntryReply { attr: self.attr_of(&node, &key, &state, Some(&Facts::Dir)), ..entry })
    }

    pub(in crate::fs) fn make(&self, key: &NodeKey) -> Result<()> {
        let backend = &self.tree.backend;
        let origin = Origin(self.nodes.number(key));
        match &key.place {
            Place::Namespace(name) => backend.alter(create_namespace(name), origin),
            Place::Table(name) => backend.alter(CatalogueChange::CreateTable(new_table(name)), origin),
            Place::Row(row) => self.tree.uncommitted.dirs.add_row(row),
            Place::Family(family) => {
                self.declare_if_asked(family)?;
                self.tree.uncommitted.dirs.add_family(family)
            }
            Place::Schema(place) => match place.as_ref() {
                SchemaPlace::Family(table, family) => {
                    backend.alter_from(origin, &|catalogue| schema_family::add_family(catalogue, table, family))?;
                    self.copies.made(crate::fs::counts::subject::caller().pid, table, family);
                    Ok(())
                }
                SchemaPlace::Index(table, index) => self.declare_index(table, index, origin),
                place @ SchemaPlace::Constraint(..) => self.declare_constraint(place, origin),
                _ => Err(not_permitted("only families, indexes and checks are made here")),
            },
            Place::Versions(column) => Err(ungiven::versions_are_given(&self.tree, column)),
            _ => Err(not_permitted("the tree has no directories at this level")),
        }
    }

    /// Removes an empty directory.
    pub fn rmdir(&self, parent: u64, name: &[u8], caller: Caller) -> Result<()> {
        let dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        let key = resolve::target(&self.tree, &dir, name)?;
        self.check_writable(&key)?;
        if !key.place.is_dir() {
            return Err(Error::new(ErrorKind::NotPermitted, "not a directory"));
        }
        if facts::at(&self.tree, &key)?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, "no such directory"));
        }
        if let Place::Schema(place) = &key.place
            && matches!(**place, SchemaPlace::Free { .. } | SchemaPlace::Constraints(..) | SchemaPlace::Constraint(..))
            && self.goes_with_directory(&dir, place, caller.pid)
        {
            return Ok(());
        }
        self.check_removal(&key, caller.pid)?;
        self.unmake(&key)?;
        self.changes.note_gone();
        self.modes.forget(&key)?;
        if let Some(node) = self.nodes.find(&key) {
            self.nodes.detach(&node);
            node.state().unlinked = true;
        }
        self.touch_directory(parent);
        Ok(())
    }

    fn unmake(&self, key: &NodeKey) -> Result<()> {
        let backend = &self.tree.backend;
        let origin = Origin(self.nodes.number(key));
        let disabled = self.disabled_table(key)?;
        if let Some(table) = &disabled
            && backend.table_numbers(table)?.iter().any(|family| family.cells > 0)
        {
            let text = format!("table {table} is disabled and not empty; `cellfs drop` drops it with its cells");
            return Err(Error::new(ErrorKind::NotEmpty, text));
        }
        let is_listed = matches!(key.place, Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_));
        let listed = is_listed && disabled.is_none();
        if listed && listing::page(&self.tree, key, None, 2)?.iter().any(|entry| !entry.is_schema()) {
            return Err(not_empty(&key.place));
        }
        let made = if key.view == View::History { &self.tree.restored } else { &self.tree.uncommitted.dirs };
        match &key.place {
            Place::Namespace(name) => backend.alter(CatalogueChange::DropNamespace { name: name.to_string() }, origin),
            Place::Table(name) => {
                backend.alter(CatalogueChange::SetTableAside { name: name.as_ref().clone() }, origin)?;
                self.forget_made(name)
            }
            Place::Row(row) => made.remove_row(row).map(|_| ()),
            Place::Family(family) => {
                made.remove_family(family)?;
                // The row stays as an empty directory until it is removed itself.
                made.add_row(&family.row_place())
            }
            Place::Schema(place) => match place.as_ref() {
                // Its kept cells are in the history beside it, which a program removes afterwards.
                place @ SchemaPlace::Family(table, family)
                    if key.view == View::History
                        && crate::fs::ops::remove::family_keeps(backend.as_ref(), table, family)? =>
                {
                    self.tree.unmade.unmake(place);
                    Ok(())
                }
                SchemaPlace::Family(table, family) => self.drop_family(table, family, origin),
                SchemaPlace::Index(table, index) => {
                    backend.alter_from(origin, &|catalogue| schema_index::remove(catalogue, table, index))
                }
                SchemaPlace::Constraint(table, family, name) => {
                    backend.alter_from(origin, &|catalogue| schema_constraint::remove(catalogue, table, family, name))
                }
                // What is removed with its table, name by name, is shown again when it is made.
                place if key.view == View::History => match listing::page(&self.tree, key, None, 1)?.is_empty() {
                    true => {
                        self.tree.unmade.unmake(place);
                        Ok(())
                    }
                    false => Err(not_empty(&key.place)),
                },
                _ => Err(not_permitted("this directory belongs to the schema and stays")),
            },
            _ => Err(not_permitted("a generated directory cannot be removed")),
        }
    }

    /// The table that a directory is, if it is disabled: then it cannot be listed.
    fn disabled_table(&self, key: &NodeKey) -> Result<Option<TableName>> {
        let Place::Table(name) = &key.place else { return Ok(None) };
        let catalogue = self.tree.backend.catalogue()?;
        let disabled = catalogue.tables.get(name.as_ref()).filter(|table| table.state == TableState::Disabled);
        Ok(disabled.map(|table| table.name.clone()))
    }

    fn drop_family(&self, table: &TableName, family: &str, origin: Origin) -> Result<()> {
        let backend = &self.tree.backend;
        let with_all = self.removals.take(&SchemaPlace::Family(table.clone(), family.to_owned()));
        if !with_all && crate::fs::ops::remove::family_in_use(backend.as_ref(), table, family)? {
            let text =
                format!("rows of {table} use family {family}; `rm -r` of this directory drops it with its cells");
            return Err(Error::new(ErrorKind::NotEmpty, text));
        }
        let change = CatalogueChange::SetFamilyAside { table: table.clone(), family: family.to_owned() };
        backend.alter(change, origin)
    }
}

/// The refusal to remove a directory in which something is listed, and what to do.
fn not_empty(place: &Place) -> Error {
    let text = match place {
        Place::Namespace(name) => {
            format!("namespace {name} is not empty: drop its tables before, or take them with it by `rm -r`")
        }
        Place::Table(name) => format!(
            "table {name} is not empty: `cellfs drop STORE {name}` drops it with its rows, `rm -r` removes one after the other"
        ),
        Place::Row(_) => "the row is not empty: `rm -r` removes it with its cells".to_owned(),
        Place::Family(_) => "the family is not empty in this row: `rm -r` removes it with its cells".to_owned(),
        _ => "the directory is not empty: `rm -r` removes it with what is in it".to_owned(),
    };
    Error::new(ErrorKind::NotEmpty, text)
}
