//! The check itself: every record of every segment, every row of the index, and each against the other.
//!
//! Needs no more memory than one record and one page. Changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::lost::Lost;
use crate::index::{Direction, Index, IndexRow, IndexView, Meta, key};
use crate::model::{
    Catalogue, CellKind, CheckEvent, CheckSummary, FamilyId, FamilyRules, Finding, SegmentId, SeqNo, Severity,
    TableName, Timestamp, to_string_binary,
};
use crate::visibility::past_family_ttl;
use crate::wal::{
    DeadMarks, Entry, Found, Replay, ReplayEvent, Salvage, SegmentOrigin, Segments, look_at_dead, survey,
};
use crate::{Error, ErrorKind, Result};

/// Bytes between two reports of progress.
const REPORT: u64 = 4 << 20;

/// A family as a finding names it.
struct Named {
    table: TableName,
    family: String,
    rules: FamilyRules,
}

/// What is known of the log beside what it says itself.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// It was on the disk up to here.
    pub synced: SeqNo,
    /// The index has had it up to here: what is missing of that was dropped.
    pub covered: SeqNo,
    /// What of it is known to be lost.
    pub lost: Vec<Lost>,
}

/// See the module.
pub struct Checker<'a, 'f> {
    pub(super) segments: &'a Arc<Segments>,
    /// Those of them that are looked at.
    ids: Vec<SegmentId>,
    pub(super) index: Option<&'a IndexView<'a>>,
    pub(super) meta: Meta,
    families: FxHashMap<FamilyId, Named>,
    now: Timestamp,
    known: Known,
    /// Where the index is.
    pub(super) index_path: String,
    tell: &'f mut dyn FnMut(CheckEvent) -> Result<()>,
    pub(super) summary: CheckSummary,
    /// Rows whose entries were met.
    pub(super) matched: u64,
    done: u64,
    reported: u64,
    total: u64,
    last: SeqNo,
    /// The last segment of the log in which a record was met.
    before: Option<SegmentId>,
    /// Nothing was purged between the record that was looked at last and the next.
    adjacent: bool,
}

