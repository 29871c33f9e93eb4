//! Directories: making and removing them.

use crate::fs::base::{Fs, not_permitted};
use crate::fs::caller::{Caller, Creator};
use crate::fs::counts::subject;
use crate::fs::kinds::declare;
use crate::fs::kinds::declare::{create_namespace, new_table};
use crate::fs::kinds::history;
use crate::fs::nodes::modes::Modes;
use crate::fs::ops::remove;
use crate::fs::ops::removing;
use crate::fs::requests::writable;
use crate::fs::shown::access;
use crate::fs::shown::attr;
use crate::fs::shown::attr::EntryReply;
use crate::fs::shown::entry;
use crate::fs::shown::kernel;
use crate::fs::shown::known;
use crate::fs::shown::touch;
use crate::fs::views::copied;
use crate::model::{CatalogueChange, Origin, TableName, TableState};
use crate::tree::found::Facts;
use crate::tree::list::listing;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::{constraint as schema_constraint, family as schema_family, index as schema_index};
use crate::tree::view::View;
use crate::tree::{facts, resolve, ungiven};
use crate::{Error, ErrorKind, Result};

/// Makes a namespace, table, row, family of a row, or declares a family below `.schema`.
pub fn mkdir(fs: &Fs, parent: u64, name: &[u8], creator: Creator) -> Result<EntryReply> {
    let dir = fs.node(parent)?.key();
    subject::is_named(name);
    writable::check_writable(fs, &dir)?;
    let key = resolve::target(&*known::tree_of(fs, &dir)?, &dir, name)?;
    if let Some(entry) = entry::known(fs, &key)? {
        if copied::is_made_by_copy(fs, &key)? {
            return Ok(entry);
        }
        fs.forget(entry.attr.ino, 1);
        return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
    }
    writable::check_row_table(fs, &key)?;
    let access = access::by_creator(fs, &key, creator);
    // Order: before there is anything that the kernel could forget again, or be told to drop.
    fs.modes.set(&key, access)?;
    fs.absent.remove(parent, name);
    let made = if key.view == View::History { history::make_in_history(fs, &key) } else { make(fs, &key) };
    if made.is_err() {
        kernel::remember_absent(fs, parent, name);
        fs.modes.forget(&key)?;
    }
    made?;
    touch::touch_directory(fs, parent);
    let entry = entry::entry(fs, &key, Some(Facts::Dir));
    if access.is_empty() || Modes::holds(&key) {
        return Ok(entry);
    }
    let node = fs.node(entry.attr.ino)?;
    let mut state = node.state();
    state.times_mut().access = access;
    Ok(EntryReply { attr: attr::attr_of(fs, &node, &key, &state, Some(&Facts::Dir)), ..entry })
}

fn make(fs: &Fs, key: &NodeKey) -> Result<()> {
    let backend = &fs.tree.backend;
    let origin = Origin(fs.nodes.number(key));
    match &key.place {
        Place::Namespace(name) => backend.alter(create_namespace(name), origin),
        Place::Table(name) => backend.alter(CatalogueChange::CreateTable(new_table(name)), origin),
        Place::Row(row) => fs.tree.uncommitted.dirs.add_row(row),
        Place::Family(family) => {
            declare::declare_if_asked(fs, family)?;
            fs.tree.uncommitted.dirs.add_family(family)
        }
        Place::Schema(place) => match place.as_ref() {
            SchemaPlace::Family(table, family) => {
                backend.alter_from(origin, &|catalogue| schema_family::add_family(catalogue, table, family))?;
                fs.copies.made(subject::caller().pid, table, family);
                Ok(())
            }
            SchemaPlace::Index(table, index) => declare::declare_index(fs, table, index, origin),
            place @ SchemaPlace::Constraint(..) => declare::declare_constraint(fs, place, origin),
            _ => Err(not_permitted("only families, indexes and checks are made here")),
        },
        Place::Versions(column) => Err(ungiven::versions_are_given(&fs.tree, column)),
        Place::Cell(_) => {
            Err(not_permitted("a family of a row has files alone: make a row (mkdir TABLE/ROW) or another family"))
        }
        _ => Err(not_permitted("the tree has no directories at this level")),
    }
}

