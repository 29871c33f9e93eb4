//! Snapshots and compactions of a cluster.

use super::HBase;
use super::client::Kind;
use super::convert::{table_name, unsupported};
use super::schema::altering::known;
use crate::backend::{CompactionKind, Event, Existing, PurgeScope, Restoration, SnapshotInfo};
use crate::model::{KeepDeleted, Origin, TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

impl HBase {
    pub(super) fn list_snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let mut list: Vec<SnapshotInfo> = self
            .cluster
            .snapshots()?
            .into_iter()
            .map(|snapshot| {
                let table = snapshot.table.and_then(|table| TableName::parse(&table).ok());
                SnapshotInfo {
                    name: snapshot.name,
                    made_at: Timestamp(snapshot.creation_time.unwrap_or_default()),
                    tables: table.iter().cloned().collect(),
                    table,
                    // A cluster does not say.
                    cells: 0,
                    bytes: 0,
                    damage: None,
                }
            })
            .collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(list)
    }

    pub(super) fn take_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        let Some(table) = table else {
            return unsupported("a snapshot of HBase is one of one table: name the table");
        };
        known(&*self.described.catalogue(&self.cluster)?, table)?;
        self.cluster.snapshot(name, &table_name(table))?;
        self.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    pub(super) fn drop_snapshot(&self, name: &str) -> Result<()> {
        self.cluster.delete_snapshot(name).map_err(|e| absent(e, name))?;
        self.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    pub(super) fn bring_back(&self, restoration: &Restoration, origin: Origin) -> Result<()> {
        let name = &restoration.snapshot;
        let snapshots = self.list_snapshots()?;
        let snapshot = snapshots.into_iter().find(|snapshot| snapshot.name == *name);
        let snapshot = snapshot.ok_or_else(|| no_snapshot(name))?;
        let [(from, to)] = &restoration.tables[..] else {
            return unsupported("a snapshot of HBase has one table: restore that one");
        };
        if snapshot.table.as_ref() != Some(from) {
            return Err(Error::new(ErrorKind::NoSuchTable, format!("snapshot {name} has no table {from}")));
        }
        let catalogue = self.described.ask(&self.cluster).map_err(super::schema::altering::away)?;
        super::schema::altering::check_own(to)?;
        let existing = catalogue.tables.get(to);
        if existing.is_some() && restoration.existing == Existing::Refuse {
            return Err(Error::new(ErrorKind::TableExists, format!("Table already exists: {to}")));
        }
        let done = self.restore_over(name, (from, to), existing);
        self.described.forget();
        done?;
        self.announce(&[Event::Table { table: to.clone(), origin }, Event::Replaced { table: to.clone() }]);
        Ok(())
    }

    fn restore_over(
        &self,
        name: &str,
        (from, to): (&TableName, &TableName),
        existing: Option<&crate::model::TableSchema>,
    ) -> Result<()> {
        let target = table_name(to);
        if let Some(table) = existing.filter(|_| !self.described.drop_pending(to)) {
            self.disable(table)?;
            if from == to {
                self.cluster.restore_snapshot(name, &target)?;
                return Ok(self.cluster.enable_table(&target)?);
            }
            self.cluster.delete_table(&target)?;
        }
        Ok(self.cluster.restore_snapshot(name, &target)?)
    }

    pub(super) fn flush_tables(&self, table: Option<&TableName>) -> Result<()> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let all = || catalogue.user_tables().map(|table| &table.name).collect::<Vec<_>>();
        let tables = table.map_or_else(all, |table| vec![table]);
        for table in tables {
            known(&catalogue, table)?;
            if !self.described.is_pending(table) {
                self.cluster.flush(&table_name(table))?;
            }
        }
        Ok(())
    }

    pub(super) fn compact_table(&self, table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let schema = known(&catalogue, table)?;
        if let Some(family) = family.filter(|family| !schema.families.contains_key(*family)) {
            return Err(Error::new(ErrorKind::NoSuchFamily, format!("table {table} has no family {family}")));
        }
        Ok(self.cluster.compact(&table_name(table), family.map(str::as_bytes), kind == CompactionKind::Major)?)
    }

    /// A major compaction, where that takes what is deleted.
    pub(super) fn purge_table(&self, scope: &PurgeScope) -> Result<()> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let schema = known(&catalogue, &scope.table)?;
        let asked = |name: &String| scope.family.as_ref().is_none_or(|family| family == name);
        let mut families = schema.families.iter().filter(|(name, _)| asked(name));
        if let Some((name, _)) = families.find(|(_, family)| family.rules.keep_deleted != KeepDeleted::False) {
            let text = format!(
                "family {name} keeps deleted cells, and HBase takes none of them before that ends: set \
                 KEEP_DELETED_CELLS to FALSE, then run cellfs compact --major"
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.flush_tables(Some(&scope.table))?;
        self.compact_table(&scope.table, scope.family.as_deref(), CompactionKind::Major)
    }
}

fn no_snapshot(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no snapshot {name}"))
}

fn absent(e: super::client::Error, name: &str) -> Error {
    if e.kind == Kind::NoSnapshot { no_snapshot(name) } else { e.into() }
}
