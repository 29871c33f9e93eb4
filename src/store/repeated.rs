//! Records that a failed sync has left twice: where the disk may not have them, and in the segment to which they were
//! rescued. The rows of the index are of the second ones; the first ones are marked as dropped before anything else
//! may be, or a rebuild would bring back from there what was deleted since.

use std::collections::BTreeMap;

use super::recovery::{Recovery, Tail};
use crate::Result;
use crate::model::{SegmentId, SeqNo};
use crate::wal::{Found, Replay, ReplayEvent, SegmentOrigin, append_all_dead, read_dead};

/// Numbers that a segment of the log repeats, each run from its first to its last.
#[derive(Debug, Default)]
pub struct Repeated(Vec<(SegmentId, SeqNo, SeqNo)>);

impl Repeated {
    /// Takes the next record of a segment that began when the log had come to `before`.
    pub fn note(&mut self, id: SegmentId, seq: SeqNo, before: SeqNo) {
        if seq > before {
            return;
        }
        match self.0.last_mut() {
            Some((last, _, to)) if *last == id && to.0 + 1 == seq.0 => *to = seq,
            _ => self.0.push((id, seq, seq)),
        }
    }
}

impl Recovery<'_> {
    /// Marks what is repeated where it was written first. Order: after the later records are secured.
    pub(super) fn drop_repeated(&self) -> Result<()> {
        if self.end != Tail::Mend {
            return Ok(());
        }
        let mut first_ones: BTreeMap<SegmentId, Vec<u64>> = BTreeMap::new();
        for &(id, from, to) in &self.repeated.0 {
            for earlier in self.segments.ids().into_iter().filter(|earlier| *earlier < id).rev() {
                let Some((offsets, first)) = self.entries_between(earlier, from, to)? else { continue };
                if !offsets.is_empty() {
                    first_ones.entry(earlier).or_default().extend(offsets);
                }
                if first < from {
                    break;
                }
            }
        }
        let marks: BTreeMap<_, _> = first_ones.into_iter().map(|(id, all)| (id, all.into_iter().collect())).collect();
        if marks.is_empty() { Ok(()) } else { append_all_dead(self.segments, &marks) }
    }

    /// Offsets of entries of these numbers in a segment of the log that are not marked yet, and its first number.
    fn entries_between(&self, id: SegmentId, from: SeqNo, to: SeqNo) -> Result<Option<(Vec<u64>, SeqNo)>> {
        let dead = read_dead(self.segments, id)?;
        let Ok(mut replay) = Replay::open(self.segments, id, 0) else { return Ok(None) };
        if dead.all() || replay.origin() != SegmentOrigin::Log {
            return Ok(None);
        }
        let (mut offsets, mut first) = (Vec::new(), SeqNo(u64::MAX));
        let wanted = |one: &Found| (from..=to).contains(&one.entry.seq) && !dead.contains(one.offset);
        while let Some(event) = replay.next_event()? {
            let found = match event {
                ReplayEvent::Record { found, .. } => found,
                ReplayEvent::Damage { salvage, .. } => salvage.found,
            };
            first = found.iter().map(|one| one.entry.seq).fold(first, SeqNo::min);
            offsets.extend(found.iter().filter(|one| wanted(one)).map(|one| one.offset));
        }
        Ok(Some((offsets, first)))
    }
}
