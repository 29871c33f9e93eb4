//! Mutations of many rows in one record of the log: what an import writes.

use super::apply::events_of;
use crate::Result;
use crate::model::{ManyRows, Mutation, RowKey, Timestamp, check_row};
use crate::store::engine::Engine;
use crate::store::plan::batch::RowCell;
use crate::store::plan::planned;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::secondary::constraint::Judged;
use crate::store::space::backlog;
use crate::store::write::apply;

/// Applies the mutations of many rows of a table, all or nothing: they are planned as [`apply::mutate`] does, and
/// written by one [`apply::commit`]. Holds the batch; the locks of all of its rows while it is written.
pub fn mutate_rows(engine: &Engine, given: ManyRows) -> Result<()> {
    let ManyRows { table: name, rows, durability, origin, keeps_files } = given;
    rows.iter().try_for_each(|(row, _)| check_row(row))?;
    engine.log.check_poison()?;
    let all = |wanted: fn(&Mutation) -> bool| rows.iter().flat_map(|(_, mutations)| mutations).all(wanted);
    let deletes = all(|mutation| matches!(mutation, Mutation::Delete(_)));
    let restores = all(|mutation| matches!(mutation, Mutation::Restore(_)));
    let (keys, mut changes): (Vec<RowKey>, Vec<Vec<Mutation>>) = rows.into_iter().unzip();
    backlog::make_room(engine, !deletes)?;
    for mutations in &mut changes {
        apply::write_ahead(engine, engine.table(&engine.catalogue.load(), &name)?, mutations)?;
    }
    let declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &name)?;
    if !restores {
        apply::writable(table)?;
    }
    let locks = engine.row_locks.lock_many(table, keys.iter().map(Vec::as_slice));
    let (view, now) = (Lazily::of(engine), engine.now());
    let mut planner = Planner { engine, view, table, row: &[], now, least: Timestamp::ZERO };
    let (mut events, mut cells) = (Vec::new(), Vec::new());
    for (row, mut mutations) in keys.iter().zip(changes) {
        planner.row = row;
        if keeps_files {
            planner.keep_files(&mut mutations)?;
        }
        let planned = planner.plan(mutations)?.cells;
        events.extend(events_of(table, row, &planned, origin));
        events.extend(planned::first_ttl(engine, table, &planned));
        cells.extend(planned.into_iter().map(|cell| RowCell { table, row, cell }));
    }
    if cells.is_empty() {
        return Ok(());
    }
    let judged = if restores { Judged::Nothing } else { Judged::Puts };
    let (seq, _) = apply::commit(&planner.view, cells.into_iter(), judged, None)?;
    drop((locks, declared));
    apply::settle(engine, seq, durability.unwrap_or_else(|| apply::durability(engine, table)))?;
    engine.subscribers.announce(&events);
    Ok(())
}
