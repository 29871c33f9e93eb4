//! From mutations to cells: timestamps, resolved deletes (SEMANTICS of HBase's HRegion.prepareDeleteTimestamps). The caller holds the row's lock.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::Ordering;

use super::planned::{Plan, Planned, timed};
use crate::format::key;
use crate::model::{
    CellInfo, CellKind, DeleteKind, DeleteMarker, FamilySchema, PutCell, Qualifier, TableSchema, Tags, Time, TimeRange,
    Timestamp, Tombstone, Value, check_value_len, hidden_for_good, overtaken,
};
use crate::segment::Reading;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::{Engine, family};
use crate::store::read::point;
use crate::visibility::{FamilyReader, ReadRules};
use crate::{Error, ErrorKind, Result};

/// How far in the future an explicit timestamp may lie, in milliseconds.
const SLOP: &str = "hbase.hregion.keyvalue.timestamp.slop.millisecs";

/// A view of a store; it is taken when something is looked for: most writes look for nothing.
pub struct Lazily<'e> {
    engine: &'e Engine,
    taken: OnceCell<ReadView>,
}

impl<'e> Lazily<'e> {
    /// Of what is stored at the first look.
    pub fn of(engine: &'e Engine) -> Self {
        Self { engine, taken: OnceCell::new() }
    }

    pub fn engine(&self) -> &'e Engine {
        self.engine
    }
}

impl Deref for Lazily<'_> {
    type Target = ReadView;

    fn deref(&self) -> &ReadView {
        self.taken.get_or_init(|| self.engine.view())
    }
}

/// Turns mutations of one row into cells.
pub struct Planner<'a> {
    pub engine: &'a Engine,
    pub view: Lazily<'a>,
    pub table: &'a TableSchema,
    pub row: &'a [u8],
    /// The clock, read after the lock was taken.
    pub now: Timestamp,
    /// Puts of a check-and-mutate are not older than the cell that was checked.
    pub least: Timestamp,
}

