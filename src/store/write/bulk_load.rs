//! A bulk load: puts that go past log and memtable into extents (HBase: HRegion.bulkLoadHFiles).
//!
//! It takes one sequence number, by a record of the log without cells, and counts with the edit that names its extents.
//! Only tables take it of which nothing has to be known of each put: no secondary index, no constraint, no follower of
//! changes. Followers that come later are told that changes up to its number are not in the log.
//!
//! Memory: the cells of a load (see [`crate::store::extents::gathered`]); of all that are open, [`LOADS`] times that.

use std::sync::Arc;

use crate::backend::{BulkLoad, Event};
use crate::format::key;
use crate::log::NoCells;
use crate::model::{
    CellKind, ManyRows, Mutation, Origin, PutCell, RowKey, SeqNo, TableName, TableSchema, TableState, Tags, Time,
    TimeRange, Timestamp, Value, check_row, check_value_len,
};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::store::engine::changes::past;
use crate::store::engine::values::INLINE;
use crate::store::extents::gathered;
use crate::store::extents::gathered::{Gathered, GatheredCell};
use crate::store::plan::planned::timed;
use crate::store::plan::planner::given_time;
use crate::store::read::point;
use crate::store::recover::rescue;
use crate::store::space::{backlog, room};
use crate::store::write::{apply, many};
use crate::{Error, ErrorKind, Result};

/// Loads that are open at once; an import has two.
const LOADS: u64 = 4;
/// Cells of a step the usual way.
const STEP: usize = 4000;

/// See the module.
pub struct Load {
    engine: Arc<Engine>,
    table: TableSchema,
    value_limit: u64,
    began: Timestamp,
    /// What was there when it began.
    before: ReadView,
    cells: Gathered,
}

/// A load into a table, if it takes one now.
pub fn begin(engine: &Arc<Engine>, name: &TableName) -> Result<Option<Load>> {
    let catalogue = engine.catalogue.load();
    let table = apply::writable(engine.table(&catalogue, name)?)?.clone();
    if !loads(engine, &table) {
        return Ok(None);
    }
    if !engine.uploads.begin_load(LOADS) {
        return Ok(None);
    }
    Ok(Some(Load {
        engine: Arc::clone(engine),
        value_limit: engine.value_limit(),
        began: engine.now(),
        before: engine.view(),
        table,
        cells: Gathered::default(),
    }))
}

impl Drop for Load {
    fn drop(&mut self) {
        self.engine.uploads.end_load();
    }
}

/// Whether nobody has to know of each put of a table, which is as a load began with it.
fn loads(engine: &Engine, table: &TableSchema) -> bool {
    let catalogue = engine.catalogue.load();
    let Some(now) = catalogue.tables.get(&table.name) else { return false };
    let families = || table.families.values();
    let is_judged = engine.proving.now().is_some_and(|proof| families().any(|family| proof.is_of(family.id)));
    now == table
        && table.state == TableState::Enabled
        && table.indexes.is_empty()
        && families().all(|family| family.constraints.is_empty())
        && !is_judged
        && past::retained(engine) == 0
}

/// Whether a put is one of a load.
fn suits(cell: &PutCell) -> bool {
    let is_plain = cell.ttl_ms.is_none() && cell.ended_at.is_none();
    is_plain && matches!(cell.time, Time::At(_)) && matches!(&cell.value, Value::Bytes(_)) && cell.value.len() <= INLINE
}

impl BulkLoad for Load {
    fn put(&mut self, row: &RowKey, cells: Vec<PutCell>) -> Result<Option<Vec<PutCell>>> {
        check_row(row)?;
        for cell in &cells {
            // It may have been declared since.
            let Some(family) = self.table.families.get(&cell.family) else { return Ok(Some(cells)) };
            check_value_len(&family.name, &cell.qualifier, cell.value.len(), self.value_limit)?;
            if let Time::At(timestamp) = cell.time {
                given_time(&self.table, timestamp, || self.engine.now())?;
            }
        }
        if !cells.iter().all(suits) {
            return Ok(Some(cells));
        }
        for mut cell in cells {
            self.keep(row, &mut cell)?;
            self.hold(row, cell);
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        self.cells.is_full()
    }

    fn commit(&mut self) -> Result<()> {
        if self.cells.is_empty() {
            return Ok(());
        }
        self.cells.sort();
        let room = self.cells.stored_bytes();
        backlog::make_room(&self.engine, true)?;
        let engine = Arc::clone(&self.engine);
        let loaded = engine.noted(room::with_room(&engine, room, || self.store()))?;
        if !loaded {
            self.write()?;
        }
        self.cells.clear();
        engine.subscribers.announce(&[Event::Table { table: self.table.name.clone(), origin: Origin(0) }]);
        engine.wake(|state| state.compact = true);
        Ok(())
    }
}

impl Load {
    /// A put that sets nothing keeps what is set on the file that is there.
    fn keep(&self, row: &[u8], cell: &mut PutCell) -> Result<()> {
        let family = self.table.families.get(&cell.family).filter(|_| cell.sets_nothing());
        let Some(family) = family else { return Ok(()) };
        let column = (row, &cell.qualifier);
        let newest = point::newest_at(&self.engine, &self.before, family, column, TimeRange::ALL, self.began)?;
        if let Some(newest) = newest {
            cell.keep(&newest.tags.file.of_next_version());
        }
        Ok(())
    }

    fn hold(&mut self, row: &[u8], cell: PutCell) {
        // As [`suits`] has found.
        let (Time::At(timestamp), Value::Bytes(value)) = (cell.time, cell.value) else { return };
        let Some(family) = self.table.families.get(&cell.family) else { return };
        let is_ahead = timestamp > self.began && timestamp > self.engine.now();
        let due = if is_ahead { self.began } else { timestamp };
        let file = timed(cell.file, timestamp, (due, due));
        let key = key::cell_key(row, &cell.qualifier, timestamp, CellKind::Put, SeqNo(0));
        self.cells.hold(family, Tags { file, ..Tags::default() }, &key, &value);
    }

    /// Stores all of it as extents; `false`: the table takes no load any more.
    fn store(&self) -> Result<bool> {
        let engine = &*self.engine;
        let number = || engine.log.append(&mut NoCells(|seq| engine.views.reach(seq)));
        gathered::store_gathered(engine, &self.cells, &number, &|| loads(engine, &self.table))
    }

    /// All of it the usual way.
    fn write(&self) -> Result<()> {
        let mut cells = self.cells.cells().peekable();
        while cells.peek().is_some() {
            let rows = cells.by_ref().take(STEP).map(usual).collect::<Result<_>>()?;
            let (table, origin) = (self.table.name.clone(), Origin::default());
            many::mutate_rows(&self.engine, ManyRows { table, rows, durability: None, origin, keeps_files: false })?;
        }
        rescue::sync_to(&self.engine, self.engine.log.written())
    }
}

fn usual(cell: GatheredCell<'_>) -> Result<(RowKey, Vec<Mutation>)> {
    let broken = || Error::new(ErrorKind::Corrupt, "a cell of a bulk load has a key that is none");
    let key = key::decode(cell.key).ok_or_else(broken)?;
    let (family, value) = (&cell.family.name, cell.value.to_vec());
    let put = PutCell::new(family, key.qualifier, Time::At(key.timestamp), value);
    let put = PutCell { file: cell.tags.file.clone(), ..put };
    Ok((key.row, vec![Mutation::Put(vec![put])]))
}
