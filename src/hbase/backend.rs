//! The store's contract on a cluster: each call goes to the part that does it.

use std::sync::Arc;

use super::HBase;
use super::cells::renaming::across_rows;
use super::cells::writing::VALUE_LIMIT;
use super::convert::unsupported;
use crate::Result;
use crate::backend::{
    Backend, ChangesPage, ChangesQuery, ClusterNumbers, ColumnNumbers, ColumnsPage, CompactionKind, Directory, Event,
    FamilyColumns, FamilyNumbers, HistoryFrom, PurgeScope, Region, RegionChange, RenameCell, Restoration, RowListing,
    Rows, SnapshotInfo, Status, Subscriber, VersionRun, Versions,
};
use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, ColumnKey, Condition, FileAttributes, Get, KeyList,
    ManyRows, Mutated, Origin, Qualifier, RowMutations, Scan, TableName, TakePiece, TimeRange, Timestamp,
};

impl Backend for HBase {
    fn catalogue(&self) -> Result<Arc<Catalogue>> {
        self.described.catalogue(&self.cluster)
    }

    fn alter(&self, change: CatalogueChange, origin: Origin) -> Result<()> {
        self.check_changes()?;
        self.change(change, origin)
    }

    fn get_pieces(&self, get: &Get, take: TakePiece<'_>) -> Result<()> {
        self.get_row(get, take)
    }

    fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        self.rows(scan)
    }

    fn scan_pieces(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
        self.scan_rows(scan, take)
    }

    fn mutate(&self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        self.check_changes()?;
        self.in_time(|| self.change_row_if(mutations, condition))
    }

    fn mutate_rows(&self, rows: ManyRows) -> Result<()> {
        self.check_changes()?;
        self.change_rows_if(rows)
    }

    fn newest(&self, column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>> {
        self.in_time(|| self.newest_version(column, range))
    }

    fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.in_time(|| self.value_part(cell, offset, len))
    }

    fn list_rows(&self, listing: &RowListing) -> Result<KeyList> {
        Ok(self.row_keys(listing)?.into_iter().collect())
    }

    fn list_families(&self, table: &TableName, row: &[u8], range: TimeRange, which: Versions) -> Result<Vec<String>> {
        self.in_time(|| self.family_names((table, row), range, which))
    }

    fn list_columns(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        after: Option<&[u8]>,
        range: TimeRange,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.columns_after((table, row, family), after, range, limit)
    }

    fn list_versions(
        &self,
        column: &ColumnKey,
        which: Versions,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CellInfo>> {
        self.in_time(|| self.versions(column, which, before, limit))
    }

    fn may_expire(&self, table: &TableName) -> Result<bool> {
        let catalogue = self.catalogue()?;
        let expires = |family: &crate::model::FamilySchema| family.rules.ttl_ms.is_some();
        Ok(catalogue.tables.get(table).is_some_and(|table| table.families.values().any(expires)))
    }

    fn list_history(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.history((table, row, family), from, limit)
    }

    fn list_around(&self, column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun> {
        self.in_time(|| self.around(column, timestamp, count))
    }

    fn rename_cell(&self, rename: &RenameCell) -> Result<CellInfo> {
        self.check_changes()?;
        self.in_time(|| self.rename(rename))
    }

    fn moves_directories(&self) -> bool {
        false
    }

    fn rename_directory(&self, _from: &Directory, _to: &Directory, _origin: Origin) -> Result<bool> {
        across_rows()
    }

    fn kept_attributes(&self, _column: &ColumnKey) -> Result<FileAttributes> {
        // HBase keeps none.
        Ok(FileAttributes::default())
    }

    fn set_attributes(
        &self,
        column: &ColumnKey,
        cell: &CellInfo,
        change: &AttributeChange,
        origin: Origin,
    ) -> Result<CellInfo> {
        self.check_changes()?;
        self.in_time(|| self.set_on(column, cell, change, origin))
    }

    fn sync(&self) -> Result<()> {
        // What a cluster acknowledges is in its log.
        Ok(())
    }

    fn flush(&self, table: Option<&TableName>) -> Result<()> {
        self.flush_tables(table)
    }

    fn compact(&self, table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        self.compact_table(table, family, kind)
    }

    fn purge(&self, scope: &PurgeScope) -> Result<()> {
        self.check_changes()?;
        self.purge_table(scope)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        self.list_snapshots()
    }

    fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        self.take_snapshot(name, table)
    }

    fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.drop_snapshot(name)
    }

    fn snapshot(&self, _name: &str) -> Result<Arc<dyn Backend>> {
        unsupported("HBase reads no snapshot where it lies: restore it under another name and read that table")
    }

    fn restore(&self, restoration: &Restoration, origin: Origin) -> Result<()> {
        self.check_changes()?;
        self.bring_back(restoration, origin)
    }

    fn status(&self) -> Result<Status> {
        Ok(self.numbers())
    }

    fn table_numbers(&self, table: &TableName) -> Result<Vec<FamilyNumbers>> {
        self.numbers_of(table)
    }

    fn table_columns(&self, table: &TableName) -> Result<Vec<FamilyColumns>> {
        self.numbers_of(table).map(|_| Vec::new())
    }

    fn columns_page(&self, page: &ColumnsPage) -> Result<Vec<ColumnNumbers>> {
        self.numbers_of(&page.table).map(|_| Vec::new())
    }

    fn regions(&self, table: &TableName) -> Result<Option<Vec<Region>>> {
        self.regions_of(table).map(Some)
    }

    fn cluster_numbers(&self) -> Result<Option<ClusterNumbers>> {
        self.servers().map(Some)
    }

    fn change_regions(&self, change: &RegionChange) -> Result<bool> {
        if !change.is_question() {
            self.check_changes()?;
        }
        self.change_places(change)
    }

    fn value_limit(&self) -> u64 {
        VALUE_LIMIT
    }

    fn value_limit_is(&self) -> &'static str {
        "as clusters have it unless their hbase.server.keyvalue.maxsize says otherwise; keep larger ones outside"
    }

    fn changes(&self, _query: &ChangesQuery) -> Result<ChangesPage> {
        unsupported(
            "HBase tells its clients of no changes: scan what is newer than a time, as TABLE/.times/FROM..TO/ does",
        )
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn obeys_all_attributes(&self) -> bool {
        true
    }

    fn is_prompt(&self) -> bool {
        // A server may be slow, or away.
        false
    }

    fn now(&self) -> Timestamp {
        self.clock()
    }

    fn hash_key(&self) -> [u8; 16] {
        self.hash_key
    }

    fn subscribe(&self, subscriber: Subscriber) {
        if let Some(sentence) = self.described.away() {
            subscriber(&Event::Noted { about: "the cluster".to_owned(), sentence });
        }
        self.listeners.0.write().push(subscriber);
    }
}
