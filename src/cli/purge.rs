//! purge.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::Answer;
use super::args::PurgeArgs;
use super::cells::split_column;
use crate::backend::Purge;
use crate::daemon::{Absent, mount_above, open_backend};
use crate::model::TableName;
use crate::tree::escape::{Level, Parsed, parse};
use crate::{Error, ErrorKind, Result};

pub fn purge(args: &PurgeArgs) -> Result<Answer> {
    let (store, purge) = match &args.table {
        Some(table) => (args.path.clone(), of_arguments(args, table)?),
        None => of_path(&args.path)?,
    };
    open_backend(&store, Absent::Refuse)?.purge(&purge)?;
    Ok(Answer::Yes)
}

fn of_arguments(args: &PurgeArgs, table: &str) -> Result<Purge> {
    let column = args.column.as_deref().map(split_column).transpose()?;
    let (family, qualifier) = column.map_or((None, None), |(family, qualifier)| (Some(family), qualifier));
    let row = args.row.as_ref().map(|row| row.as_bytes().to_vec());
    Ok(Purge { table: TableName::parse(table)?, row, family, qualifier })
}

/// The mount point above a path, and what the rest of the path names.
fn of_path(path: &Path) -> Result<(PathBuf, Purge)> {
    let text = format!("{} is neither on a mount nor followed by a table's name", path.display());
    let mount = mount_above(path)?.ok_or_else(|| Error::new(ErrorKind::IllegalArgument, text))?;
    let below = crate::daemon::absolute(path)?;
    let below = below.strip_prefix(&mount).unwrap_or(Path::new("")).to_owned();
    let names: Vec<&OsStr> =
        below.components().filter_map(|c| if let Component::Normal(name) = c { Some(name) } else { None }).collect();
    let [namespace, table, rest @ ..] = names.as_slice() else {
        let text = "name a table, a row, a family or a cell: a whole namespace is not purged at once";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    };
    let table = TableName::parse(&format!("{}:{}", namespace.to_string_lossy(), table.to_string_lossy()))?;
    let key = |at: usize, level| rest.get(at).map(|name| key_of(level, name)).transpose();
    let family = key(1, Level::Family)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((mount, Purge { table, row: key(0, Level::Row)?, family, qualifier: key(2, Level::Qualifier)? }))
}

fn key_of(level: Level, name: &OsStr) -> Result<Vec<u8>> {
    match parse(level, name.as_bytes()) {
        Parsed::Key(key) => Ok(key),
        Parsed::Short { .. } => {
            let text = "this is a shortened name: give the store, the table and the whole key instead";
            Err(Error::new(ErrorKind::IllegalArgument, text))
        }
        Parsed::Refused { canonical } => {
            let text = format!("no key is spelt so; write {}", String::from_utf8_lossy(&canonical).escape_debug());
            Err(Error::new(ErrorKind::IllegalArgument, text))
        }
    }
}
