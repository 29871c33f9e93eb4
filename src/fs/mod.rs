//! The operations of the mount with plain results: nodes, handles, write sessions, attributes, caching.
//!
//! Knows the tree and the backend's contract; must not know `fuser`, the store's files or SQLite.
//!
//! Lock order: the node table, then a node's state, then a handle's state; the backend is called with a
//! node's state locked, never with the table locked.

mod bytes;
mod cache;
mod counts;
pub mod errno;
mod handles;
mod kinds;
mod nodes;
mod ops;
mod options;
mod programs;
mod session;
mod trees;
mod views;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use bytes::content::{Beyond, Content};
pub use cache::invalidations::{Invalidation, Invalidations, Message};
pub use counts::counters::{Operation, OperationNumbers};
pub use handles::closing::Closing;
pub use handles::table::{OpenFlags, Opened};
pub use nodes::access::Creator;
pub use ops::attr::{Attr, EntryReply, Kind, Lookup};
pub use ops::listing::DirEntry;
pub use ops::setattr::SetAttr;
pub use ops::xattr::{SetXattr, Xattr};
pub use options::{Options, Told};

use crate::backend::Backend;
use crate::error::RENAMED;
use crate::model::{FileTime, TableSchema};
use crate::tree::base::Tree;
use crate::tree::names::escape::Spelling;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};
use bytes::{scratch, scratch_texts};
use cache::{absent, changes};
use counts::refusals::Refusals;
use counts::{accesses, counters, subject};
use handles::table::Handles;
use handles::{ahead, feeds, held, table};
use kinds::judge;
use nodes::modes;
use nodes::node::Node;
use nodes::table::NodeTable;
use programs::{copies, moments, removals, told, walks};

/// Who makes a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub uid: u32,
    pub gid: u32,
    pub pid: u32,
}

/// What a mount has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FsNumbers {
    pub operations: Vec<OperationNumbers>,
    /// Nodes that the kernel holds, and how many it may.
    pub nodes: u64,
    pub nodes_most: u64,
    /// Open files and directories.
    pub handles: u64,
    /// Lines that `.info/errors` has had.
    pub refusals: u64,
}

/// One mounted tree.
pub struct Fs {
    tree: Arc<Tree>,
    snapshots: trees::SnapshotTrees,
    options: Options,
    nodes: NodeTable,
    handles: Handles,
    /// Entries of open directories.
    held: held::Held<table::DirHandle>,
    /// Pages of them that were fetched ahead.
    fetched: ahead::Fetched,
    refusals: Refusals,
    counters: counters::Counters,
    accesses: accesses::Accesses,
    feeds: feeds::Feeds,
    texts: scratch_texts::Scratch,
    copies: copies::Copies,
    scratch: scratch::ScratchFiles,
    modes: modes::Modes,
    invalidations: Invalidations,
    absent: absent::AbsentNames,
    changes: changes::Changes,
    closing: Arc<Closing>,
    dated: told::ToldFamilies,
    moments: moments::Moments,
    walks: walks::Walks,
    told: told::ToldDirectories,
    removals: removals::Removals,
    mounted_at: FileTime,
}

impl Fs {
    /// Files that are just being closed.
    pub fn closing(&self) -> Arc<Closing> {
        Arc::clone(&self.closing)
    }

    /// A tree over `backend`; what must be told to the kernel is put into `invalidations`.
    pub fn new(backend: Arc<dyn Backend>, options: Options, invalidations: Invalidations) -> Result<Arc<Self>> {
        let root = NodeKey::plain(Place::Root);
        let fs = Arc::new(Self {
            mounted_at: backend.now().into(),
            nodes: NodeTable::new(backend.hash_key(), root),
            tree: trees::tree_over(backend, &options),
            snapshots: trees::SnapshotTrees::default(),
            scratch: scratch::ScratchFiles::new(&options.spill_dir),
            modes: modes::Modes::new(&options.spill_dir),
            options,
            handles: Handles::default(),
            held: held::Held::default(),
            fetched: ahead::Fetched::default(),
            refusals: Refusals::default(),
            counters: counters::Counters::default(),
            accesses: accesses::Accesses::default(),
            feeds: feeds::Feeds::default(),
            texts: scratch_texts::Scratch::default(),
            copies: copies::Copies::default(),
            absent: absent::AbsentNames::default(),
            changes: changes::Changes::default(),
            closing: Arc::default(),
            dated: told::ToldFamilies::default(),
            moments: moments::Moments::default(),
            walks: walks::Walks::default(),
            told: told::ToldDirectories::default(),
            removals: removals::Removals::default(),
            invalidations,
        });
        fs.listen();
        Ok(fs)
    }

