//! Segments in which little is alive: what is alive is copied to a new one, the old one is deleted.
//!
//! Old handles that readers still hold lead to the copies, see [`super::moved`].

use std::collections::BTreeSet;

use super::engine::Engine;
use super::moved::{MOVED, Move};
use super::pace::Pace;
use super::recovery::mark_rewritten;
use crate::index::{Change, Direction, IndexRow, Meta, Sums, key};
use crate::model::SegmentId;
use crate::wal::{Entry, Rewriter};
use crate::{Error, ErrorKind, Result};

/// Rows of the index that are looked at before the flush gets its turn.
const PIECE: usize = 4096;
/// Rows that one round moves at most, about.
const ROUND: u64 = 500_000;
/// Bytes that mark an entry as dead.
const MARK: u64 = 8;

/// A segment and what is alive in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: SegmentId,
    pub len: u64,
    pub live: u64,
    pub live_bytes: u64,
}

impl Candidate {
    /// Bytes that are written when what is alive is copied: the copy, the old place's mark, a line of a `.moved` file.
    fn copies(&self) -> u64 {
        self.live_bytes + self.live * (MARK + MOVED as u64)
    }
}

/// What a choice of segments saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thrift {
    /// A segment is rewritten once less than half of it is alive.
    Work,
    /// Once a tenth of it is dead: somebody asked for the space.
    Space,
}

/// Segments worth emptying, the emptiest first: those without anything alive, and those of which enough is dead.
pub fn choose(mut candidates: Vec<Candidate>, thrift: Thrift) -> Vec<Candidate> {
    let percent = if thrift == Thrift::Work { 50 } else { 90 };
    candidates.retain(|c| c.live == 0 || c.live_bytes * 100 < c.len * percent);
    candidates.sort_by_key(|c| c.live_bytes * 1000 / c.len.max(1));
    candidates
}

/// As many of them as one round moves, and as there is room for copies of.
pub fn fitting(candidates: &[Candidate], mut room: u64) -> BTreeSet<SegmentId> {
    let mut rows = 0;
    let mut chosen = BTreeSet::new();
    for candidate in candidates {
        rows += candidate.live;
        if candidate.live > 0 && rows > ROUND && !chosen.is_empty() {
            break;
        }
        if candidate.live == 0 || candidate.copies() <= room {
            room = room.saturating_sub(candidate.copies());
            chosen.insert(candidate.id);
        }
    }
    chosen
}

fn no_room(least: &Candidate, room: u64) -> Error {
    let text = format!(
        "no room to rewrite segments: {} MiB must be free for a while, {} are. Delete a snapshot, or other files of this disk",
        (least.copies() >> 20) + 2,
        room >> 20
    );
    Error::new(ErrorKind::NoSpace, text)
}

/// A row before and after its value was copied.
struct MovedRow {
    key: Vec<u8>,
    old: IndexRow,
    new: IndexRow,
}

impl Engine {
    /// Empties and deletes segments with little alive, as many at once as the disk has room for copies of.
    ///
    /// `NoSpace` where somebody asked for it and not even the emptiest fits, of which most is dead.
    pub fn purge_segments(&self, pace: &mut Pace<'_>, thrift: Thrift) -> Result<()> {
        let _one = self.compacting.lock();
        loop {
            let wanted = choose(self.candidates(), thrift);
            let room = self.room_for_copies();
            let mut chosen = fitting(&wanted, room);
            if let (true, Some(least)) = (chosen.is_empty(), wanted.first())
                && thrift == Thrift::Space
                && least.live_bytes * 2 < least.len
            {
                return Err(no_room(least, room));
            }
            // What unflushed rows share values of stays until they are flushed.
            chosen.retain(|id| self.log.segments().get(*id).is_some_and(|segment| segment.retire()));
            if chosen.is_empty() {
                return Ok(());
            }
            self.empty_segments(&mut chosen, pace)?;
            self.restore_reserve()?;
            let any_gone = chosen.iter().any(|id| self.log.segments().get(*id).is_none());
            if thrift == Thrift::Work || !any_gone || !pace.go_on() {
                return Ok(());
            }
        }
    }

