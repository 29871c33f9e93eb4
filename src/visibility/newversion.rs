//! Families with NEW_VERSION_BEHAVIOR: puts and tombstones are judged by the order in which they were
//! written (HBase: NewVersionBehaviorTracker), and deleted versions may be kept (our own rule).

use super::kept::KeptPlaces;
use super::limit::Limit;
use super::markers::{ColumnJudge, Covering, Fate, Moment, Rank};
use super::visible::{Flow, VisibleCell};
use super::{Expiry, ReadRules, View, oldest};
use crate::Result;
use crate::model::{CellKind, FamilyRules, KeepDeleted, Qualifier, SeqNo, StoredCell, Timestamp, Tombstone};

/// A deleted version that may be kept.
struct Deleted {
    cell: StoredCell,
    /// Time of the tombstone that ended it.
    at: Timestamp,
    written: Moment,
    rank: Rank,
    /// Smallest time of a tombstone that covers it, and when that was written.
    hidden_from: (Timestamp, Timestamp),
}

impl Deleted {
    fn new(cell: StoredCell, covering: &Covering, rank: Rank) -> Option<Self> {
        if covering.erased.is_some() {
            return None;
        }
        let (at, written) = match cell.tags.ended_at {
            Some(end) => (end, Moment { clock: cell.tags.written_at.unwrap_or(end), seq: cell.seq }),
            None => covering.ended_by?,
        };
        let hidden_from = covering.lowest.map_or((at, written.clock), |lowest| lowest.min((at, written.clock)));
        Some(Self { cell, at, written, rank, hidden_from })
    }
}

/// What is known of a put once all that matters has been seen.
enum Outcome {
    Live(StoredCell),
    Kept(Deleted),
    Gone(StoredCell),
}

/// Judges cells of one row and family in HBase's order; outcomes come in the same order.
struct Judge<'a> {
    family: &'a FamilyRules,
    now: Timestamp,
    column: Option<Qualifier>,
    puts: ColumnJudge,
    places: Option<KeptPlaces>,
    /// A restored version: kept unless a live put of the same timestamp follows.
    pending: Option<Deleted>,
    /// A version of this timestamp is live or kept already.
    settled: Option<Timestamp>,
}

impl<'a> Judge<'a> {
    fn new(family: &'a FamilyRules, now: Timestamp) -> Self {
        let places = KeptPlaces::new(family, now);
        let puts = ColumnJudge::new(Limit::of(family), now);
        Self { family, now, column: None, puts, places, pending: None, settled: None }
    }

    /// Order: before a cell is judged.
    fn enter(&mut self, cell: &StoredCell, out: &mut Vec<Outcome>) {
        let same_column = self.column.as_ref() == Some(&cell.qualifier);
        if self.pending.as_ref().is_some_and(|p| !same_column || p.cell.timestamp != cell.timestamp) {
            self.resolve(out);
        }
        if !same_column {
            self.column = Some(cell.qualifier.clone());
            self.puts.start_column();
            self.settled = None;
            if let Some(places) = &mut self.places {
                places.reset();
            }
        }
    }

    fn put(&mut self, cell: StoredCell, out: &mut Vec<Outcome>) {
        if cell.tags.ended_at.is_some() {
            return self.restored(cell, out);
        }
        let ranks = self.places.as_ref().is_some_and(KeptPlaces::may_be_full);
        match self.puts.fate(&cell, ranks) {
            Fate::Live => {
                self.settled = Some(cell.timestamp);
                out.extend(self.pending.take().map(|p| Outcome::Gone(p.cell)));
                out.push(Outcome::Live(cell));
            }
            Fate::Deleted if self.pending.is_none() => self.keep(cell, out),
            Fate::Again(seq) => {
                self.hold(&cell, Some(seq));
                out.push(Outcome::Gone(cell));
            }
            Fate::Deleted | Fate::Gone => out.push(Outcome::Gone(cell)),
        }
    }

    /// Remembers a tombstone.
    fn tombstone(&mut self, cell: &StoredCell) {
        self.puts.add(cell);
        if let Some(places) = &mut self.places {
            places.learn(Moment { clock: cell.tags.written_at.unwrap_or(cell.timestamp), seq: cell.seq });
        }
    }

    /// A deleted version was kept until it was erased or put again.
    fn hold(&mut self, cell: &StoredCell, again: Option<SeqNo>) {
        let Some(places) = &mut self.places else { return };
        let covering = self.puts.covering(cell);
        let Some((_, from)) = covering.ended_by else { return };
        match (covering.erased, again) {
            (Some(erased), again) if again.is_none_or(|again| erased.seq < again) => {
                places.held_until_erased(from, erased)
            }
            (_, Some(again)) => places.held_until_again(from, self.puts.known(again)),
            _ => {}
        }
    }

