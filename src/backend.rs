//! What the tree, the command line and the shell need of a store.
//!
//! Implemented by the embedded store and by the client of a daemon's control socket. Must not know files or FUSE.

mod alter;
mod changes;
mod copied;
mod deleted;
mod events;
mod kept;
mod load;
mod numbers;
mod regions;
mod run;
mod status;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, Cells, CheckEvent, CheckSummary, ColumnKey, Condition,
    Draft, FileAttributes, Get, KeyList, ManyRows, Mutated, Origin, Qualifier, RowKey, RowMutations, RowResult, Scan,
    SeqNo, TableName, TakePiece, TimeRange, Timestamp,
};
use crate::{Error, ErrorKind, Result};
pub use changes::{Change, ChangesPage, ChangesQuery, Committed};
pub use deleted::{DeletedPage, DeletedQuery, Gone};
pub use events::{Event, Subscriber};
pub use kept::{Existing, Restoration, SnapshotInfo};
pub use load::BulkLoad;
pub use numbers::{COLUMNS_PAGE, ColumnNumbers, ColumnsPage, FamilyColumns, FamilyNumbers};
pub use regions::{ClusterNumbers, Region, RegionChange, RegionSwitch, ServerNumbers};
pub use run::{RowPiece, VersionRun};
pub use status::{CompactionKind, CompactionProgress, Status};

/// Results of a scan, in order; after an `Err` there is nothing more.
pub type Rows<'a> = Box<dyn Iterator<Item = Result<RowResult>> + Send + 'a>;

/// Which versions a listing of one column is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Versions {
    /// Those that plain reads can see.
    Live,
    /// Also deleted ones that the family keeps ([`CellInfo::deleted_at`]).
    LiveAndKept,
}

/// Moving the newest version of a column to another name, in one atomic step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameCell {
    pub from: Arc<ColumnKey>,
    /// `Some`: that version only; its tombstone is a Version tombstone.
    pub from_version: Option<Timestamp>,
    pub to: Arc<ColumnKey>,
    /// `Some`: with this explicit timestamp.
    pub to_version: Option<Timestamp>,
    pub mode: RenameMode,
    pub leaves: Leaves,
    pub origin: Origin,
}

impl RenameCell {
    /// The newest version takes the new name, by nobody's file.
    pub fn newest(from: impl Into<Arc<ColumnKey>>, to: impl Into<Arc<ColumnKey>>, mode: RenameMode) -> Self {
        let (from, to, leaves) = (from.into(), to.into(), Leaves::default());
        Self { from, from_version: None, to, to_version: None, mode, leaves, origin: Origin(0) }
    }
}

/// What a rename leaves under the old name of a column that has had one version alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leaves {
    /// The version has moved: it was a temporary file.
    #[default]
    Nothing,
    /// That version, deleted: what goes on at the new name is another.
    History,
}

/// A row, or a family of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    pub table: TableName,
    pub row: RowKey,
    pub family: Option<String>,
}

impl Directory {
    /// Whether a column is one of its cells.
    pub fn holds(&self, column: &ColumnKey) -> bool {
        column.table == self.table
            && column.row == self.row
            && self.family.as_ref().is_none_or(|family| *family == column.family)
    }
}

/// What to do with a target that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RenameMode {
    Replace,
    /// Refuse ([`crate::ErrorKind::AlreadyExists`]).
    NoReplace,
    /// Each name gets the other's newest version.
    Exchange,
}

/// A page of a listing of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowListing {
    pub table: TableName,
    /// Only rows after this one.
    pub after: Option<RowKey>,
    /// Only rows before this one (empty = no bound).
    pub before: RowKey,
    pub time_range: TimeRange,
    /// Whether rows of which nothing but deleted versions is kept are listed too.
    pub which: Versions,
    pub limit: usize,
}

/// Where a listing of the history of a family goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryFrom {
    pub qualifier: Qualifier,
    /// Versions of that column that are older; `None` = all of it. Later columns follow.
    pub before: Option<Timestamp>,
}

