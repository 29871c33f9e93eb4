//! A store that a command has opened for itself. If that takes longer than a moment, other commands are served meanwhile
//! as by a daemon: one that waits for them, because what it prints goes to them, would wait for ever else.
//!
//! Whoever is served when the command is done with the store is served to the end of its question.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::listening::{Listening, listen};
use super::server::Control;
use crate::Result;
use crate::backend::{
    Backend, BulkLoad, ChangesPage, ChangesQuery, ClusterNumbers, ColumnNumbers, ColumnsPage, CompactionKind,
    DeletedPage, DeletedQuery, Directory, FamilyColumns, FamilyNumbers, HistoryFrom, PurgeScope, Region, RegionChange,
    RenameCell, Restoration, RowListing, RowPiece, Rows, SnapshotInfo, Status, Subscriber, VersionRun, Versions,
};
use crate::daemon::numbers::Commands;
use crate::env::sync::Mutex;
use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, CheckEvent, CheckSummary, ColumnKey, Condition, Draft,
    FileAttributes, Get, KeyList, ManyRows, Mutated, Origin, Qualifier, RowMutations, RowResult, Scan, SeqNo,
    TableName, TakePiece, TimeRange, Timestamp,
};
use crate::store::{OnFullDisk, Store, StoreOptions};

/// How long a command has the store to itself: most are done by then.
const ALONE: Duration = Duration::from_millis(250);
/// How long the end of a question is waited for where the command goes on.
const PROMPT: Duration = Duration::from_millis(100);

/// Those that serve although their command is done with the store.
static LEFT: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// See the module. Dropped, it is closed as soon as nobody is served.
pub struct Served {
    store: Arc<Store>,
    keeper: Option<Keeper>,
}

/// The thread that lets others in.
struct Keeper {
    thread: JoinHandle<()>,
    /// Dropped when it is to end.
    go_on: Sender<()>,
    /// Closed when it has ended.
    ended: Receiver<()>,
}

impl Served {
    /// Opens a store; others are let in if that lasts.
    pub fn open(directory: &Path) -> Result<Self> {
        let options = StoreOptions { on_full_disk: OnFullDisk::Read, ..StoreOptions::new(directory) };
        let store = Arc::new(Store::open(options)?);
        // Others could not come to a socket of this user; and where nothing is written there is none.
        let owner = std::fs::metadata(directory).ok().map(|found| found.uid());
        let is_own = owner == Some(nix::unistd::geteuid().as_raw());
        let lets_in = is_own && Store::is_read_only(directory).is_ok_and(|is| !is);
        let keeper = if lets_in { Keeper::start(&store, directory, None) } else { None };
        Ok(Self { store, keeper })
    }

    /// Opens a store; others are let in at once.
    pub fn at_once(directory: &Path) -> Result<Self> {
        let store = Arc::new(Store::open(StoreOptions::new(directory))?);
        let listening = begin(&store, directory)?;
        let keeper = Keeper::start(&store, directory, Some(listening));
        Ok(Self { store, keeper })
    }
}

impl Keeper {
    fn start(store: &Arc<Store>, directory: &Path, listening: Option<Listening>) -> Option<Self> {
        let (go_on, closes) = bounded::<()>(0);
        let (ends, ended) = bounded::<()>(0);
        let (store, directory) = (Arc::clone(store), directory.to_owned());
        let keep = move || {
            keep(&store, &directory, listening, &closes);
            // Order: who waits for the end finds the store unused.
            drop(store);
            drop(ends);
        };
        let thread = std::thread::Builder::new().name("served".into()).spawn(keep);
        let thread = thread.inspect_err(|e| log::debug!("others are not served: {e}")).ok()?;
        Some(Self { thread, go_on, ended })
    }
}

fn keep(store: &Arc<Store>, directory: &Path, listening: Option<Listening>, closes: &Receiver<()>) {
    if listening.is_none() && !matches!(closes.recv_timeout(ALONE), Err(RecvTimeoutError::Timeout)) {
        return;
    }
    match listening.map_or_else(|| begin(store, directory), Ok) {
        Ok(listening) => {
            // It is closed, nothing is ever said.
            let _ = closes.recv();
            listening.end_in_a_lull();
        }
        Err(e) => log::debug!("others are not served: {}", e.message),
    }
}

fn begin(store: &Arc<Store>, directory: &Path) -> Result<Listening> {
    let backend: Arc<dyn Backend> = Arc::clone(store) as Arc<dyn Backend>;
    let control = Control {
        started_at: backend.now(),
        backend,
        invalidations: Default::default(),
        closing: Arc::default(),
        mount: None,
        spill_dir: std::env::temp_dir(),
        commands: Commands::default(),
        changes: Arc::default(),
        requests: Arc::default(),
        large: Mutex::default(),
    };
    listen(directory, control, None)
}

/// Calls of the store, each passed on as it is.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Backend for Served {
            $(fn $name(&self, $($argument: $type),*) -> $answer {
                self.store.$name($($argument),*)
            })*
        }
    };
}

