//! Open handles of files and directories.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::env::sync::{Mutex, RwLock};
use crate::error::WRITE_REFUSED;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::caller::Caller;
use crate::fs::counts::lines::Follower;
use crate::fs::handles::ahead::Ahead;
use crate::fs::handles::cursor::Cursor;
use crate::fs::handles::intake::Intake;
use crate::fs::nodes::node::Node;
use crate::fs::nodes::running::Running;
use crate::model::{CellInfo, FileChange, SeqNo, Timestamp};
use crate::{Error, ErrorKind, Result};

/// Most handles that may be open at once; each directory handle remembers up to 65,536 keys.
const HANDLES_MAX: usize = 100_000;

/// A file that is made while it is read.
pub trait Streamed: Send + Sync {
    /// Bytes at an offset; none: there are none yet, or never. `IllegalArgument` where only the next ones can be made.
    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    pub write: bool,
    pub append: bool,
    pub truncate: bool,
    pub exclusive: bool,
    /// By the kernel, to run it.
    pub execute: bool,
}

/// An open handle, and what the kernel may do with the file's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub handle: u64,
    /// Pages from an earlier open are still right.
    pub keep_cache: bool,
    /// Nothing can be left to commit at close.
    pub no_flush: bool,
    /// The length is not known beforehand: no pages. Never of a cell that is written: beside a mapping the kernel would write
    /// back a page over what went past it.
    pub direct: bool,
}

/// An open file of a cell.
pub struct FileHandle {
    pub node: Arc<Node>,
    pub state: Mutex<FileState>,
    /// Its reads go past the kernel's pages.
    pub is_direct: bool,
    /// `Some`: it is held by a process whose program it is.
    pub _running: Option<Running>,
}

impl FileHandle {
    /// Whether it has something to commit.
    pub fn is_dirty(&self) -> bool {
        let own = self.state.lock();
        own.written || own.emptied
    }

    /// Whether a write of it was refused.
    pub fn has_failed(&self) -> bool {
        self.state.lock().failed.is_some()
    }
}

/// What a handle has done since it was opened.
#[derive(Debug, Default)]
pub struct FileState {
    /// Wrote since its last commit.
    pub written: bool,
    /// Created or truncated the file and has not committed since.
    pub emptied: bool,
    /// A close was told why nothing is stored.
    pub refused: Option<ErrorKind>,
    /// A write was refused: what there is would be a part of a value, and nothing of it is stored.
    pub failed: Option<ErrorKind>,
    /// Of a handle that failed: what is before it is what it had written, or found.
    pub intact: u64,
    /// The version that it passes through, if it goes past the kernel's pages, and where it reads on.
    pub passes: Option<(Box<CellInfo>, u64)>,
    /// The version that its last commit made.
    pub committed: Option<(Timestamp, SeqNo)>,
    /// From then on the next commit makes one of its own: that one would expire too soon after it.
    pub worn_at: Option<Timestamp>,
}

/// What is written within this part of a version's life stays in it: it lives that much less.
const WORN: i64 = 8;

/// How long after its timestamp a version that lives so long takes no more what is written, ms.
pub fn wears_after(life_ms: i64) -> i64 {
    life_ms / WORN
}

impl FileState {
    /// A commit has made a version.
    pub fn note_commit(&mut self, version: &CellInfo) {
        self.committed = Some((version.timestamp, version.seq));
        let life = |expires: Timestamp| expires.0.saturating_sub(version.timestamp.0);
        self.worn_at = version.expires_at.map(|at| Timestamp(version.timestamp.0 + wears_after(life(at))));
    }

    /// The version that the next commit replaces.
    pub fn to_replace(&self, now: Timestamp) -> Option<(Timestamp, SeqNo)> {
        self.committed.filter(|_| self.worn_at.is_none_or(|at| now < at))
    }

    /// Refuses what follows a write that was refused.
    pub fn check_failed(&self) -> Result<()> {
        self.failed.map_or(Ok(()), |kind| Err(Error::new(kind, WRITE_REFUSED)))
    }
}

/// An open generated text; what is written is applied once, when the handle closes.
pub struct TextHandle {
    pub node: Arc<Node>,
    /// The process that opened it to write a patch; 0 where that is of no interest.
    pub opener: u32,
    /// What is made by it has of its creator.
    pub file: FileChange,
    pub read: HeldText,
    pub written: Mutex<Option<HeldText>>,
    /// Whether something was written since it was applied.
    pub is_dirty: AtomicBool,
    /// A write was refused: what stands behind it is a part of a text.
    pub refused: Mutex<Option<ErrorKind>>,
    /// It is the log of requests.
    pub follows: Option<Follower>,
    /// It is made while it is read.
    pub streams: Option<Box<dyn Streamed>>,
    /// It takes a stream.
    pub takes: Option<Intake>,
}

