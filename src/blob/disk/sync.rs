//! Getting chunks onto the disk: callers share a sync, and a failed one is the last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::files::{Blob, Closed, Files};
use crate::env::EnvFile;
use crate::{Error, ErrorKind, Result};

/// A file on its way to the disk.
struct Target {
    blob: Arc<Blob>,
    file: Arc<dyn EnvFile>,
    bytes: u64,
    /// It is complete with its table.
    is_closed: bool,
}

impl Files {
    /// Nothing is written or synced any more.
    pub(in crate::blob) fn poison(&self, e: Error) -> Error {
        let mut state = self.syncing.lock();
        state.poisoned.get_or_insert_with(|| e.message.clone());
        state.is_running = false;
        drop(state);
        self.synced.notify_all();
        Error { kind: ErrorKind::Poisoned, ..e }
    }

    /// An error after a failed sync.
    pub(in crate::blob) fn refuse_poisoned(&self) -> Result<()> {
        poisoned(self.syncing.lock().poisoned.as_deref())
    }

    /// Returns when what was written before the call is on the disk.
    pub(in crate::blob) fn sync(&self) -> Result<()> {
        let target = self.writing.lock().written;
        let mut state = self.syncing.lock();
        loop {
            poisoned(state.poisoned.as_deref())?;
            if state.synced >= target {
                return Ok(());
            }
            if !state.is_running {
                break;
            }
            self.synced.wait(&mut state);
        }
        state.is_running = true;
        drop(state);
        let (written, targets) = self.targets();
        for target in targets {
            self.sync_one(target).map_err(|e| self.poison(e))?;
        }
        let mut state = self.syncing.lock();
        state.is_running = false;
        state.synced = written;
        drop(state);
        self.synced.notify_all();
        Ok(())
    }

    /// Whether something is written that is not known to be on the disk.
    pub(in crate::blob) fn has_unsynced(&self) -> bool {
        let written = self.writing.lock().written;
        self.syncing.lock().synced < written
    }

    fn targets(&self) -> (u64, Vec<Target>) {
        let mut writing = self.writing.lock();
        let target = |blob: &Arc<Blob>, file: &Arc<dyn EnvFile>, is_closed| {
            let bytes = blob.bytes.load(Ordering::Acquire);
            Target { blob: blob.clone(), file: file.clone(), bytes, is_closed }
        };
        let mut targets = Vec::new();
        for closed in writing.closed.drain(..) {
            targets.push(target(&closed.blob, &closed.file, true));
        }
        if let Some(active) = &writing.active {
            let active = target(&active.blob, &active.file, false);
            if active.bytes > active.blob.synced.load(Ordering::Acquire) {
                targets.push(active);
            }
        }
        (writing.written, targets)
    }

    fn sync_one(&self, target: Target) -> Result<()> {
        let blob = &target.blob;
        target.file.sync().map_err(|e| self.io("sync", blob.number, &e))?;
        blob.synced.store(target.bytes, Ordering::Release);
        if target.is_closed { self.tell_sealed(target) } else { Ok(()) }
    }

    /// A complete file that is on the disk counts as sealed. While the journal has no room for that, it is as one that
    /// is still written, and told of by a later sync.
    fn tell_sealed(&self, target: Target) -> Result<()> {
        let Target { blob, file, bytes, .. } = target;
        match self.naming.sealed(blob.number, bytes, blob.chunks.load(Ordering::Acquire)) {
            Ok(()) => {}
            Err(e) if e.kind == ErrorKind::NoSpace => {
                self.writing.lock().closed.push(Closed { blob, file });
                return Ok(());
            }
            Err(e) => return Err(e),
        }
        // Order: sealed before its table leaves memory; from then on it is read from the file.
        blob.is_sealed.store(true, Ordering::Release);
        *blob.table.write() = None;
        Ok(())
    }
}

fn poisoned(by: Option<&str>) -> Result<()> {
    let Some(by) = by else { return Ok(()) };
    let text = format!("an earlier sync failed ({by}): nothing is written until the store is opened again");
    Err(Error::new(ErrorKind::Poisoned, text))
}