/// Removes an empty directory.
pub fn rmdir(fs: &Fs, parent: u64, name: &[u8], caller: Caller) -> Result<()> {
    let dir = fs.node(parent)?.key();
    subject::is_named(name);
    let key = resolve::target(&fs.tree, &dir, name)?;
    writable::check_writable(fs, &key)?;
    if !key.place.is_dir() {
        return Err(Error::new(ErrorKind::NotPermitted, "not a directory"));
    }
    if facts::at(&fs.tree, &key)?.is_none() {
        return Err(Error::new(ErrorKind::NotFound, "no such directory"));
    }
    if let Place::Schema(place) = &key.place
        && matches!(**place, SchemaPlace::Free { .. } | SchemaPlace::Constraints(..) | SchemaPlace::Constraint(..))
        && removing::goes_with_directory(fs, &dir, place, caller.pid)
    {
        return Ok(());
    }
    removing::check_removal(fs, &key, caller.pid)?;
    unmake(fs, &key)?;
    fs.changes.note_gone();
    fs.modes.forget(&key)?;
    if let Some(node) = fs.nodes.find(&key) {
        fs.nodes.detach(&node);
        node.state().unlinked = true;
    }
    touch::touch_directory(fs, parent);
    Ok(())
}

fn unmake(fs: &Fs, key: &NodeKey) -> Result<()> {
    let backend = &fs.tree.backend;
    let origin = Origin(fs.nodes.number(key));
    let disabled = disabled_table(fs, key)?;
    if let Some(table) = &disabled
        && backend.table_numbers(table)?.iter().any(|family| family.cells > 0)
    {
        let text = format!("table {table} is disabled and not empty; `cellfs drop` drops it with its cells");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    let is_listed = matches!(key.place, Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_));
    let listed = is_listed && disabled.is_none();
    if listed && listing::page(&fs.tree, key, None, 2)?.iter().any(|entry| !entry.is_schema()) {
        return Err(not_empty(&key.place));
    }
    let made = if key.view == View::History { &fs.tree.restored } else { &fs.tree.uncommitted.dirs };
    match &key.place {
        Place::Namespace(name) => backend.alter(CatalogueChange::DropNamespace { name: name.to_string() }, origin),
        Place::Table(name) => {
            backend
                .alter(CatalogueChange::SetTableAside { name: name.as_ref().clone() }.if_empty(name, None), origin)?;
            declare::forget_made(fs, name)
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
                if key.view == View::History && remove::family_keeps(backend.as_ref(), table, family)? =>
            {
                fs.tree.unmade.unmake(place);
                Ok(())
            }
            SchemaPlace::Family(table, family) => drop_family(fs, table, family, origin),
            SchemaPlace::Index(table, index) => {
                backend.alter_from(origin, &|catalogue| schema_index::remove(catalogue, table, index))
            }
            SchemaPlace::Constraint(table, family, name) => {
                backend.alter_from(origin, &|catalogue| schema_constraint::remove(catalogue, table, family, name))
            }
            // What is removed with its table, name by name, is shown again when it is made.
            place if key.view == View::History => match listing::page(&fs.tree, key, None, 1)?.is_empty() {
                true => {
                    fs.tree.unmade.unmake(place);
                    Ok(())
                }
                false => Err(not_empty(&key.place)),
            },
            _ => Err(not_permitted("this directory belongs to the schema and stays")),
        },
        Place::Versions(_) => leave_versions(fs, key),
        _ => Err(not_permitted("a generated directory cannot be removed")),
    }
}

/// The table that a directory is, if it is disabled: then it cannot be listed.
fn disabled_table(fs: &Fs, key: &NodeKey) -> Result<Option<TableName>> {
    let Place::Table(name) = &key.place else { return Ok(None) };
    let catalogue = fs.tree.backend.catalogue()?;
    let disabled = catalogue.tables.get(name.as_ref()).filter(|table| table.state == TableState::Disabled);
    Ok(disabled.map(|table| table.name.clone()))
}

fn drop_family(fs: &Fs, table: &TableName, family: &str, origin: Origin) -> Result<()> {
    let backend = &fs.tree.backend;
    let with_all = fs.removals.take(&SchemaPlace::Family(table.clone(), family.to_owned()));
    if !with_all && remove::family_in_use(backend.as_ref(), table, family)? {
        let text = format!("rows of {table} use family {family}; `rm -r` of this directory drops it with its cells");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    let change = CatalogueChange::SetFamilyAside { table: table.clone(), family: family.to_owned() };
    backend.alter(if with_all { change } else { change.if_empty(table, Some(family)) }, origin)
}

/// The directory of versions is there as long as the column has a history; `rm -r` asks for it once it has removed them.
fn leave_versions(fs: &Fs, key: &NodeKey) -> Result<()> {
    if listing::page(&fs.tree, key, None, 1)?.is_empty() { Ok(()) } else { Err(not_empty(&key.place)) }
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
        Place::Versions(_) => "there are versions: `rm -r` removes them".to_owned(),
        _ => "the directory is not empty: `rm -r` removes it with what is in it".to_owned(),
    };
    Error::new(ErrorKind::NotEmpty, text)
}
