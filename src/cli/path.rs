//! From a path in a mount to what it stands for.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::backend::Backend;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, open_mounted};
use crate::model::{Catalogue, Dropped, DroppedThing, TableName, to_bytes_binary};
use crate::store::Store;
use crate::tree::base::Tree;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
use crate::tree::resolve;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Whether a path is below the root of a mount.
pub fn is_inside(path: &Path) -> Result<bool> {
    let path = locate::in_whole_tree(path)?;
    let inside = |mount: &Path| path != mount && path.starts_with(mount);
    Ok(locate::mounts()?.iter().any(|mount| inside(&mount.mount_point)) && !Store::exists(&path))
}

/// The store of the mount that a path is in, and the path's place there, whether or not something is there.
pub fn resolve(path: &Path) -> Result<(Arc<dyn Backend>, Place)> {
    resolved(path).map(|(_, backend, key)| (backend, key.place))
}

/// As [`resolve()`], with the mount point, of what can be changed.
pub fn resolve_present(path: &Path) -> Result<(PathBuf, Arc<dyn Backend>, Place)> {
    let (mount, backend, key) = resolved(path)?;
    if key.view != View::Plain {
        let text = format!("{} is in the history; give the path of the present, outside .history", path.display());
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    Ok((mount, backend, key.place))
}

fn resolved(path: &Path) -> Result<(PathBuf, Arc<dyn Backend>, NodeKey)> {
    let path = locate::in_whole_tree(path)?;
    let inside = locate::mounts()?.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    let mount = inside.max_by_key(|mount| mount.mount_point.as_os_str().len()).ok_or_else(|| {
        let shown = path.display();
        let text = match Store::exists(&path) {
            true => format!("{shown} is a store: say what in it is meant, after it, beginning with a table"),
            false => format!("{shown} is in no mount of cellfs; mount the store, or give it and what in it is meant"),
        };
        Error::new(ErrorKind::NotFound, text)
    })?;
    let backend = open_mounted(&mount, Absent::Refuse)?;
    let mut tree = Tree::new(Arc::clone(&backend), &std::env::temp_dir());
    // Names mean here what they mean in the mount.
    tree.spelling = sockets::daemon_of(&mount)?.map_or_else(Default::default, |daemon| daemon.hello().spelling);
    let mut key = NodeKey::plain(Place::Root);
    for component in path.strip_prefix(&mount.mount_point).unwrap_or(&path).components() {
        if let Component::Normal(name) = component {
            key = resolve::target(&tree, &key, name.as_bytes())?;
        }
    }
    if key.asked.is_some() || matches!(key.place, Place::Asking(..)) {
        let text = format!("{} is a scan path; give the path of the table, or ask with cellfs scan", path.display());
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    if key.snapshot.is_some() || matches!(key.view, View::At(_)) {
        let text =
            format!("{} is in the past; give the path of the present, outside .at and .snapshot", path.display());
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    Ok((mount.mount_point, backend, key))
}

/// The place in a store of `[NAMESPACE/]TABLE/...` or `NAMESPACE:TABLE/...`, each part spelt as in a mount, or with
/// `\xNN` for bytes; `default` is the namespace where the first part is none. `NAMESPACE:` is all of one, and so is
/// `NAMESPACE` where no table has that name.
pub fn named(backend: &Arc<dyn Backend>, path: &Path) -> Result<Place> {
    let tree = Tree::new(Arc::clone(backend), &std::env::temp_dir());
    let mut names: Vec<&[u8]> = path.components().filter_map(name_of).collect();
    let catalogue = backend.catalogue()?;
    let first = names.first().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
    let mut key = NodeKey::plain(Place::Root);
    if let Some((namespace, table)) = first.split_once(':') {
        names.splice(..1, [namespace.as_bytes(), table.as_bytes()]);
        names.retain(|name| !name.is_empty());
    } else if !is_namespace(&catalogue, first) || names.len() == 1 && is_default_table(&catalogue, first) {
        names.insert(0, b"default");
    }
    for name in names {
        key = match place_of_bytes(&key.place, name) {
            Some(place) => NodeKey::plain(place),
            None => resolve::target(&tree, &key, name)?,
        };
    }
    Ok(key.place)
}

/// Whether a namespace is there, or was when a table in it was dropped.
fn is_namespace(catalogue: &Catalogue, name: &str) -> bool {
    let of_table =
        |dropped: &Dropped| matches!(&dropped.what, DroppedThing::Table(table) if *table.name.namespace == *name);
    catalogue.namespaces.contains_key(name) || catalogue.dropped.iter().any(of_table)
}

/// Whether the namespace `default` has, or had, a table of this name.
fn is_default_table(catalogue: &Catalogue, name: &str) -> bool {
    let is_it = |table: &TableName| &*table.namespace == "default" && *table.name == *name;
    let was_it = |dropped: &Dropped| matches!(&dropped.what, DroppedThing::Table(table) if is_it(&table.name));
    catalogue.tables.keys().any(is_it) || catalogue.dropped.iter().any(was_it)
}

/// The row, family or cell whose key is given with `\xNN` in it: such a key is no name in a mount.
fn place_of_bytes(parent: &Place, name: &[u8]) -> Option<Place> {
    let key = to_bytes_binary(name);
    if key.len() == name.len() {
        return None;
    }
    match parent {
        Place::Table(table) => Some(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row: key }))),
        Place::Row(row) => {
            let (table, row, family) = (row.table.clone(), row.row.clone(), String::from_utf8(key).ok()?);
            Some(Place::Family(Arc::new(FamilyPlace { table, row, family })))
        }
        Place::Family(family) => Some(Place::Cell(Arc::new(family.column(key)))),
        _ => None,
    }
}

fn name_of<'a>(component: Component<'a>) -> Option<&'a [u8]> {
    if let Component::Normal(name) = component { Some(name.as_bytes()) } else { None }
}
