//! Reads of single columns, listings of rows, families, columns and versions.

use std::sync::atomic::Ordering;

use crate::Result;
use crate::backend::{RowListing, Versions};
use crate::format::key;
use crate::model::{
    CellInfo, ColumnKey, FamilySchema, KeyList, Qualifier, RowKey, TableName, TableSchema, Tags, TimeRange, Timestamp,
};
use crate::store::cursor::lane::Copied;
use crate::store::cursor::row_place::RowPlace;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::{Cursor, End};
use crate::store::engine::histories::Asked;
use crate::store::engine::{Engine, family, known_table};
use crate::store::layout::far::FAR;
use crate::store::read::get;
use crate::visibility::{self, FamilyReader, ReadRules, View, VisibleCell, shows_by_itself};

/// Cells of the first page of a read of one row.
pub const FEW: usize = 16;
/// Rows for which there is room from the start.
const MANY: usize = 2048;
/// Rows after which a long walk takes a new view, so that old memtables can go.
pub const VIEW_ROWS: usize = 4096;

/// Which cells of rows are looked for, and when.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub range: TimeRange,
    pub which: Versions,
    pub now: Timestamp,
}

/// One family of a listing of rows.
pub struct FamilyWalk {
    pub schema: FamilySchema,
    pub cursor: Cursor,
    /// See [`is_plain`].
    pub plain: bool,
}

/// The newest visible version of a column.
pub fn newest(engine: &Engine, column: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>> {
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &column.table)?;
    let family = family(table, &column.family)?;
    newest_in(engine, &engine.view(), family, &column.row, &column.qualifier, range)
}

/// As [`newest`], of a known family.
pub fn newest_in(
    engine: &Engine,
    view: &ReadView,
    family: &FamilySchema,
    row: &[u8],
    qualifier: &Qualifier,
    range: TimeRange,
) -> Result<Option<CellInfo>> {
    newest_at(engine, view, family, (row, qualifier), range, engine.now())
}

/// As [`newest_in`], at one time for all that a change asks: what expires in between would be there for its condition, and
/// not for what it makes of it.
pub fn newest_at(
    engine: &Engine,
    view: &ReadView,
    family: &FamilySchema,
    (row, qualifier): (&[u8], &Qualifier),
    range: TimeRange,
    now: Timestamp,
) -> Result<Option<CellInfo>> {
    if range != TimeRange::ALL {
        view.check_doubt()?;
    }
    let prefix = key::row_prefix(row);
    #[cfg(test)]
    let is_late = family.rules.ttl_ms.is_some() && engine.breaks(crate::store::options::Broken::ShowsExpired);
    #[cfg(test)]
    let now = if is_late { Timestamp(now.0 - 1_500) } else { now };
    let column = key::column_prefix(&prefix, qualifier);
    if !qualifier.is_empty() && is_plain(engine, family, range) {
        let cursor = Cursor::first_of(view, family.id, &prefix, &column)?;
        let Some(cell) = cursor.stored(prefix.len()) else { return Ok(None) };
        if shows_by_itself(&ReadRules::plain(&family.rules, now), (cell.timestamp, cell.kind), &cell.tags) {
            return Ok(Some(visibility::version_info(VisibleCell::live(cell), &family.rules, now)));
        }
    }
    let only = Timestamp(range.min);
    if range == TimeRange::at(only)
        && let Some(found) = live_at(engine, asked(engine, view, family, (row, qualifier), now), only)?
    {
        return Ok(Some(found));
    }
    let settled_after = engine.tracks.settled_after(family.id);
    let rules = ReadRules { time_range: range, settled_after, ..ReadRules::plain(&family.rules, now) };
    let mut cursor = Cursor::of_column(view, family.id, &prefix, &column)?;
    visibility::newest(cursor.row(prefix), rules, qualifier)
}

