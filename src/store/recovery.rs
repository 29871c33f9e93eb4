//! Recovery: the fold over the log that fills the memtable behind the checkpoint, or the whole index.
//!
//! Must not know how the index stores its rows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::damage::Damages;
use super::engine::FamilyTrack;
use super::memtable::{MemCell, Memtable};
use super::repeated::Repeated;
use crate::Result;
use crate::index::{Checkpoint, Index, Meta, Opened, Witness, key};
use crate::model::{Catalogue, FamilyId, SegmentId, SeqNo};
use crate::wal::{DeadMarks, Found, Replay, ReplayEvent, SegmentOrigin, Segments, append_dead, read_dead};

/// The fold over the log that makes memtable, tracks and, if need be, the index.
pub struct Recovery<'a> {
    pub(super) segments: &'a Arc<Segments>,
    pub(super) families: BTreeSet<FamilyId>,
    pub(super) index: &'a Index,
    pub(super) witness: &'a Witness,
    pub memtable: Memtable,
    pub tracks: FxHashMap<FamilyId, Arc<FamilyTrack>>,
    /// Last sequence number that was found.
    pub last: SeqNo,
    /// The segment to go on with, if its tail is whole.
    pub tail: Option<SegmentId>,
    /// The last segment of the log in which a record was met.
    pub(super) met: Option<SegmentId>,
    /// From here on nothing is known to be on the disk.
    pub(super) unsynced: Option<(SegmentId, u64)>,
    /// Everything up to it was on the disk once.
    pub(super) synced: SeqNo,
    /// The index has had everything up to it.
    pub(super) covered: SeqNo,
    pub(super) end: Tail,
    pub(super) repeated: Repeated,
    pub damages: Damages,
    /// Whether an end of the log was lost at any time.
    pub(super) is_short: bool,
    /// The index is made anew: nothing else knows what copies there were.
    pub(super) rebuilding: bool,
    /// How many records were read, for whoever watches.
    read: &'a AtomicU64,
}

/// What recovery does about the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Cuts off what is torn and secures what may not be on the disk.
    Mend,
    /// Changes no segment: others have them too.
    LeaveAlone,
}

/// Whether a segment is read to its end, or up to an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walked {
    Whole,
    /// The log ends there.
    Ends(u64),
    /// What follows there is in a later segment.
    GoesOnElsewhere(u64),
}

