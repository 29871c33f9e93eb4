//! The whole history of a family of a row: live versions, and deleted ones that are kept.

use super::cursor::Snapshot;
use super::engine::{Engine, family};
use crate::Result;
use crate::backend::HistoryFrom;
use crate::index::key;
use crate::model::{CellInfo, FamilySchema, Qualifier, TableName, Timestamp};
use crate::visibility::{self, FamilyReader, ReadRules, View, VisibleCell};

impl Engine {
    /// Versions after a place, in the order of listings.
    pub fn list_history(
        &self,
        (table, row, name): (&TableName, &[u8], &str),
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        let catalogue = self.catalogue.load();
        let family = family(self.table(&catalogue, table)?, name)?;
        let now = self.now();
        let mut found = Vec::new();
        self.walk_history(&self.snapshot(), (family, row), from, |visible| {
            let qualifier = visible.cell.qualifier.clone();
            found.push((qualifier, visibility::version_info(visible, &family.rules, now)));
            found.len() < limit
        })?;
        Ok(found)
    }

    /// The version of exactly this time, live or kept.
    pub fn version_in(
        &self,
        snapshot: &Snapshot,
        (family, row): (&FamilySchema, &[u8]),
        qualifier: &[u8],
        timestamp: Timestamp,
    ) -> Result<Option<CellInfo>> {
        let from = HistoryFrom { qualifier: qualifier.to_vec(), before: Some(timestamp.next()) };
        let mut found = None;
        self.walk_history(snapshot, (family, row), Some(&from), |visible| {
            let is_it = visible.cell.qualifier == qualifier && visible.cell.timestamp == timestamp;
            found = is_it.then_some(visible);
            false
        })?;
        let now = self.now();
        Ok(found.map(|visible| visibility::version_info(visible, &family.rules, now)))
    }

    /// Feeds versions to `sink` until it answers false.
    fn walk_history(
        &self,
        snapshot: &Snapshot,
        (family, row): (&FamilySchema, &[u8]),
        from: Option<&HistoryFrom>,
        mut sink: impl FnMut(VisibleCell) -> bool,
    ) -> Result<()> {
        let prefix = key::row_prefix(family.id, row);
        let mut cursor = self.row_cursor(snapshot, &prefix, 64);
        let plain = ReadRules::plain(&family.rules, self.now());
        let rules = ReadRules { max_versions: u32::MAX, view: View::WithKept, ..plain };
        let mut reader = FamilyReader::new(cursor.row(prefix), rules);
        if let Some(from) = from {
            reader.seek_column(&from.qualifier);
        }
        while let Some(visible) = reader.next()? {
            let passed = from.is_some_and(|from| {
                visible.cell.qualifier == from.qualifier
                    && from.before.is_some_and(|before| visible.cell.timestamp >= before)
            });
            if !passed && !sink(visible) {
                return Ok(());
            }
        }
        Ok(())
    }
}
