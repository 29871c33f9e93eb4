//! Directories that vanish with their last cell where cells expire: how long the kernel may keep their names.

use std::time::Duration;

use crate::Result;
use crate::backend::Versions;
use crate::fs::base::Fs;
use crate::fs::nodes::node::Node;
use crate::fs::shown::kernel;
use crate::model::{CellInfo, TimeRange, Timestamp};
use crate::tree::place::{NodeKey, Place};

/// The kernel counts in ticks and rounds up: what it may keep up to a moment it keeps a little longer.
const TICKS_MS: i64 = 25;

/// How long the kernel may keep what ends at a moment.
pub fn until(fs: &Fs, at: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(at.0 - fs.tree.backend.now().0 - TICKS_MS).unwrap_or(0))
}

/// Whether a row or a family of one may vanish by itself.
pub fn may_expire(fs: &Fs, key: &NodeKey) -> Result<bool> {
    match &key.place {
        Place::Row(row) if key.is_present() => fs.tree.backend.may_expire(&row.table),
        Place::Family(family) if key.is_present() => fs.tree.backend.may_expire(&family.table),
        _ => Ok(false),
    }
}

/// A moment that is over: of a directory whose last cell has expired since it was looked up.
const OVER: Timestamp = Timestamp(0);

/// When the first cell that is visible in a directory expires; `None`: never.
pub fn first_expiry(fs: &Fs, key: &NodeKey) -> Result<Option<Timestamp>> {
    let (table, row, families) = match &key.place {
        Place::Row(row) if !fs.tree.uncommitted.dirs.has_row(row)? => {
            let families = fs.tree.backend.list_families(&row.table, &row.row, TimeRange::ALL, Versions::Live)?;
            (&row.table, &row.row, families)
        }
        Place::Family(place) if !fs.tree.uncommitted.dirs.has_family(place)? => {
            (&place.table, &place.row, vec![place.family.clone()])
        }
        _ => return Ok(None),
    };
    let Some(family) = families.first() else { return Ok(Some(OVER)) };
    let first = fs.tree.backend.list_columns(table, row, family, None, TimeRange::ALL, 1)?;
    Ok(first.first().map_or(Some(OVER), |(_, cell)| cell.expires_at))
}

/// `next` is what reads see once `last` has expired: the kernel, which compares lengths and mtimes, may take the pages of
/// the one for those of the other.
pub fn drop_pages(fs: &Fs, node: &Node, last: Option<&CellInfo>, next: &CellInfo) {
    let is_another = |last: &CellInfo| (last.timestamp, last.seq) != (next.timestamp, next.seq);
    if last.is_some_and(|last| !is_fresh(fs, last) && is_another(last)) {
        node.mark_pages_old();
        kernel::invalidate_inode(fs, node.ino);
    }
}

pub fn is_fresh(fs: &Fs, cell: &CellInfo) -> bool {
    cell.expires_at.is_none_or(|at| at > fs.tree.backend.now())
}
