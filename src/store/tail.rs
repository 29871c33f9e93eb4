//! The end of the log after a crash: what is cut off, what is set aside, what is written again; and what is
//! reported of damage before it.

use std::path::Path;

use super::lost;
use super::recovery::{Recovery, Tail};
use crate::index::Meta;
use crate::model::{SegmentId, SeqNo};
use crate::wal::{Headers, SEGMENT_HEADER, Salvage, SegmentOrigin, mend, read_dead, read_headers, survey};
use crate::{Error, ErrorKind, Result};

impl Recovery<'_> {
    /// Takes log segments out of the store that hold only what follows a hole.
    pub(super) fn set_aside(&mut self, later: &[SegmentId]) -> Result<()> {
        for &id in later {
            let origin = self.readable(self.segments.check_header(id))?;
            if origin == Some(SegmentOrigin::Compaction) {
                continue;
            }
            let path = self.segments.path(id);
            log::warn!("{} follows a hole in the log; it is set aside as .cut", path.display());
            let env = self.segments.env();
            let moved = env.rename(&path, &path.with_extension("cut")).and_then(|()| env.sync_dir(self.segments.dir()));
            moved.map_err(|e| Error::io(format!("set {} aside", path.display()), &e))?;
            self.segments.forget(id);
            self.segments.reserve(id);
        }
        Ok(())
    }

    pub(super) fn truncate(&self, id: SegmentId, end: u64) -> Result<()> {
        let file = self.segments.file(id)?;
        // Order: on the disk before anything follows, or what was cut off comes back.
        let cut = file.set_len(end).and_then(|()| file.sync());
        cut.map_err(|e| Error::io(format!("cut {}", self.segments.path(id).display()), &e))?;
        if let Some(segment) = self.segments.get(id) {
            segment.set_len(end);
        }
        Ok(())
    }

    /// Rewrites and syncs what may be only in the page cache: after a failed sync the kernel serves
    /// bytes that never reach the disk unless they are written again.
    pub(super) fn secure(&self) -> Result<()> {
        let Some((first, offset)) = self.unsynced.filter(|_| self.end == Tail::Mend) else { return Ok(()) };
        for id in self.ids_from(first) {
            let Some(segment) = self.segments.get(id) else { continue };
            let file = self.segments.file(id)?;
            let mut at = if id == first { offset } else { 0 };
            let mut buffer = vec![0; 1 << 20];
            let mut rewrite = || {
                while at < segment.len() {
                    let part = buffer.len().min((segment.len() - at) as usize);
                    file.read_at(&mut buffer[..part], at)?;
                    file.write_at(&buffer[..part], at)?;
                    at += part as u64;
                }
                file.sync()
            };
            rewrite().map_err(|e| Error::io(format!("secure {}", self.segments.path(id).display()), &e))?;
        }
        Ok(())
    }

    /// Segments that a power cut has left without even a header: nothing was ever written to them.
    pub(super) fn remove_stillborn(&self, meta: &Meta) -> Result<()> {
        for id in self.ids_from(meta.checkpoint.segment) {
            let unknown = meta.segments.get(&id).is_none_or(|stats| stats.live == 0) && id != meta.checkpoint.segment;
            let len = self.segments.get(id).map_or(u64::MAX, |segment| segment.len());
            if !unknown || len > SEGMENT_HEADER {
                continue;
            }
            // Its header was on the disk before its name was, and before anything else was written to it. What was cut
            // short since is missed by its numbers.
            let torn =
                len < SEGMENT_HEADER || self.segments.check_header(id).is_err_and(|e| e.kind == ErrorKind::Corrupt);
            if torn {
                self.segments.purge(id)?;
            } else {
                self.secure_header(id)?;
            }
        }
        Ok(())
    }

    /// Writes a segment's header again: a process that stopped may not have synced it.
    fn secure_header(&self, id: SegmentId) -> Result<()> {
        let file = self.segments.file(id)?;
        let mut header = [0; SEGMENT_HEADER as usize];
        let secured = file.read_at(&mut header, 0).and_then(|()| file.write_at(&header, 0)).and_then(|()| file.sync());
        let secured = secured.and_then(|()| self.segments.env().sync_dir(self.segments.dir()));
        secured.map_err(|e| Error::io(format!("secure {}", self.segments.path(id).display()), &e))
    }

    /// Whether records are missing before `seq` of which nobody knows that they were on the disk.
    pub(super) fn is_hole(&self, id: SegmentId, seq: SeqNo, synced: SeqNo) -> bool {
        // What was purged in between was on the disk, and all before it.
        let adjacent =
            self.met.is_some_and(|before| (before.0..id.0).all(|n| self.segments.get(SegmentId(n)).is_some()));
        adjacent && seq.0 > self.last.0 + 1 && self.last.0 + 1 > synced.0
    }

    /// Keeps what is about to be cut off although whole records follow.
    pub(super) fn keep_cut(&self, id: SegmentId, from: u64) -> Result<()> {
        let (path, env) = (self.segments.path(id), self.segments.env());
        let kept = path.with_extension(format!("{from}.cut"));
        let copy = || {
            let source = self.segments.file(id)?;
            let io = |e: std::io::Error| Error::io(format!("keep the end of {}", path.display()), &e);
            if env.exists(&kept).map_err(io)? {
                env.remove(&kept).map_err(io)?;
            }
            let (target, len) = (env.create_new(&kept).map_err(io)?, source.len().map_err(io)?);
            let mut buffer = vec![0; 1 << 20];
            let mut at = from;
            while at < len {
                let part = buffer.len().min((len - at) as usize);
                source.read_at(&mut buffer[..part], at).map_err(io)?;
                target.write_at(&buffer[..part], at - from).map_err(io)?;
                at += part as u64;
            }
            target.sync().map_err(io)
        };
        log::warn!("{}: what is cut off at {from} is kept as {}", path.display(), kept.display());
        copy()
    }

    /// What the headers of a segment say, after it was put in order if bytes came or went in it.
    pub(super) fn headers(&mut self, id: SegmentId, from: u64) -> Result<Headers> {
        let headers = read_headers(self.segments, id, from);
        let whole = headers.as_ref().is_ok_and(|headers| headers.whole);
        let mended = !whole && self.end == Tail::Mend && self.put_in_order(id)?;
        let headers = if mended { read_headers(self.segments, id, from) } else { headers };
        Ok(self.readable(headers)?.unwrap_or_default())
    }

    /// Puts records back to where they were written; whether any were elsewhere.
    fn put_in_order(&mut self, id: SegmentId) -> Result<bool> {
        let mending = if read_dead(self.segments, id)?.all() { None } else { survey(self.segments, id)? };
        let Some(mending) = mending else { return Ok(false) };
        let path = self.segments.path(id);
        match mend(self.segments, id, &mending) {
            Err(e) if e.kind == ErrorKind::NoSpace => {
                self.damages.add(&format!("{e}; the records behind offset {} cannot be read before", mending.at));
                Ok(false)
            }
            mended => {
                let text = match mending.records {
                    0 => "its header was damaged; it was made anew".to_owned(),
                    moved => format!(
                        "bytes had come or gone at offset {}; {moved} records were put back to where they were written",
                        mending.at
                    ),
                };
                self.damages.add(&format!("{}: {text}", path.display()));
                mended.map(|()| true)
            }
        }
    }

    /// A damaged header makes a segment unreadable, which is reported and survived.
    pub(super) fn readable<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(e) if e.kind == ErrorKind::Corrupt => {
                self.damages.add(&format!("{e}; its cells cannot be read. Restore them from a backup"));
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    pub(super) fn report(&mut self, (id, offset, reason): (SegmentId, u64, &str), salvage: Option<&Salvage>) {
        let path = self.segments.path(id);
        let Some(salvage) = salvage else {
            let what = "the end of the log from here on was never known to be on the disk, and is cut off";
            return self.damages.add(&format!("{}, offset {offset}: {reason}; {what}", path.display()));
        };
        let read = salvage.found.iter().filter(|found| found.whole).count();
        let named = salvage.found.len() - read;
        let lost = salvage.lost.map_or_else(|| "an unknown number".to_owned(), |lost| lost.to_string());
        let text = format!(
            "{}, offset {offset}: {reason}; of its cells {read} can be read, {named} only be named, {lost} cannot even \
             be named. Restore them from a backup",
            path.display()
        );
        self.damages.add(&text);
    }

    /// Whether the log can go on in a segment: it has all that the index knows of it.
    pub(super) fn reaches(&mut self, id: SegmentId, covered: u64) -> bool {
        let len = self.segments.get(id).map_or(0, |segment| segment.len());
        if len < covered {
            let path = self.segments.path(id);
            self.damages.add(&format!(
                "{} ends at {len}, the index knows it up to {covered}: what is missing cannot be read",
                path.display()
            ));
        }
        len >= covered
    }

    /// Segments that rows of the index point into and that are not there.
    pub(super) fn look_for_lost(&mut self, meta: &Meta) {
        let alive = meta.segments.iter().filter(|(_, stats)| stats.live > 0);
        let lost: Vec<SegmentId> = alive.map(|(id, _)| *id).filter(|id| self.segments.get(*id).is_none()).collect();
        for id in lost {
            self.segments.mark_lost(id);
            let path = self.segments.path(id);
            self.damages
                .add(&format!("{} is missing; its cells cannot be read. Put it back from a backup", path.display()));
        }
    }

    /// Whether the log has everything that is known to have been on the disk.
    pub(super) fn look_for_end(&mut self, synced: SeqNo) -> Result<()> {
        // What the index has had may have been dropped, segment and all.
        self.last = self.last.max(self.covered);
        if self.last < synced {
            if self.end == Tail::Mend {
                lost::note(&**self.segments.env(), self.store_dir(), self.last, synced)?;
            }
            // No number is used twice.
            self.last = synced;
        }
        Ok(())
    }

    /// What was lost at any time; what nobody has acknowledged is told again.
    pub(super) fn tell_lost(&mut self) -> Result<()> {
        let lost = lost::read(&**self.segments.env(), self.store_dir())?;
        self.is_short = !lost.is_empty();
        for one in lost.iter().filter(|one| !one.acknowledged) {
            self.damages.add(&format!("{}; `check --repair` acknowledges it", one.sentence()));
        }
        Ok(())
    }

    fn store_dir(&self) -> &Path {
        self.segments.dir().parent().unwrap_or(self.segments.dir())
    }
}