/// What is to be purged: a table, or a row of it, or a column of that (a family alone: of all rows).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeScope {
    pub table: TableName,
    pub row: Option<RowKey>,
    pub family: Option<String>,
    pub qualifier: Option<Qualifier>,
}

/// A store of tables. All methods may be called from many threads at once.
pub trait Backend: Send + Sync {
    /// A snapshot of what is declared.
    fn catalogue(&self) -> Result<Arc<Catalogue>>;
    /// Applies and makes durable one change of the catalogue.
    fn alter(&self, change: CatalogueChange, origin: Origin) -> Result<()>;

    /// One row; without cells if nothing of it is visible. Holds the row: see [`Backend::get_pieces`].
    fn get(&self, get: &Get) -> Result<RowResult> {
        let mut result = RowResult { row: get.row.clone(), cells: Vec::new() };
        let mut cells = Cells::default();
        self.get_pieces(get, &mut |piece| {
            result.cells.extend(cells.take(piece));
            Ok(())
        })?;
        Ok(result)
    }
    /// One row piece by piece, with memory that does not grow with the row or its values; no piece if nothing of it is
    /// visible. `take` must not call this backend.
    fn get_pieces(&self, get: &Get, take: TakePiece<'_>) -> Result<()>;
    /// Rows of a range, in order. Holds one row at a time: see [`Backend::scan_pieces`].
    fn scan(&self, scan: &Scan) -> Result<Rows<'_>>;
    /// As [`Backend::scan`], piece by piece, with memory that does not grow with the rows or their values.
    fn scan_pieces(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()>;
    /// Applies the mutations of one row atomically if the condition holds.
    fn mutate(&self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated>;
    /// Applies the mutations of many rows in one step, all or nothing; where a store cannot, one row after the other.
    fn mutate_rows(&self, rows: ManyRows) -> Result<()> {
        rows.each().try_for_each(|row| self.mutate(row, None).map(|_| ()))
    }
    /// A bulk load into a table; `None`: the table, or this store, takes none now, and all is written the usual way.
    fn bulk_load(&self, _table: &TableName) -> Result<Option<Box<dyn BulkLoad>>> {
        Ok(None)
    }
    /// A large value for a cell of a family, written piece by piece before the cell is put; it begins as that of a
    /// stored version, or empty. `None`: such a value is given as a whole.
    fn draft(&self, _table: &TableName, _family: &str, _base: Option<&CellInfo>) -> Result<Option<Box<dyn Draft>>> {
        Ok(None)
    }

    /// The newest visible version of a column in a time range.
    fn newest(&self, column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>>;
    /// At most `len` bytes from `offset` of a version's value, checked against its checksums.
    fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>>;
    /// Bytes of a version's value that take room, whoever shares it: what it is longer by reads as zeros.
    fn filled(&self, cell: &CellInfo) -> Result<u64> {
        Ok(cell.len())
    }
    /// Keys of rows with a visible cell, ascending; fewer than the limit only at the end.
    fn list_rows(&self, listing: &RowListing) -> Result<KeyList>;
    /// How many rows a scan answers, where that is known without a look at each; `None`: they have to be counted.
    fn count_rows(&self, _scan: &Scan) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Names of the families in which the row has a visible cell (or a kept one, if asked), ascending.
    fn list_families(&self, table: &TableName, row: &[u8], range: TimeRange, which: Versions) -> Result<Vec<String>>;
    /// Columns after `after` with their newest version in the range, ascending; fewer than `limit` only at the end.
    fn list_columns(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        after: Option<&[u8]>,
        range: TimeRange,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>>;
    /// Versions of a column older than `before`, newest first; fewer than `limit` only at the end.
    fn list_versions(
        &self,
        column: &ColumnKey,
        which: Versions,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CellInfo>>;

    /// Qualifiers of a row and family with a visible cell in the range, descending, from the last one before `before`
    /// (empty = from the last one); fewer than `limit` only at the front. `None`: columns are only walked forwards.
    fn last_columns(
        &self,
        _place: (&TableName, &[u8], &str),
        _before: &[u8],
        _range: TimeRange,
        _limit: usize,
    ) -> Result<Option<Vec<Qualifier>>> {
        Ok(None)
    }

    /// A piece of a table at random: a part of the rows of a range (start, inclusive, and stop, exclusive; empty = no
    /// bound) that lies together, with some beyond it at its ends. Pieces take about as much room, all are equally likely,
    /// and each row is in one of them; the same number gives the same piece while nothing is flushed or compacted. `None`:
    /// the table has no pieces.
    fn draw_piece(&self, _table: &TableName, _range: (&[u8], &[u8]), _number: u64) -> Result<Option<RowPiece>> {
        Ok(None)
    }

    /// Whether any cell of a table may expire; true where that is not known.
    fn may_expire(&self, _table: &TableName) -> Result<bool> {
        Ok(true)
    }

    /// Live and kept versions of the columns of a row and family: columns ascending, versions newest first;
    /// fewer than `limit` only at the end.
    fn list_history(
        &self,
        table: &TableName,
        row: &[u8],
        family: &str,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>>;

    /// Deleted versions that can be brought back, a page of them, where a look at each row would be a request. `None`:
    /// whoever asks looks at each.
    fn list_deleted(&self, _query: &DeletedQuery) -> Result<Option<DeletedPage>> {
        Ok(None)
    }

    /// The version of a time and at most `count` on either side of it; empty and without a word about what is
    /// newer and older if nothing was ever put at that time.
    fn list_around(&self, column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun>;

    /// Moves a cell; the version that the target got. `NotFound` without a source.
    fn rename_cell(&self, rename: &RenameCell) -> Result<CellInfo>;

    /// Whether [`Backend::rename_directory`] moves anything.
    fn moves_directories(&self) -> bool {
        true
    }

    /// Moves all versions of a row, or of a family of a row, in one atomic batch; whether there was any. `CrossDevice`
    /// where it cannot.
    fn rename_directory(&self, from: &Directory, to: &Directory, origin: Origin) -> Result<bool>;
    /// Erases a column that was copied to another up to `last`, `None`: it had nothing. Whether nothing is left of it:
    /// what was put since stays. Whoever has its file open goes on at the other.
    fn erase_copied(&self, from: &ColumnKey, _to: &ColumnKey, last: Option<SeqNo>) -> Result<bool> {
        let Some(last) = last else { return Ok(self.newest(from, TimeRange::ALL)?.is_none()) };
        let (mutations, condition) = copied::erasure(from, last);
        self.mutate(mutations, Some(condition)).map(|mutated| mutated.applied)
    }
    /// Whoever shows directories that have no cell shows `from` as `to` from now on, where its cells have gone one by one;
    /// false if it has cells again.
    fn leave(&self, _from: &Directory, _to: &Directory) -> Result<bool> {
        Ok(true)
    }
    /// What the next version of a column keeps of its newest one, beside its value.
    fn kept_attributes(&self, column: &ColumnKey) -> Result<FileAttributes> {
        let newest = self.newest(column, TimeRange::ALL)?;
        Ok(newest.map(|cell| cell.tags.file.of_next_version()).unwrap_or_default())
    }
    /// Sets attributes of one stored version; writes nothing if it has them already.
    fn set_attributes(
        &self,
        column: &ColumnKey,
        cell: &CellInfo,
        change: &AttributeChange,
        origin: Origin,
    ) -> Result<CellInfo>;

    /// Returns when all that was acknowledged before is on the disk.
    fn sync(&self) -> Result<()>;
    /// Moves the memtable into the index (`None` = of all tables).
    fn flush(&self, table: Option<&TableName>) -> Result<()>;
    fn compact(&self, table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()>;
    /// Takes deleted cells and their tombstones now, whatever KEEP_DELETED_CELLS and PURGE_DELETED_AFTER say.
    fn purge(&self, scope: &PurgeScope) -> Result<()>;
    /// The snapshots, by name.
    fn snapshots(&self) -> Result<Vec<SnapshotInfo>>;
    /// Keeps the present state of the store, or of one table, under a name; writers go on.
    fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()>;
    fn delete_snapshot(&self, name: &str) -> Result<()>;
    /// The store as it was: reads only, every change is refused. `NotFound` without such a snapshot.
    fn snapshot(&self, name: &str) -> Result<Arc<dyn Backend>>;
    /// Makes tables of a snapshot's; all of them or none is there, wherever the machine stops.
    fn restore(&self, restoration: &Restoration, origin: Origin) -> Result<()>;
    fn status(&self) -> Result<Status>;
    /// Compares everything that is stored with its checksums, and the index with the log.
    fn check(&self, _tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        Err(Error::new(ErrorKind::Unsupported, "this store cannot be checked from here"))
    }
    /// Numbers of each family of a table, in the order of their names, without a walk over what was flushed.
    fn table_numbers(&self, table: &TableName) -> Result<Vec<FamilyNumbers>>;
    /// What is stored under each qualifier of a table's families; likewise.
    fn table_columns(&self, table: &TableName) -> Result<Vec<FamilyColumns>>;
    /// The same of some qualifiers of a family, ascending, counted by a walk over all of it; fewer than the limit, or than
    /// [`COLUMNS_PAGE`], only at the end.
    fn columns_page(&self, page: &ColumnsPage) -> Result<Vec<ColumnNumbers>>;
    /// The regions of a table, in order; `None`: a table is one piece here.
    fn regions(&self, _table: &TableName) -> Result<Option<Vec<Region>>> {
        Ok(None)
    }
    /// What the servers say of themselves; `None`: there are none.
    fn cluster_numbers(&self) -> Result<Option<ClusterNumbers>> {
        Ok(None)
    }
    /// Changes where rows are served; `Unsupported` where there are no servers.
    fn change_regions(&self, _change: &RegionChange) -> Result<bool> {
        Err(Error::new(ErrorKind::Unsupported, "it is about the servers of a cluster; a store has none"))
    }
    /// Longest value that is taken, in bytes.
    fn value_limit(&self) -> u64;
    /// What sets it.
    fn value_limit_is(&self) -> &'static str {
        "the store's setting value_limit"
    }
    /// Whether changes of cells are taken without waiting for room or for the disk's sync.
    fn is_prompt(&self) -> bool {
        true
    }
    /// Whether others change its cells, and subscribers are not told of that.
    fn is_shared(&self) -> bool {
        false
    }
    /// Whether all attributes of tables and families have their effect, also those that a store keeps and shows alone.
    fn obeys_all_attributes(&self) -> bool {
        false
    }
    /// `NoSpace` where no put would be taken now, so that it is known before its bytes are; waits for room that can
    /// be made.
    fn check_room(&self) -> Result<()> {
        Ok(())
    }
    /// Changes of cells that were committed and are on the disk, each once, oldest first; what is not in the log any
    /// more is told by [`ChangesPage::gone`].
    fn changes(&self, _query: &ChangesQuery) -> Result<ChangesPage> {
        Err(Error::new(ErrorKind::Unsupported, "changes of this store cannot be followed"))
    }
    /// The store's clock.
    fn now(&self) -> Timestamp;
    /// A time as early as can be, up to which a read of the table sees all that is stored in it now; where it is shared,
    /// all but what has times of the future.
    fn moment(&self, _table: &TableName) -> Result<Timestamp> {
        Ok(self.now())
    }
    /// A secret of the store that keys its hashes (inode numbers, shortened names).
    fn hash_key(&self) -> [u8; 16];
    fn subscribe(&self, subscriber: Subscriber);
}
