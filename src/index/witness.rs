//! How far index and log have come, noted outside of both: so an older copy of the index, or a log that was cut
//! short, is told from the present one.
//!
//! The file `progress` has two places, at 0 and at 512, that are written in turn, so that a torn write leaves the other.
//! Each has 36 bytes: its turn u64, number u64 of the last commit of the index, sequence number u64 up to which the log
//! is on the disk, sequence number u64 up to which the index has it, CRC-32C u32 of all; little-endian. It is written after either and not synced: after a power cut
//! it may say less than was, never more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::sync::Mutex;

use crate::env::{Env, EnvFile, IndexWritten};
use crate::model::SeqNo;
use crate::{Error, Result};

const BYTES: usize = 36;
/// Where the second place is: in another sector.
const OTHER: u64 = 512;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    turn: u64,
    commits: u64,
    synced: SeqNo,
    covered: SeqNo,
}

/// See the module.
pub struct Witness {
    /// `None`: nothing is noted.
    file: Option<Arc<dyn EnvFile>>,
    seen: Option<Progress>,
    now: Mutex<Progress>,
    /// Told of what is written to the index of this store.
    told: Option<(Arc<dyn Env>, PathBuf)>,
}

impl Witness {
    /// Opens or makes `progress` in a store's directory; the file is on the disk when this returns.
    pub fn open(env: &Arc<dyn Env>, store: &Path) -> Result<Self> {
        let path = store.join("progress");
        let io = |e: std::io::Error| Error::io(format!("open {}", path.display()), &e);
        let (file, seen) = if env.exists(&path).map_err(io)? {
            let file = env.open(&path).map_err(io)?;
            let seen = read(&*file);
            (file, seen)
        } else {
            (make(&**env, &path).map_err(io)?, None)
        };
        let told = Some((Arc::clone(env), store.to_owned()));
        Ok(Self { file: Some(file), seen, now: Mutex::new(seen.unwrap_or_default()), told })
    }

    /// What was noted, without a change.
    pub fn look(env: &dyn Env, store: &Path) -> Self {
        let seen = env.open(&store.join("progress")).ok().and_then(|file| read(&*file));
        Self { file: None, seen, now: Mutex::default(), told: None }
    }

    /// For what is kept and never written to: it is believed.
    pub fn of_snapshot() -> Self {
        Self { file: None, seen: Some(Progress::default()), now: Mutex::default(), told: None }
    }

    /// The last commit of the index before this process; `None`: nobody knows.
    pub fn commits_seen(&self) -> Option<u64> {
        self.seen.map(|seen| seen.commits)
    }

    /// Everything up to it was on the disk before this process.
    pub fn synced_seen(&self) -> SeqNo {
        self.seen.unwrap_or_default().synced
    }

    /// The index has had everything up to it: what the log lacks of that was dropped.
    pub fn covered_seen(&self) -> SeqNo {
        self.seen.unwrap_or_default().covered
    }

    /// Notes a commit of the index, which has everything up to a number.
    pub fn note_commit(&self, commits: u64, covered: SeqNo) {
        self.tell(IndexWritten::Committed);
        self.note(|now| (now.commits, now.covered) = (commits, now.covered.max(covered)));
    }

    /// All commits of the index are on the disk.
    pub fn note_index_synced(&self) {
        self.tell(IndexWritten::Synced);
    }

    fn tell(&self, what: IndexWritten) {
        if let Some((env, store)) = &self.told {
            env.index_written(store, what);
        }
    }

    /// Notes that the log is on the disk up to a number.
    pub fn note_synced(&self, seq: SeqNo) {
        self.note(|now| now.synced = now.synced.max(seq));
    }

    fn note(&self, change: impl FnOnce(&mut Progress)) {
        let mut now = self.now.lock();
        let before = *now;
        change(&mut now);
        if *now == before {
            return;
        }
        now.turn += 1;
        let place = now.turn % 2 * OTHER;
        let written = self.file.as_ref().map_or(Ok(()), |file| file.write_at(&encode(*now), place));
        if let Err(e) = written {
            // What it says is true all the same, only less than it could be.
            log::warn!("note the progress of the store: {e}");
        }
    }
}

fn make(env: &dyn Env, path: &Path) -> std::io::Result<Arc<dyn EnvFile>> {
    let file = env.create_new(path)?;
    file.write_at(&[0; OTHER as usize + BYTES], 0)?;
    file.sync()?;
    path.parent().map_or(Ok(()), |dir| env.sync_dir(dir))?;
    Ok(file)
}

fn encode(progress: Progress) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    let numbers = [progress.turn, progress.commits, progress.synced.0, progress.covered.0];
    for (place, number) in out.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let check = crc32c::crc32c(&out[..32]);
    out[32..].copy_from_slice(&check.to_le_bytes());
    out
}

fn read(file: &dyn EnvFile) -> Option<Progress> {
    [0, OTHER].into_iter().filter_map(|place| read_at(file, place)).max_by_key(|progress| progress.turn)
}

fn read_at(file: &dyn EnvFile, place: u64) -> Option<Progress> {
    let mut bytes = [0; BYTES];
    file.read_at(&mut bytes, place).ok()?;
    let number = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    let progress =
        Progress { turn: number(0), commits: number(8), synced: SeqNo(number(16)), covered: SeqNo(number(24)) };
    (encode(progress) == bytes).then_some(progress)
}
