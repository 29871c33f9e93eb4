//! The writer of the log: one batch after the other, group commit, and what happens when a disk refuses.
//!
//! After a failed sync the log takes nothing any more: the kernel has marked the lost pages clean, so that a second sync
//! would lie.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::env::sync::Mutex;

use super::form::batch::Batch;
use super::form::file::{FileHeader, HEADER, path_of};
use super::form::record::Place;
use super::nothing::Nothing;
use super::past::{Becomes, retire};
use super::room::{CUT, Room};
use super::turns::Turns;
use super::whole::{Whole, put_record};
use crate::env::{Env, EnvFile, is_out_of_descriptors};
use crate::format::StoreId;
use crate::model::SeqNo;
use crate::{Error, ErrorKind, Result};

/// Bytes of the write buffer that stay allocated between batches.
const BUFFER: usize = 1 << 20;
/// Room is taken ahead where the disk has so much.
const PLENTY: u64 = 1 << 30;

struct Active {
    number: u64,
    file: Arc<dyn EnvFile>,
    /// Where the next record goes.
    offset: u64,
    room: Room,
    next_seq: u64,
    /// The number of the last record, in this file or an older one.
    last_record: SeqNo,
    /// Files with records that may not be on the disk, oldest first; the active one is the last.
    dirty: Vec<(u64, Arc<dyn EnvFile>)>,
    /// Complete files, oldest first, each with the last number in it.
    complete: Vec<(u64, SeqNo)>,
    /// Those of them that the disk does not give as a whole.
    unreadable: Vec<u64>,
    /// A file that was made ahead.
    spare: Option<(u64, Arc<dyn EnvFile>)>,
    buffer: Vec<u8>,
}

/// A file of a log that is being written, and how much of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub number: u64,
    pub path: PathBuf,
    /// The last number in it; it goes no sooner than that is covered.
    pub last: SeqNo,
    /// Bytes up to the end of its last record; `None`: all that it has.
    pub end: Option<u64>,
}

/// See the module.
pub struct Log {
    env: Arc<dyn Env>,
    dir: PathBuf,
    store: StoreId,
    /// The first file that this run writes to.
    first: u64,
    /// Lock 3: numbers, the file's end, what is published. Lock order: that of `turns` before it.
    active: Mutex<Active>,
    turns: Turns,
    written: AtomicU64,
    synced: AtomicU64,
    /// The last record that is known to be on the disk: numbers up to `synced` need not all have one.
    synced_record: AtomicU64,
    poisoned: AtomicBool,
    poison: Mutex<Option<String>>,
}

/// Takes nothing more if a thread panics while it syncs for everybody.
struct Syncing<'l>(&'l Log);

impl Drop for Syncing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set_poison("a sync ended by a fault of the program; restart the store".to_owned());
        }
    }
}

