//! The embedded store, with what mounts ask of it.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use cellfs::backend::{Backend, CompactionKind, RenameCell, RenameMode, RowListing, Versions};
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};

use super::Subject;
use crate::cells;

pub struct Cellfs(Store);

/// Of a memtable.
pub struct Memory {
    pub cells: u64,
    pub bytes: u64,
}

/// Bytes of a value from which a mount changes it in place.
const DRAFTED: u64 = 16 << 10;
const SNAPSHOT: &str = "of-the-benchmark";

/// As whoever writes to a table has its name, which is looked through once.
fn table() -> TableName {
    static NAME: LazyLock<TableName> = LazyLock::new(|| TableName::parse("bench").expect("a name"));
    NAME.clone()
}

impl Cellfs {
    pub fn create(dir: &Path) -> Self {
        let subject = Self::open(dir);
        let rules = [("VERSIONS", "10"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
        let family = FamilySchema::new("f", rules.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let schema = TableSchema::new(table(), [family]);
        subject.0.alter(CatalogueChange::CreateTable(schema), Origin(0)).expect("make the table");
        subject
    }

    pub fn open(dir: &Path) -> Self {
        Self(Store::open(StoreOptions::new(dir)).expect("open the store"))
    }

    pub fn column(cell: u64) -> ColumnKey {
        ColumnKey { table: table(), row: cells::row(cell), family: "f".into(), qualifier: cells::qualifier(cell) }
    }

    fn mutate(&self, cell: u64, mutation: Mutation, durability: Durability) {
        self.mutate_if(cell, mutation, durability, None);
    }

    fn mutate_if(&self, cell: u64, mutation: Mutation, durability: Durability, condition: Option<Condition>) {
        let mutations = RowMutations {
            table: table(),
            row: cells::row(cell),
            mutations: vec![mutation],
            durability: Some(durability),
            origin: Origin(0),
        };
        assert!(self.0.mutate(mutations, condition).expect("write").applied);
    }

    fn write(&self, cell: u64, value: Vec<u8>, durability: Durability) {
        let put = PutCell::new("f", cells::qualifier(cell), Time::AfterNewest, value);
        self.mutate(cell, Mutation::Put(vec![put]), durability);
    }

    fn info(&self, cell: u64) -> Option<CellInfo> {
        self.0.newest(&Self::column(cell), TimeRange::ALL).expect("read")
    }

    /// As `rm` in a mount: look, then a tombstone.
    pub fn unlink(&self, cell: u64) {
        assert!(self.info(cell).is_some());
        let kind = DeleteKind::Column { family: "f".into(), qualifier: cells::qualifier(cell) };
        let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
        self.mutate(cell, Mutation::Delete(vec![marker]), Durability::SyncWal);
    }

    /// As `mv` in a mount, to another name in the row.
    pub fn rename(&self, cell: u64) {
        let from = Self::column(cell);
        let mut to = from.clone();
        to.qualifier.extend_from_slice(b"-moved");
        let rename = RenameCell::newest(from, to, RenameMode::Replace);
        self.0.rename_cell(&rename).expect("rename");
    }

    /// What lies in memory alone, and in the log.
    pub fn memory(&self) -> Memory {
        let status = self.0.status().expect("status");
        Memory { cells: status.memtable_cells, bytes: status.memtable_bytes }
    }

    /// As `echo >>` in a mount: look, then the store's Append, or the new bytes of a version that goes on.
    pub fn append(&self, cell: u64, bytes: &[u8]) {
        let newest = self.info(cell);
        if let Some(newest) = newest.filter(|newest| newest.len() > DRAFTED) {
            return self.write_at(cell, Some(&newest), (newest.len(), &[bytes]));
        }
        let delta = ColumnDelta { family: "f".into(), qualifier: cells::qualifier(cell), delta: bytes.to_vec() };
        let append = Append { returns: true, ..Append::to_newest(vec![delta]) };
        self.mutate(cell, Mutation::Append(append), Durability::SyncWal);
    }

    /// As a program that writes a file anew.
    pub fn replace(&self, cell: u64, pieces: &[&[u8]]) {
        self.write_at(cell, None, (0, pieces));
    }

    /// As a program that writes a part of a file in place.
    pub fn overwrite(&self, cell: u64, (offset, bytes): (u64, &[u8])) {
        self.write_at(cell, self.info(cell).as_ref(), (offset, &[bytes]));
    }

    /// A version that begins as another one, or empty.
    fn write_at(&self, cell: u64, base: Option<&CellInfo>, (mut offset, pieces): (u64, &[&[u8]])) {
        let mut draft = self.0.draft(&table(), "f", base).expect("draft").expect("a store takes drafts");
        for piece in pieces {
            draft.write(offset, piece).expect("write");
            offset += piece.len() as u64;
        }
        let mut put = PutCell::new("f", cells::qualifier(cell), Time::AfterNewest, Vec::new());
        put.value = draft.value().expect("the value");
        let condition = base.map(|base| Condition::Newest {
            family: "f".into(),
            qualifier: cells::qualifier(cell),
            version: Some((base.timestamp, base.seq)),
        });
        self.mutate_if(cell, Mutation::Put(vec![put]), Durability::SyncWal, condition);
    }

    /// Returns when all of it is on the disk.
    pub fn sync(&self) {
        self.0.sync().expect("sync");
    }

    fn count(&self, scan: &Scan) -> u64 {
        let mut count = 0;
        let mut take = |piece: &Piece| {
            if let Piece::Cell(cell) = piece {
                count += u64::from(!cell.qualifier.is_empty() && cell.value.len() == *cells::VALUE);
            }
            Ok(())
        };
        self.0.scan_pieces(scan, &mut take).expect("scan");
        count
    }
}

impl Subject for Cellfs {
    fn put(&self, cell: u64) {
        self.write(cell, cells::value(cell), Durability::SyncWal);
    }

    fn flush(&self) {
        self.0.flush(None).expect("flush");
    }

    fn is_idle(&self) -> bool {
        self.0.status().expect("status").activity.is_empty()
    }

    fn put_durably(&self, cell: u64) {
        self.write(cell, cells::value(!cell), Durability::FsyncWal);
    }

    fn newest(&self, cell: u64) -> usize {
        let info = self.info(cell).expect("a version");
        self.0.read_value(&info, 0, usize::MAX).expect("read the value").len()
    }

    fn scan(&self) -> u64 {
        self.count(&Scan::all(table()))
    }

    fn first_row(&self, cell: u64) -> u64 {
        self.count(&Scan { start: cells::row(cell), start_inclusive: true, limit: Some(1), ..Scan::all(table()) })
    }

    /// As `stat` in a mount.
    fn len_of(&self, cell: u64) -> Option<u64> {
        self.info(cell).map(|info| info.len())
    }

    fn rows(&self) -> Option<u64> {
        let mut listing = RowListing {
            table: table(),
            after: None,
            before: Vec::new(),
            time_range: TimeRange::ALL,
            which: Versions::Live,
            limit: 4096,
        };
        let mut rows = 0;
        loop {
            let page = self.0.list_rows(&listing).expect("list");
            rows += page.len() as u64;
            if page.len() < listing.limit {
                return Some(rows);
            }
            listing.after = page.last().map(<[u8]>::to_vec);
        }
    }

    fn compact(&self) {
        self.0.compact(&table(), None, CompactionKind::Major).expect("compact");
    }

    fn snapshot(&self, _beside: &Path) -> Option<f64> {
        let started = Instant::now();
        self.0.create_snapshot(SNAPSHOT, Some(&table())).expect("snapshot");
        let seconds = started.elapsed().as_secs_f64();
        self.0.delete_snapshot(SNAPSHOT).expect("delete the snapshot");
        Some(seconds)
    }

    fn close(self: Box<Self>) {
        self.0.close().expect("close");
    }
}
