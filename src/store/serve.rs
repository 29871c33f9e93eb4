//! The store as a [`Backend`].

use std::sync::Arc;

use super::engine::Engine;
use super::options::Background;
use super::{Access, Store, system};
use crate::backend::{
    Backend, BulkLoad, ChangesPage, ChangesQuery, ColumnNumbers, ColumnsPage, CompactionKind, Directory, FamilyColumns,
    FamilyNumbers, HistoryFrom, PurgeScope, RenameCell, Restoration, RowListing, RowPiece, Rows, SnapshotInfo, Status,
    Subscriber, VersionRun, Versions,
};
use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, CheckEvent, CheckSummary, ColumnKey, Condition, Draft,
    Durability, Get, KeyList, ManyRows, Mutated, Origin, Qualifier, RowMutations, Scan, TableName, TakePiece,
    TimeRange, Timestamp,
};
use crate::store::catalogue::change::alter;
use crate::store::extents::flush;
use crate::store::jobs::{build, compact, expire, purge_deleted, worker};
use crate::store::read::columns::list_columns;
use crate::store::read::history::{list_around, list_history};
use crate::store::read::lookup::filled;
use crate::store::read::{count, draw, get, lookup, point, stats};
use crate::store::recover::rescue;
use crate::store::snapshot::{bring_back, snapshots};
use crate::store::space::room;
use crate::store::write::{apply, many, relocate, rename};
use crate::store::{check, feed, scan};
use crate::{Error, ErrorKind, Result};

impl Store {
    /// What a read met is noted; what failed with those who took its pieces is not the store's.
    fn noted_pieces(&self, take: TakePiece<'_>, read: impl FnOnce(TakePiece<'_>) -> Result<()>) -> Result<()> {
        let mut refused = false;
        // Not by `inspect_err`, which moves the answer, a thing of words of which one byte was just written: the processor
        // waits for that, with each cell.
        let done = read(&mut |piece| match take(piece) {
            Ok(()) => Ok(()),
            Err(e) => {
                refused = true;
                Err(e)
            }
        });
        if refused { done } else { self.engine.noted(done) }
    }
}

/// So often a read is tried again at most because what it read was dropped meanwhile.
const TRIES: u32 = 100;

impl Store {
    /// A read that is not of a table that was dropped or replaced meanwhile: its cells may go while it goes on.
    fn steady<T>(&self, table: &TableName, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        for _ in 0..TRIES {
            let before = self.engine.catalogue.load_full();
            let result = read();
            if self.engine.is_stored(&before, table) {
                return self.engine.noted(result);
            }
        }
        Err(replaced(table))
    }
}

fn replaced(table: &TableName) -> Error {
    Error::new(ErrorKind::Busy, format!("table {table} was replaced while it was read; read it again"))
}

impl Store {
    /// The engine that reads a table.
    fn of(&self, table: &TableName) -> &Engine {
        if table.is_system() { self.system.engine(&self.engine.catalogue) } else { &self.engine }
    }

    /// The engine, for a change of a table.
    fn changeable_in(&self, table: &TableName) -> Result<&Engine> {
        system::check(table)?;
        self.changeable()
    }

    /// Whether a change of some table waits for the disk before it is answered.
    fn syncs_each_change(&self) -> bool {
        let (now, known) = (self.engine.catalogue.load(), self.durable.load());
        if Arc::ptr_eq(&now, &known.0) {
            return known.1;
        }
        let durable = self.engine.options.durability == Durability::FsyncWal
            || now.tables.values().any(|table| table.durability() == Some(Durability::FsyncWal));
        self.durable.store(Arc::new((Arc::clone(&now), durable)));
        durable
    }
}

impl Backend for Store {
    fn catalogue(&self) -> Result<Arc<Catalogue>> {
        Ok(self.system.catalogue(&self.engine.catalogue))
    }

    fn alter(&self, change: CatalogueChange, origin: Origin) -> Result<()> {
        system::check_change(&change)?;
        alter(self.changeable()?, change, origin)
    }

    fn check(&self, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        check::check_open(&self.engine, tell)
    }

    fn get_pieces(&self, get: &Get, take: TakePiece<'_>) -> Result<()> {
        let before = self.engine.catalogue.load_full();
        self.noted_pieces(take, |take| get::get_pieces(self.of(&get.table), get, take))?;
        if self.engine.is_stored(&before, &get.table) { Ok(()) } else { Err(replaced(&get.table)) }
    }

