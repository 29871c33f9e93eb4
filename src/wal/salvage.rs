//! What can still be read of a damaged record: its entries verify themselves.
//!
//! Entries are found by their order, never by a search for something that looks like one: a value may hold a copy
//! of a segment. One exception: behind a single unreadable head, where the record's own count says how many follow.

use super::entry::OPENING;
use super::record::{RECORD_HEADER, RecordHeader, SegmentOrigin};
use super::replay::{Found, Replay};
use crate::Result;
use crate::model::SeqNo;

/// What is left of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// The record's number, if its header is whole.
    pub seq: Option<SeqNo>,
    /// Entries whose heads verify; [`Found::whole`] tells which values do.
    pub found: Vec<Found>,
    /// Entries of which nothing can be read, not even the key; `None`: nobody knows how many.
    pub lost: Option<u32>,
}

impl Replay {
    /// Reads what it can of the record at `offset` that ends before `end`.
    pub(super) fn salvage(&mut self, offset: u64, end: u64, header: Option<RecordHeader>) -> Result<Salvage> {
        let log = self.origin() == SegmentOrigin::Log;
        let seq = header.map(|header| header.seq).filter(|_| log);
        let start = offset + RECORD_HEADER as u64;
        let (mut found, reached) = self.chain(start, end, seq)?;
        let Some(header) = header else {
            let all = reached == end && !found.is_empty();
            return Ok(Salvage { seq: None, found, lost: all.then_some(0) });
        };
        let mut lost = header.count.saturating_sub(found.len() as u32);
        if lost > 1
            && let Some(rest) = self.behind(reached + OPENING as u64, end, seq, lost as usize - 1)?
        {
            found.extend(rest);
            lost = 1;
        }
        Ok(Salvage { seq: Some(header.seq), found, lost: Some(lost) })
    }

    /// Entries one after the other, up to the first head that does not verify; where that is.
    fn chain(&mut self, from: u64, end: u64, mut seq: Option<SeqNo>) -> Result<(Vec<Found>, u64)> {
        let log = self.origin() == SegmentOrigin::Log;
        let (mut found, mut at) = (Vec::new(), from);
        while at < end
            && let Some((mut one, chunks, next)) = self.head(at, end)?
        {
            // All entries of a batch have its number.
            if log && seq.is_some_and(|seq| seq != one.entry.seq) {
                break;
            }
            seq = Some(one.entry.seq);
            let value_at = next - u64::from(if one.shared { 0 } else { one.value.stored_len });
            one.whole = self.value_matches(value_at, next, &chunks)?;
            found.push(one);
            at = next;
        }
        Ok((found, at))
    }

    /// Where the entries of the record at `offset` go on behind one that cannot be read, if they are all that its header
    /// counts and end at `end`, wherever the header says that they do.
    pub(super) fn goes_on(&mut self, offset: u64, header: RecordHeader, end: u64) -> Result<Option<u64>> {
        let seq = Some(header.seq).filter(|_| self.origin() == SegmentOrigin::Log);
        let (found, reached) = self.chain(offset + RECORD_HEADER as u64, end, seq)?;
        let hit = found.last().filter(|last| !last.whole && !last.shared);
        let rest = (header.count as usize).saturating_sub(found.len() + usize::from(hit.is_none()));
        if rest == 0 {
            return Ok(None);
        }
        let from = hit.map_or(reached, |hit| hit.offset + u64::from(hit.value.head_len));
        Ok(self.behind(from, end, seq, rest)?.and_then(|found| found.first().map(|first| first.offset)))
    }

    /// Exactly `count` entries that end where the record ends, behind a head that cannot be read.
    fn behind(&mut self, from: u64, end: u64, seq: Option<SeqNo>, count: usize) -> Result<Option<Vec<Found>>> {
        for at in from..end {
            if self.head(at, end)?.is_none() {
                continue;
            }
            let (found, reached) = self.chain(at, end, seq)?;
            if reached == end && found.len() == count {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