pass_on! {
    catalogue() -> Result<Arc<Catalogue>>;
    alter(change: CatalogueChange, origin: Origin) -> Result<()>;
    get(get: &Get) -> Result<RowResult>;
    get_pieces(get: &Get, take: TakePiece<'_>) -> Result<()>;
    scan(scan: &Scan) -> Result<Rows<'_>>;
    scan_pieces(scan: &Scan, take: TakePiece<'_>) -> Result<()>;
    mutate(mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated>;
    mutate_rows(rows: ManyRows) -> Result<()>;
    bulk_load(table: &TableName) -> Result<Option<Box<dyn BulkLoad>>>;
    draft(table: &TableName, family: &str, base: Option<&CellInfo>) -> Result<Option<Box<dyn Draft>>>;
    newest(column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>>;
    read_value(cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>>;
    filled(cell: &CellInfo) -> Result<u64>;
    list_rows(listing: &RowListing) -> Result<KeyList>;
    count_rows(scan: &Scan) -> Result<Option<u64>>;
    list_families(table: &TableName, row: &[u8], range: TimeRange, which: Versions) -> Result<Vec<String>>;
    list_columns(
        table: &TableName, row: &[u8], family: &str, after: Option<&[u8]>, range: TimeRange, limit: usize
    ) -> Result<Vec<(Qualifier, CellInfo)>>;
    list_versions(of: &ColumnKey, which: Versions, before: Option<Timestamp>, limit: usize) -> Result<Vec<CellInfo>>;
    last_columns(
        place: (&TableName, &[u8], &str), before: &[u8], range: TimeRange, limit: usize
    ) -> Result<Option<Vec<Qualifier>>>;
    draw_piece(table: &TableName, range: (&[u8], &[u8]), number: u64) -> Result<Option<RowPiece>>;
    may_expire(table: &TableName) -> Result<bool>;
    list_history(
        table: &TableName, row: &[u8], family: &str, from: Option<&HistoryFrom>, limit: usize
    ) -> Result<Vec<(Qualifier, CellInfo)>>;
    list_deleted(query: &DeletedQuery) -> Result<Option<DeletedPage>>;
    list_around(column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun>;
    rename_cell(rename: &RenameCell) -> Result<CellInfo>;
    moves_directories() -> bool;
    rename_directory(from: &Directory, to: &Directory, origin: Origin) -> Result<bool>;
    erase_copied(from: &ColumnKey, to: &ColumnKey, last: Option<SeqNo>) -> Result<bool>;
    leave(from: &Directory, to: &Directory) -> Result<bool>;
    kept_attributes(column: &ColumnKey) -> Result<FileAttributes>;
    set_attributes(column: &ColumnKey, cell: &CellInfo, change: &AttributeChange, origin: Origin)
        -> Result<CellInfo>;
    sync() -> Result<()>;
    flush(table: Option<&TableName>) -> Result<()>;
    compact(table: &TableName, family: Option<&str>, kind: CompactionKind) -> Result<()>;
    purge(scope: &PurgeScope) -> Result<()>;
    snapshots() -> Result<Vec<SnapshotInfo>>;
    create_snapshot(name: &str, table: Option<&TableName>) -> Result<()>;
    delete_snapshot(name: &str) -> Result<()>;
    snapshot(name: &str) -> Result<Arc<dyn Backend>>;
    restore(restoration: &Restoration, origin: Origin) -> Result<()>;
    status() -> Result<Status>;
    check(tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary>;
    table_numbers(table: &TableName) -> Result<Vec<FamilyNumbers>>;
    table_columns(table: &TableName) -> Result<Vec<FamilyColumns>>;
    columns_page(page: &ColumnsPage) -> Result<Vec<ColumnNumbers>>;
    regions(table: &TableName) -> Result<Option<Vec<Region>>>;
    cluster_numbers() -> Result<Option<ClusterNumbers>>;
    change_regions(change: &RegionChange) -> Result<bool>;
    value_limit() -> u64;
    value_limit_is() -> &'static str;
    is_prompt() -> bool;
    is_shared() -> bool;
    obeys_all_attributes() -> bool;
    check_room() -> Result<()>;
    changes(query: &ChangesQuery) -> Result<ChangesPage>;
    now() -> Timestamp;
    moment(table: &TableName) -> Result<Timestamp>;
    hash_key() -> [u8; 16];
    subscribe(subscriber: Subscriber) -> ();
}

impl Drop for Served {
    fn drop(&mut self) {
        let Some(Keeper { thread, go_on, ended }) = self.keeper.take() else { return };
        drop(go_on);
        match ended.recv_timeout(PROMPT) {
            Err(RecvTimeoutError::Timeout) => LEFT.lock().push(thread),
            _ if thread.join().is_err() => log::error!("the thread that served others has failed"),
            _ => {}
        }
    }
}

/// Whether others are still served from here, although the command is done.
pub fn serves_others() -> bool {
    let mut left = LEFT.lock();
    left.retain(|thread| !thread.is_finished());
    !left.is_empty()
}

/// Returns when nobody is served any more.
pub fn serve_to_the_end() {
    let left = std::mem::take(&mut *LEFT.lock());
    for thread in left {
        if thread.join().is_err() {
            log::error!("the thread that served others has failed");
        }
    }
}

#[cfg(test)]
mod tests {
    /// Else a call that has a default would be answered by that, and not by the store.
    #[test]
    fn every_call_of_a_backend_is_passed_on() {
        let names = |text: &str, before: &str| -> Vec<String> {
            let called = text.lines().filter_map(|line| line.strip_prefix(before));
            let named = called.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned());
            named.filter(|name| !name.contains(|c: char| !c.is_ascii_lowercase() && c != '_')).collect()
        };
        let (_, contract) = include_str!("../../backend.rs").split_once("pub trait Backend").unwrap();
        let (_, passed) = include_str!("served.rs").split_once("\npass_on! {").unwrap();
        let passed = passed.split("\n}\n").next().unwrap();
        assert_eq!(names(contract.split("\n}\n").next().unwrap(), "    fn "), names(passed, "    "));
    }
}