impl TextHandle {
    /// One that gives `read`, and has `written` to apply.
    pub fn new(node: Arc<Node>, read: HeldText, written: Option<HeldText>) -> Self {
        let (written, is_dirty, refused) = (Mutex::new(written), AtomicBool::new(false), Mutex::default());
        let (opener, file) = (0, FileChange::default());
        Self { node, opener, file, read, written, is_dirty, refused, follows: None, streams: None, takes: None }
    }

    /// A write was refused: nothing of it is applied when the handle closes.
    pub fn refuse(&self, kind: ErrorKind) {
        *self.written.lock() = None;
        *self.refused.lock() = Some(kind);
    }

    /// Refuses what follows a write that was refused, with the same errno: of a long write(2) the kernel tells how much was
    /// taken before, and the program goes on there. At the beginning the text is another one.
    pub fn check_refused(&self, offset: u64) -> Result<()> {
        let mut refused = self.refused.lock();
        match *refused {
            Some(kind) if offset > 0 => Err(Error::new(kind, WRITE_REFUSED)),
            Some(_) | None => {
                *refused = None;
                Ok(())
            }
        }
    }
}

/// An open directory.
pub struct DirHandle {
    pub node: Arc<Node>,
    /// Who has opened it.
    pub pid: u32,
    pub cursor: Mutex<Cursor>,
    pub ahead: Arc<Ahead>,
}

/// Any open handle.
#[derive(Clone)]
pub enum Handle {
    File(Arc<FileHandle>),
    Text(Arc<TextHandle>),
    Dir(Arc<DirHandle>),
}

impl Handle {
    pub fn node(&self) -> &Arc<Node> {
        match self {
            Handle::File(file) => &file.node,
            Handle::Text(text) => &text.node,
            Handle::Dir(dir) => &dir.node,
        }
    }
}

#[derive(Default)]
pub struct Handles {
    /// Each with who has opened it.
    open: RwLock<FxHashMap<u64, (Handle, Caller)>>,
    last: AtomicU64,
}

impl Handles {
    /// Registers a handle; `TooMany` past the limit.
    pub fn add(&self, handle: Handle) -> Result<u64> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut open = self.open.write();
        if open.len() >= HANDLES_MAX {
            return Err(Error::new(
                ErrorKind::TooMany,
                format!("{HANDLES_MAX} files are open on this mount; close some"),
            ));
        }
        handle.node().opened();
        open.insert(number, (handle, crate::fs::counts::subject::caller()));
        Ok(number)
    }

    pub fn get(&self, number: u64) -> Result<Handle> {
        let handle = self.open.read().get(&number).map(|(handle, _)| handle.clone()).ok_or_else(|| unknown(number))?;
        crate::fs::counts::subject::is(handle.node());
        Ok(handle)
    }

    pub fn file(&self, number: u64) -> Result<Arc<FileHandle>> {
        match self.get(number)? {
            Handle::File(file) => Ok(file),
            _ => Err(unknown(number)),
        }
    }

    pub fn dir(&self, number: u64) -> Result<Arc<DirHandle>> {
        match self.get(number)? {
            Handle::Dir(dir) => Ok(dir),
            _ => Err(unknown(number)),
        }
    }

    /// The last message of it: what is done from now on is for who has opened it.
    pub fn remove(&self, number: u64) -> Option<Handle> {
        let (handle, opener) = self.open.write().remove(&number)?;
        crate::fs::counts::subject::is_for(opener);
        Some(handle)
    }

    /// Whether one of them is wanted.
    pub fn any(&self, wanted: impl Fn(&Handle) -> bool) -> bool {
        self.open.read().values().any(|(handle, _)| wanted(handle))
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.read().len()
    }

    /// All open directories.
    pub fn dirs(&self) -> Vec<Arc<DirHandle>> {
        let dir =
            |(handle, _): &(Handle, Caller)| if let Handle::Dir(dir) = handle { Some(Arc::clone(dir)) } else { None };
        self.open.read().values().filter_map(dir).collect()
    }

    /// All open files that take a stream.
    pub fn intakes(&self) -> Vec<Arc<TextHandle>> {
        let text = |(handle, _): &(Handle, Caller)| {
            if let Handle::Text(text) = handle { Some(Arc::clone(text)) } else { None }
        };
        self.open.read().values().filter_map(text).filter(|text| text.takes.is_some()).collect()
    }

    /// All open files of cells, to commit them when the mount ends.
    pub fn files(&self) -> Vec<Arc<FileHandle>> {
        let file = |(handle, _): &(Handle, Caller)| {
            if let Handle::File(file) = handle { Some(Arc::clone(file)) } else { None }
        };
        self.open.read().values().filter_map(file).collect()
    }
}

fn unknown(number: u64) -> Error {
    Error::new(ErrorKind::Io, format!("handle {number} is not open"))
}