pub(super) fn asked<'a>(
    engine: &Engine,
    view: &'a ReadView,
    family: &'a FamilySchema,
    (row, qualifier): (&'a [u8], &'a Qualifier),
    now: Timestamp,
) -> Asked<'a> {
    Asked { view, family, row, qualifier, written_upto: engine.tracks.written_upto(family.id, row, qualifier), now }
}

/// The version at a timestamp, if it is known to be live.
fn live_at(engine: &Engine, of: Asked<'_>, timestamp: Timestamp) -> Result<Option<CellInfo>> {
    match engine.histories.live(of)? {
        Some(live) if live.has(timestamp) => Ok(shown_at(of, &[timestamp])?.and_then(|mut found| found.pop())),
        _ => Ok(None),
    }
}

/// Versions of a column that are live at these timestamps, falling, of which no live one is left out in between; `None`: the
/// rules in full have to be asked.
pub(super) fn shown_at(of: Asked<'_>, timestamps: &[Timestamp]) -> Result<Option<Vec<CellInfo>>> {
    let Some(first) = timestamps.first() else { return Ok(Some(Vec::new())) };
    let prefix = key::row_prefix(of.row);
    let column = key::column_prefix(&prefix, of.qualifier);
    let (start, end) = (key::version_start(&column, *first), key::prefix_end(&column));
    let mut cursor = Cursor::new(of.view, of.family.id, &start, end, timestamps.len().min(MANY))?;
    let rules = ReadRules::plain(&of.family.rules, of.now);
    let mut found = Vec::with_capacity(timestamps.len());
    for timestamp in timestamps {
        // Puts of the one before that it has replaced.
        while cursor.key().and_then(key::decode_suffix).is_some_and(|(time, ..)| time > *timestamp) {
            cursor.advance()?;
        }
        match cursor.stored(prefix.len()) {
            Some(cell)
                if cell.timestamp == *timestamp && shows_by_itself(&rules, (*timestamp, cell.kind), &cell.tags) =>
            {
                found.push(visibility::version_info(VisibleCell::live(cell), &of.family.rules, of.now));
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Whether nothing but what stands in a column itself decides what is seen of it: no TTL of the family,
/// no time range, no tombstone of a whole family. After the view was taken.
pub fn is_plain(engine: &Engine, family: &FamilySchema, range: TimeRange) -> bool {
    range == TimeRange::ALL
        && family.rules.ttl_ms.is_none()
        && !engine.tracks.of(family.id).family_tombstones.load(Ordering::Acquire)
}

/// See [`crate::backend::Backend::moment`]: a millisecond before now where nothing stored is later, so that what is
/// written within this one is later than the moment.
pub fn moment(engine: &Engine, table: &TableName) -> Result<Timestamp> {
    let catalogue = engine.catalogue.load();
    let families = known_table(&catalogue, table)?.families.values();
    let latest = families.map(|family| engine.tracks.of(family.id).max_timestamp.load(Ordering::Acquire)).max();
    Ok(Timestamp(latest.unwrap_or(0).max(engine.now().0 - 1).max(0)))
}

/// See [`crate::backend::Backend::last_columns`].
pub fn last_columns(
    engine: &Engine,
    (table, row, name): (&TableName, &[u8], &str),
    before: &[u8],
    range: TimeRange,
    limit: usize,
) -> Result<Vec<Qualifier>> {
    let catalogue = engine.catalogue.load();
    let family = family(engine.table(&catalogue, table)?, name)?;
    let view = engine.view();
    view.check_doubt()?;
    let prefix = key::row_prefix(row);
    let mut end = match before {
        [] => key::prefix_end(&prefix),
        before => key::column_prefix(&prefix, before),
    };
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(last) = get::last_key(&view, family.id, &prefix, &end)?
        && let Some(qualifier) = key::qualifier_of(&last, prefix.len())
    {
        end = key::column_prefix(&prefix, &qualifier);
        if newest_in(engine, &view, family, row, &qualifier, range)?.is_some() {
            found.push(qualifier);
        }
    }
    Ok(found)
}

/// Versions of a column, newest first.
pub fn list_versions(
    engine: &Engine,
    column: &ColumnKey,
    which: Versions,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<CellInfo>> {
    let catalogue = engine.catalogue.load();
    let family = family(engine.table(&catalogue, &column.table)?, &column.family)?;
    let (view, now) = (engine.view(), engine.now());
    let of = (column.row.as_slice(), &column.qualifier);
    if let Some(before) = before
        && let Some(found) = live_before(engine, asked(engine, &view, family, of, now), before, limit)?
    {
        return Ok(found);
    }
    let mut found = Vec::new();
    visit_versions(engine, &view, family, of, which, |visible| {
        if found.len() < limit && before.is_none_or(|before| visible.cell.timestamp < before) {
            found.push(visibility::version_info(visible, &family.rules, now));
        }
        found.len() < limit
    })?;
    Ok(found)
}

/// The versions before a time, if all that is shown of the column is known to be live.
fn live_before(engine: &Engine, of: Asked<'_>, before: Timestamp, limit: usize) -> Result<Option<Vec<CellInfo>>> {
    of.view.check_doubt()?;
    match engine.histories.live(of)? {
        Some(live) if live.are_all => {
            let rest = live.before(before);
            shown_at(of, &rest[..rest.len().min(limit)])
        }
        _ => Ok(None),
    }
}

/// Shows the versions of a column (row key, qualifier), newest first, while `more` of them are wanted.
pub fn visit_versions(
    engine: &Engine,
    view: &ReadView,
    family: &FamilySchema,
    (row, qualifier): (&[u8], &Qualifier),
    which: Versions,
    mut more: impl FnMut(VisibleCell) -> bool,
) -> Result<()> {
    view.check_doubt()?;
    let prefix = key::row_prefix(row);
    let mut cursor = Cursor::of_column(view, family.id, &prefix, &key::column_prefix(&prefix, qualifier))?;
    let columns = std::collections::BTreeSet::from([qualifier.clone()]);
    let plain = ReadRules::plain(&family.rules, engine.now());
    let rules = ReadRules { columns: Some(&columns), max_versions: u32::MAX, view: shown_as(which), ..plain };
    // Not a time range of the past: in one, what was deleted later shows as live.
    let mut reader = FamilyReader::new(cursor.row(prefix), rules);
    while let Some(visible) = reader.next()? {
        if !more(visible) {
            break;
        }
    }
    Ok(())
}

/// Families in which a row has a visible cell.
pub fn list_families(
    engine: &Engine,
    table: &TableName,
    row: &[u8],
    range: TimeRange,
    which: Versions,
) -> Result<Vec<String>> {
    let catalogue = engine.catalogue.load();
    let table = engine.table_for(&catalogue, table, which)?;
    let view = engine.view();
    let mut names = Vec::new();
    for (name, family) in &table.families {
        let prefix = key::row_prefix(row);
        let mut cursor = engine.row_cursor(&view, family.id, &prefix, FEW)?;
        if shows(&mut cursor, family, prefix, wanted(engine, range, which))? {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// Looked for now.
pub fn wanted(engine: &Engine, range: TimeRange, which: Versions) -> Wanted {
    Wanted { range, which, now: engine.now() }
}

/// Whether anything of a row and family is visible; the cursor ends up inside or behind it.
pub fn shows(cursor: &mut Cursor, family: &FamilySchema, prefix: Vec<u8>, wanted: Wanted) -> Result<bool> {
    let Wanted { range: time_range, which, now } = wanted;
    let rules = ReadRules { time_range, view: shown_as(which), ..ReadRules::plain(&family.rules, now) };
    Ok(FamilyReader::new(cursor.row(prefix), rules).next()?.is_some())
}

/// Keys of rows with a visible cell.
pub fn list_rows(engine: &Engine, listing: &RowListing) -> Result<KeyList> {
    let catalogue = engine.catalogue.load();
    let table = engine.table_for(&catalogue, &listing.table, listing.which)?;
    let mut after = listing.after.clone();
    let mut rows = KeyList::with_capacity(listing.limit.min(MANY));
    loop {
        let last = walk_rows(engine, table, after.as_deref(), listing, &mut rows)?;
        match last {
            Some(last) if rows.len() < listing.limit => after = Some(last),
            _ => return Ok(rows),
        }
    }
}

/// Whether a family of a table shows a cell.
pub fn has_rows(engine: &Engine, table: &TableSchema) -> Result<bool> {
    let (before, time_range, which) = (Vec::new(), TimeRange::ALL, Versions::Live);
    let listing = RowListing { table: table.name.clone(), after: None, before, time_range, which, limit: 1 };
    let (mut after, mut rows) = (None::<RowKey>, KeyList::with_capacity(1));
    loop {
        after = walk_rows(engine, table, after.as_deref(), &listing, &mut rows)?;
        if !rows.is_empty() || after.is_none() {
            return Ok(!rows.is_empty());
        }
    }
}

/// Lists with one view; the last row that was looked at, if there may be more.
fn walk_rows(
    engine: &Engine,
    table: &TableSchema,
    after: Option<&[u8]>,
    listing: &RowListing,
    rows: &mut KeyList,
) -> Result<Option<RowKey>> {
    let view = engine.view();
    let first = FEW.max(listing.limit.min(1024));
    let mut walks = Vec::with_capacity(table.families.len());
    for schema in table.families.values() {
        let from = match after {
            Some(row) => key::prefix_end(&key::row_prefix(row)),
            None => Vec::new(),
        };
        let end: End = match listing.before.as_slice() {
            [] => FAR.into(),
            row => key::row_prefix(row).into(),
        };
        let plain = is_plain(engine, schema, listing.time_range);
        let copied = if plain { Copied::FirstOfRow } else { Copied::All };
        let cursor = Cursor::copying(&view, (schema.id, copied), &from, end, first)?;
        walks.push(FamilyWalk { schema: schema.clone(), cursor, plain });
    }
    let (mut place, wanted) = (RowPlace::default(), wanted(engine, listing.time_range, listing.which));
    for _ in 0..VIEW_ROWS {
        if rows.len() >= listing.limit {
            return Ok(None);
        }
        let is_there = match walks.as_slice() {
            [walk] => place.enter_at(walk.cursor.key()),
            _ => place.enter(|take| walks.iter().filter_map(|walk| walk.cursor.key()).for_each(take)),
        };
        if !is_there {
            return Ok(None);
        }
        if row_shows(&mut walks, &place, wanted)? {
            place.put_row(rows);
        }
    }
    Ok(place.row())
}

/// Whether anything of a row is visible in what is walked over, which is behind it then.
pub fn row_shows(walks: &mut [FamilyWalk], row: &RowPlace, wanted: Wanted) -> Result<bool> {
    let (mut is_shown, is_alone) = (false, walks.len() == 1);
    for walk in walks {
        // The only one has led here.
        if !is_shown && (is_alone || row.holds(&walk.cursor)) {
            if walk.first_shows(wanted.now) {
                is_shown = true;
                walk.cursor.leave_row(row)?;
                continue;
            }
            is_shown = shows(&mut walk.cursor, &walk.schema, row.prefix().to_vec(), wanted)?;
        }
        walk.cursor.pass_row(row)?;
    }
    Ok(is_shown)
}

impl FamilyWalk {
    /// Whether the cell at which it stands is seen, which is the first of its row: no more has to be looked at then.
    fn first_shows(&self, now: Timestamp) -> bool {
        let Some((timestamp, kind, _)) = self.cursor.key().and_then(key::decode_suffix) else { return false };
        let shows = |tags: &Tags| shows_by_itself(&ReadRules::plain(&self.schema.rules, now), (timestamp, kind), tags);
        self.plain && self.cursor.tags().is_some_and(|tags| shows(&tags))
    }
}

fn shown_as(which: Versions) -> View {
    match which {
        Versions::Live => View::Plain,
        Versions::LiveAndKept => View::WithKept,
    }
}
