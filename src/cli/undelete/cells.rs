//! Cells that are brought back: which version of each, and how it is put.

use serde_json::json;

use super::Undelete;
use crate::backend::Versions;
use crate::cli::moving::copied;
use crate::cli::output::json_bytes;
use crate::model::{CellInfo, ColumnKey, FileChange, PutCell, Time, TimeRange, Timestamp, to_string_binary};
use crate::tree::history::deleted;
use crate::{Error, ErrorKind, Result};

impl Undelete {
    /// Of a version that was deleted by itself nobody knows when, so it is taken for one that was there at any time; only of
    /// a cell that is named, as many would come back that nobody means.
    pub(super) fn named_column(&mut self, column: &ColumnKey) -> Result<()> {
        if let Some(gone) = deleted::of_column(self.backend.as_ref(), column, self.at)? {
            return self.bring(column, &gone.cell, Time::AfterShown(gone.shown));
        }
        let Some(at) = self.at else { return Ok(()) };
        let shown = self.backend.newest(column, TimeRange::as_of(at))?;
        let versions = self.backend.list_versions(column, Versions::LiveAndKept, Some(at.next()), 1)?;
        let now = self.backend.now();
        match versions.into_iter().next().filter(|cell| deleted::is_gone_alone(cell, shown.as_ref(), now)) {
            Some(cell) => {
                let newest = self.backend.newest(column, TimeRange::ALL)?;
                self.bring(column, &cell, Time::AfterShown(newest.map(|is| (is.timestamp, is.seq))))
            }
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

    /// As the newest version, or at a time of its own, with the mtime and the mode that it had.
    pub(super) fn bring(&mut self, column: &ColumnKey, cell: &CellInfo, time: Time) -> Result<()> {
        self.found += 1;
        if self.list {
            return self.tell(column, cell);
        }
        let mtime = FileChange::of_time(Some(cell.mtime()));
        let put = PutCell {
            family: column.family.clone(),
            qualifier: column.qualifier.clone(),
            time,
            value: copied(self.backend.as_ref(), (&column.table, &column.family), cell)?,
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
}
