//! The segment files of a store: names, sizes, and a bounded number of open ones.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::env::sync::{Mutex, RwLock};
use lru::LruCache;

use super::dead::finish_pending;
use super::record::{SEGMENT_HEADER, SegmentOrigin, StoreId, check_segment_header, segment_header, store_of_header};
use crate::env::{Env, EnvFile};
use crate::model::SegmentId;
use crate::{Error, ErrorKind, Result};

const OPEN_FILES: usize = 256;

/// What is known of a segment file.
#[derive(Debug, Default)]
pub struct Segment {
    /// Bytes up to the end of the last whole record.
    len: AtomicU64,
    /// Entries of memtables that point into it from elsewhere.
    shares: AtomicU64,
    /// Bytes of whole blocks of its companion, plus one; 0 = not known.
    dead_len: AtomicU64,
    /// A compaction moves its cells elsewhere.
    retiring: AtomicBool,
}

/// See the module.
pub struct Segments {
    env: Arc<dyn Env>,
    dir: PathBuf,
    store: StoreId,
    known: RwLock<BTreeMap<SegmentId, Arc<Segment>>>,
    open: Mutex<LruCache<SegmentId, Arc<dyn EnvFile>>>,
    /// Held while companions are written: flushes and compactions both do.
    pub(super) marking: Mutex<()>,
    /// No number is used twice.
    highest: Mutex<SegmentId>,
    /// Those that should be there and are not.
    lost: RwLock<BTreeSet<SegmentId>>,
    /// Those that are being filled; what is in them is not indexed yet.
    filling: Mutex<BTreeSet<SegmentId>>,
}

/// While it lives nobody takes a segment for one that nothing points into.
pub struct Filling {
    segments: Arc<Segments>,
    id: SegmentId,
}

impl Filling {
    /// Of the segment.
    pub fn id(&self) -> SegmentId {
        self.id
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.segments.filling.lock().remove(&self.id);
    }
}

impl Segment {
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    pub fn is_empty(&self) -> bool {
        self.len() <= SEGMENT_HEADER
    }

    pub fn set_len(&self, len: u64) {
        self.len.store(len, Ordering::Release);
    }

    /// Bytes of whole blocks of its companion, where that is known.
    pub fn dead_len(&self) -> Option<u64> {
        self.dead_len.load(Ordering::Acquire).checked_sub(1)
    }

    /// Remembers [`Segment::dead_len`], or that it is not known any more.
    pub fn set_dead_len(&self, len: Option<u64>) {
        self.dead_len.store(len.map_or(0, |len| len + 1), Ordering::Release);
    }

    /// Unflushed entries elsewhere that share its bytes.
    pub fn shares(&self) -> u64 {
        self.shares.load(Ordering::Acquire)
    }