    fn empty_segments(&self, chosen: &mut BTreeSet<SegmentId>, pace: &mut Pace<'_>) -> Result<()> {
        super::worker::doing(self, &format!("rewriting {} segments", chosen.len()));
        let purged = self.with_reserve(|| {
            // Order: before the round, so that what it moves itself is remembered until the next one at least.
            self.forget_old_moves()?;
            self.end_moves()?;
            self.moving_from(chosen)?;
            self.move_cells(chosen, pace)?;
            self.purge_emptied(chosen)?;
            self.end_round()
        });
        super::worker::doing(self, "");
        for id in chosen.iter() {
            if let Some(segment) = self.log.segments().get(*id) {
                segment.keep();
            }
        }
        // Order: at once; what has become free may be full again before the next look at it.
        purged.and_then(|()| self.restore_reserve())
    }

    /// Segments that the index covers as a whole.
    fn candidates(&self) -> Vec<Candidate> {
        let segments = self.log.segments();
        // Order: before the state, which then has what is in them.
        let filled = segments.filled();
        #[cfg(test)]
        let filled = if self.breaks(super::Broken::TakesFilling) { segments.ids() } else { filled };
        let meta = self.meta.lock();
        let covered = filled.into_iter().filter(|id| *id < meta.checkpoint.segment);
        let candidate = |id| {
            let stats = meta.segments.get(&id);
            let len = segments.get(id)?.len();
            let (live, live_bytes) = stats.map_or((0, 0), |stats| (stats.live, stats.live_bytes));
            Some(Candidate { id, len, live, live_bytes })
        };
        covered.filter_map(candidate).collect()
    }

    /// Copies everything that the index has in the chosen segments; those that cannot be read are taken
    /// from the choice.
    fn move_cells(&self, chosen: &mut BTreeSet<SegmentId>, pace: &mut Pace<'_>) -> Result<()> {
        let alive = |meta: &Meta| chosen.iter().any(|id| meta.segments.get(id).is_some_and(|s| s.live > 0));
        if !alive(&self.meta.lock()) {
            return Ok(());
        }
        let mut writer = self.begin_copy()?;
        let moved = self.move_pieces(chosen, &mut writer, pace);
        if moved.is_err() {
            self.abandon(writer);
        }
        moved
    }

    /// A new segment for copies. Until the index points to all of them they are noted as what it may have elsewhere.
    fn begin_copy(&self) -> Result<Rewriter> {
        let writer = Rewriter::create(self.log.segments())?;
        match self.moving_to(writer.id()) {
            Ok(()) => Ok(writer),
            Err(e) => {
                self.abandon(writer);
                Err(e)
            }
        }
    }

    /// Deletes a half-written copy, unless rows point into it already.
    fn abandon(&self, writer: Rewriter) {
        let id = writer.id();
        drop(writer);
        let unused = self.meta.lock().segments.get(&id).is_none_or(|stats| stats.live == 0);
        if unused && let Err(e) = self.log.segments().purge(id) {
            log::warn!("a half-written copy stays: {e}");
        }
    }

    fn move_pieces(&self, chosen: &mut BTreeSet<SegmentId>, writer: &mut Rewriter, pace: &mut Pace<'_>) -> Result<()> {
        let mut from = Vec::new();
        while let Some(next) = self.move_piece(chosen, writer, &from)? {
            from = next;
            if !pace.go_on() {
                return Ok(());
            }
            if writer.bytes() >= self.options.segment_bytes {
                *writer = self.begin_copy()?;
            }
        }
        Ok(())
    }

    /// Moves the cells of some rows of the index; where to go on.
    fn move_piece(
        &self,
        chosen: &mut BTreeSet<SegmentId>,
        writer: &mut Rewriter,
        from: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let mut last = Vec::new();
        let mut hits = Vec::new();
        let count = self.index.page(from, &[0xFF; 8], PIECE, Direction::Ascending, &mut |key, row| {
            last.clear();
            last.extend_from_slice(key);
            if chosen.contains(&row.value.segment) || chosen.contains(&row.place().0) {
                hits.push((key.to_vec(), row));
            }
            Ok(())
        })?;
        let moved = self.copy_rows(chosen, writer, hits)?;
        self.point_to_copies(chosen, writer, &moved)?;
        last.push(0);
        Ok((count == PIECE).then_some(last))
    }

