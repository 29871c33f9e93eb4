//! Changes that share a version's bytes: renames, exchanges, attributes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::apply::events_of;
use crate::backend::{Event, Leaves, RenameCell, RenameMode};
use crate::format::key;
use crate::model::{
    AttributeChange, CellInfo, CellKind, ColumnKey, FamilyId, FamilySchema, FileChange, Origin, TableSchema, Tags,
    Time, TimeRange, Timestamp, Tombstone, Value, check_row,
};
use crate::segment::Reading;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::{Engine, family};
use crate::store::plan::batch::RowCell;
use crate::store::plan::planned;
use crate::store::plan::planned::Planned;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::read::history::version_in;
use crate::store::read::point;
use crate::store::secondary::constraint::Judged;
use crate::store::space::backlog;
use crate::store::write::apply;
use crate::visibility::{self, Past, ReadRules, VisibleCell, shows_by_itself};
use crate::{Error, ErrorKind, Result};

/// One name of a rename.
struct Place<'a> {
    planner: Planner<'a>,
    family: &'a FamilySchema,
    key: &'a ColumnKey,
}

impl<'a> Place<'a> {
    fn newest(&self, range: TimeRange) -> Result<Option<CellInfo>> {
        self.planner.newest(self.family, &self.key.qualifier, range)
    }

    /// The newest version, and the cells of its column from there on, if these alone decide about it.
    fn newest_and_past(&self) -> Result<Option<(CellInfo, Option<Cursor>)>> {
        let (planner, family) = (&self.planner, self.family);
        let view: &ReadView = &planner.view;
        let is_plain = !self.key.qualifier.is_empty() && point::is_plain(planner.engine, family, TimeRange::ALL);
        if is_plain && view.doubt.is_none() {
            let row = key::row_prefix(planner.row);
            let cursor = column_alone(view, family.id, &row, &key::column_prefix(&row, &self.key.qualifier))?;
            let Some(cell) = cursor.stored(row.len()) else { return Ok(None) };
            let rules = ReadRules::plain(&family.rules, planner.now);
            if shows_by_itself(&rules, (cell.timestamp, cell.kind), &cell.tags) {
                let info = visibility::version_info(VisibleCell::live(cell), &family.rules, planner.now);
                return Ok(Some((info, Some(cursor))));
            }
        }
        Ok(self.newest(TimeRange::ALL)?.map(|newest| (newest, None)))
    }

    /// The version of a time, live or kept.
    fn version(&self, timestamp: Timestamp) -> Result<Option<CellInfo>> {
        let (planner, qualifier) = (&self.planner, &self.key.qualifier);
        version_in(planner.engine, &planner.view, (self.family, planner.row), qualifier, timestamp)
    }