    fn scan_pieces(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
        let before = self.engine.catalogue.load_full();
        self.noted_pieces(take, |take| scan::scan_pieces(self.of(&scan.table), scan, take))?;
        if self.engine.is_stored(&before, &scan.table) { Ok(()) } else { Err(replaced(&scan.table)) }
    }

    fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        let (before, table) = (self.engine.catalogue.load_full(), scan.table.clone());
        let mut rows = scan::scan(self.of(&table), scan)?;
        let mut is_over = false;
        Ok(Box::new(std::iter::from_fn(move || {
            let next = rows.next();
            let ends = next.is_none() && !std::mem::replace(&mut is_over, true);
            if ends && !self.engine.is_stored(&before, &table) { Some(Err(replaced(&table))) } else { next }
        })))
    }

    fn mutate(&self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        self.engine.noted(apply::mutate(self.changeable_in(&mutations.table)?, mutations, condition))
    }

    fn mutate_rows(&self, rows: ManyRows) -> Result<()> {
        self.engine.noted(many::mutate_rows(self.changeable_in(&rows.table)?, rows))
    }

    fn bulk_load(&self, table: &TableName) -> Result<Option<Box<dyn BulkLoad>>> {
        if self.access != Access::Full {
            return Ok(None);
        }
        let load = super::write::bulk_load::begin(&self.engine, table)?;
        Ok(load.map(|load| Box::new(load) as Box<dyn BulkLoad>))
    }

    fn draft(&self, table: &TableName, family: &str, base: Option<&CellInfo>) -> Result<Option<Box<dyn Draft>>> {
        if self.access != Access::Full {
            return Ok(None);
        }
        system::check(table)?;
        let draft = self.engine.noted(super::write::draft::begin(&self.engine, table, family, base))?;
        Ok(draft.map(|draft| Box::new(draft) as Box<dyn Draft>))
    }

    fn newest(&self, column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>> {
        self.steady(&column.table, || point::newest(self.of(&column.table), column, range))
    }

    fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        let engine = if system::holds(cell) { self.system.engine(&self.engine.catalogue) } else { &self.engine };
        self.engine.noted(lookup::read_value(engine, cell, offset, len))
    }

    fn filled(&self, cell: &CellInfo) -> Result<u64> {
        filled(&self.engine, cell)
    }

    fn list_rows(&self, listing: &RowListing) -> Result<KeyList> {
        self.steady(&listing.table, || point::list_rows(self.of(&listing.table), listing))
    }

    fn count_rows(&self, scan: &Scan) -> Result<Option<u64>> {
        self.steady(&scan.table, || count::count_rows(self.of(&scan.table), scan))
    }

    fn rename_directory(&self, from: &Directory, to: &Directory, origin: Origin) -> Result<bool> {
        self.engine.noted(relocate::rename_directory(
            self.changeable_in(&from.table).and(self.changeable_in(&to.table))?,
            from,
            to,
            origin,
        ))
    }

    fn list_families(&self, table: &TableName, row: &[u8], range: TimeRange, which: Versions) -> Result<Vec<String>> {
        self.steady(table, || point::list_families(self.of(table), table, row, range, which))
    }

    fn list_history(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.steady(table, || list_history(self.of(table), (table, row, family), from, limit))
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
        self.steady(table, || list_columns(self.of(table), (table, row, family), after, range, limit))
    }

    fn list_versions(
        &self,
        column: &ColumnKey,
        which: Versions,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CellInfo>> {
        self.steady(&column.table, || point::list_versions(self.of(&column.table), column, which, before, limit))
    }

    fn last_columns(
        &self,
        (table, row, family): (&TableName, &[u8], &str),
        before: &[u8],
        range: TimeRange,
        limit: usize,
    ) -> Result<Option<Vec<Qualifier>>> {
        self.steady(table, || point::last_columns(self.of(table), (table, row, family), before, range, limit)).map(Some)
    }

    fn draw_piece(&self, table: &TableName, range: (&[u8], &[u8]), number: u64) -> Result<Option<RowPiece>> {
        self.steady(table, || draw::draw_piece(self.of(table), table, range, number))
    }

    fn may_expire(&self, table: &TableName) -> Result<bool> {
        Ok(expire::may_expire(self.of(table), table))
    }

    fn list_around(&self, column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun> {
        self.steady(&column.table, || list_around(self.of(&column.table), column, timestamp, count))
    }

    fn rename_cell(&self, rename: &RenameCell) -> Result<CellInfo> {
        self.engine.noted(rename::rename_cell(
            self.changeable_in(&rename.from.table).and(self.changeable_in(&rename.to.table))?,
            rename,
        ))
    }

    fn set_attributes(
        &self,
        column: &ColumnKey,
        cell: &CellInfo,
        change: &AttributeChange,
        origin: Origin,
    ) -> Result<CellInfo> {
        self.engine.noted(rename::set_attributes(self.changeable_in(&column.table)?, column, cell, change, origin))
    }

    fn sync(&self) -> Result<()> {
        match self.access {
            Access::Full => rescue::sync_log(&self.engine),
            Access::Snapshot(_) | Access::Reading(_) => Ok(()),
        }
    }

    fn flush(&self, table: Option<&TableName>) -> Result<()> {
        if let Some(name) = table {
            super::engine::known_table(&self.of(name).catalogue.load(), name)?;
        }
        let engine = self.changeable()?;
        flush::flush(engine)?;
        // No thread does it.
        if engine.options.background == Background::Off && build::has_to_build(engine) {
            build::build_indexes(engine)?;
        }
        Ok(())
    }

    fn compact(&self, table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        // Their cells are in memory alone.
        if table.is_system() {
            return super::engine::known_table(&self.of(table).catalogue.load(), table).map(drop);
        }
        compact::compact(self.changeable()?, table, family, kind)
    }

    fn purge(&self, scope: &PurgeScope) -> Result<()> {
        purge_deleted::purge_deleted(self.changeable_in(&scope.table)?, scope)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        snapshots::snapshots(&self.engine)
    }

    fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        table.map_or(Ok(()), system::check)?;
        snapshots::create_snapshot(self.changeable()?, name, table)
    }

    fn delete_snapshot(&self, name: &str) -> Result<()> {
        let deleted = snapshots::delete_snapshot(self.changeable()?, name);
        self.kept.lock().pop(name);
        deleted
    }

    fn snapshot(&self, name: &str) -> Result<Arc<dyn Backend>> {
        if let Access::Snapshot(_) = self.access {
            self.changeable()?;
        }
        Ok(self.kept(name)?)
    }

    fn restore(&self, restoration: &Restoration, origin: Origin) -> Result<()> {
        let engine = self.changeable()?;
        let restored = bring_back::restore_tables(engine, restoration, origin);
        restored.map_err(|e| {
            if e.kind == ErrorKind::Io { snapshots::of_snapshot(engine, &restoration.snapshot, e) } else { e }
        })
    }

    fn status(&self) -> Result<Status> {
        let reads_alone = self.no_changes().map(|why| why.refusal(&self.engine.options.path).message);
        Ok(Status { reads_alone, ..worker::status(&self.engine)? })
    }

    fn table_numbers(&self, table: &TableName) -> Result<Vec<FamilyNumbers>> {
        stats::table_numbers(self.of(table), table)
    }

    fn changes(&self, query: &ChangesQuery) -> Result<ChangesPage> {
        query.table.as_ref().map_or(Ok(()), system::check)?;
        match self.access {
            super::Access::Full => feed::changes(&self.engine, query),
            _ => Err(Error::new(
                ErrorKind::Unsupported,
                "changes are followed in the store itself, while it is written to",
            )),
        }
    }

    fn table_columns(&self, table: &TableName) -> Result<Vec<FamilyColumns>> {
        stats::table_columns(self.of(table), table)
    }

    fn columns_page(&self, page: &ColumnsPage) -> Result<Vec<ColumnNumbers>> {
        self.steady(&page.table, || stats::columns_page(self.of(&page.table), page))
    }

    fn value_limit(&self) -> u64 {
        self.engine.value_limit()
    }

    fn is_prompt(&self) -> bool {
        !self.engine.disk.is_short() && self.engine.log.is_prompt() && !self.syncs_each_change()
    }

    fn check_room(&self) -> Result<()> {
        self.engine.log.check_poison()?;
        room::await_room(&self.engine, true);
        room::check_reserve(&self.engine, 0)
    }

    fn now(&self) -> Timestamp {
        self.engine.now()
    }

    fn moment(&self, table: &TableName) -> Result<Timestamp> {
        point::moment(self.of(table), table)
    }

    fn hash_key(&self) -> [u8; 16] {
        self.engine.hash_key
    }

    fn subscribe(&self, subscriber: Subscriber) {
        self.engine.subscribers.add(subscriber);
    }
}
