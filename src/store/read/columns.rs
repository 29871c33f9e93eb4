//! Listings of the columns of a row and family with their newest versions. Where nothing but what stands in a column decides
//! what is seen of it, a look at its first cell is mostly enough.

use super::point::FEW;
use crate::Result;
use crate::format::key;
use crate::model::{CellInfo, Qualifier, TableName, TimeRange};
use crate::store::cursor::row_cells::RowCells;
use crate::store::cursor::row_place::RowPlace;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::{Engine, family};
use crate::store::read::point;
use crate::visibility::{self, FamilyReader, ReadRules, VisibleCell, shows_by_itself};

/// Most cells of the first page.
const MANY: usize = 1024;

/// Columns of a row and family with their newest versions.
pub fn list_columns(
    engine: &Engine,
    (table, row, name): (&TableName, &[u8], &str),
    after: Option<&[u8]>,
    range: TimeRange,
    limit: usize,
) -> Result<Vec<(Qualifier, CellInfo)>> {
    let catalogue = engine.catalogue.load();
    let family = family(engine.table(&catalogue, table)?, name)?;
    let (view, now) = (engine.view(), engine.now());
    let (prefix, first) = (key::row_prefix(row), FEW.max(limit.min(MANY)));
    let settled_after = engine.tracks.settled_after(family.id);
    let rules = ReadRules { time_range: range, settled_after, ..ReadRules::plain(&family.rules, now) };
    if point::is_plain(engine, family, range) {
        let from = match after {
            Some(after) => key::prefix_end(&key::column_prefix(&prefix, after)),
            None => prefix.clone(),
        };
        let mut cursor = Cursor::new(&view, family.id, &from, key::prefix_end(&prefix), first)?;
        return list_plain(&mut cursor, &prefix, rules, limit);
    }
    let mut cursor = engine.row_cursor(&view, family.id, &prefix, first)?;
    let mut reader = FamilyReader::new(cursor.row(prefix), rules);
    if let Some(after) = after {
        // The first qualifier behind it.
        reader.seek_column(&[after, &[0]].concat());
    }
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(visible) = reader.next()?
    {
        found.push(listed(visible, &rules));
    }
    Ok(found)
}

/// The columns that a cursor over a row, whose keys begin with `prefix`, comes to.
fn list_plain(
    cursor: &mut Cursor,
    prefix: &[u8],
    rules: ReadRules<'_>,
    limit: usize,
) -> Result<Vec<(Qualifier, CellInfo)>> {
    let (mut found, mut place, mut column) = (Vec::new(), RowPlace::default(), Vec::new());
    place.enter(|take| take(prefix));
    while found.len() < limit
        && let Some(cell) = cursor.stored(prefix.len())
    {
        let key = cursor.key().unwrap_or_default();
        column.clear();
        column.extend_from_slice(&key[..key.len() - key::SUFFIX]);
        if shows_by_itself(&rules, (cell.timestamp, cell.kind), &cell.tags) {
            found.push(listed(VisibleCell::live(cell), &rules));
            place.pass_column(&column, cursor)?;
            continue;
        }
        let end = key::prefix_end(&column);
        let cells = RowCells::until(cursor, prefix.to_vec(), end.clone());
        found.extend(FamilyReader::new(cells, rules).next()?.map(|visible| listed(visible, &rules)));
        cursor.seek(&end)?;
    }
    Ok(found)
}

fn listed(mut visible: VisibleCell, rules: &ReadRules<'_>) -> (Qualifier, CellInfo) {
    let qualifier = std::mem::take(&mut visible.cell.qualifier);
    (qualifier, visibility::version_info(visible, rules.family, rules.now))
}
