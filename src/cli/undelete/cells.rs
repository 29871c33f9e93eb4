//! Cells that are brought back: which version of each, and how it is put.

use serde_json::json;

use super::{PAGE, Undelete};
use crate::backend::Versions;
use crate::cli::output::json_bytes;
use crate::model::{
    CellInfo, ColumnKey, FileChange, PutCell, Qualifier, Time, TimeRange, Timestamp, Value, to_string_binary,
};
use crate::tree::place::{FamilyPlace, family_of};
use crate::{Error, ErrorKind, Result};

impl Undelete {
    pub(super) fn column(&mut self, family: &FamilyPlace, qualifier: &Qualifier) -> Result<()> {
        let column = family.column(qualifier.clone());
        let newest = self.backend.newest(&column, TimeRange::ALL)?;
        let wanted = match self.at {
            Some(at) => self.backend.newest(&column, TimeRange::as_of(at))?,
            None => self.newest_deleted(&column, newest.as_ref())?,
        };
        let same =
            |cell: &CellInfo| newest.as_ref().is_some_and(|is| (is.timestamp, is.seq) == (cell.timestamp, cell.seq));
        match wanted.filter(|cell| !same(cell)) {
            Some(cell) => self.bring(&column, &cell, Time::AfterNewest),
            None => Ok(()),
        }
    }

    /// As [`Undelete::column`]. Of a version that was deleted by itself nobody knows when, so it is taken for one that was
    /// there at any time; only of a cell that is named, as many would come back that nobody means.
    pub(super) fn named_column(&mut self, column: &ColumnKey) -> Result<()> {
        let found = self.found;
        self.column(&family_of(column), &column.qualifier)?;
        let Some(at) = self.at.filter(|_| self.found == found) else { return Ok(()) };
        let shown = self.backend.newest(column, TimeRange::as_of(at))?;
        let versions = self.backend.list_versions(column, Versions::LiveAndKept, Some(at.next()), 1)?;
        match versions.into_iter().next().filter(|cell| self.is_gone_alone(cell, shown.as_ref())) {
            Some(cell) => self.bring(column, &cell, Time::AfterNewest),
            None => Ok(()),
        }
    }

    /// A version that is named comes back at its own place.
    pub(super) fn version(&mut self, column: &ColumnKey, time: Timestamp) -> Result<()> {
        let versions = self.backend.list_versions(column, Versions::LiveAndKept, Some(time.next()), 1)?;
        let Some(cell) = versions.into_iter().find(|cell| cell.timestamp == time && cell.deleted_at.is_some()) else {
            return Ok(());
        };
        let catalogue = self.backend.catalogue()?;
        let table = catalogue.tables.get(&column.table);
        let family = table.and_then(|table| table.families.get(&column.family));
        if !self.list && family.is_some_and(|family| !family.rules.new_version_behavior) {
            let text = "NEW_VERSION_BEHAVIOR of its family is false, so what was deleted hides what is put at that time \
                        again: copy it from .history to the name of the cell";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.bring(column, &cell, Time::At(time))
    }

    /// What a column had that has no newest version, or behind whose newest one a later was deleted by itself.
    fn newest_deleted(&self, column: &ColumnKey, newest: Option<&CellInfo>) -> Result<Option<CellInfo>> {
        let first = self.backend.list_versions(column, Versions::LiveAndKept, None, 1)?.into_iter().next();
        if newest.is_some() || first.is_none() {
            return Ok(first.filter(|cell| self.is_gone_alone(cell, newest)));
        }
        // What a delete of the column ended last, not what was deleted by itself before that.
        let versions = self.backend.list_versions(column, Versions::LiveAndKept, None, PAGE)?;
        Ok(versions.into_iter().max_by_key(|cell| (cell.deleted_at, cell.timestamp)))
    }

    /// As the newest version, or at a time of its own, with the mtime and the mode that it had.
    fn bring(&mut self, column: &ColumnKey, cell: &CellInfo, time: Time) -> Result<()> {
        self.found += 1;
        if self.list {
            return self.tell(column, cell);
        }
        let len = usize::try_from(cell.len()).unwrap_or(usize::MAX);
        let mtime = FileChange::of_time(Some(cell.mtime()));
        let put = PutCell {
            family: column.family.clone(),
            qualifier: column.qualifier.clone(),
            time,
            value: Value::Bytes(self.backend.read_value(cell, 0, len)?),
            ttl_ms: cell.tags.ttl_ms,
            file: cell.tags.file.with(&mtime),
            ended_at: None,
        };
        self.back.add(column, put)
    }

    fn tell(&mut self, column: &ColumnKey, cell: &CellInfo) -> Result<()> {
        let deleted = cell.deleted_at.map(|at| at.0);
        if self.json {
            return self.output.json(&json!({
                "namespace": column.table.namespace,
                "table": column.table.name,
                "row": json_bytes(&column.row),
                "family": column.family,
                "qualifier": json_bytes(&column.qualifier),
                "timestamp": cell.timestamp.0,
                "deleted_at": deleted,
                "size": cell.len(),
            }));
        }
        let deleted = cell.deleted_at.map_or_else(String::new, |at| format!(", deleted {}", at.iso()));
        let (row, qualifier) = (to_string_binary(&column.row), to_string_binary(&column.qualifier));
        let size = cell.len();
        let (table, family, time) = (&column.table, &column.family, cell.timestamp.iso());
        self.output.line(&format!("{table} {row} {family}:{qualifier}: {size} bytes of {time}{deleted}"))
    }

    /// Whether a version was deleted by a tombstone of its own, and not before the one was written that shows now.
    ///
    /// What was written later and shows has a later time, except where it was put at a time of its own, as a version is
    /// that comes back: such a one says nothing about when the other was deleted. Nor is it known of a version of a time
    /// that is yet to come, behind which everything is written.
    fn is_gone_alone(&self, cell: &CellInfo, shown: Option<&CellInfo>) -> bool {
        let Some(shown) = shown else { return cell.deleted_at == Some(cell.timestamp) };
        let was_later = (cell.timestamp, cell.seq) > (shown.timestamp, shown.seq);
        let was_beside = cell.seq > shown.seq || cell.timestamp < self.backend.now();
        cell.deleted_at == Some(cell.timestamp) && was_later && was_beside
    }
}
