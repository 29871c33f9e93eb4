//! A held node: its identity, and what is known of it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::env::sync::{Mutex, MutexGuard, RwLock};
use crate::fs::bytes::content::Session;
use crate::fs::bytes::kept_pages::KeptPages;
use crate::fs::nodes::times::Times;
use crate::model::{CellInfo, FileTime, Origin, SeqNo, Timestamp};
use crate::tree::place::NodeKey;

/// A file or directory that the kernel, or an open handle, holds.
pub struct Node {
    pub ino: u64,
    pub(in crate::fs) key: RwLock<NodeKey>,
    /// The number of its key, while that is its identity: no other node has it, and its name is there; 0: it has none.
    /// Under the table's lock.
    pub(in crate::fs) own: AtomicU64,
    /// How often the kernel was told of it and has not forgotten since.
    pub(in crate::fs) lookups: AtomicU64,
    opens: AtomicU32,
    /// Programs that run from it.
    pub(in crate::fs) runs: AtomicU32,
    /// What is known of its cell may not be current any more.
    stale: AtomicBool,
    /// The pages that the kernel has may be another version's.
    pages_old: AtomicBool,
    /// When somebody else last changed its cell, ms; 0: never.
    changed_ms: AtomicI64,
    /// When the store was last asked for its cell, ms by the store's clock; 0: never.
    asked_ms: AtomicI64,
    state: Mutex<NodeState>,
}

/// What is known of a node beyond its identity. Small while nothing is: the kernel holds a million directories.
#[derive(Default)]
pub struct NodeState {
    /// The version that reads see, where it is known to be current.
    pub cell: Option<Box<CellInfo>>,
    /// Bytes that are being written.
    pub session: Option<Box<Session>>,
    /// What the kernel keeps of the session before, where it was told another mtime than the version's.
    pub withheld: Option<Box<Withheld>>,
    /// Without a name: nothing of it is committed any more.
    pub unlinked: bool,
    /// Its cell was removed elsewhere while it was open: the kernel may still come to it by the name, of which there may be
    /// another by now.
    pub outlived: bool,
    /// It has no name because its cell has expired: what is written to it makes it anew.
    pub expired: bool,
    /// Why it was never stored, where that is why it has no name.
    pub refused: Option<crate::ErrorKind>,
    /// An attribute file that was created and not set yet.
    pub created_text: bool,
    /// mtime that was set on an attribute file since its value was last set.
    pub text_mtime: Option<FileTime>,
    /// Times, modes and owners that the store does not keep.
    pub times: Option<Box<Times>>,
}

/// See [`NodeState::withheld`].
pub struct Withheld {
    /// The version that the session has become.
    of: (Timestamp, SeqNo),
    kept: Cell<KeptPages>,
}

impl NodeState {
    /// Who a commit of this node's is of: what has no name is as elsewhere to the node that has it.
    pub fn origin(&self, ino: u64) -> Origin {
        Origin(if self.expired { 0 } else { ino })
    }

    pub(in crate::fs) fn times(&self) -> Times {
        self.times.as_deref().copied().unwrap_or_default()
    }

    pub(in crate::fs) fn times_mut(&mut self) -> &mut Times {
        self.times.get_or_insert_default()
    }

    /// Gives up a session in which nobody has anything to commit; what is stored is read again.
    pub fn end_idle_session(&mut self) {
        let is_idle = |session: &mut Box<Session>| !self.unlinked && session.dirty_handles == 0;
        let Some(session) = self.session.take_if(is_idle) else { return };
        let became = self.cell.as_ref().filter(|cell| session.base == Some((cell.timestamp, cell.seq)));
        let kept = session.kept.get();
        let withheld = became.filter(|cell| !kept.is_told(cell.mtime()));
        self.withheld =
            withheld.map(|cell| Box::new(Withheld { of: (cell.timestamp, cell.seq), kept: Cell::new(kept) }));
    }

    /// Nobody has the file open any more: what only one had filled is not kept in mind, for there may be very many such files.
    pub fn forget_alone(&mut self) {
        self.withheld.take_if(|withheld| !withheld.kept.get().is_shared());
    }

