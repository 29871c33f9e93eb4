//! The whole history of a family of a row: live versions, and deleted ones that are kept.

use std::collections::VecDeque;

use crate::Result;
use crate::backend::{HistoryFrom, VersionRun, Versions};
use crate::format::key;
use crate::model::{CellInfo, ColumnKey, FamilySchema, Qualifier, TableName, Timestamp};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::histories::Asked;
use crate::store::engine::{Engine, family};
use crate::store::read::point::{asked, shown_at};
use crate::visibility::{self, FamilyReader, ReadRules, View, VisibleCell};

/// Versions that are read on either side of one that is known to be live.
const AROUND_LIVE: usize = 16;

/// Versions after a place, in the order of listings.
pub fn list_history(
    engine: &Engine,
    (table, row, name): (&TableName, &[u8], &str),
    from: Option<&HistoryFrom>,
    limit: usize,
) -> Result<Vec<(Qualifier, CellInfo)>> {
    let catalogue = engine.catalogue.load();
    let family = family(engine.table_for(&catalogue, table, Versions::LiveAndKept)?, name)?;
    let now = engine.now();
    let mut found = Vec::new();
    walk_history(engine, &engine.view(), (family, row), from, |visible| {
        let qualifier = visible.cell.qualifier.clone();
        found.push((qualifier, visibility::version_info(visible, &family.rules, now)));
        found.len() < limit
    })?;
    Ok(found)
}

/// See [`crate::backend::Backend::list_around`].
pub fn list_around(engine: &Engine, column: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun> {
    let catalogue = engine.catalogue.load();
    let family = family(engine.table_for(&catalogue, &column.table, Versions::LiveAndKept)?, &column.family)?;
    let view = engine.view();
    if !was_put(&view, family, column, timestamp)? {
        return Ok(VersionRun::default());
    }
    let of = asked(engine, &view, family, (&column.row, &column.qualifier), engine.now());
    if let Some(cells) = live_around(engine, of, timestamp, count.min(AROUND_LIVE))? {
        return Ok(VersionRun { cells, from_newest: false, to_oldest: false });
    }
    let from = HistoryFrom { qualifier: column.qualifier.clone(), before: None };
    let (mut newer, mut older) = (VecDeque::new(), Vec::new());
    let (mut from_newest, mut to_oldest) = (true, true);
    walk_history(engine, &view, (family, &column.row), Some(&from), |visible| {
        if visible.cell.qualifier != column.qualifier {
            return false;
        }
        if visible.cell.timestamp > timestamp {
            if newer.len() == count {
                newer.pop_front();
                from_newest = false;
            }
            newer.push_back(visible);
            return true;
        }
        to_oldest = older.len() <= count;
        if to_oldest {
            older.push(visible);
        }
        to_oldest
    })?;
    let now = engine.now();
    let info = |visible| visibility::version_info(visible, &family.rules, now);
    Ok(VersionRun { cells: newer.into_iter().chain(older).map(info).collect(), from_newest, to_oldest })
}

/// A version that is known to be live, and some around it, without those in between; `None`: the rules in full have to be
/// asked.
fn live_around(engine: &Engine, of: Asked<'_>, timestamp: Timestamp, count: usize) -> Result<Option<Vec<CellInfo>>> {
    of.view.check_doubt()?;
    let Some(live) = engine.histories.live(of)? else { return Ok(None) };
    let Some(around) = live.around(timestamp, count) else { return Ok(None) };
    match shown_at(of, around)? {
        None if around.len() > 1 => shown_at(of, &[timestamp]),
        found => Ok(found),
    }
}

/// Whether a put of that time is stored.
fn was_put(view: &ReadView, family: &FamilySchema, column: &ColumnKey, timestamp: Timestamp) -> Result<bool> {
    let prefix = key::column_prefix(&key::row_prefix(&column.row), &column.qualifier);
    let start = key::version_start(&prefix, timestamp);
    // Tombstones of that time come before its puts.
    let mut cursor = Cursor::new(view, family.id, &start, key::prefix_end(&prefix), 4)?;
    while let Some((time, kind, _)) = cursor.peek()?.and_then(key::decode_suffix) {
        if time != timestamp || kind.is_put() {
            return Ok(time == timestamp);
        }
        cursor.advance()?;
    }
    Ok(false)
}

/// The version of exactly this time, live or kept.
pub fn version_in(
    engine: &Engine,
    view: &ReadView,
    (family, row): (&FamilySchema, &[u8]),
    qualifier: &[u8],
    timestamp: Timestamp,
) -> Result<Option<CellInfo>> {
    let from = HistoryFrom { qualifier: qualifier.to_vec(), before: Some(timestamp.next()) };
    let mut found = None;
    walk_history(engine, view, (family, row), Some(&from), |visible| {
        let is_it = visible.cell.qualifier == qualifier && visible.cell.timestamp == timestamp;
        found = is_it.then_some(visible);
        false
    })?;
    let now = engine.now();
    Ok(found.map(|visible| visibility::version_info(visible, &family.rules, now)))
}

/// Feeds versions to `sink` until it answers false.
fn walk_history(
    engine: &Engine,
    view: &ReadView,
    (family, row): (&FamilySchema, &[u8]),
    from: Option<&HistoryFrom>,
    mut sink: impl FnMut(VisibleCell) -> bool,
) -> Result<()> {
    let prefix = key::row_prefix(row);
    let mut cursor = engine.row_cursor(view, family.id, &prefix, 64)?;
    let plain = ReadRules::plain(&family.rules, engine.now());
    let rules = ReadRules { max_versions: u32::MAX, view: View::WithKept, ..plain };
    let mut reader = FamilyReader::new(cursor.row(prefix), rules);
    if let Some(from) = from {
        reader.seek_column(&from.qualifier);
    }
    while let Some(visible) = reader.next()? {
        let passed = from.is_some_and(|from| {
            visible.cell.qualifier == from.qualifier
                && from.before.is_some_and(|before| visible.cell.timestamp >= before)
        });
        if !passed && !sink(visible) {
            return Ok(());
        }
    }
    Ok(())
}
