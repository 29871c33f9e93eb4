//! Giving room back: what is dead is punched out of its file, and a file without anything live is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::blobs::Blobs;
use super::disk::files::Blob;
use super::shares::Mark;
use crate::{ErrorKind, Result};

/// What filesystems give room back in. Only whole units are punched, so that no byte beside a dead chunk is written.
const UNIT: u64 = 4096;

/// What a collection has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Punched out.
    pub bytes: u64,
    /// Files without a live chunk: an edit is to say that they are gone, then they are unlinked and forgotten.
    pub files_gone: Vec<u64>,
}

impl Blobs {
    /// Judges what was made before `mark`: what is not `live`, which was gathered after the mark was taken, is dead for
    /// good. The edit that took its last reference must be on the disk.
    pub fn collect(&self, live: &dyn Fn(u64, u32) -> bool, mark: Mark) -> Result<Collected> {
        let files = &self.0.files;
        let known: Vec<Arc<Blob>> = files.known.read().values().cloned().collect();
        let mut collected = Collected::default();
        for blob in known {
            let is_sealed = blob.is_sealed.load(Ordering::Acquire);
            let judged = files.shares.judge(&mark, blob.number, blob.chunks.load(Ordering::Acquire), live);
            if judged.all_dead && is_sealed {
                collected.files_gone.push(blob.number);
            } else if !judged.new.is_empty() && !files.cannot_punch.load(Ordering::Relaxed) {
                match self.punch(&blob, &judged.new) {
                    Ok(bytes) => collected.bytes += bytes,
                    // Its room comes back when its last chunk is dead.
                    Err(e) if e.kind == ErrorKind::Corrupt => log::warn!("free room in a blob file: {e}"),
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(collected)
    }

    /// Punches the runs of dead chunks out that have one of these.
    fn punch(&self, blob: &Blob, new: &[u32]) -> Result<u64> {
        let files = &self.0.files;
        let (table, dead) = (files.table(blob)?, files.shares.dead(blob.number));
        let is_dead = |chunk: u32| dead.get(chunk as usize / 64).is_some_and(|word| word >> (chunk % 64) & 1 == 1);
        let mut runs: Vec<(u64, u64, bool)> = Vec::new();
        for (chunk, place) in table.iter().filter(|(chunk, _)| is_dead(*chunk)) {
            let (from, to) = (u64::from(place.offset), u64::from(place.offset) + u64::from(place.total));
            let is_new = new.binary_search(&chunk).is_ok();
            match runs.last_mut().filter(|(_, end, _)| *end == from) {
                Some(run) => (run.1, run.2) = (to, run.2 || is_new),
                None => runs.push((from, to, is_new)),
            }
        }
        let (file, mut total) = (files.file(blob.number)?, 0);
        for (from, to, is_new) in runs {
            let (from, to) = (from.next_multiple_of(UNIT), to / UNIT * UNIT);
            if from >= to {
                continue;
            }
            total += to - from;
            match if is_new { file.punch(from, to - from) } else { Ok(()) } {
                Err(e) if e.kind() == std::io::ErrorKind::Unsupported => {
                    files.cannot_punch.store(true, Ordering::Relaxed);
                    return Ok(0);
                }
                punched => punched.map_err(|e| files.io("free room in", blob.number, &e))?,
            }
        }
        Ok(total.saturating_sub(blob.punched.swap(total, Ordering::AcqRel)))
    }
}