    /// What the kernel keeps of the file, where nothing but writes through it has changed the bytes since.
    pub fn kept(&self) -> Option<&Cell<KeptPages>> {
        match (&self.session, &self.withheld, &self.cell) {
            (Some(session), ..) => Some(&session.kept),
            (None, Some(withheld), Some(cell)) if withheld.of == (cell.timestamp, cell.seq) => Some(&withheld.kept),
            _ => None,
        }
    }

    /// The mtime that is told of this one: what somebody has set as it is.
    pub fn tell(&self, mtime: FileTime, now: impl FnOnce() -> Timestamp) -> FileTime {
        let Some(told) = self.kept() else { return mtime };
        let of_bytes = self.session.as_ref().is_none_or(|session| !session.content.is_empty());
        let is_set = match (&self.session, &self.cell) {
            (Some(session), _) => session.file.mtime.is_some(),
            (None, cell) => cell.as_ref().is_some_and(|cell| cell.tags.file.mtime().is_some()),
        };
        let (mut kept, now) = (told.get(), now());
        if is_set {
            kept.set(mtime, now, of_bytes);
        }
        let shown = kept.tell(mtime, now, of_bytes);
        told.set(kept);
        shown
    }

    /// The mtime that the kernel is told before it reads.
    pub fn tell_reader(&self, mtime: FileTime, now: impl FnOnce() -> Timestamp) -> FileTime {
        let Some(told) = self.kept() else { return mtime };
        let mut kept = told.get();
        let shown = kept.tell_reader(mtime, now(), self.session.is_some());
        told.set(kept);
        shown
    }
}

impl Node {
    /// A node that has an identity, whose number is `own`.
    pub(in crate::fs) fn new(ino: u64, key: NodeKey, own: u64) -> Arc<Self> {
        Arc::new(Self {
            ino,
            key: RwLock::new(key),
            own: AtomicU64::new(own),
            lookups: AtomicU64::new(0),
            opens: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            stale: AtomicBool::new(false),
            pages_old: AtomicBool::new(false),
            changed_ms: AtomicI64::new(0),
            asked_ms: AtomicI64::new(0),
            state: Mutex::default(),
        })
    }

    /// The node's identity now; a rename changes it.
    pub fn key(&self) -> NodeKey {
        self.key.read().clone()
    }

    /// Whether its key is its identity.
    pub(in crate::fs) fn has_identity(&self) -> bool {
        self.own.load(Ordering::Relaxed) != 0
    }

    pub fn state(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock()
    }

    /// Open handles of the node.
    pub fn opens(&self) -> u32 {
        self.opens.load(Ordering::Relaxed)
    }

    /// Its cell was changed by somebody else. Takes no lock: called while any other may be held.
    pub fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// Whether it was marked.
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// Whether it was marked since this was last asked.
    pub fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }

    /// The next open drops the pages of before.
    pub fn mark_pages_old(&self) {
        self.pages_old.store(true, Ordering::Release);
    }

    /// Whether they were marked since this was last asked.
    pub fn take_pages_old(&self) -> bool {
        self.pages_old.swap(false, Ordering::AcqRel)
    }

    /// Its cell was changed by somebody else at this time.
    pub fn note_change(&self, at: Timestamp) {
        self.changed_ms.store(at.0, Ordering::Release);
    }

    /// When its cell was last changed by somebody else.
    pub fn changed_elsewhere(&self) -> Option<Timestamp> {
        Some(self.changed_ms.load(Ordering::Acquire)).filter(|ms| *ms != 0).map(Timestamp)
    }

    /// The store has told of its cell.
    pub fn note_told(&self, state: &mut NodeState, cell: CellInfo, now: Timestamp) {
        state.cell = Some(Box::new(cell));
        self.asked_ms.store(now.0, Ordering::Release);
    }

    /// How long ago the store has told of its cell, unless that was changed since; ms.
    pub fn told_ms_ago(&self, now: Timestamp) -> Option<u64> {
        let asked = self.asked_ms.load(Ordering::Acquire);
        if asked == 0 || self.is_stale() {
            return None;
        }
        u64::try_from(now.0.saturating_sub(asked)).ok()
    }

    /// Counts a handle that was opened.
    pub fn opened(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a handle that was closed.
    pub(in crate::fs) fn closed(&self) {
        self.opens.fetch_sub(1, Ordering::Relaxed);
    }
}