impl Log {
    /// Goes on in a file that was written whole; numbers follow `last`. `complete` files, oldest first, are kept until
    /// they are covered.
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        store: StoreId,
        (whole, last): (Whole, SeqNo),
        complete: Vec<(u64, SeqNo)>,
    ) -> Self {
        let Whole { header, file, end, last: last_record } = whole;
        let active = Active {
            number: header.number,
            file,
            offset: end,
            room: Room::default(),
            next_seq: last.0 + 1,
            last_record,
            dirty: Vec::new(),
            complete,
            unreadable: Vec::new(),
            spare: None,
            buffer: Vec::new(),
        };
        Self {
            env,
            dir: dir.to_owned(),
            store,
            first: header.number,
            active: Mutex::new(active),
            turns: Turns::default(),
            written: AtomicU64::new(last.0),
            synced: AtomicU64::new(last.0),
            synced_record: AtomicU64::new(last_record.0),
            poisoned: AtomicBool::new(false),
            poison: Mutex::new(None),
        }
    }

    /// Complete files that could not be read as a whole: none of them is removed.
    pub fn keep(&self, unreadable: Vec<u64>) {
        self.active.lock().unreadable = unreadable;
    }

    /// Of what is never written to.
    pub fn idle(env: Arc<dyn Env>, store: StoreId) -> Self {
        let header = FileHeader { number: 0, before: SeqNo(0), edit: 0 };
        let whole = Whole { header, file: Arc::new(Nothing), end: HEADER, last: SeqNo(0) };
        Self::open(env, Path::new(""), store, (whole, SeqNo(0)), Vec::new())
    }

    /// The last sequence number that was given.
    pub fn written(&self) -> SeqNo {
        SeqNo(self.written.load(Ordering::Acquire))
    }

    /// The last one known to be on the disk.
    pub fn synced(&self) -> SeqNo {
        SeqNo(self.synced.load(Ordering::Acquire))
    }

    /// The last record that is known to be on the disk, in this file or an older one.
    pub fn synced_record(&self) -> SeqNo {
        SeqNo(self.synced_record.load(Ordering::Acquire))
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

    /// Takes nothing more, because of what the sentence says.
    pub fn set_poison(&self, reason: String) {
        log::error!("{reason}");
        self.poison.lock().get_or_insert(reason);
        self.poisoned.store(true, Ordering::Release);
    }

    /// Whether an append would hardly wait for the disk: no sync is under way.
    pub fn is_prompt(&self) -> bool {
        self.turns.is_idle()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let active = self.active.lock();
        let len = |number| self.env.open(&path_of(&self.dir, number)).and_then(|file| file.len()).unwrap_or(0);
        active.offset + active.complete.iter().map(|(number, _)| len(*number)).sum::<u64>()
    }

    /// What is written and not covered yet, oldest first.
    pub fn written_files(&self) -> Vec<Written> {
        let active = self.active.lock();
        let of = |number, last, end| Written { number, path: path_of(&self.dir, number), last, end };
        let complete = active.complete.iter().map(|(number, last)| of(*number, *last, None));
        complete.chain([of(active.number, active.last_record, Some(active.offset))]).collect()
    }

    /// Whether a file was begun by this run, so that no crash can have cut it short.
    pub fn has_begun(&self, number: u64) -> bool {
        number >= self.first
    }

    /// Calls `with` while nothing is written.
    pub fn pause<T>(&self, with: impl FnOnce() -> T) -> T {
        let _active = self.active.lock();
        with()
    }

    /// Whether [`Log::roll`] needs a file to be made first.
    pub fn needs_spare(&self) -> bool {
        self.active.lock().spare.is_none()
    }

    /// Makes the next file ahead, so that no writer waits for that; with no lock held.
    pub fn make_spare(&self, number: u64) -> Result<()> {
        let path = path_of(&self.dir, number);
        let io = |e: std::io::Error| Error::io(format!("make {}", path.display()), &e);
        let file = self.env.create_new(&path).map_err(io)?;
        if let Err(e) = self.env.sync_dir(&self.dir) {
            if is_out_of_descriptors(&e) {
                // The directory was not opened: no sync has failed. What has no record is nothing to the next open, if it stays.
                let _ = self.env.remove(&path);
                return Err(io(e));
            }
            // Whether it has a name is known after a restart; a record in it could be lost with its name.
            self.set_poison(format!("sync {}: {e}; restart the store", self.dir.display()));
            return Err(io(e));
        }
        let mut active = self.active.lock();
        // Order: numbers of files ascend with what is in them.
        if active.spare.is_none() && number > active.number {
            active.spare = Some((number, file));
        } else {
            drop(active);
            let _ = self.env.remove(&path);
        }
        Ok(())
    }

    /// Removes the file that was made ahead; with no lock held.
    pub fn drop_spare(&self) {
        let spare = self.active.lock().spare.take();
        if let Some((number, _)) = spare {
            // One that stays is removed by the next open.
            let _ = self.env.remove(&path_of(&self.dir, number));
        }
    }

    /// Gives room back that was taken ahead; with no more to come, or little.
    pub fn trim(&self) {
        let mut active = self.active.lock();
        let Active { room, file, offset, .. } = &mut *active;
        if let Err(e) = room.end_at(&**file, *offset) {
            // Zeros behind the records do no harm; a file that was cut short is told by the sync that follows.
            log::debug!("cut {}: {e}", path_of(&self.dir, active.number).display());
        }
    }

    /// Goes on in the file that was made ahead, if there is one, and calls `with` meanwhile: what was written before is
    /// in files that are complete now.
    pub fn roll<T>(&self, edit: u64, with: impl FnOnce(SeqNo) -> T) -> Result<Option<T>> {
        let mut active = self.active.lock();
        self.check_poison()?;
        let last = self.written();
        if active.offset == HEADER {
            return Ok(Some(with(last)));
        }
        let Some((number, file)) = active.spare.take() else { return Ok(None) };
        let header = FileHeader { number, before: active.last_record, edit };
        if let Err(e) = file.write_at(&header.encode(&self.store), 0) {
            active.spare = Some((number, file));
            return Err(Error::io(format!("write {}", path_of(&self.dir, number).display()), &e));
        }
        let complete = active.number;
        active.complete.push((complete, last));
        active.room.end();
        (active.number, active.file, active.offset) = (number, Arc::clone(&file), HEADER);
        if self.synced() == last {
            active.dirty.clear();
        }
        active.dirty.push((number, file));
        Ok(Some(with(last)))
    }

    /// Appends a batch and makes it visible; batches are published in the order of their numbers.
    pub fn append(&self, batch: &mut dyn Batch) -> Result<SeqNo> {
        let mut active = self.active.lock();
        self.check_poison()?;
        let active = &mut *active;
        let (seq, place) =
            (SeqNo(active.next_seq), Place { store: &self.store, file: active.number, offset: active.offset });
        put_record(&mut active.buffer, place, (seq, self.synced_record()), |take| batch.each(take))?;
        let is_plenty = || self.env.disk_space(&self.dir).is_ok_and(|space| space.usable >= PLENTY);
        if let Err(e) = active.room.write(&*active.file, (&active.buffer, active.offset), &is_plenty) {
            return Err(self.undo(active, &e));
        }
        if active.dirty.last().is_none_or(|(number, _)| *number != active.number) {
            active.dirty.push((active.number, Arc::clone(&active.file)));
        }
        active.offset += active.buffer.len() as u64;
        active.next_seq += 1;
        active.last_record = seq;
        if active.buffer.capacity() > BUFFER {
            active.buffer = Vec::new();
        }
        batch.publish(seq);
        self.written.store(seq.0, Ordering::Release);
        Ok(seq)
    }

    /// After a failed append: the file ends at its last whole record again, or nothing more is taken.
    fn undo(&self, active: &mut Active, source: &std::io::Error) -> Error {
        let path = path_of(&self.dir, active.number);
        if let Err(e) = active.room.end_at(&*active.file, active.offset) {
            self.set_poison(format!("cut {} back after a failed write: {e}; restart the store", path.display()));
        }
        Error::io(format!("write {}", path.display()), source)
    }

    /// Returns when everything up to `seq` is on the disk. Those who wait share a sync. `first` brings what the records
    /// refer to there.
    pub fn sync_to(&self, seq: SeqNo, first: &dyn Fn() -> Result<()>) -> Result<()> {
        let _here = self.turns.come();
        let Some(_turn) = self.turns.take(|| self.synced() >= seq) else { return Ok(()) };
        // Order: before the turn of another.
        let _syncing = Syncing(self);
        self.sync_written(first)
    }

    fn sync_written(&self, first: &dyn Fn() -> Result<()>) -> Result<()> {
        self.check_poison()?;
        let (dirty, end, last, record) = {
            let active = self.active.lock();
            (active.dirty.clone(), active.offset, self.written(), active.last_record)
        };
        // Order: after the last number that is claimed was taken, before its record is on the disk.
        if let Err(e) = first() {
            self.set_poison(format!(
                "{e}. Nothing is acknowledged any more until the store is restarted on a healthy disk"
            ));
            return Err(e);
        }
        for (number, file) in &dirty {
            if let Err(e) = file.sync() {
                return Err(self.sync_failed(*number, &e));
            }
        }
        // What nobody can open again is as good as lost. Order: a file that is still written to was not removed by us; one
        // that is complete meanwhile may have been, covered.
        if let Some((number, file)) = dirty.last()
            && matches!(file.is_named(), Ok(false))
            && self.active.lock().number == *number
        {
            return Err(self.sync_failed(*number, &std::io::Error::other("it was removed")));
        }
        // So is what was cut off.
        if let Some((number, file)) = dirty.last()
            && file.len().is_ok_and(|len| len < end)
        {
            return Err(self.sync_failed(*number, &std::io::Error::other(CUT)));
        }
        if let Some((newest, _)) = dirty.last() {
            let mut active = self.active.lock();
            // What was appended during the sync keeps the last one dirty; older ones are complete.
            active.dirty.retain(|(number, _)| number >= newest);
        }
        self.synced_record.fetch_max(record.0, Ordering::AcqRel);
        self.synced.fetch_max(last.0, Ordering::AcqRel);
        Ok(())
    }

    fn sync_failed(&self, number: u64, source: &std::io::Error) -> Error {
        let reason = format!(
            "sync {}: {source}. Nothing is acknowledged any more until the store is restarted on a healthy disk",
            path_of(&self.dir, number).display()
        );
        self.set_poison(reason.clone());
        Error::new(ErrorKind::Poisoned, reason)
    }

    /// Complete files that have nothing beyond `covered` become what is said; what cannot be done now is
    /// tried again.
    pub fn remove_covered(&self, covered: SeqNo, becomes: Becomes) {
        let gone: Vec<(u64, Becomes)> = {
            let active = self.active.lock();
            let becomes = |number| if active.unreadable.contains(&number) { Becomes::Aside } else { becomes };
            let gone = active.complete.iter().filter(|(_, last)| *last <= covered);
            gone.map(|(number, _)| (*number, becomes(*number))).collect()
        };
        for (number, becomes) in gone {
            let path = path_of(&self.dir, number);
            match retire(&*self.env, &self.dir, number, becomes) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => log::warn!("remove {}: {e}", path.display()),
                _ => {
                    let mut active = self.active.lock();
                    active.complete.retain(|(other, _)| *other != number);
                    active.dirty.retain(|(other, _)| *other != number);
                }
            }
        }
    }
}