    pub fn add_share(&self) {
        self.shares.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether nothing may be shared from it any more.
    pub fn retiring(&self) -> bool {
        self.retiring.load(Ordering::SeqCst)
    }

    /// Lets nothing be shared from it any more, unless something is: then it is left as it was.
    pub fn retire(&self) -> bool {
        // Order: the flag before the count; the other side counts before it looks at the flag.
        self.retiring.store(true, Ordering::SeqCst);
        let free = self.shares.load(Ordering::SeqCst) == 0;
        self.retiring.store(free, Ordering::SeqCst);
        free
    }

    /// Takes [`Segment::retire`] back.
    pub fn keep(&self) {
        self.retiring.store(false, Ordering::SeqCst);
    }

    pub fn remove_shares(&self, count: u64) {
        self.shares.fetch_sub(count, Ordering::AcqRel);
    }
}

/// `00000012.seg` to 12; `None` for other names.
fn parse_name(name: &str) -> Option<SegmentId> {
    let digits = name.strip_suffix(".seg")?;
    (digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
    Some(SegmentId(digits.parse().ok()?))
}

impl Segments {
    /// Finds the segments in `dir`, which must exist.
    pub fn open(env: Arc<dyn Env>, dir: PathBuf, store: StoreId) -> Result<Self> {
        let segments = Self::look(env, dir, store)?;
        segments.remove_stray_companions()?;
        finish_pending(&segments)?;
        Ok(segments)
    }

    /// As [`Segments::open`], and changes nothing.
    pub fn look(env: Arc<dyn Env>, dir: PathBuf, store: StoreId) -> Result<Self> {
        let open = Mutex::new(LruCache::new(NonZeroUsize::new(OPEN_FILES).unwrap_or(NonZeroUsize::MIN)));
        let (known, marking, highest, filling) =
            (RwLock::default(), Mutex::default(), Mutex::default(), Mutex::default());
        let segments = Self { env, dir, store, known, open, marking, highest, lost: RwLock::default(), filling };
        for id in segments.names()?.iter().filter_map(|name| parse_name(name)) {
            let segment = Segment::default();
            segment.set_len(segments.raw_file(id)?.len().map_err(|e| segments.io("measure", id, &e))?);
            segments.known.write().insert(id, Arc::new(segment));
        }
        Ok(segments)
    }

    fn names(&self) -> Result<Vec<String>> {
        self.env.list(&self.dir).map_err(|e| Error::io(format!("list {}", self.dir.display()), &e))
    }

    /// The store that a segment's header names, if it is whole.
    pub fn store_of(&self, id: SegmentId) -> Option<StoreId> {
        let mut header = [0; SEGMENT_HEADER as usize];
        self.file(id).ok()?.read_at(&mut header, 0).ok()?;
        store_of_header(&header)
    }

    /// A companion must not speak of a later segment that gets the same number.
    fn remove_stray_companions(&self) -> Result<()> {
        for name in self.names()? {
            let id = name.strip_suffix(".dead").and_then(|stem| parse_name(&format!("{stem}.seg")));
            if let Some(id) = id.filter(|id| self.get(*id).is_none()) {
                let path = self.dead_path(id);
                self.env.remove(&path).map_err(|e| Error::io(format!("remove {}", path.display()), &e))?;
            }
        }
        Ok(())
    }

    pub fn store_id(&self) -> &StoreId {
        &self.store
    }

    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// New segments get numbers above this one.
    pub fn reserve(&self, id: SegmentId) {
        let mut highest = self.highest.lock();
        *highest = id.max(*highest);
    }

    pub fn path(&self, id: SegmentId) -> PathBuf {
        self.dir.join(format!("{:08}.seg", id.0))
    }

    /// The companion file that lists dropped entries.
    pub fn dead_path(&self, id: SegmentId) -> PathBuf {
        self.dir.join(format!("{:08}.dead", id.0))
    }

    /// All ids, ascending.
    pub fn ids(&self) -> Vec<SegmentId> {
        self.known.read().keys().copied().collect()
    }

    pub fn get(&self, id: SegmentId) -> Option<Arc<Segment>> {
        self.known.read().get(&id).cloned()
    }

    /// Bytes of all segments.
    pub fn total_len(&self) -> u64 {
        self.known.read().values().map(|segment| segment.len()).sum()
    }

    fn io(&self, verb: &str, id: SegmentId, source: &std::io::Error) -> Error {
        Error::io(format!("{verb} {}", self.path(id).display()), source)
    }

    fn raw_file(&self, id: SegmentId) -> Result<Arc<dyn EnvFile>> {
        if let Some(file) = self.open.lock().get(&id) {
            return Ok(Arc::clone(file));
        }
        let file = self.env.open(&self.path(id)).map_err(|e| self.io("open", id, &e))?;
        self.open.lock().put(id, Arc::clone(&file));
        Ok(file)
    }

    /// A segment is not there that should be.
    pub fn mark_lost(&self, id: SegmentId) {
        self.lost.write().insert(id);
    }

    /// Why there is no such segment: it was lost, or purged.
    pub fn absent(&self, id: SegmentId) -> Error {
        if self.lost.read().contains(&id) {
            let text = format!("{} is missing; put it back from a backup and restart", self.path(id).display());
            return Error::new(ErrorKind::Corrupt, text);
        }
        Error::new(ErrorKind::NotFound, format!("segment {} is not there any more; look the cell up again", id.0))
    }

    /// The open file of a segment; `NotFound` once it was purged.
    pub fn file(&self, id: SegmentId) -> Result<Arc<dyn EnvFile>> {
        if let Some(file) = self.open.lock().get(&id) {
            return Ok(Arc::clone(file));
        }
        if self.get(id).is_none() { Err(self.absent(id)) } else { self.raw_file(id) }
    }

    /// Verifies a segment's header; how the segment came to be.
    pub fn check_header(&self, id: SegmentId) -> Result<SegmentOrigin> {
        let mut header = [0; SEGMENT_HEADER as usize];
        let read = self.file(id)?.read_at(&mut header, 0);
        read.map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::new(ErrorKind::Corrupt, format!("segment {}: shorter than its header", id.0))
            }
            _ => self.io("read", id, &e),
        })?;
        check_segment_header(&header, id, &self.store)
    }

    /// Makes a new segment that is to be filled with copies.
    pub fn create_filling(self: &Arc<Self>) -> Result<(Filling, Arc<Segment>, Arc<dyn EnvFile>)> {
        // Order: under the lock, so that nobody sees the segment before it counts as being filled.
        let mut filling = self.filling.lock();
        let (id, segment, file) = self.create(SegmentOrigin::Compaction)?;
        filling.insert(id);
        Ok((Filling { segments: Arc::clone(self), id }, segment, file))
    }

    /// Ids of those that are not being filled, ascending.
    pub fn filled(&self) -> Vec<SegmentId> {
        let filling = self.filling.lock();
        self.ids().into_iter().filter(|id| !filling.contains(id)).collect()
    }

    /// Makes a new segment of the number after the last; its name is durable when this returns.
    pub fn create(&self, origin: SegmentOrigin) -> Result<(SegmentId, Arc<Segment>, Arc<dyn EnvFile>)> {
        // Order: who reads what is known never waits for the sync of the new name.
        let mut highest = self.highest.lock();
        let last = self.known.read().keys().next_back().copied().unwrap_or_default().max(*highest);
        let id = SegmentId(last.0 + 1);
        let path = self.path(id);
        let file = self.env.create_new(&path).map_err(|e| self.io("create", id, &e))?;
        // Order: the header before the name; a segment without a header never had anything in it.
        let written = file.write_at(&segment_header(id, &self.store, origin), 0);
        let written = written.and_then(|()| file.sync()).and_then(|()| self.env.sync_dir(&self.dir));
        if let Err(e) = written {
            // A leftover would stand in the way of the next attempt.
            let _ = self.env.remove(&path);
            return Err(self.io("start", id, &e));
        }
        let segment = Arc::new(Segment::default());
        segment.set_len(SEGMENT_HEADER);
        self.open.lock().put(id, Arc::clone(&file));
        self.known.write().insert(id, Arc::clone(&segment));
        *highest = id;
        Ok((id, segment, file))
    }

    /// Deletes a segment and its companion. Order: the caller knows that nothing durable points into it.
    pub fn purge(&self, id: SegmentId) -> Result<()> {
        self.known.write().remove(&id);
        self.open.lock().pop(&id);
        self.env.remove(&self.path(id)).map_err(|e| self.io("remove", id, &e))?;
        // Order: the companion outlives its segment, which it keeps from being replayed.
        self.env.sync_dir(&self.dir).map_err(|e| Error::io(format!("sync {}", self.dir.display()), &e))?;
        match self.env.remove(&self.dead_path(id)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(self.io("remove the companion of", id, &e)),
            _ => Ok(()),
        }
    }

    /// Another file has taken a segment's place.
    pub(super) fn replaced(&self, id: SegmentId, len: u64) {
        self.open.lock().pop(&id);
        if let Some(segment) = self.get(id) {
            segment.set_len(len);
        }
    }

    /// Forgets a segment whose file was moved away.
    pub fn forget(&self, id: SegmentId) {
        self.known.write().remove(&id);
        self.open.lock().pop(&id);
    }
}