    /// The source's version as a put here.
    fn put(&self, source: &CellInfo, time: Time) -> Result<Planned<'a>> {
        let qualifier = self.key.qualifier.clone();
        let timestamp = self.planner.put_time(self.family, &qualifier, time)?;
        let file = source.tags.file.with(&FileChange::of_time(Some(source.mtime())));
        let file = planned::needed(file, timestamp, self.planner.now);
        let written_at = self.planner.written_at(time, timestamp);
        let tags = Tags { file, ttl_ms: source.tags.ttl_ms, written_at, ..Tags::default() };
        let value = Value::Shared(source.clone());
        Ok(Planned { family: self.family, qualifier, timestamp, kind: CellKind::Put, tags, value })
    }

    /// Refuses a name that has the version, or any if none is given.
    fn check_free(&self, version: Option<Timestamp>) -> Result<()> {
        if self.newest(version.map_or(TimeRange::ALL, TimeRange::at))?.is_some() {
            let text = format!("{} exists", self.key.qualifier.escape_ascii());
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        Ok(())
    }

    /// Refuses a version that nobody would see: what is moved would be lost.
    fn check_shows(&self, put: &Planned<'_>) -> Result<()> {
        let (now, rules, timestamp) = (self.planner.now, &self.family.rules, put.timestamp);
        let is_past = |last: i64| last < now.0;
        let why = if visibility::past_family_ttl(rules, timestamp, now) {
            "older than the TTL of its family"
        } else if put.tags.alive_until(timestamp).is_some_and(is_past) {
            "older than the TTL that the cell has"
        } else if !rules.new_version_behavior && self.hides(timestamp)? {
            "hidden by a tombstone of a later or the same time"
        } else {
            return Ok(());
        };
        let name = self.key.qualifier.escape_ascii();
        let text = format!("version {} of {name} would be {why}, and gone at once: nothing is moved", timestamp.0);
        Err(Error::new(ErrorKind::NotPermitted, text))
    }

    fn hides(&self, timestamp: Timestamp) -> Result<bool> {
        let row = key::row_prefix(self.planner.row);
        let mut cursor = self.column(&row)?;
        visibility::hides_what_comes(cursor.row(row), &self.key.qualifier, timestamp)
    }

    /// The tombstone that the old name gets, of a version alone if one is given.
    fn bury(&self, version: Option<Timestamp>, erases: bool) -> Result<Planned<'a>> {
        let qualifier = self.key.qualifier.clone();
        if let Some(timestamp) = version {
            return Ok(self.planner.tombstone(self.family, qualifier, timestamp, Tombstone::Version, false));
        }
        let timestamp = self.planner.put_time(self.family, &qualifier, Time::AfterNewest)?;
        Ok(self.planner.tombstone(self.family, qualifier, timestamp, Tombstone::Column, erases))
    }

    /// Whether nothing is to be left of the column, whose one version goes to another name; `past`: its cells, if they are
    /// at hand.
    fn is_temporary(&self, past: Option<Cursor>, to: &ColumnKey) -> Result<bool> {
        let row = key::row_prefix(self.planner.row);
        let mut cursor = match past {
            Some(past) => past,
            None => self.column(&row)?,
        };
        let settled_after = self.planner.engine.tracks.settled_after(self.family.id);
        Ok(match visibility::past_of(cursor.row(row), &self.key.qualifier, settled_after)? {
            Past::One => true,
            Past::OneSinceErased => !is_backup(&self.key.qualifier, &to.qualifier),
            Past::Other => false,
        })
    }

    /// The cells that decide about the column; others may be among them.
    fn column(&self, row: &[u8]) -> Result<Cursor> {
        let (view, family) = (&self.planner.view, self.family.id);
        let column = key::column_prefix(row, &self.key.qualifier);
        match is_alone(self.planner.engine, view, family) {
            true => column_alone(view, family, row, &column),
            false => Cursor::of_column(view, family, row, &column),
        }
    }
}

/// Whether a name is that of a backup (`q~`, `q.bak`, `q.1`): who moves a file there makes it anew, and what it has been
/// is asked of its own name.
fn is_backup(of: &[u8], name: &[u8]) -> bool {
    name.len() > of.len() && name.starts_with(of)
}

/// The cells of a column.
fn column_alone(view: &ReadView, family: FamilyId, row: &[u8], column: &[u8]) -> Result<Cursor> {
    // Mostly there is one: with room for two, one look tells that there are no more.
    let mut cursor = Cursor::in_memory(view, family, column, key::prefix_end(column), 2)?;
    for run in view.layout.runs(family).iter().flat_map(|runs| &runs.runs) {
        if run.may_hold(column, &|extent| extent.may_hold_column(row, column))? {
            cursor = cursor.with_run(run, column, Reading::Point)?;
        }
    }
    Ok(cursor)
}

fn not_found(key: &ColumnKey) -> Error {
    let text = format!(
        "{}, row {}: {}:{} does not exist",
        key.table,
        key.row.escape_ascii(),
        key.family,
        key.qualifier.escape_ascii()
    );
    Error::new(ErrorKind::NotFound, text)
}

/// Whether the cells of a column alone decide what has become of it: nothing may be lost, and no tombstone of the whole
/// family stored.
fn is_alone(engine: &Engine, view: &ReadView, family: FamilyId) -> bool {
    view.doubt.is_none() && !engine.tracks.of(family).family_tombstones.load(Ordering::Acquire)
}

fn place<'a>(engine: &'a Engine, table: &'a TableSchema, key: &'a ColumnKey, now: Timestamp) -> Result<Place<'a>> {
    let view = Lazily::of(engine);
    let planner = Planner { engine, view, table, row: &key.row, now, least: Timestamp::ZERO };
    Ok(Place { planner, family: family(table, &key.family)?, key })
}

