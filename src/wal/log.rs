//! The writer of the log: one batch after the other, group commit, and what happens when a disk refuses.
//!
//! After a failed sync the log takes nothing any more (the kernel has marked the lost pages clean, so a
//! second sync would lie); what was not on the disk yet is written to a new segment if that is possible.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::env::sync::{Condvar, Mutex};

use super::entry::{MAX_HEAD, put_head};
use super::nothing::Nothing;
use super::record::{RECORD_HEADER, RecordHeader, SEGMENT_HEADER, SegmentOrigin};
use super::rescue::Rescue;
use super::segments::{Segment, Segments};
use super::value::{Prepared, Source};
use super::waiting::Waiting;
use super::write::{parts, record_len, write_record};
use crate::env::EnvFile;
use crate::model::{CellKind, FamilyId, SegmentId, SeqNo, Tags, Timestamp, ValueHandle};
use crate::{Error, ErrorKind, Result};

/// Bytes of the write buffer that stay allocated between batches.
const BUFFER: usize = 1 << 20;

/// Sizes.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// A segment that reaches it is sealed.
    pub segment_bytes: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20 }
    }
}

/// A cell to be written. Its sequence number is the batch's.
pub struct NewCell<'a> {
    pub row: &'a [u8],
    pub family: FamilyId,
    pub qualifier: Vec<u8>,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: Tags,
    pub value: Prepared,
}

/// Where a batch went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub seq: SeqNo,
    pub segment: SegmentId,
    /// Of each cell: where its value is, and where its entry starts.
    pub cells: Vec<(ValueHandle, u64)>,
}

struct Active {
    id: SegmentId,
    segment: Arc<Segment>,
    file: Arc<dyn EnvFile>,
    offset: u64,
    next_seq: u64,
    /// Written since the last sync, oldest first; the active one is the last.
    dirty: Vec<Dirty>,
    buffer: Vec<u8>,
}

#[derive(Clone)]
struct Dirty {
    id: SegmentId,
    file: Arc<dyn EnvFile>,
    /// Everything before it is on the disk.
    from: u64,
}

/// See the module.
pub struct Log {
    segments: Arc<Segments>,
    options: LogOptions,
    /// Lock order: `syncing` before `active`.
    active: Mutex<Active>,
    syncing: Mutex<bool>,
    sync_ended: Condvar,
    written: AtomicU64,
    synced: AtomicU64,
    poisoned: AtomicBool,
    poison: Mutex<Option<String>>,
    /// Syncs that are under way.
    waiting: AtomicUsize,
    /// The next append begins a segment, whose name is synced.
    full: AtomicBool,
}

/// The turn of a thread to sync for everybody, until it is dropped.
struct Turn<'l>(&'l Log);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set_poison("a sync ended by a fault of the program; restart the store".to_owned());
        }
        *self.0.syncing.lock() = false;
        self.0.sync_ended.notify_all();
    }
}

impl Log {
    /// Goes on after `last`, in `segment` behind its last whole record, or in a new one.
    pub fn open(segments: Arc<Segments>, options: LogOptions, last: SeqNo, segment: Option<SegmentId>) -> Result<Self> {
        let (id, segment, file) = match segment {
            Some(id) => {
                let gone = || Error::new(ErrorKind::NotFound, format!("segment {} is not there", id.0));
                (id, segments.get(id).ok_or_else(gone)?, segments.file(id)?)
            }
            None => segments.create(SegmentOrigin::Log)?,
        };
        Ok(Self::with(segments, options, last, (id, segment, file)))
    }

    fn with(
        segments: Arc<Segments>,
        options: LogOptions,
        last: SeqNo,
        (id, segment, file): (SegmentId, Arc<Segment>, Arc<dyn EnvFile>),
    ) -> Self {
        let offset = segment.len();
        let active = Active { id, segment, file, offset, next_seq: last.0 + 1, dirty: Vec::new(), buffer: Vec::new() };
        Self {
            segments,
            options,
            active: Mutex::new(active),
            syncing: Mutex::new(false),
            sync_ended: Condvar::new(),
            written: AtomicU64::new(last.0),
            synced: AtomicU64::new(last.0),
            poisoned: AtomicBool::new(false),
            poison: Mutex::new(None),
            waiting: AtomicUsize::new(0),
            full: AtomicBool::new(offset >= options.segment_bytes),
        }
    }

