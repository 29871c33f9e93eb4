//! How far journal and log have come, noted outside of both: so a journal or a log that ends too early is told.
//!
//! The file `progress` has two places, at 0 and at 512, that are written in turn, so that a torn write leaves the other.
//! Each has 28 bytes: its turn u64, number u64 of the last edit, sequence number u64 up to which the log is on the disk,
//! CRC-32C u32 of all; little-endian. It is written after either and seldom synced: after a power cut it may say less than
//! was, never more.

use std::path::Path;
use std::sync::Arc;

use super::said::Said;
use crate::env::sync::Mutex;
use crate::env::{Env, EnvFile, is_unreadable};
use crate::log::Headers;
use crate::model::SeqNo;
use crate::{Error, Result};

const BYTES: usize = 28;
/// Where the second place is: in another sector.
const OTHER: u64 = 512;

/// What was known to be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    turn: u64,
    pub edit: u64,
    pub synced: SeqNo,
}

/// In place of an edit: the journal has lost its end, and what it had is not known any more.
const LOST_END: u64 = u64::MAX;

/// What can be done with a store whose journal has lost its end.
const LEFT: &str = "What is left can be read and exported, and nothing is written: restore all files of the store from a \
                    backup. What the journal has is kept, as *.damaged";

impl Noted {
    /// What a journal that ends with an edit, and knows of flushes up to a number, has lost, if it has; `shown`: an edit that
    /// was on the disk, too. A log without its first files lost them once extents had what was in them: `has_unnamed` segments,
    /// or nothing was known of what is missing. Else it is the log that lacks something, which its replay tells.
    pub fn lost_end(
        &self,
        (end, covered): (u64, SeqNo),
        shown: u64,
        log: &Headers,
        has_unnamed: bool,
    ) -> Option<String> {
        let is_flushed = |before: &SeqNo| *before > covered && (has_unnamed || *before > self.synced);
        let before = log.before.filter(is_flushed);
        match (self.edit.max(log.edit).max(shown), before) {
            (upto, None) if upto <= end => None,
            (upto, Some(before)) if upto <= end => Some(format!(
                "it knows of nothing that was flushed behind number {}, though the log begins behind number {}: it is older \
                 than the rest of the store, as in a copy of a store that is open. {LEFT}",
                covered.0, before.0
            )),
            (LOST_END, _) => Some(format!("it has lost its end. {LEFT}")),
            (upto, _) => Some(format!("it ends with edit {end}, though edit {upto} was on the disk once. {LEFT}")),
        }
    }
}

/// See the module.
pub struct Progress {
    /// `None`: nothing is noted.
    file: Option<Arc<dyn EnvFile>>,
    /// What an earlier process has noted.
    pub seen: Noted,
    /// It may have noted more: a part of it cannot be read.
    pub is_unreadable: bool,
    now: Mutex<Noted>,
    said: Said,
}

impl Progress {
    /// Opens or makes `progress` in a store's directory; the file is on the disk when this returns.
    pub fn open(env: &Arc<dyn Env>, store: &Path) -> Result<Self> {
        let path = store.join("progress");
        let io = |e: std::io::Error| Error::io(format!("open {}", path.display()), &e);
        let (file, seen) = if env.exists(&path).map_err(io)? {
            let file = env.open(&path).map_err(io)?;
            let seen = read(&*file);
            (file, seen)
        } else {
            (make(&**env, &path).map_err(io)?, [Ok(None), Ok(None)])
        };
        let is_unreadable = seen.iter().any(Result::is_err);
        let seen = latest(seen);
        Ok(Self { file: Some(file), seen, is_unreadable, now: Mutex::new(seen), said: Said::default() })
    }

    /// What was noted, without a change, and why a part of it cannot be read; nothing where there is no such file.
    pub fn look(env: &dyn Env, store: &Path) -> std::io::Result<(Noted, Option<std::io::Error>)> {
        let places = match env.open(&store.join("progress")) {
            Ok(file) => read(&*file),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => [Ok(None), Ok(None)],
            Err(e) => return Err(e),
        };
        let mut unread = None;
        let places = places.map(|place| {
            place.or_else(|e| {
                unread = Some(e);
                Ok(None)
            })
        });
        Ok((latest(places), unread))
    }