/// Moves a cell, in one atomic record; the version that the target got.
pub fn rename_cell(engine: &Engine, rename: &RenameCell) -> Result<CellInfo> {
    check_row(&rename.to.row)?;
    engine.log.check_poison()?;
    backlog::make_room(engine, false)?;
    let declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let from_table = apply::writable(engine.table(&catalogue, &rename.from.table)?)?;
    let to_table = apply::writable(engine.table(&catalogue, &rename.to.table)?)?;
    let locks = engine.row_locks.lock_two((from_table, &rename.from.row), (to_table, &rename.to.row));
    let now = engine.now();
    let from = place(engine, from_table, &rename.from, now)?;
    let to = place(engine, to_table, &rename.to, now)?;
    let source = match rename.from_version {
        Some(version) => from.newest(TimeRange::at(version))?.map(|source| (source, None)),
        None => from.newest_and_past()?,
    };
    let (source, past) = source.ok_or_else(|| not_found(&rename.from))?;
    if rename.from == rename.to && rename.to_version == Some(source.timestamp) {
        return Ok(source);
    }
    // Within one column the whole column's tombstone would hide the version that is put.
    let within = (rename.from == rename.to).then_some(source.timestamp);
    let moved_version = rename.from_version.or(within);
    let time = rename.to_version.map_or(Time::AfterNewest, Time::At);
    let target = to.put(&source, time)?;
    if rename.to_version.is_some() {
        to.check_shows(&target)?;
    }
    if rename.mode == RenameMode::NoReplace {
        to.check_free(rename.to_version)?;
    }
    let other = match rename.mode {
        RenameMode::Replace | RenameMode::NoReplace => {
            let leaves_nothing = moved_version.is_none() && rename.leaves == Leaves::Nothing;
            from.bury(moved_version, leaves_nothing && from.is_temporary(past, &rename.to)?)?
        }
        RenameMode::Exchange => {
            let back = to.newest(TimeRange::ALL)?.ok_or_else(|| not_found(&rename.to))?;
            from.put(&back, Time::AfterNewest)?
        }
    };
    let first_ttl = planned::first_ttl(engine, to_table, std::slice::from_ref(&target));
    let changed = |column: &Arc<ColumnKey>| Event::Column { column: Arc::clone(column), origin: rename.origin };
    let mut events = vec![changed(&rename.to)];
    events.extend(first_ttl);
    events.extend((rename.from != rename.to).then(|| changed(&rename.from)));
    let cells = vec![
        RowCell { table: to_table, row: &rename.to.row, cell: target },
        RowCell { table: from_table, row: &rename.from.row, cell: other },
    ];
    let (seq, written) = apply::commit(&from.planner.view, cells.into_iter(), Judged::Puts, Some(now))?;
    drop((locks, declared));
    apply::settle(engine, seq, apply::durability(engine, to_table).max(apply::durability(engine, from_table)))?;
    engine.subscribers.announce(&events);
    written.into_iter().next().ok_or_else(|| not_found(&rename.from))
}

/// Puts a stored version again, with the same timestamp and bytes and other attributes, unless it has them.
pub fn set_attributes(
    engine: &Engine,
    column: &ColumnKey,
    cell: &CellInfo,
    change: &AttributeChange,
    origin: Origin,
) -> Result<CellInfo> {
    engine.log.check_poison()?;
    backlog::make_room(engine, false)?;
    let declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let table = apply::writable(engine.table(&catalogue, &column.table)?)?;
    let lock = engine.row_locks.lock(table, &column.row);
    let place = place(engine, table, column, engine.now())?;
    let stored = place.version(cell.timestamp)?.ok_or_else(|| not_found(column))?;
    let mut file = change.file;
    file.mtime = file.mtime.filter(|time| *time != stored.mtime());
    let file = planned::needed(stored.tags.file.with(&file), stored.timestamp, place.planner.now);
    let ttl_ms = change.ttl_ms.unwrap_or(stored.tags.ttl_ms);
    if file == stored.tags.file && ttl_ms == stored.tags.ttl_ms {
        return Ok(stored);
    }
    let tags = Tags {
        file: file.changed_at(place.planner.now),
        ttl_ms,
        // A deleted version that is kept stays deleted.
        ended_at: stored.deleted_at,
        written_at: match stored.deleted_at {
            Some(_) if stored.tags.ended_at.is_none() => Some(place.planner.now),
            _ => stored.tags.written_at,
        },
        erases: true,
        ..Tags::default()
    };
    let (family, qualifier, timestamp) = (place.family, column.qualifier.clone(), stored.timestamp);
    let value = Value::Shared(stored);
    let put = Planned { family, qualifier, timestamp, kind: CellKind::Put, tags, value };
    let mut events = events_of(table, &column.row, std::slice::from_ref(&put), origin);
    events.extend(planned::first_ttl(engine, table, std::slice::from_ref(&put)));
    let cells = vec![RowCell { table, row: &column.row, cell: put }];
    let (seq, written) =
        apply::commit(&place.planner.view, cells.into_iter(), Judged::Nothing, Some(place.planner.now))?;
    drop((lock, declared));
    apply::settle(engine, seq, apply::durability(engine, table))?;
    engine.subscribers.announce(&events);
    written.into_iter().next().ok_or_else(|| not_found(column))
}
