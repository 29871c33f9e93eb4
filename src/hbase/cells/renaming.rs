//! Renames within a row, which HBase does in one step; and what is set on a version.

use crate::backend::{RenameCell, RenameMode};
use crate::hbase::HBase;
use crate::hbase::convert::unsupported;
use crate::model::{
    AttributeChange, CellInfo, ColumnKey, Condition, DeleteKind, DeleteMarker, Mutation, Origin, PutCell, RowMutations,
    Time, TimeRange, Value,
};
use crate::{Error, ErrorKind, Result};

/// So often a rename looks again because its source was written to meanwhile.
const TRIES: usize = 10;

fn not_found(key: &ColumnKey) -> Error {
    let (row, qualifier) = (key.row.escape_ascii(), key.qualifier.escape_ascii());
    Error::new(ErrorKind::NotFound, format!("{}, row {row}: {}:{qualifier} does not exist", key.table, key.family))
}

/// What goes from one row to another cannot go in one step: a row is all that HBase changes at once.
pub(in crate::hbase) fn across_rows<T>() -> Result<T> {
    Err(Error::new(
        ErrorKind::CrossDevice,
        "HBase changes one row in one step: what goes to another row is copied and removed, as mv does",
    ))
}

impl HBase {
    /// Moves a version within a row; the version that the target got.
    pub(in crate::hbase) fn rename(&self, rename: &RenameCell) -> Result<CellInfo> {
        let (from, to) = (&rename.from, &rename.to);
        if from.table != to.table || from.row != to.row {
            return across_rows();
        }
        for _ in 0..TRIES {
            let range = rename.from_version.map_or(TimeRange::ALL, TimeRange::at);
            let source = self.newest_version(from, range)?.ok_or_else(|| not_found(from))?;
            if from == to && rename.to_version == Some(source.timestamp) {
                return Ok(source);
            }
            let target = self.newest_version(to, rename.to_version.map_or(TimeRange::ALL, TimeRange::at))?;
            if rename.mode == RenameMode::NoReplace && target.is_some() {
                let text = format!("{} exists", to.qualifier.escape_ascii());
                return Err(Error::new(ErrorKind::AlreadyExists, text));
            }
            let mutations = self.mutations_of(rename, &source, target)?;
            let change = RowMutations {
                table: from.table.clone(),
                row: from.row.clone(),
                mutations,
                durability: None,
                origin: rename.origin,
            };
            // One that is named stays what it was; of others the newest is moved, if it still is.
            let condition = rename.from_version.is_none().then(|| Condition::Newest {
                family: from.family.clone(),
                qualifier: from.qualifier.clone(),
                version: Some((source.timestamp, source.seq)),
            });
            let done = self.change_row(change, condition)?;
            if done.applied {
                return done.written.into_iter().next().ok_or_else(|| not_found(to));
            }
        }
        let text = format!("{} is written to all the time; try again", from.qualifier.escape_ascii());
        Err(Error::new(ErrorKind::Busy, text))
    }

    fn mutations_of(&self, rename: &RenameCell, source: &CellInfo, target: Option<CellInfo>) -> Result<Vec<Mutation>> {
        let (from, to) = (&rename.from, &rename.to);
        let put = |key: &ColumnKey, cell: &CellInfo, time: Time| -> Result<Mutation> {
            let value = self.value(cell)?.to_vec();
            Ok(Mutation::Put(vec![PutCell::new(key.family.clone(), key.qualifier.clone(), time, value)]))
        };
        let moved = put(to, source, rename.to_version.map_or(Time::AfterNewest, Time::At))?;
        if rename.mode == RenameMode::Exchange {
            let back = target.ok_or_else(|| not_found(to))?;
            return Ok(vec![moved, put(from, &back, Time::AfterNewest)?]);
        }
        // Within one column the whole column's tombstone would hide the version that is put.
        let one = rename.from_version.or((from == to).then_some(source.timestamp));
        let (family, qualifier) = (from.family.clone(), from.qualifier.clone());
        let (kind, time) = match one {
            Some(timestamp) => (DeleteKind::Version { family, qualifier }, Time::At(timestamp)),
            None => (DeleteKind::Column { family, qualifier }, Time::AfterNewest),
        };
        Ok(vec![moved, Mutation::Delete(vec![DeleteMarker { kind, time, erases: false }])])
    }

    /// Sets the TTL of a column's newest version by putting it again, a little later, in the place of that one: of two puts
    /// of one timestamp the other would show again once the one with the TTL has expired. What programs set on files is
    /// taken and not kept, for HBase has no place for it.
    pub(in crate::hbase) fn set_on(
        &self,
        column: &ColumnKey,
        cell: &CellInfo,
        change: &AttributeChange,
        origin: Origin,
    ) -> Result<CellInfo> {
        let Some(ttl_ms) = change.ttl_ms else { return Ok(cell.clone()) };
        if cell.deleted_at.is_some() {
            return unsupported("the TTL of a deleted version cannot be set");
        }
        let stored = self.newest_version(column, TimeRange::ALL)?.ok_or_else(|| not_found(column))?;
        if stored.timestamp != cell.timestamp {
            return unsupported("on a cluster the TTL of a column's newest version alone can be set");
        }
        let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
        let before = DeleteKind::Version { family: family.clone(), qualifier: qualifier.clone() };
        let before = DeleteMarker { kind: before, time: Time::At(stored.timestamp), erases: false };
        let put = PutCell {
            ttl_ms,
            value: Value::Shared(stored.clone()),
            ..PutCell::new(family, qualifier, Time::AfterNewest, Vec::new())
        };
        let change = RowMutations {
            table: column.table.clone(),
            row: column.row.clone(),
            mutations: vec![Mutation::Put(vec![put]), Mutation::Delete(vec![before])],
            durability: None,
            origin,
        };
        let condition = Condition::Newest {
            family: column.family.clone(),
            qualifier: column.qualifier.clone(),
            version: Some((stored.timestamp, stored.seq)),
        };
        let done = self.change_row(change, Some(condition))?;
        done.written.into_iter().next().ok_or_else(|| {
            let text = format!("{} was written to meanwhile; try again", column.qualifier.escape_ascii());
            Error::new(ErrorKind::Busy, text)
        })
    }
}