    /// Of what is never written to.
    pub fn of_snapshot(segments: Arc<Segments>, last: SeqNo) -> Self {
        let (segment, file): (_, Arc<dyn EnvFile>) = (Arc::default(), Arc::new(Nothing));
        Self::with(segments, LogOptions { segment_bytes: 0 }, last, (SegmentId(0), segment, file))
    }

    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// The last sequence number that was written.
    pub fn written(&self) -> SeqNo {
        SeqNo(self.written.load(Ordering::Acquire))
    }

    /// The last one known to be on the disk.
    pub fn synced(&self) -> SeqNo {
        SeqNo(self.synced.load(Ordering::Acquire))
    }

    /// Why nothing is taken any more.
    pub fn poison(&self) -> Option<String> {
        self.poison.lock().clone()
    }

    /// Refuses if a sync has failed.
    pub fn check_poison(&self) -> Result<()> {
        if !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Poisoned, self.poison().unwrap_or_default()))
    }

    /// Whether an append would hardly wait for the disk: no sync is under way, none is due.
    pub fn is_prompt(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0 && !self.full.load(Ordering::Acquire)
    }

    /// The segment that is written now.
    pub fn active_segment(&self) -> SegmentId {
        self.active.lock().id
    }

    /// Calls `with` while nothing is written; it is given the place where the next record will begin.
    pub fn pause<T>(&self, with: impl FnOnce(SegmentId, u64) -> T) -> T {
        let active = self.active.lock();
        with(active.id, active.offset)
    }

    /// As [`Log::pause`], at the start of a segment: what was written before is in others, which are complete.
    pub fn roll<T>(&self, with: impl FnOnce(SegmentId, u64) -> T) -> Result<T> {
        let _waiting = Waiting::begin(&self.waiting);
        let mut active = self.active.lock();
        self.check_poison()?;
        if active.offset > SEGMENT_HEADER {
            self.rotate(&mut active)?;
        }
        Ok(with(active.id, active.offset))
    }

    /// Appends a batch. `publish` makes it visible; batches are published in the order of their numbers.
    pub fn append(&self, cells: &[NewCell<'_>], publish: &mut impl FnMut(&Appended)) -> Result<SeqNo> {
        let mut active = self.active.lock();
        self.check_poison()?;
        self.rotate_if_full(&mut active)?;
        let appended = self.encode(&mut active, cells)?;
        if let Err(e) = write_record(&*active.file, &active.buffer, active.offset, cells) {
            return Err(self.undo(&active, &e));
        }
        active.offset += record_len(&active.buffer, cells);
        self.full.store(active.offset >= self.options.segment_bytes, Ordering::Release);
        active.segment.set_len(active.offset);
        active.next_seq += 1;
        if active.buffer.capacity() > BUFFER {
            active.buffer = Vec::new();
        }
        publish(&appended);
        self.written.store(appended.seq.0, Ordering::Release);
        Ok(appended.seq)
    }

    /// Encodes the record header, the heads and the values at hand into the buffer.
    fn encode(&self, active: &mut Active, cells: &[NewCell<'_>]) -> Result<Appended> {
        let seq = SeqNo(active.next_seq);
        let mut buffer = std::mem::take(&mut active.buffer);
        buffer.clear();
        buffer.resize(RECORD_HEADER, 0);
        let mut places = Vec::with_capacity(cells.len());
        let mut streamed = 0;
        for cell in cells {
            let offset = active.offset + buffer.len() as u64 + streamed;
            let shared = if let Source::Shared(handle) = &cell.value.source { Some(*handle) } else { None };
            let (head_len, check) = put_head(&mut buffer, &parts(cell, seq, shared));
            if head_len as usize > MAX_HEAD {
                let text = format!("the keys of a cell take {head_len} bytes; {MAX_HEAD} is the limit");
                return Err(Error::new(ErrorKind::NameTooLong, text));
            }
            let (stored_len, len) = (cell.value.stored_len, cell.value.len);
            let own = ValueHandle { segment: active.id, offset, head_len, stored_len, len, check };
            places.push((shared.unwrap_or(own), offset));
            match &cell.value.source {
                Source::Bytes(bytes) => buffer.extend_from_slice(bytes),
                Source::Spilled(_) => streamed += u64::from(stored_len),
                Source::Shared(_) => {}
            }
        }
        let length = u32::try_from(buffer.len() as u64 + streamed - RECORD_HEADER as u64)
            .map_err(|_| Error::new(ErrorKind::ValueTooLarge, "an atomic batch cannot reach 4 GiB"))?;
        let header = RecordHeader { length, count: cells.len() as u32, seq, synced: self.synced() };
        buffer[..RECORD_HEADER].copy_from_slice(&header.encode(self.segments.store_id(), active.id, active.offset));
        active.buffer = buffer;
        Ok(Appended { seq, segment: active.id, cells: places })
    }

    fn rotate_if_full(&self, active: &mut Active) -> Result<()> {
        if active.offset >= self.options.segment_bytes { self.rotate(active) } else { self.note_dirty(active) }
    }

    fn note_dirty(&self, active: &mut Active) -> Result<()> {
        if active.dirty.last().is_none_or(|d| d.id != active.id) {
            let dirty = Dirty { id: active.id, file: Arc::clone(&active.file), from: active.offset };
            active.dirty.push(dirty);
        }
        Ok(())
    }

    fn rotate(&self, active: &mut Active) -> Result<()> {
        let _waiting = Waiting::begin(&self.waiting);
        let (id, segment, file) = self.segments.create(SegmentOrigin::Log)?;
        (active.id, active.segment, active.file) = (id, segment, file);
        active.offset = SEGMENT_HEADER;
        self.full.store(false, Ordering::Release);
        if self.synced() == self.written() {
            // What is complete and on the disk is not held open.
            active.dirty.clear();
        }
        let dirty = Dirty { id, file: Arc::clone(&active.file), from: 0 };
        active.dirty.push(dirty);
        Ok(())
    }

    /// After a failed append: the file ends at its last whole record again, or nothing more is taken.
    fn undo(&self, active: &Active, source: &std::io::Error) -> Error {
        let path = self.segments.path(active.id);
        if let Err(e) = active.file.set_len(active.offset) {
            self.set_poison(format!("cut {} back after a failed write: {e}; restart the store", path.display()));
        }
        Error::io(format!("write {}", path.display()), source)
    }

    /// Takes nothing more, because of what the sentence says.
    pub fn set_poison(&self, reason: String) {
        log::error!("{reason}");
        self.poison.lock().get_or_insert(reason);
        self.poisoned.store(true, Ordering::Release);
    }

    /// Returns when everything up to `seq` is on the disk. Those who wait share a sync.
    pub fn sync_to(&self, seq: SeqNo) -> Result<()> {
        let _waiting = Waiting::begin(&self.waiting);
        match self.turn_to_sync(seq) {
            Some(_turn) => self.sync_written(),
            None => Ok(()),
        }
    }

    /// Waits until somebody else's sync has covered `seq` (`None`), or until it is this thread's turn to sync for
    /// everybody.
    fn turn_to_sync(&self, seq: SeqNo) -> Option<Turn<'_>> {
        let mut syncing = self.syncing.lock();
        loop {
            if self.synced() >= seq {
                return None;
            }
            if !*syncing {
                *syncing = true;
                return Some(Turn(self));
            }
            self.sync_ended.wait(&mut syncing);
        }
    }

    fn sync_written(&self) -> Result<()> {
        self.check_poison()?;
        let (dirty, last, end) = {
            let active = self.active.lock();
            (active.dirty.clone(), self.written(), active.offset)
        };
        for one in &dirty {
            if let Err(e) = one.file.sync() {
                return Err(self.sync_failed(one.id, &e));
            }
        }
        // What nobody can open again is as good as lost.
        if let Some(one) = dirty.last()
            && matches!(one.file.is_named(), Ok(false) if self.active_segment() == one.id)
        {
            return Err(self.sync_failed(one.id, &std::io::Error::other("it was removed")));
        }
        self.forget_dirty(&dirty, end);
        self.synced.fetch_max(last.0, Ordering::AcqRel);
        Ok(())
    }

    /// Everything that was written before the call is on the disk when this returns.
    pub fn sync(&self) -> Result<()> {
        self.check_poison()?;
        self.sync_to(self.written())
    }

    /// Closes a segment that is about to be deleted: an open file keeps its room on the disk.
    pub fn let_go(&self, id: SegmentId) {
        self.active.lock().dirty.retain(|dirty| dirty.id != id);
    }

    /// All of `synced` is on the disk, the last of them up to `end`.
    fn forget_dirty(&self, synced: &[Dirty], end: u64) {
        let Some(last) = synced.last().map(|d| d.id) else { return };
        let mut active = self.active.lock();
        // What was appended during the sync keeps the last one dirty; older ones are sealed.
        active.dirty.retain(|d| d.id >= last);
        if let Some(first) = active.dirty.first_mut().filter(|d| d.id == last) {
            first.from = end;
        }
    }

    fn sync_failed(&self, id: SegmentId, source: &std::io::Error) -> Error {
        let path = self.segments.path(id);
        let reason = format!(
            "sync {}: {source}. Nothing is acknowledged any more until the store is restarted on a healthy disk",
            path.display()
        );
        let mut active = self.active.lock();
        self.set_poison(reason.clone());
        match self.rescue(&mut active) {
            Ok(records) => log::warn!("{records} records that were not on the disk are in a new segment now"),
            Err(e) => log::error!("what was not on the disk could not be written elsewhere: {e}"),
        }
        Error::new(ErrorKind::Poisoned, reason)
    }

    /// Copies every record that may not be on the disk into a new segment and syncs that.
    fn rescue(&self, active: &mut Active) -> Result<u64> {
        let (id, segment, file) = self.segments.create(SegmentOrigin::Log)?;
        let mut rescue = Rescue::new(&self.segments, self.synced(), id, &*file);
        for dirty in std::mem::take(&mut active.dirty) {
            rescue.copy(dirty.id, &*dirty.file, dirty.from)?;
        }
        let (end, records) = (rescue.end, rescue.records);
        file.sync().map_err(|e| Error::io(format!("sync {}", self.segments.path(id).display()), &e))?;
        segment.set_len(end);
        self.synced.fetch_max(self.written().0, Ordering::AcqRel);
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{Env, SimEnv};

    struct Panics;

    impl EnvFile for Panics {
        fn read_at(&self, _buf: &mut [u8], _offset: u64) -> std::io::Result<()> {
            Ok(())
        }

        fn write_at(&self, _data: &[u8], _offset: u64) -> std::io::Result<()> {
            Ok(())
        }

        fn sync(&self) -> std::io::Result<()> {
            panic!("a fault of the program")
        }

        fn set_len(&self, _len: u64) -> std::io::Result<()> {
            Ok(())
        }

        fn len(&self) -> std::io::Result<u64> {
            Ok(0)
        }
    }

    #[test]
    fn a_sync_that_ends_by_a_panic_lets_the_next_one_begin() {
        let env = SimEnv::new();
        env.create_dir("/segments".as_ref()).unwrap();
        let segments = Arc::new(Segments::open(Arc::new(env), "/segments".into(), [7; 16]).unwrap());
        let log = Log::open(segments, LogOptions::default(), SeqNo(0), None).unwrap();
        {
            let id = log.active_segment();
            log.active.lock().dirty.push(Dirty { id, file: Arc::new(Panics), from: 0 });
        }
        log.written.store(1, Ordering::Release);
        let synced = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log.sync()));
        assert!(synced.is_err());
        assert_eq!(log.sync_to(SeqNo(1)).unwrap_err().kind, ErrorKind::Poisoned);
        assert!(log.check_poison().is_err() && log.is_prompt());
    }
}