    fn restored(&mut self, cell: StoredCell, out: &mut Vec<Outcome>) {
        let covering = self.puts.covering(&cell);
        let is_free = self.places.is_some() && self.settled != Some(cell.timestamp) && self.pending.is_none();
        if !is_free || covering.erased.is_some() {
            return out.push(Outcome::Gone(cell));
        }
        self.pending = Deleted::new(cell, &covering, Rank::default());
    }

    fn keep(&mut self, cell: StoredCell, out: &mut Vec<Outcome>) {
        let covering = self.puts.covering(&cell);
        let rank = self.puts.rank();
        let kept_copy = self.places.is_some().then(|| Deleted::new(cell.clone(), &covering, rank)).flatten();
        match kept_copy {
            Some(deleted) if self.settled != Some(cell.timestamp) => self.settle(deleted, out),
            _ => {
                self.hold(&cell, None);
                out.push(Outcome::Gone(cell));
            }
        }
    }

    fn settle(&mut self, deleted: Deleted, out: &mut Vec<Outcome>) {
        self.settled = Some(deleted.cell.timestamp);
        let kept = self
            .places
            .as_mut()
            .is_some_and(|places| places.take(deleted.written, deleted.hidden_from.0, deleted.rank));
        out.push(if kept { Outcome::Kept(deleted) } else { Outcome::Gone(deleted.cell) });
    }

    fn resolve(&mut self, out: &mut Vec<Outcome>) {
        if let Some(deleted) = self.pending.take() {
            self.settle(deleted, out);
        }
    }

    fn expired(&self, timestamp: Timestamp) -> bool {
        timestamp.0 < oldest(self.family, self.now)
    }
}

/// Reads of new-version families.
pub(super) struct NewVersionMatcher<'a> {
    rules: ReadRules<'a>,
    expiry: Expiry,
    judge: Judge<'a>,
    /// Deleted versions matter: the range ends in the past, or they are listed.
    wants_kept: bool,
    column: Option<Qualifier>,
    /// Versions of the column that were shown, and the live ones among them.
    count: u32,
    live: u32,
    full: bool,
    outcomes: Vec<Outcome>,
}

impl<'a> NewVersionMatcher<'a> {
    pub fn new(rules: ReadRules<'a>) -> Self {
        let in_the_past = rules.time_range.max < i64::MAX;
        let wants_kept =
            rules.family.keep_deleted != KeepDeleted::False && (in_the_past || rules.view == View::WithKept);
        let mut judge = Judge::new(rules.family, rules.now);
        if !wants_kept {
            judge.places = None;
        }
        Self {
            rules,
            expiry: Expiry::default(),
            judge,
            wants_kept,
            column: None,
            count: 0,
            live: 0,
            full: false,
            outcomes: Vec::new(),
        }
    }

    /// Judges the next cell; what became certain to be visible goes to `out`.
    pub fn push(&mut self, cell: StoredCell, out: &mut impl Extend<VisibleCell>) -> Flow {
        if self.rules.family.min_versions == 0 && self.judge.expired(cell.timestamp) {
            return Flow::NextColumn;
        }
        if self.expiry.ends(&cell, self.rules.now) {
            return Flow::Next;
        }
        self.judge.enter(&cell, &mut self.outcomes);
        self.emit(out);
        self.enter(&cell);
        if !cell.kind.is_put() {
            self.judge.tombstone(&cell);
            return if self.ends_column(&cell) { Flow::NextColumn } else { Flow::Next };
        }
        if self.full || cell.timestamp.0 < self.rules.time_range.min || self.is_hopeless() {
            return Flow::NextColumn;
        }
        self.judge.put(cell, &mut self.outcomes);
        self.emit(out);
        if self.full { Flow::NextColumn } else { Flow::Next }
    }

    /// All cells have been seen.
    pub fn finish(&mut self, out: &mut impl Extend<VisibleCell>) {
        self.judge.resolve(&mut self.outcomes);
        self.emit(out);
    }

    fn enter(&mut self, cell: &StoredCell) {
        if self.column.as_ref() != Some(&cell.qualifier) {
            self.column = Some(cell.qualifier.clone());
            (self.count, self.live) = (0, 0);
            self.full = false;
        }
    }

    /// Whether a tombstone covers all that follows it in its column, of which nothing else is wanted.
    fn ends_column(&self, tombstone: &StoredCell) -> bool {
        !self.wants_kept
            && tombstone.kind == CellKind::Tombstone(Tombstone::Column)
            && tombstone.seq > self.rules.settled_after
    }

