//! Extended attributes: `user.cellfs.ttl`, `.key`, `.timestamp`.

use crate::fs::base::Fs;
use crate::fs::kinds::history;
use crate::fs::nodes::node::Node;
use crate::fs::requests::writable;
use crate::fs::session::{moving, told};
use crate::fs::shown::kernel;
use crate::model::{AttributeChange, Origin, parse_cell_ttl};
use crate::tree::path::name_of;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::texts as schema;
use crate::{Error, ErrorKind, Result};

const TTL: &str = "user.cellfs.ttl";
const KEY: &str = "user.cellfs.key";
const TIMESTAMP: &str = "user.cellfs.timestamp";

/// Answer about an attribute that is not there (ENODATA has no error kind of its own: it is no failure).
pub enum Xattr {
    Value(Vec<u8>),
    Absent,
}

/// What setxattr(2) asks of what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetXattr {
    Any,
    /// XATTR_CREATE: there must be none.
    Create,
    /// XATTR_REPLACE: there must be one.
    Replace,
}

/// The value of an attribute; `Unsupported` outside `user.` and `security.`.
pub fn getxattr(fs: &Fs, ino: u64, name: &str) -> Result<Xattr> {
    if name.starts_with("security.") {
        return Ok(Xattr::Absent);
    }
    if !name.starts_with("user.") {
        return Err(unsupported(name));
    }
    let node = fs.node(ino)?;
    let key = node.key();
    if let (TTL, Some(ttl)) = (name, pending_ttl(fs, &node, &key)?) {
        return Ok(ttl.map_or(Xattr::Absent, |ms| Xattr::Value(ms.to_string().into_bytes())));
    }
    let cell = match name {
        KEY => {
            let key = key_of(&key.place).unwrap_or_else(|| name_of(&fs.tree, &key));
            return Ok(Xattr::Value(key));
        }
        TTL | TIMESTAMP if key.place.column().is_some() => told::current(fs, &node, &mut node.state())?,
        _ => None,
    };
    let number = cell.and_then(|cell| match name {
        TTL => cell.tags.ttl_ms.map(|ms| ms.to_string()),
        _ => Some(cell.timestamp.to_string()),
    });
    Ok(number.map_or(Xattr::Absent, |text| Xattr::Value(text.into_bytes())))
}

/// Names, each ended by a NUL: only the TTL is listed, when it is set.
pub fn listxattr(fs: &Fs, ino: u64) -> Result<Vec<u8>> {
    Ok(match getxattr(fs, ino, TTL)? {
        Xattr::Value(_) => [TTL.as_bytes(), b"\0"].concat(),
        Xattr::Absent => Vec::new(),
    })
}

/// Sets the cell's TTL, milliseconds as decimal text.
pub fn setxattr(fs: &Fs, ino: u64, name: &str, value: &[u8], mode: SetXattr) -> Result<()> {
    // A refusal names it.
    fs.node(ino)?;
    check_offered(fs)?;
    if name != TTL {
        return Err(unsupported(name));
    }
    match (mode, getxattr(fs, ino, TTL)?) {
        (SetXattr::Create, Xattr::Value(_)) => {
            return Err(Error::new(ErrorKind::AlreadyExists, "the cell has a TTL already"));
        }
        (SetXattr::Replace, Xattr::Absent) => {
            return Err(Error::new(ErrorKind::NoAttribute, "the cell has no TTL that could be replaced"));
        }
        _ => {}
    }
    let ttl = parse_cell_ttl(&String::from_utf8_lossy(value)).map_err(|e| e.context(TTL))?;
    set_ttl(fs, ino, Some(ttl))
}

/// Removes the cell's TTL; false when there is none.
pub fn removexattr(fs: &Fs, ino: u64, name: &str) -> Result<bool> {
    check_offered(fs)?;
    if name != TTL || matches!(getxattr(fs, ino, TTL)?, Xattr::Absent) {
        return Ok(false);
    }
    set_ttl(fs, ino, None).map(|()| true)
}

fn set_ttl(fs: &Fs, ino: u64, ttl_ms: Option<u64>) -> Result<()> {
    let node = fs.node(ino)?;
    let key = node.key();
    writable::check_writable(fs, &key)?;
    if set_pending_ttl(fs, &node, &key, ttl_ms)? {
        return Ok(());
    }
    let mut state = node.state();
    if state.unlinked {
        // What is stored is not this file any more.
        return Ok(());
    }
    let gone = || Error::new(ErrorKind::NotPermitted, "only cells have a TTL");
    let cell = told::current(fs, &node, &mut state)?.ok_or_else(gone)?;
    let change = AttributeChange { ttl_ms: Some(ttl_ms), ..AttributeChange::default() };
    let done = history::set_version_attributes(fs, &key, &cell, &change, Origin::default())?;
    moving::follow_change(fs, &node, &cell, &done);
    state.cell = Some(Box::new(done));
    // The kernel keeps the name for as long as it was told before.
    kernel::invalidate_name(fs, &key);
    Ok(())
}

/// The TTL of what is not committed yet.
fn pending_ttl(fs: &Fs, node: &Node, key: &NodeKey) -> Result<Option<Option<u64>>> {
    if let Some(ttl) = node.state().session.as_ref().and_then(|session| session.ttl_ms) {
        return Ok(Some(ttl));
    }
    match &key.place {
        Place::Scratch(place) => Ok(Some(fs.scratch.meta(place)?.and_then(|meta| meta.ttl_ms))),
        _ => Ok(None),
    }
}

/// A TTL goes with the commit of the bytes that are being written, and is of a file without a name; true if it is done.
fn set_pending_ttl(fs: &Fs, node: &Node, key: &NodeKey, ttl_ms: Option<u64>) -> Result<bool> {
    let mut state = node.state();
    let unlinked = state.unlinked;
    if let Some(session) = &mut state.session {
        session.ttl_ms = Some(ttl_ms);
        if session.dirty_handles > 0 || unlinked {
            return Ok(true);
        }
    }
    match &key.place {
        Place::Scratch(place) => fs.scratch.change(place, |meta| meta.ttl_ms = ttl_ms).map(|()| true),
        _ => Ok(false),
    }
}

/// The full key of a node's last component; of a generated one that of what it is about, else its name.
fn key_of(place: &Place) -> Option<Vec<u8>> {
    Some(match place {
        Place::Row(row) | Place::Json(row) | Place::RowKey(row) => row.row.clone(),
        Place::Family(family) => family.family.clone().into_bytes(),
        Place::Table(table) | Place::TableInfo(table, _) => table.name.as_bytes().to_vec(),
        Place::Namespace(name) => name.as_bytes().to_vec(),
        Place::FamilyComplete(_, family) => family.as_bytes().to_vec(),
        Place::Times(base) | Place::InfoOf(base) => return key_of(base),
        Place::Schema(place) => match place.as_ref() {
            SchemaPlace::Namespace(name) => name.clone().into_bytes(),
            SchemaPlace::Table(table) | SchemaPlace::TableAttributes(table) => table.name.as_bytes().to_vec(),
            other => schema::name_of(other),
        },
        place => return place.column().map(|column| column.qualifier.clone()),
    })
}

/// Refuses all where the mount has none.
fn check_offered(fs: &Fs) -> Result<()> {
    match fs.options.no_xattr {
        true => Err(Error::new(ErrorKind::Unsupported, "this mount has no extended attributes (noxattr)")),
        false => Ok(()),
    }
}

fn unsupported(name: &str) -> Error {
    let text = format!("{}: only user.cellfs.ttl can be set here", name.escape_debug());
    Error::new(ErrorKind::Unsupported, text)
}
