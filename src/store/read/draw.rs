//! Pieces of a table at random: the rows of one block.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use crate::Result;
use crate::backend::RowPiece;
use crate::format::key;
use crate::model::{RowKey, TableName};
use crate::segment::{Extent, Reading};
use crate::store::engine::Engine;
use crate::store::layout::runs::Run;

/// Draws of a block that a group may not have.
const DRAWS: u64 = 4096;

/// See [`crate::backend::Backend::draw_piece`]: of the run of the table that has the most blocks.
pub fn draw_piece(engine: &Engine, table: &TableName, range: (&[u8], &[u8]), number: u64) -> Result<Option<RowPiece>> {
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, table)?;
    let view = engine.view();
    let families = table.families.values().filter_map(|family| view.layout.runs(family.id));
    let largest = families.flat_map(|runs| &runs.runs).max_by_key(|run| run.sum(|facts| facts.blocks));
    let Some(run) = largest else { return Ok(None) };
    let parts = parts_of(run, range)?;
    let count = parts.iter().map(|part| part.groups.len()).sum::<usize>();
    let most = parts.iter().map(|part| part.most_blocks).max().unwrap_or(0);
    if count == 0 || most == 0 {
        return Ok(None);
    }
    for draw in 0..DRAWS {
        let random = hash(number, draw);
        let (mut group, block) = (random as usize % count, (random >> 32) as usize % most);
        let found = parts.iter().find(|part| {
            let is_in = group < part.groups.len();
            group -= if is_in { 0 } else { part.groups.len() };
            is_in
        });
        let Some(Part { at, groups, .. }) = found else { continue };
        let extent = run.extents[*at].readable()?;
        let Some((from, before)) = extent.block_between(groups.start + group, block)? else { continue };
        let from = row_at(extent, from.as_slice().max(run.extents[*at].first_key()))?;
        let before = before.map(|before| row_at(extent, &before)).transpose()?.flatten();
        let next = || run.extents.get(at + 1).and_then(|next| key::row_of(next.first_key()));
        let first = key::row_of(run.first_key());
        return Ok(Some(RowPiece {
            from: from.filter(|from| Some(from) > first.as_ref()),
            before: before.or_else(next),
        }));
    }
    Ok(None)
}

/// What an extent has of a range.
struct Part {
    /// Its number in the run.
    at: usize,
    groups: Range<usize>,
    /// Of each group.
    most_blocks: usize,
}

/// The extents to which rows of a range belong: those from their first key on and before the first key of the next one.
fn parts_of(run: &Run, (start, stop): (&[u8], &[u8])) -> Result<Vec<Part>> {
    let from = if start.is_empty() { Vec::new() } else { key::row_prefix(start) };
    let end = if stop.is_empty() { crate::store::layout::far::FAR.to_vec() } else { key::row_prefix(stop) };
    let mut parts = Vec::new();
    for (at, of) in run.extents.iter().enumerate() {
        let is_before = run.extents.get(at + 1).is_some_and(|next| next.first_key() <= from.as_slice());
        let is_behind = at > 0 && of.first_key() >= end.as_slice();
        if !is_before && !is_behind {
            let extent = of.readable()?;
            let groups = extent.groups_between(of.first_key().max(&from), &end)?;
            parts.push(Part { at, groups, most_blocks: extent.most_blocks()? });
        }
    }
    Ok(parts)
}

fn hash(number: u64, draw: u64) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(number, draw);
    hasher.write(b"block");
    hasher.finish()
}

/// The row of the first key that is not before another.
fn row_at(extent: &Arc<Extent>, at: &[u8]) -> Result<Option<RowKey>> {
    let mut cursor = extent.cursor(Reading::Point);
    cursor.seek(at)?;
    Ok(cursor.key().and_then(key::row_of))
}
