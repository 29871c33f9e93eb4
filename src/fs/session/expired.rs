//! A file whose cell has expired while it was open: it has no name any more, and what is written to it makes it anew. Nobody
//! has removed it, and a log of what is kept for a week is one that is written to for longer.

use crate::fs::base::Fs;
use crate::fs::bytes::content::Session;
use crate::fs::nodes::node::NodeState;
use crate::fs::shown::expiry;
use crate::model::{
    Cell, CellInfo, CellKind, ColumnKey, ColumnSlice, Condition, FileChange, ReadSpec, Scan, TimeRange, Tombstone,
};
use crate::{Error, ErrorKind, Result};

/// Cells of a column that are looked at, newest first: one that has ended the newest version is among them.
const TOMBSTONES: u32 = 64;

/// The session of what was open when its last version expired. What is appended begins it anew; who writes at a place has
/// its bytes before that as well.
pub fn note(state: &mut NodeState, session: &mut Session) {
    session.appends = Some(session.content.len());
    state.expired = true;
}

/// Whether a tombstone has ended a version before it could expire.
pub fn was_removed(fs: &Fs, column: &ColumnKey, last: &CellInfo) -> Result<bool> {
    let ends = |cell: &Cell| match cell.kind {
        CellKind::Tombstone(Tombstone::Family | Tombstone::Column) => true,
        CellKind::Tombstone(Tombstone::FamilyVersion | Tombstone::Version) => cell.timestamp == last.timestamp,
        CellKind::Put => false,
    };
    // Tombstones of the family are of the empty qualifier.
    for qualifier in [&[], column.qualifier.as_slice()] {
        let mut scan = Scan::all(column.table.clone());
        scan.start.clone_from(&column.row);
        scan.stop = [column.row.as_slice(), &[0]].concat();
        scan.read = ReadSpec {
            columns: [(column.family.clone(), None)].into(),
            slice: ColumnSlice::of(qualifier),
            time_range: TimeRange { min: last.timestamp.0, ..TimeRange::ALL },
            max_versions: TOMBSTONES,
            filter: Some(b"KeyOnlyFilter()".to_vec()),
            raw: true,
            ..ReadSpec::default()
        };
        for row in fs.tree.backend.scan(&scan)? {
            if row?.cells.iter().any(ends) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// What is open keeps what its last version had beside its bytes.
pub fn carry(session: &mut Session, last: &CellInfo) {
    let file = &last.tags.file;
    session.file = FileChange { mtime: None, mode: file.mode(), uid: file.uid(), gid: file.gid() }.and(session.file);
    session.ttl_ms = session.ttl_ms.or(Some(last.tags.ttl_ms));
}

/// Under which condition a commit makes the file anew; `None`: it does not. What became of it since and was removed is as
/// any other that was. Who appends goes on behind the bytes of whoever has made a file of that name meanwhile.
pub fn condition(fs: &Fs, column: &ColumnKey, state: &mut NodeState) -> Result<Option<Condition>> {
    let newest = fs.tree.backend.newest(column, TimeRange::ALL)?.map(|cell| (cell.timestamp, cell.seq));
    let own = state.cell.as_deref().filter(|cell| expiry::is_fresh(fs, cell)).map(|cell| (cell.timestamp, cell.seq));
    if newest.is_none() && own.is_some() {
        state.expired = false;
        return Ok(None);
    }
    let appends = state.session.as_ref().is_some_and(|session| session.appends.is_some());
    if newest.is_some() && newest != own && !appends {
        return Err(another());
    }
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    Ok(Some(Condition::Newest { family, qualifier, version: newest }))
}

/// What a handle is told whose name another file has.
pub fn another() -> Error {
    let text = "the cell has expired while this file was open, and there is another of its name; open it again";
    Error::new(ErrorKind::Stale, text)
}