    /// The backend under the tree.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.tree.backend
    }

    /// The mount's options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Remembers a refusal for `.info/errors`.
    pub fn record_refusal(&self, caller: Caller, what: &str, error: &Error) {
        if subject::was_early() {
            return;
        }
        let caller = if caller.pid == 0 { subject::caller() } else { caller };
        let what = self.path_of_subject().map_or_else(|| what.to_owned(), |path| format!("{path} {what}"));
        let source = self.path_of_source().map(|path| format!("{RENAMED}{path})")).unwrap_or_default();
        self.refusals.record(self.tree.backend.now(), caller, &what, &format!("{}{source}", error.message));
    }

    /// Remembers a sentence that is no refusal.
    fn record_sentence(&self, caller: Caller, what: &str, sentence: &str) {
        self.record_refusal(caller, what, &Error::new(ErrorKind::Refused, sentence));
    }

    /// Counts a request of somebody.
    pub fn count(&self, caller: Caller, operation: Operation) {
        subject::begin(caller);
        self.counters.count(operation);
    }

    /// What was counted since the mount.
    pub fn numbers(&self) -> FsNumbers {
        FsNumbers {
            operations: self.counters.numbers(),
            nodes: self.nodes.len() as u64,
            nodes_most: self.options.max_nodes as u64,
            handles: self.handles.len() as u64,
            refusals: self.refusals.total(),
        }
    }

    fn node(&self, ino: u64) -> Result<Arc<Node>> {
        let node = self.nodes.get(ino);
        let gone = || Error::new(ErrorKind::NotFound, format!("inode {ino} is not held any more"));
        node.inspect(|node| subject::is(node)).ok_or_else(gone)
    }

    /// Refuses changes to what is only generated, and to a mount with the option `ro`.
    fn check_writable(&self, key: &NodeKey) -> Result<()> {
        if let Some(why) = &self.options.read_only {
            return Err(Error::new(ErrorKind::ReadOnlyStore, why.as_str()));
        }
        if key.snapshot.is_some() || key.place == Place::Snapshots {
            return Err(Error::new(ErrorKind::ReadOnlyStore, "snapshots are read-only; see `cellfs snapshot`"));
        }
        if key.asked.is_some() || matches!(key.place, Place::Asking(..)) {
            return Err(Error::new(
                ErrorKind::ReadOnlyStore,
                "scan paths are read-only; write to the cell in its table, or mount with names=raw for cells of such a name",
            ));
        }
        if let View::At(_) = key.view {
            return Err(Error::new(ErrorKind::ReadOnlyStore, "the past is read-only"));
        }
        let table = if let Place::Schema(place) = &key.place { place.table() } else { key.place.table() };
        if let Some(table) = table.filter(|table| table.is_system())
            && self.tree.backend.catalogue()?.tables.get(table).is_some_and(TableSchema::read_only)
        {
            let text = format!("table {table} tells what the store has; change the tables and namespaces themselves");
            return Err(Error::new(ErrorKind::ReadOnlyTable, text));
        }
        Ok(())
    }

    /// Whether a directory is a family's of a row: what is changed in it are cells alone.
    pub fn holds_cells(&self, ino: u64) -> bool {
        self.nodes.get(ino).is_some_and(|node| matches!(node.key().place, Place::Family(_)))
    }

    /// How names are spelt in this mount.
    pub fn spelling(&self) -> Spelling {
        self.options.spelling
    }

    /// Whether an open file is one of the catalogue's, or another that is generated.
    pub fn is_text(&self, handle: u64) -> bool {
        matches!(self.handles.get(handle), Ok(table::Handle::Text(_)))
    }

    /// Whether a read of an open file may take long: it is made while it is read.
    pub fn is_made_by_reads(&self, handle: u64) -> bool {
        matches!(self.handles.get(handle), Ok(table::Handle::Text(text)) if text.streams.is_some())
    }

    /// Whether a write to an open file may take long: it takes a stream, or declares a check of what is stored.
    pub fn takes_long(&self, handle: u64) -> bool {
        let Ok(table::Handle::Text(text)) = self.handles.get(handle) else { return false };
        text.takes.is_some() || judge::declares_check(&text.node.key()).is_some()
    }

    /// Whether the release of an open file commits something.
    pub fn commits_at_release(&self, handle: u64) -> bool {
        match self.handles.get(handle) {
            Ok(table::Handle::File(file)) => {
                let own = file.state.lock();
                (own.written || own.emptied) && own.refused.is_none() && own.failed.is_none()
            }
            Ok(table::Handle::Text(_)) => true,
            _ => false,
        }
    }

    fn now(&self) -> FileTime {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        FileTime { seconds: since.as_secs().cast_signed(), nanos: since.subsec_nanos() }
    }
}

/// The refusal of something that this level of the tree does not have.
fn not_permitted(text: &str) -> Error {
    Error::new(ErrorKind::NotPermitted, text)
}