pub fn illegal(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

fn check_time(timestamp: Timestamp) -> Result<Timestamp> {
    if timestamp.0 < 0 {
        return Err(illegal(format!("Timestamp cannot be negative. ts={timestamp}")));
    }
    if timestamp > Timestamp::MAX {
        return Err(illegal(format!("Timestamp {timestamp} is too large; {} is the largest", Timestamp::MAX)));
    }
    Ok(timestamp)
}

/// The timestamp that a put was given; refuses one too far in the future, if the table says how far that is.
pub fn given_time(table: &TableSchema, timestamp: Timestamp, now: impl FnOnce() -> Timestamp) -> Result<Timestamp> {
    let timestamp = check_time(timestamp)?;
    let slop = table.configuration.get(SLOP).and_then(|text| text.trim().parse::<i64>().ok());
    match slop {
        Some(slop) if timestamp.0 > now().0.saturating_add(slop) => {
            let text = format!("Timestamp for KV out of range {timestamp} (too.new={slop})");
            Err(Error::new(ErrorKind::FailedSanityCheck, text))
        }
        _ => Ok(timestamp),
    }
}

impl<'a> Planner<'a> {
    pub fn put(&self, cell: PutCell) -> Result<Planned<'a>> {
        let family = family(self.table, &cell.family)?;
        self.check_len(family, &cell.qualifier, cell.value.len())?;
        let timestamp = self.put_time(family, &cell.qualifier, cell.time)?;
        let written_at = cell.ended_at.map(|_| self.now).or_else(|| self.written_at(cell.time, timestamp));
        let (ttl_ms, ended_at) = (cell.ttl_ms, cell.ended_at);
        let file = timed(cell.file, timestamp, (self.due(cell.time), self.now));
        let tags = Tags { ttl_ms, file, ended_at, written_at, ..Tags::default() };
        Ok(Planned { family, qualifier: cell.qualifier, timestamp, kind: CellKind::Put, tags, value: cell.value })
    }

    /// When a version without a given timestamp would have been written if nothing stood in its way.
    pub fn due(&self, time: Time) -> Timestamp {
        match time {
            Time::AfterNewestSince(made) => made.min(self.now),
            _ => self.now,
        }
    }

    /// When a version is written, if its timestamp runs ahead of the clock without having been given.
    pub fn written_at(&self, time: Time, timestamp: Timestamp) -> Option<Timestamp> {
        (timestamp > self.now && !matches!(time, Time::At(_))).then_some(self.now)
    }

    pub fn check_len(&self, family: &FamilySchema, qualifier: &[u8], len: u64) -> Result<()> {
        check_value_len(&family.name, qualifier, len, self.engine.value_limit())
    }

    /// The timestamp of a put.
    pub fn put_time(&self, family: &FamilySchema, qualifier: &Qualifier, time: Time) -> Result<Timestamp> {
        let timestamp = self.time_of(family, qualifier, time)?;
        // There is none later that it could have been given.
        if timestamp == Timestamp::MAX && !matches!(time, Time::At(_)) {
            self.check_shown(family, qualifier)?;
        }
        Ok(timestamp)
    }

    /// Refuses a put of the last time that there is if a tombstone of that time hides it.
    fn check_shown(&self, family: &FamilySchema, qualifier: &Qualifier) -> Result<()> {
        let last = |prefix: &[u8], wanted: fn(CellKind) -> bool| {
            self.first_time(family, prefix, Timestamp::MAX, wanted).map(|time| time == Some(Timestamp::MAX))
        };
        let prefix = key::row_prefix(self.row);
        let is_hidden = !family.rules.new_version_behavior
            && (last(&key::column_prefix(&prefix, qualifier), |kind| !kind.is_put())?
                || last(&key::column_prefix(&prefix, &[]), CellKind::is_family_tombstone)?);
        if is_hidden { Err(hidden_for_good(&family.name, qualifier)) } else { Ok(()) }
    }

    fn time_of(&self, family: &FamilySchema, qualifier: &Qualifier, time: Time) -> Result<Timestamp> {
        match time {
            Time::Now => Ok(self.clock().max(self.least)),
            Time::At(timestamp) => given_time(self.table, timestamp, || self.now),
            Time::AfterNewest => self.after_newest(family, qualifier, self.now),
            Time::AfterNewestSince(made) => self.after_newest(family, qualifier, made.min(self.now)),
            Time::AfterShown(shown) => {
                let newest = self.newest(family, qualifier, TimeRange::ALL)?;
                match newest.map(|cell| (cell.timestamp, cell.seq)) == shown {
                    true => self.after_newest(family, qualifier, self.now),
                    false => Err(overtaken()),
                }
            }
            Time::Replacing { timestamp, seq } => {
                let newest = self.newest(family, qualifier, TimeRange::ALL)?;
                match newest {
                    Some(cell) if cell.timestamp == timestamp && cell.seq == seq => Ok(timestamp),
                    _ => self.after_newest(family, qualifier, self.now),
                }
            }
        }
    }

    pub fn newest(&self, family: &FamilySchema, qualifier: &Qualifier, range: TimeRange) -> Result<Option<CellInfo>> {
        point::newest_at(self.engine, &self.view, family, (self.row, qualifier), range, self.now)
    }

    /// `time`, but later than everything stored in the column and every tombstone of its family.
    fn after_newest(&self, family: &FamilySchema, qualifier: &Qualifier, time: Timestamp) -> Result<Timestamp> {
        if self.engine.tracks.latest_of(family.id, self.row, qualifier) < time {
            return Ok(time);
        }
        let prefix = key::row_prefix(self.row);
        let column = key::column_prefix(&prefix, qualifier);
        let mut highest = self.first_time(family, &column, time, |_| true)?;
        if self.engine.tracks.of(family.id).family_tombstones.load(Ordering::Acquire) {
            let tombstones =
                self.first_time(family, &key::column_prefix(&prefix, &[]), time, CellKind::is_family_tombstone)?;
            highest = highest.max(tombstones);
        }
        let given = highest.map_or(time, |t| time.max(t.next()));
        self.engine.clock.note_ahead(given, self.now);
        Ok(given)
    }

    /// The time of a write that takes the clock's.
    fn clock(&self) -> Timestamp {
        self.engine.clock.of_writes(self.now)
    }

    /// The cells with a prefix; those of runs only that have any that is not before `time`.
    fn late_cursor(&self, family: &FamilySchema, prefix: &[u8], time: Timestamp, first: usize) -> Result<Cursor> {
        let end = key::prefix_end(prefix);
        let mut cursor = Cursor::in_memory(&self.view, family.id, prefix, end, first)?;
        for run in self.view.layout.runs(family.id).iter().flat_map(|runs| &runs.runs) {
            if run.greatest >= time {
                cursor = cursor.with_run(run, prefix, Reading::Point)?;
            }
        }
        Ok(cursor)
    }

    /// The greatest timestamp of the wanted cells with a prefix.
    fn first_time(
        &self,
        family: &FamilySchema,
        prefix: &[u8],
        time: Timestamp,
        wanted: impl Fn(CellKind) -> bool,
    ) -> Result<Option<Timestamp>> {
        let mut cursor = self.late_cursor(family, prefix, time, 1)?;
        while let Some(key) = cursor.key() {
            match key::decode_suffix(key) {
                Some((timestamp, kind, _)) if wanted(kind) => return Ok(Some(timestamp)),
                _ => cursor.advance()?,
            }
        }
        Ok(None)
    }

    /// The greatest timestamp in the row and family, if the clock is not later than all of the family.
    fn family_time(&self, family: &FamilySchema) -> Result<Timestamp> {
        if self.engine.tracks.of(family.id).max_timestamp.load(Ordering::Acquire) < self.now.0 {
            return Ok(self.now);
        }
        let prefix = key::row_prefix(self.row);
        let mut cursor = self.late_cursor(family, &prefix, self.now, 16)?;
        let mut time = self.now;
        while let Some(key) = cursor.key() {
            time = time.max(key::decode_suffix(key).map_or(time, |(timestamp, ..)| timestamp.next()));
            cursor.advance()?;
        }
        Ok(time)
    }

    pub fn delete(&self, markers: Vec<DeleteMarker>, plan: &mut Plan<'a>) -> Result<()> {
        let mut cells: Vec<Planned<'a>> = Vec::with_capacity(markers.len());
        let mut resolved: Vec<(String, Qualifier)> = Vec::new();
        for DeleteMarker { kind, time, erases } in markers {
            match kind {
                DeleteKind::Version { family: name, qualifier } => {
                    let family = family(self.table, &name)?;
                    let timestamp = match time {
                        Time::At(timestamp) => check_time(timestamp)?,
                        _ => {
                            resolved.push((name, qualifier.clone()));
                            let column = resolved.last();
                            let nth = resolved.iter().filter(|r| Some(*r) == column).count();
                            self.nth_newest(family, &qualifier, nth)?
                        }
                    };
                    cells.push(self.tombstone(family, qualifier, timestamp, Tombstone::Version, erases));
                }
                DeleteKind::Column { family: name, qualifier } => {
                    let family = family(self.table, &name)?;
                    let timestamp = match time {
                        Time::Now => self.clock(),
                        _ => self.time_of(family, &qualifier, time)?,
                    };
                    cells.push(self.tombstone(family, qualifier, timestamp, Tombstone::Column, erases));
                }
                DeleteKind::Family { family: name } => {
                    let family = family(self.table, &name)?;
                    // As in HBase, it takes the place of what this Delete had for the family before.
                    cells.retain(|cell| cell.family.id != family.id);
                    cells.push(self.family_tombstone(family, time, erases)?);
                }
                DeleteKind::FamilyVersion { family: name } => {
                    let family = family(self.table, &name)?;
                    let timestamp = if let Time::At(t) = time { check_time(t)? } else { self.clock() };
                    cells.push(self.tombstone(family, Vec::new(), timestamp, Tombstone::FamilyVersion, erases));
                }
                DeleteKind::Row => {
                    for family in self.table.families.values() {
                        cells.push(self.family_tombstone(family, time, erases)?);
                    }
                }
            }
        }
        plan.cells.extend(cells);
        Ok(())
    }

    fn family_tombstone(&self, family: &'a FamilySchema, time: Time, erases: bool) -> Result<Planned<'a>> {
        let timestamp = match time {
            Time::Now => self.clock(),
            Time::At(timestamp) => check_time(timestamp)?,
            _ => self.family_time(family)?,
        };
        Ok(self.tombstone(family, Vec::new(), timestamp, Tombstone::Family, erases))
    }

    /// A tombstone, written now.
    pub fn tombstone(
        &self,
        family: &'a FamilySchema,
        qualifier: Qualifier,
        timestamp: Timestamp,
        kind: Tombstone,
        erases: bool,
    ) -> Planned<'a> {
        let tags = Tags { written_at: Some(self.now), erases, ..Tags::default() };
        let value = Value::Bytes(Vec::new());
        Planned { family, qualifier, timestamp, kind: CellKind::Tombstone(kind), tags, value }
    }

    /// The timestamp of the n-th newest visible version; the clock if there are fewer.
    fn nth_newest(&self, family: &FamilySchema, qualifier: &Qualifier, nth: usize) -> Result<Timestamp> {
        let prefix = key::row_prefix(self.row);
        let mut cursor = self.engine.row_cursor(&self.view, family.id, &prefix, 16)?;
        let columns = BTreeSet::from([qualifier.clone()]);
        let plain = ReadRules::plain(&family.rules, self.now);
        let rules = ReadRules { columns: Some(&columns), max_versions: nth as u32, ..plain };
        let mut reader = FamilyReader::new(cursor.row(prefix), rules);
        for _ in 1..nth {
            reader.next()?;
        }
        Ok(reader.next()?.map_or(self.now, |visible| visible.cell.timestamp))
    }
}