    /// VERSIONS live puts were seen: nothing older can be live.
    fn is_hopeless(&self) -> bool {
        !self.wants_kept && self.judge.puts.is_full()
    }

    fn emit(&mut self, out: &mut impl Extend<VisibleCell>) {
        for outcome in std::mem::take(&mut self.outcomes) {
            let visible = match outcome {
                Outcome::Live(cell) => VisibleCell::live(cell),
                Outcome::Kept(d) if self.shows(&d) => {
                    VisibleCell { deleted_at: Some(d.at), hidden_from: Some(d.hidden_from.0), cell: d.cell }
                }
                Outcome::Kept(_) | Outcome::Gone(_) => continue,
            };
            let VisibleCell { cell, .. } = &visible;
            if self.rules.time_range.contains(cell.timestamp, cell.tags.written_at) && self.counts(&visible) {
                out.extend([visible]);
            }
        }
    }

    fn shows(&self, deleted: &Deleted) -> bool {
        let (from, written) = deleted.hidden_from;
        self.rules.view == View::WithKept || self.rules.time_range.is_before(from, Some(written))
    }

    /// MIN_VERSIONS holds so many live ones, whatever is kept beside them.
    fn counts(&mut self, visible: &VisibleCell) -> bool {
        if self.full {
            return false;
        }
        let is_live = visible.deleted_at.is_none();
        let (count, live) = (self.count.saturating_add(1), self.live.saturating_add(u32::from(is_live)));
        let held = if is_live { live } else { count };
        let expired = self.judge.expired(visible.cell.timestamp);
        let counts = count <= self.rules.max_versions && (!expired || held <= self.rules.family.min_versions);
        if counts {
            (self.count, self.live) = (count, live);
        }
        self.full = !counts && is_live || self.count >= self.rules.max_versions;
        counts
    }
}

/// Compaction of one row and family: tells `drop` every cell that is neither live nor kept, and tombstones that
/// cover nothing kept.
pub(super) struct Compaction<'a> {
    expiry: Expiry,
    judge: Judge<'a>,
    outcomes: Vec<Outcome>,
    column: Needs,
    family: Needs,
}

impl<'a> Compaction<'a> {
    pub fn new(family: &'a FamilyRules, now: Timestamp) -> Self {
        Self {
            expiry: Expiry::default(),
            judge: Judge::new(family, now),
            outcomes: Vec::new(),
            column: Needs::default(),
            family: Needs::default(),
        }
    }

    /// All cells have been seen.
    pub fn finish(mut self, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        self.judge.resolve(&mut self.outcomes);
        self.settle(drop)?;
        self.column.release(drop)?;
        self.family.release(drop)
    }

    /// Judges the next cell. What is dropped of the column before it is told first.
    pub fn push(&mut self, cell: StoredCell, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        let leaves_column = self.judge.column.as_ref().is_some_and(|c| *c != cell.qualifier);
        self.judge.enter(&cell, &mut self.outcomes);
        self.settle(drop)?;
        if leaves_column {
            self.column.release(drop)?;
        }
        if self.expiry.ends(&cell, self.judge.now) {
            return drop(cell);
        }
        // With MIN_VERSIONS expired versions may still be read by time range.
        if self.judge.family.min_versions == 0 && self.judge.expired(cell.timestamp) {
            return drop(cell);
        }
        if cell.kind.is_put() {
            self.judge.put(cell, &mut self.outcomes);
            return self.settle(drop);
        }
        self.judge.tombstone(&cell);
        let needs = if cell.kind.is_family_tombstone() { &mut self.family } else { &mut self.column };
        needs.tombstones.push((cell, false));
        Ok(())
    }

    fn settle(&mut self, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        for outcome in std::mem::take(&mut self.outcomes) {
            match outcome {
                Outcome::Live(_) => {}
                Outcome::Gone(cell) => drop(cell)?,
                Outcome::Kept(deleted) => {
                    self.column.mark(&deleted.cell);
                    self.family.mark(&deleted.cell);
                }
            }
        }
        Ok(())
    }
}

/// Tombstones, and whether something kept needs them.
#[derive(Default)]
struct Needs {
    tombstones: Vec<(StoredCell, bool)>,
}

impl Needs {
    fn mark(&mut self, put: &StoredCell) {
        for (tombstone, needed) in &mut self.tombstones {
            *needed |= super::markers::covers(tombstone, put);
        }
    }

    fn release(&mut self, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        self.tombstones.drain(..).filter(|(_, needed)| !needed).try_for_each(|(tombstone, _)| drop(tombstone))
    }
}