    fn point_to_copies(&self, chosen: &BTreeSet<SegmentId>, writer: &mut Rewriter, moved: &[MovedRow]) -> Result<()> {
        if moved.is_empty() {
            return Ok(());
        }
        let moves: Vec<Move> = moved.iter().map(|one| (one.old.value, one.new.value)).collect();
        let own = moved.iter().filter_map(|one| one.old.own.map(|(segment, _)| segment));
        let others: BTreeSet<SegmentId> = own.filter(|segment| !chosen.contains(segment)).collect();
        // Order: the copies are on the disk before anything says that the originals are not needed.
        writer.sync()?;
        self.note_moves(&moves)?;
        self.moving_from(&others)?;
        let _alone = self.maintenance.lock();
        let mut meta = self.meta.lock().clone();
        let mut sums = Sums::default();
        for MovedRow { key, old, new } in moved {
            meta.unpoint(key, old, self.may_be_shared(old.value.segment), &mut sums.shares);
            meta.point(key, new, &mut sums.shares);
        }
        let mut changes = moved.iter().map(|one| Ok(Change::Put(one.key.clone(), one.new.clone())));
        let meta = self.index.write(&mut changes, || (meta, sums))?;
        *self.meta.lock() = meta;
        Ok(())
    }

    pub fn purge_emptied(&self, chosen: &BTreeSet<SegmentId>) -> Result<()> {
        let alone = self.maintenance.lock();
        let meta = self.meta.lock().clone();
        let empty = |id: &&SegmentId| meta.segments.get(id).is_none_or(|s| s.live == 0);
        let emptied: Vec<SegmentId> = chosen.iter().filter(empty).copied().collect();
        if emptied.is_empty() {
            return Ok(());
        }
        // Order: the index must not come back after a power cut with rows that point into what is gone.
        self.index.make_durable()?;
        for id in &emptied {
            mark_rewritten(self.log.segments(), *id)?;
            self.log.let_go(*id);
            self.log.segments().purge(*id)?;
        }
        drop(alone);
        self.change_meta(|meta| {
            let mut sums = Sums::default();
            for id in &emptied {
                meta.segments.remove(id);
                sums.shares.forget(*id);
            }
            sums
        })
    }

    /// Copies what the rows point to; segments that cannot be read are taken from the choice.
    fn copy_rows(
        &self,
        chosen: &mut BTreeSet<SegmentId>,
        writer: &mut Rewriter,
        hits: Vec<(Vec<u8>, IndexRow)>,
    ) -> Result<Vec<MovedRow>> {
        let mut moved = Vec::new();
        for (key, old) in hits {
            let Some(entry) = entry_of(&key, &old) else { continue };
            match writer.copy(&old.value, &entry) {
                Ok(value) => moved.push(MovedRow { key, new: IndexRow { value, own: None, ..old.clone() }, old }),
                Err(e) if e.kind == ErrorKind::Corrupt => {
                    self.met.note(&e);
                    chosen.remove(&old.value.segment);
                    chosen.remove(&old.place().0);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(moved)
    }
}

fn entry_of(key: &[u8], row: &IndexRow) -> Option<Entry> {
    let key::CellKey { family, row: name, qualifier, timestamp, kind, seq } = key::decode(key)?;
    Some(Entry { family, row: name, qualifier, timestamp, kind, seq, tags: row.tags.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_segments_go_and_full_ones_stay() {
        let candidate = |id, live, live_bytes| Candidate { id: SegmentId(id), len: 1000, live, live_bytes };
        let ids = |chosen: Vec<Candidate>| chosen.iter().map(|c| c.id.0).collect::<Vec<_>>();
        let all = vec![candidate(1, 10, 950), candidate(2, 0, 0), candidate(3, 10, 400), candidate(4, ROUND, 450)];
        assert_eq!(ids(choose(all.clone(), Thrift::Work)), [2, 3, 4]);
        let most = vec![candidate(5, 10, 800), candidate(1, 10, 950)];
        assert_eq!(ids(choose(most, Thrift::Space)), [5]);
        let wanted = choose(all, Thrift::Work);
        assert_eq!(fitting(&wanted, u64::MAX), BTreeSet::from([SegmentId(2), SegmentId(3)]), "one round's rows");
        assert_eq!(fitting(&wanted, 399), BTreeSet::from([SegmentId(2)]), "what is empty needs no room");
        assert!(fitting(&wanted[1..], 399).is_empty());
    }
}