impl<'a, 'f> Checker<'a, 'f> {
    pub fn new(
        (segments, ids): (&'a Arc<Segments>, Vec<SegmentId>),
        index: Option<&'a IndexView<'a>>,
        catalogue: &Catalogue,
        known: Known,
        tell: &'f mut dyn FnMut(CheckEvent) -> Result<()>,
    ) -> Self {
        let meta = index.map_or_else(Meta::default, |index| index.meta().clone());
        let total = segments.total_len() + meta.cells();
        let index_path = segments.dir().with_file_name("index").join("index.db").display().to_string();
        Self {
            segments,
            ids,
            index,
            meta,
            families: named(catalogue),
            now: segments.env().now(),
            known,
            index_path,
            tell,
            summary: CheckSummary::default(),
            matched: 0,
            done: 0,
            reported: 0,
            total,
            last: SeqNo(0),
            before: None,
            adjacent: false,
        }
    }

    /// Looks at everything; does not tell the end.
    pub fn run(mut self) -> Result<CheckSummary> {
        let ids = std::mem::take(&mut self.ids);
        let last_log = ids.iter().rev().find(|id| self.segments.check_header(**id).ok() == Some(SegmentOrigin::Log));
        let last_log = last_log.copied();
        for id in &ids {
            self.segment(*id, last_log == Some(*id))?;
        }
        self.end_of_log()?;
        self.rows()?;
        Ok(self.summary)
    }

    pub(super) fn find(
        &mut self,
        severity: Severity,
        (file, offset): (String, Option<u64>),
        cell: Option<String>,
        text: impl Into<String>,
    ) -> Result<()> {
        match severity {
            Severity::Note => self.summary.notes += 1,
            Severity::Damage => self.summary.damages += 1,
        }
        (self.tell)(CheckEvent::Finding(Finding { severity, file, offset, cell, text: text.into() }))
    }

    pub(super) fn advance(&mut self, by: u64) -> Result<()> {
        self.done += by;
        if self.done - self.reported < REPORT {
            return Ok(());
        }
        self.reported = self.done;
        (self.tell)(CheckEvent::Progress { done: self.done, total: self.total.max(self.done) })
    }

    fn segment(&mut self, id: SegmentId, is_last: bool) -> Result<()> {
        let path = self.segments.path(id).display().to_string();
        let dead = self.companion(id)?;
        self.summary.segments += 1;
        let replay = Replay::open(self.segments, id, 0);
        let mut replay = match replay {
            Ok(replay) => replay,
            Err(e) if e.kind == ErrorKind::Corrupt => {
                if self.out_of_order(id, &path)? {
                    return Ok(());
                }
                let text = format!("{e}; none of its cells can be read. Restore them from a backup");
                return self.find(Severity::Damage, (path, Some(0)), None, text);
            }
            Err(e) => return Err(e),
        };
        let origin = replay.origin();
        let (mut before, mut surveyed) = (0, false);
        if origin == SegmentOrigin::Log {
            let there = |id| self.segments.get(SegmentId(id)).is_some();
            self.adjacent = self.before.is_some_and(|before| (before.0..id.0).all(there));
        }
        while let Some(event) = replay.next_event()? {
            match event {
                ReplayEvent::Record { offset, end, seq, found, .. } => {
                    self.order((&path, offset), origin, (id, seq))?;
                    self.record(id, found, &dead)?;
                    self.advance(end - before)?;
                    before = end;
                }
                ReplayEvent::Damage { offset, resume, reason, salvage } => {
                    if !std::mem::replace(&mut surveyed, true) {
                        self.out_of_order(id, &path)?;
                    }
                    // A compaction that was stopped: rows that point into what is missing are found by themselves.
                    let stopped = origin == SegmentOrigin::Compaction && (resume.is_none() || self.is_unused(id));
                    let torn = stopped || resume.is_none() && is_last && self.last >= self.known.synced;
                    self.damaged(id, (path.clone(), offset), (reason, torn), salvage, &dead)?;
                }
            }
        }
        self.summary.bytes += self.segments.get(id).map_or(0, |segment| segment.len());
        Ok(())
    }

    /// Whether the index is known to point to nothing in a segment.
    fn is_unused(&self, id: SegmentId) -> bool {
        self.index.is_some() && self.meta.segments.get(&id).is_none_or(|stats| stats.live == 0)
    }

    /// Tells of records that are not where they were written; whether there are any, or the segment's header alone is
    /// damaged.
    fn out_of_order(&mut self, id: SegmentId, path: &str) -> Result<bool> {
        let Some(mending) = survey(self.segments, id)? else { return Ok(false) };
        let text = match mending.records {
            0 => {
                "the segment's header is damaged, its records are not. `cellfs check --repair` makes it anew".to_owned()
            }
            moved => format!(
                "bytes came or went here: {moved} whole records are not where they were written. `cellfs check --repair` \
                 puts them back"
            ),
        };
        self.find(Severity::Damage, (path.to_owned(), Some(mending.at)), None, text)?;
        Ok(true)
    }

    fn order(
        &mut self,
        (path, offset): (&str, u64),
        origin: SegmentOrigin,
        (id, seq): (SegmentId, SeqNo),
    ) -> Result<()> {
        self.summary.records += 1;
        if origin == SegmentOrigin::Compaction {
            return Ok(());
        }
        self.before = Some(id);
        // A rescue after a failed sync repeats records.
        let adjacent = std::mem::replace(&mut self.adjacent, true);
        // What the index has had may be gone from among the rest, with a segment of before a rescue.
        let missed = seq.0 > self.last.0 + 1 && seq.0 > self.known.covered.max(self.meta.checkpoint.seq).0 + 1;
        let gap = adjacent && missed && self.last.0 > 0 && seq <= self.known.synced;
        if gap && !self.explained(self.last, SeqNo(seq.0 - 1)) {
            let text = format!("number {} follows number {}: what was between is missing", seq.0, self.last.0);
            self.find(Severity::Damage, (path.to_owned(), Some(offset)), None, text)?;
        }
        self.last = self.last.max(seq);
        Ok(())
    }

    /// The marks of dropped entries.
    fn companion(&mut self, id: SegmentId) -> Result<DeadMarks> {
        let file = look_at_dead(self.segments, id)?;
        let path = self.segments.dead_path(id).display().to_string();
        for offset in file.damage {
            let text = "marks of dropped cells are damaged; without the index those cells would come back";
            self.find(Severity::Damage, (path.clone(), Some(offset)), None, text)?;
        }
        if file.torn > 0 {
            let text = "it ends with a part of a block: a crash, or damage";
            self.find(Severity::Note, (path, Some(file.whole)), None, text)?;
        }
        Ok(file.marks)
    }

    fn record(&mut self, id: SegmentId, found: Vec<Found>, dead: &DeadMarks) -> Result<()> {
        for one in found {
            self.summary.entries += 1;
            let family = self.families.get(&one.entry.family);
            let wanted = family.is_some() && !dead.contains(one.offset) && one.entry.seq <= self.meta.checkpoint.seq;
            if wanted && let Some(index) = self.index {
                self.entry(index, id, &one)?;
            }
        }
        Ok(())
    }

    /// An entry that the index should have.
    fn entry(&mut self, index: &IndexView<'_>, id: SegmentId, one: &Found) -> Result<()> {
        let place = (self.segments.path(id).display().to_string(), Some(one.offset));
        let entry = &one.entry;
        let key = key::cell_key(entry.family, &entry.row, &entry.qualifier, entry.timestamp, entry.kind, entry.seq);
        let row = match row_of(index, &key) {
            Ok(row) => row,
            Err(e) => {
                return self.find(Severity::Damage, (self.index_path.clone(), None), Some(self.name(entry)), e.message);
            }
        };
        match row {
            Some(row) if row.place() == (id, one.offset) => {
                self.matched += 1;
                let same = row.value == one.value && row.tags == entry.tags;
                let text = "the index says other things of this cell than its record does";
                if same { Ok(()) } else { self.find(Severity::Damage, place, Some(self.name(entry)), text) }
            }
            // The same cell was copied: by a compaction, or by a rescue after a failed sync.
            Some(_) => Ok(()),
            None if self.expired(entry) => Ok(()),
            None => {
                let text = "the index lacks this cell";
                self.find(Severity::Damage, place, Some(self.name(entry)), text)
            }
        }
    }

    /// What has expired may go from the index without a mark.
    fn expired(&self, entry: &Entry) -> bool {
        let own = entry.tags.alive_until(entry.timestamp).is_some_and(|last| last < self.now.0);
        let rules = self.families.get(&entry.family).map(|named| &named.rules);
        own || rules.is_some_and(|rules| past_family_ttl(rules, entry.timestamp, self.now))
    }

    fn damaged(
        &mut self,
        id: SegmentId,
        (path, offset): (String, u64),
        (reason, torn): (&str, bool),
        salvage: Salvage,
        dead: &DeadMarks,
    ) -> Result<()> {
        if torn {
            let text = format!("{reason}: what a crash or a full disk has left of a write; nothing counts on it");
            return self.find(Severity::Note, (path, Some(offset)), None, text);
        }
        self.last = self.last.max(salvage.seq.unwrap_or_default());
        let lost = match salvage.lost {
            Some(0) => String::new(),
            Some(lost) => format!("; {lost} of its cells cannot even be named"),
            None => "; an unknown number of cells cannot even be named".to_owned(),
        };
        let text = format!("{reason}{lost}. Restore what cannot be read from a backup");
        self.find(Severity::Damage, (path.clone(), Some(offset)), None, text)?;
        for one in salvage.found.iter().filter(|one| !one.whole && !dead.contains(one.offset)) {
            let text = "the value cannot be read. Put it again, or restore it from a backup";
            self.find(Severity::Damage, (path.clone(), Some(one.offset)), Some(self.name(&one.entry)), text)?;
        }
        self.record(id, salvage.found, dead)
    }

    /// Where the log ends. What a flush has taken over may have left it by a compaction: its rows are looked at one by
    /// one.
    fn reached(&self) -> SeqNo {
        self.last.max(self.known.covered).max(self.meta.checkpoint.seq)
    }

    /// Whether it is known that the numbers behind `after` up to `upto` are lost.
    fn explained(&self, after: SeqNo, upto: SeqNo) -> bool {
        self.known.lost.iter().any(|lost| lost.explains(after, upto))
    }

    fn end_of_log(&mut self) -> Result<()> {
        if self.reached() >= self.known.synced || self.explained(self.reached(), self.known.synced) {
            return Ok(());
        }
        let text = format!(
            "the log ends with number {}; up to {} it was on the disk once. Restore what is missing from a backup",
            self.reached().0,
            self.known.synced.0
        );
        self.find(Severity::Damage, (self.segments.dir().display().to_string(), None), None, text)
    }

    /// A cell for people.
    pub(super) fn name(&self, entry: &Entry) -> String {
        let row = to_string_binary(&entry.row);
        let column = to_string_binary(&entry.qualifier);
        let what = match entry.kind {
            CellKind::Put => "cell".to_owned(),
            CellKind::Tombstone(kind) => format!("tombstone {}", kind.name()),
        };
        let (time, seq) = (entry.timestamp, entry.seq.0);
        match self.families.get(&entry.family) {
            Some(Named { table, family, .. }) => {
                format!("{what} of table {table}, row {row}, column {family}:{column}, timestamp {time}, number {seq}")
            }
            None => format!("{what} of a dropped family, row {row}, column {column}, timestamp {time}, number {seq}"),
        }
    }
}

fn row_of(index: &IndexView<'_>, key: &[u8]) -> Result<Option<IndexRow>> {
    let mut found = None;
    index.page(key, &[key, &[0]].concat(), 1, &mut |_, row| {
        found = Some(row);
        Ok(())
    })?;
    Ok(found)
}

/// The row of a key.
pub fn lookup(index: &Index, key: &[u8]) -> Result<Option<IndexRow>> {
    let mut found = None;
    let end = [key, &[0]].concat();
    index.page(key, &end, 1, Direction::Ascending, &mut |_, row| {
        found = Some(row);
        Ok(())
    })?;
    Ok(found)
}

fn named(catalogue: &Catalogue) -> FxHashMap<FamilyId, Named> {
    let tables: BTreeMap<FamilyId, TableName> = catalogue
        .tables
        .values()
        .flat_map(|table| table.families.values().map(|family| (family.id, table.name.clone())))
        .collect();
    let unknown = || TableName { namespace: "hbase".into(), name: "dropped".into() };
    let named = |family: &crate::model::FamilySchema| Named {
        table: tables.get(&family.id).cloned().unwrap_or_else(unknown),
        family: family.name.clone(),
        rules: family.rules.clone(),
    };
    catalogue.stored_families().map(|family| (family.id, named(family))).collect()
}

/// A damaged thing that keeps a check from going on in one place only.
pub(super) fn is_damage(e: &Error) -> bool {
    e.kind == ErrorKind::Corrupt
}