/// Takes the entries of a record of a segment, with the segment's marks.
pub(super) type Sink<'a, 'f> = dyn FnMut(&mut Recovery<'a>, SegmentId, Vec<Found>, &DeadMarks) -> Result<()> + 'f;

impl<'a> Recovery<'a> {
    /// Everything up to what `witness` has seen is known to have been on the disk.
    pub fn new(
        segments: &'a Arc<Segments>,
        catalogue: &Catalogue,
        index: &'a Index,
        (witness, end): (&'a Witness, Tail),
        read: &'a AtomicU64,
    ) -> Self {
        Self {
            synced: witness.synced_seen(),
            covered: witness.covered_seen(),
            rebuilding: false,
            witness,
            segments,
            families: catalogue.stored_families().map(|family| family.id).collect(),
            index,
            memtable: Memtable::default(),
            tracks: FxHashMap::default(),
            last: SeqNo(0),
            tail: None,
            met: None,
            unsynced: None,
            end,
            repeated: Repeated::default(),
            damages: Damages::default(),
            is_short: false,
            read,
        }
    }

    /// Replays what the index does not cover; rebuilds the index if it is empty.
    pub fn run(&mut self, opened: Opened) -> Result<Meta> {
        let meta = match opened {
            Opened::Ready(meta) => *meta,
            Opened::Empty { reason } => {
                if !self.segments.ids().is_empty() {
                    log::warn!("the index is rebuilt from the log: {reason}");
                }
                return self.rebuild();
            }
        };
        if self.end == Tail::Mend {
            self.remove_orphans(&meta)?;
            self.remove_stillborn(&meta)?;
        }
        self.look_for_lost(&meta);
        self.last = meta.checkpoint.seq;
        self.replay_tail(&meta)?;
        self.tell_lost()?;
        self.take_stats(&meta);
        Ok(meta)
    }

    /// Segments that were rewritten and not deleted yet.
    fn remove_orphans(&self, meta: &Meta) -> Result<()> {
        for id in self.segments.ids() {
            let live = meta.segments.get(&id).is_some_and(|s| s.live > 0);
            if !live && id < meta.checkpoint.segment && read_dead(self.segments, id)?.all() {
                self.segments.purge(id)?;
            }
        }
        Ok(())
    }

    pub(super) fn take_stats(&mut self, meta: &Meta) {
        for (id, stats) in &meta.families {
            let track = self.tracks.entry(*id).or_default();
            track.max_timestamp.fetch_max(stats.max_timestamp, Ordering::Relaxed);
            track.family_tombstones.fetch_or(stats.family_tombstones > 0, Ordering::Relaxed);
            track.expiring.fetch_or(stats.expiring, Ordering::Relaxed);
        }
        for track in self.tracks.values() {
            track.opened_with.store(track.max_timestamp.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Puts what the index does not cover into the memtable and makes it durable.
    fn replay_tail(&mut self, meta: &Meta) -> Result<()> {
        let from = meta.checkpoint;
        // The record before the first one that is looked at.
        self.met = Some(from.segment);
        self.walk(&from, &mut |recovery, id, found, dead| {
            recovery.remember(id, found, dead, from.seq);
            Ok(())
        })?;
        self.secure()?;
        self.drop_repeated()
    }

    pub(super) fn ids_from(&self, first: SegmentId) -> Vec<SegmentId> {
        self.segments.ids().into_iter().filter(|id| *id >= first).collect()
    }

    /// Tells `sink` every record from a checkpoint on; cuts the log at a hole in what was never known to be
    /// on the disk. Returns where the log ends.
    pub(super) fn walk(&mut self, from: &Checkpoint, sink: &mut Sink<'a, '_>) -> Result<()> {
        let start = |id: SegmentId| if id == from.segment { from.offset } else { 0 };
        let ids = self.ids_from(from.segment);
        let mut synced = self.synced.max(from.seq);
        for &id in &ids {
            synced = synced.max(self.headers(id, start(id))?.synced);
        }
        let mut ended = false;
        for (at, &id) in ids.iter().enumerate() {
            let dead = read_dead(self.segments, id)?;
            // Behind the end of the log only compacted segments are left: they hold what was on the disk before.
            if dead.all() || self.segments.get(id).is_none() {
                continue;
            }
            let later = &ids[at + 1..];
            let Some(replay) = self.readable(Replay::open(self.segments, id, start(id)))? else {
                if !ended && self.ends_here(id, synced, later)? {
                    self.set_aside(later)?;
                    ended = true;
                }
                continue;
            };
            let log = replay.origin() == SegmentOrigin::Log;
            let broken = self.walk_segment(replay, id, &dead, (synced, later), sink)?;
            if log {
                self.tail = Some(id).filter(|_| self.reaches(id, start(id)));
            }
            match broken {
                Walked::Whole => {}
                Walked::Ends(end) => {
                    self.truncate(id, end)?;
                    self.set_aside(later)?;
                    ended = true;
                }
                Walked::GoesOnElsewhere(end) => self.truncate(id, end)?,
            }
        }
        if !ended {
            self.look_for_end(synced)?;
        }
        Ok(())
    }

    /// Walks one segment.
    fn walk_segment(
        &mut self,
        mut replay: Replay,
        id: SegmentId,
        dead: &DeadMarks,
        (synced, later): (SeqNo, &[SegmentId]),
        sink: &mut Sink<'a, '_>,
    ) -> Result<Walked> {
        let (log, before) = (replay.origin() == SegmentOrigin::Log, self.last);
        while let Some(event) = replay.next_event()? {
            match event {
                ReplayEvent::Record { offset, seq, found, .. } => {
                    if log && self.end == Tail::Mend && self.is_hole(id, seq, synced) {
                        if self.continued(later)? {
                            // A sync failed before this segment was begun, and all from the hole on was written again.
                            return Ok(Walked::GoesOnElsewhere(offset));
                        }
                        // The end of the segment before never reached the disk.
                        self.keep_cut(id, offset)?;
                        return Ok(Walked::Ends(offset));
                    }
                    if log {
                        self.met = Some(id);
                        self.repeated.note(id, seq, before);
                    }
                    self.last = self.last.max(seq);
                    self.read.fetch_add(1, Ordering::Relaxed);
                    if log && seq > synced && self.unsynced.is_none() {
                        self.unsynced = Some((id, offset));
                    }
                    sink(self, id, found, dead)?;
                }
                ReplayEvent::Damage { offset, reason, salvage, resume } => {
                    if log && self.end == Tail::Mend && self.continued(later)? {
                        // A sync of this segment failed, and all that was not on the disk was written again.
                        return Ok(Walked::GoesOnElsewhere(offset));
                    }
                    // A compaction that was stopped leaves a record cut off. The index points to what was synced alone.
                    let ends = log && self.ends_here(id, synced, later)?;
                    if log || resume.is_some() || self.rebuilding {
                        self.report((id, offset, reason), (!ends || resume.is_some()).then_some(&salvage));
                    }
                    // What follows a hole was never acknowledged as durable; it must not outlive it.
                    if ends {
                        if resume.is_some() {
                            self.keep_cut(id, offset)?;
                        }
                        return Ok(Walked::Ends(offset));
                    }
                    self.last = self.last.max(salvage.seq.unwrap_or_default());
                    sink(self, id, salvage.found, dead)?;
                }
            }
        }
        Ok(Walked::Whole)
    }

    /// Whether what was never known to be on the disk begins at a hole.
    fn ends_here(&mut self, id: SegmentId, synced: SeqNo, later: &[SegmentId]) -> Result<bool> {
        // Before the first record of a segment: what the index has had may have been dropped, segment and all.
        let last = if self.met == Some(id) { self.last } else { self.last.max(self.covered) };
        Ok(self.end == Tail::Mend && last.0 + 1 > synced.0 && !self.continued(later)?)
    }

    /// Whether a later segment goes on exactly where the log broke off (a rescue after a failed sync).
    fn continued(&mut self, later: &[SegmentId]) -> Result<bool> {
        for &next in later {
            let Some(mut replay) = self.readable(Replay::open(self.segments, next, 0))? else { return Ok(false) };
            if replay.origin() == SegmentOrigin::Log {
                let first = replay.next_event()?;
                return Ok(matches!(first, Some(ReplayEvent::Record { seq, .. }) if seq.0 <= self.last.0 + 1));
            }
        }
        Ok(false)
    }

    fn remember(&mut self, id: SegmentId, found: Vec<Found>, dead: &DeadMarks, covered: SeqNo) {
        for one in found {
            let entry = &one.entry;
            let wanted = entry.seq > covered && !dead.contains(one.offset) && self.families.contains(&entry.family);
            if !wanted {
                continue;
            }
            let key = key::cell_key(entry.family, &entry.row, &entry.qualifier, entry.timestamp, entry.kind, entry.seq);
            note(&mut self.tracks, entry);
            let own = one.shared.then_some((id, one.offset));
            if let Some(target) = one.shared.then(|| self.segments.get(one.value.segment)).flatten() {
                target.add_share();
            }
            self.memtable.insert(key, MemCell::new(one.value, &one.entry.tags, own));
        }
    }
}

fn note(tracks: &mut FxHashMap<FamilyId, Arc<FamilyTrack>>, entry: &crate::wal::Entry) {
    let track = tracks.entry(entry.family).or_default();
    track.max_timestamp.fetch_max(entry.timestamp.0, Ordering::Relaxed);
    track.expiring.fetch_or(entry.tags.ttl_ms.is_some(), Ordering::Relaxed);
    track.family_tombstones.fetch_or(entry.kind.is_family_tombstone(), Ordering::Relaxed);
}

/// Marks a segment as rewritten, so that no rebuild reads it again.
pub fn mark_rewritten(segments: &Segments, id: SegmentId) -> Result<()> {
    append_dead(segments, id, &DeadMarks::whole_segment())
}