    /// For what is never written to.
    pub fn of_snapshot() -> Self {
        Self { file: None, seen: Noted::default(), is_unreadable: false, now: Mutex::default(), said: Said::default() }
    }

    /// An edit is on the disk.
    pub fn note_edit(&self, edit: u64) {
        self.note(|now| now.edit = now.edit.max(edit));
    }

    /// The log is on the disk up to a number.
    pub fn note_synced(&self, seq: SeqNo) {
        self.note(|now| now.synced = now.synced.max(seq));
    }

    /// What was noted is on the disk when this returns.
    pub fn sync(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // Written once more: after a sync that failed the kernel has nothing to write.
        let written = write(&**file, &mut self.now.lock());
        written.and_then(|()| file.sync()).map_err(|e| Error::io("sync the progress of the store", &e))
    }

    /// What the journal has lost stays known, whatever is added to what is left of it.
    pub fn note_lost_end(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut now = self.now.lock();
        now.edit = LOST_END;
        // At both places: one may be where the disk keeps nothing any more.
        for _ in 0..2 {
            write(&**file, &mut now)?;
        }
        file.sync()
    }

    fn note(&self, change: impl FnOnce(&mut Noted)) {
        let mut now = self.now.lock();
        let before = *now;
        change(&mut now);
        if *now == before {
            return;
        }
        let written = self.file.as_ref().map_or(Ok(()), |file| write(&**file, &mut now));
        if let Err(e) = written {
            // What it says is true all the same, only less than it could be.
            self.said.warn(&format!("note the progress of the store: {e}"));
        }
    }
}

/// Writes what is known at the place whose turn it is.
fn write(file: &dyn EnvFile, now: &mut Noted) -> std::io::Result<()> {
    now.turn += 1;
    file.write_at(&encode(*now), now.turn % 2 * OTHER)
}

fn make(env: &dyn Env, path: &Path) -> std::io::Result<Arc<dyn EnvFile>> {
    let file = env.create_new(path)?;
    file.write_at(&[0; OTHER as usize + BYTES], 0)?;
    file.sync()?;
    path.parent().map_or(Ok(()), |dir| env.sync_dir(dir))?;
    Ok(file)
}

fn encode(noted: Noted) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    for (place, number) in out.chunks_exact_mut(8).zip([noted.turn, noted.edit, noted.synced.0]) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let check = crc32c::crc32c(&out[..24]);
    out[24..].copy_from_slice(&check.to_le_bytes());
    out
}

/// What stands at the two places; `Err`: the disk does not give it, or it is not what was written.
type Places = [std::io::Result<Option<Noted>>; 2];

fn latest(places: Places) -> Noted {
    places.into_iter().filter_map(|place| place.ok()?).max_by_key(|noted| noted.turn).unwrap_or_default()
}

fn read(file: &dyn EnvFile) -> Places {
    let places = [0, OTHER].map(|place| read_at(file, place));
    let is_nonsense = |place: &std::io::Result<_>| place.as_ref().is_err_and(|e| !is_unreadable(e));
    if places.iter().all(is_nonsense) {
        return places;
    }
    // One of them a power cut may have torn.
    places.map(|place| if is_nonsense(&place) { Ok(None) } else { place })
}

fn read_at(file: &dyn EnvFile, place: u64) -> std::io::Result<Option<Noted>> {
    let mut bytes = [0; BYTES];
    match file.read_at(&mut bytes, place).or_else(|_| file.read_at(&mut bytes, place)) {
        Err(e) if is_unreadable(&e) => return Err(e),
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    let number = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    let noted = Noted { turn: number(0), edit: number(8), synced: SeqNo(number(16)) };
    match encode(noted) == bytes {
        true => Ok(Some(noted)),
        false if bytes == [0; BYTES] => Ok(None),
        false => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it makes no sense")),
    }
}
