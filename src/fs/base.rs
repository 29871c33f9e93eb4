//! One mounted tree: what it has, each part for itself. What is done with them lies above.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::env::sync::{ReadGuard, RwLock};
use crate::fs::bytes::{scratch, scratch_texts};
use crate::fs::cache::invalidations::Invalidations;
use crate::fs::cache::{absent, changes};
use crate::fs::counts::counters::{Operation, OperationNumbers};
use crate::fs::counts::refusals::Refusals;
use crate::fs::counts::{accesses, counters, subject};
use crate::fs::handles::closing::Closing;
use crate::fs::handles::table::Handles;
use crate::fs::handles::{ahead, feeds, held, table};
use crate::fs::nodes::modes;
use crate::fs::nodes::node::Node;
use crate::fs::nodes::table::NodeTable;
use crate::fs::options::Options;
use crate::fs::programs::{copies, moments, removals, told, walks};
use crate::fs::trees;
use crate::model::FileTime;
use crate::tree::base::Tree;
use crate::tree::names::escape::Spelling;
use crate::tree::place::{NodeKey, Place};
use crate::{Error, ErrorKind, Result};

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
    pub(in crate::fs) tree: Arc<Tree>,
    pub(in crate::fs) snapshots: trees::SnapshotTrees,
    pub(in crate::fs) options: Options,
    pub(in crate::fs) nodes: NodeTable,
    pub(in crate::fs) handles: Handles,
    /// Written while directories move, or two files change their places; read by requests that find things by their place,
    /// see [`Fs::stay`].
    pub(in crate::fs) moves: RwLock<()>,
    /// Entries of open directories.
    pub(in crate::fs) held: held::Held<table::DirHandle>,
    /// Pages of them that were fetched ahead.
    pub(in crate::fs) fetched: ahead::Fetched,
    pub(in crate::fs) refusals: Refusals,
    pub(in crate::fs) counters: counters::Counters,
    pub(in crate::fs) accesses: accesses::Accesses,
    pub(in crate::fs) feeds: feeds::Feeds,
    pub(in crate::fs) texts: scratch_texts::Scratch,
    pub(in crate::fs) copies: copies::Copies,
    pub(in crate::fs) scratch: scratch::ScratchFiles,
    pub(in crate::fs) modes: modes::Modes,
    pub(in crate::fs) invalidations: Invalidations,
    pub(in crate::fs) absent: absent::AbsentNames,
    pub(in crate::fs) changes: changes::Changes,
    pub(in crate::fs) closing: Arc<Closing>,
    pub(in crate::fs) dated: told::ToldFamilies,
    pub(in crate::fs) moments: moments::Moments,
    pub(in crate::fs) walks: walks::Walks,
    pub(in crate::fs) told: told::ToldDirectories,
    pub(in crate::fs) removals: removals::Removals,
    pub(in crate::fs) mounted_at: FileTime,
}

impl Fs {
    /// Nothing moves with its directory until the guard goes. `None`: it need not for such a request, or it is what moves.
    pub fn stay(&self, what: Operation) -> Option<ReadGuard<'_, ()>> {
        what.goes_by_place().then(|| self.moves.read_recursive())
    }

    /// Files that are just being closed.
    pub fn closing(&self) -> Arc<Closing> {
        Arc::clone(&self.closing)
    }

    /// A mount over `backend` that hears of no change yet; what must be told to the kernel is put into `invalidations`.
    pub fn new(backend: Arc<dyn Backend>, options: Options, invalidations: Invalidations) -> Self {
        let root = NodeKey::plain(Place::Root);
        Self {
            mounted_at: backend.now().into(),
            nodes: NodeTable::new(backend.hash_key(), root),
            tree: trees::tree_over(backend, &options),
            snapshots: trees::SnapshotTrees::default(),
            scratch: scratch::ScratchFiles::new(&options.spill_dir),
            modes: modes::Modes::new(&options.spill_dir),
            options,
            handles: Handles::default(),
            moves: RwLock::default(),
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
        }
    }

    /// The backend under the tree.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.tree.backend
    }

    /// The mount's options.
    pub fn options(&self) -> &Options {
        &self.options
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

    pub(in crate::fs) fn node(&self, ino: u64) -> Result<Arc<Node>> {
        let node = self.nodes.get(ino);
        let gone = || Error::new(ErrorKind::NotFound, format!("inode {ino} is not held any more"));
        node.inspect(|node| subject::is(node)).ok_or_else(gone)
    }

    /// The kernel forgets `count` look-ups.
    pub fn forget(&self, ino: u64, count: u64) {
        self.nodes.forget(ino, count);
    }

    /// Takes back a handle that the kernel was not told of.
    pub(in crate::fs) fn unopen(&self, handle: u64) {
        if let Some(handle) = self.handles.remove(handle) {
            self.nodes.closed(handle.node());
        }
    }

    /// How names are spelt in this mount.
    pub fn spelling(&self) -> Spelling {
        self.options.spelling
    }

    pub(in crate::fs) fn now(&self) -> FileTime {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        FileTime { seconds: since.as_secs().cast_signed(), nanos: since.subsec_nanos() }
    }

    /// The time of a change, as precise as a version's timestamp: what is shown before the commit is shown
    /// after it.
    pub(in crate::fs) fn time_of_change(&self) -> FileTime {
        self.tree.backend.now().into()
    }
}

/// The refusal of something that this level of the tree does not have.
pub(in crate::fs) fn not_permitted(text: &str) -> Error {
    Error::new(ErrorKind::NotPermitted, text)
}
