//! Mutations of many rows in one record of the log: what an import writes.

use super::apply::events_of;
use crate::Result;
use crate::model::{ManyRows, Mutation, RowKey, Timestamp, check_row};
use crate::store::engine::Engine;
use crate::store::plan::batch::RowCell;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::secondary::constraint::Judged;

impl Engine {
    /// Applies the mutations of many rows of a table, all or nothing: they are planned as [`Engine::mutate`] does, and
    /// written by one [`Engine::commit`]. Holds the batch; the locks of all of its rows while it is written.
    pub fn mutate_rows(&self, given: ManyRows) -> Result<()> {
        let ManyRows { table: name, rows, durability, origin } = given;
        rows.iter().try_for_each(|(row, _)| check_row(row))?;
        self.log.check_poison()?;
        let all = |wanted: fn(&Mutation) -> bool| rows.iter().flat_map(|(_, mutations)| mutations).all(wanted);
        let deletes = all(|mutation| matches!(mutation, Mutation::Delete(_)));
        let restores = all(|mutation| matches!(mutation, Mutation::Restore(_)));
        let (keys, mut changes): (Vec<RowKey>, Vec<Vec<Mutation>>) = rows.into_iter().unzip();
        self.make_room(!deletes)?;
        for mutations in &mut changes {
            self.write_ahead(self.table(&self.catalogue.load(), &name)?, mutations)?;
        }
        let declared = self.declaring.read();
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &name)?;
        if !restores {
            self.writable(table)?;
        }
        let locks = self.row_locks.lock_many(table, keys.iter().map(Vec::as_slice));
        let (snapshot, now) = (Lazily::of(self), self.now());
        let mut planner = Planner { engine: self, snapshot, table, row: &[], now, least: Timestamp::ZERO };
        let (mut events, mut cells) = (Vec::new(), Vec::new());
        for (row, mutations) in keys.iter().zip(changes) {
            planner.row = row;
            let planned = planner.plan(mutations)?.cells;
            events.extend(events_of(table, row, &planned, origin));
            events.extend(self.first_ttl(table, &planned));
            cells.extend(planned.into_iter().map(|cell| RowCell { table, row, cell }));
        }
        if cells.is_empty() {
            return Ok(());
        }
        let (seq, _) = self.commit(cells.into_iter(), if restores { Judged::Nothing } else { Judged::Puts }, None)?;
        drop((locks, declared));
        self.settle(seq, durability.unwrap_or_else(|| self.durability(table)))?;
        self.subscribers.announce(&events);
        Ok(())
    }
}
