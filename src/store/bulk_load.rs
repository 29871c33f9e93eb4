//! A bulk load: puts that go past log and memtable into extents (HBase: HRegion.bulkLoadHFiles).
//!
//! It takes one sequence number, by a record of the log without cells, and counts with the edit that names its extents.
//! Only tables take it of which nothing has to be known of each put: no secondary index, no constraint, no follower of
//! changes. Followers that come later are told that changes up to its number are not in the log.
//!
//! Memory: the cells of a load, [`FULL`]; of all that are open, [`LOADS`] times that.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::apply::INLINE;
use super::engine::Engine;
use super::flush::add;
use super::plan::{given_time, timed};
use super::writing::{Made, Output, options_of};
use crate::backend::{BulkLoad, Event};
use crate::format::key;
use crate::journal::{Edit, Item};
use crate::model::{
    CellKind, FamilySchema, FileAttributes, ManyRows, Mutation, Origin, PutCell, RowKey, SeqNo, TableName, TableSchema,
    TableState, Tags, Time, Timestamp, Value, check_row, check_value_len,
};
use crate::segment::{NewCell, NewValue};
use crate::{Error, ErrorKind, Result};

/// Bytes of keys, values and places that are stored in one step.
const FULL: usize = 12 << 20;
/// Loads that are open at once; an import has two.
const LOADS: u64 = 4;
/// Cells of a step the usual way.
const STEP: usize = 4000;

/// Where a cell is in [`Load::bytes`]: its key, without a sequence number, and its value behind it.
#[derive(Clone, Copy)]
struct Place {
    /// Of [`Load::families`].
    family: u32,
    /// Of [`Load::tags`].
    tags: u32,
    at: u32,
    key: u32,
    value: u32,
}

/// See the module.
pub struct Load {
    engine: Arc<Engine>,
    table: TableSchema,
    value_limit: u64,
    began: Timestamp,
    /// Those of which cells are held.
    families: Vec<FamilySchema>,
    /// Those that cells have; the last one is that of most cells to come.
    tags: Vec<Tags>,
    places: Vec<Place>,
    bytes: Vec<u8>,
}

/// A load into a table, if it takes one now.
pub fn begin(engine: &Arc<Engine>, name: &TableName) -> Result<Option<Load>> {
    let catalogue = engine.catalogue.load();
    let table = engine.writable(engine.table(&catalogue, name)?)?.clone();
    if !engine.loads(&table) {
        return Ok(None);
    }
    let take = |open: u64| (open < LOADS).then_some(open + 1);
    if engine.loading.try_update(Ordering::AcqRel, Ordering::Acquire, take).is_err() {
        return Ok(None);
    }
    Ok(Some(Load {
        engine: Arc::clone(engine),
        value_limit: engine.value_limit(),
        began: engine.now(),
        table,
        families: Vec::new(),
        tags: Vec::new(),
        places: Vec::new(),
        bytes: Vec::new(),
    }))
}

impl Drop for Load {
    fn drop(&mut self) {
        self.engine.loading.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Engine {
    /// Whether nobody has to know of each put of a table, which is as a load began with it.
    fn loads(&self, table: &TableSchema) -> bool {
        let catalogue = self.catalogue.load();
        let Some(now) = catalogue.tables.get(&table.name) else { return false };
        let families = || table.families.values();
        let is_judged = self.proving.now().is_some_and(|proof| families().any(|family| proof.is_of(family.id)));
        now == table
            && table.state == TableState::Enabled
            && table.indexes.is_empty()
            && families().all(|family| family.constraints.is_empty())
            && !is_judged
            && self.retained() == 0
    }
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
        cells.into_iter().for_each(|cell| self.hold(row, cell));
        Ok(None)
    }

    fn is_full(&self) -> bool {
        self.bytes.len() + self.places.len() * size_of::<Place>() + self.tags.len() * size_of::<Tags>() >= FULL
    }

    fn commit(&mut self) -> Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        self.sort();
        let room = self.bytes.len() as u64 + self.places.len() as u64;
        self.engine.make_room(true)?;
        let engine = Arc::clone(&self.engine);
        let loaded = engine.noted(engine.with_room(room, || self.store()))?;
        if !loaded {
            self.write()?;
        }
        // What they took is taken again by the next ones.
        self.places.clear();
        self.bytes.clear();
        self.tags.clear();
        engine.announce(&[Event::Replaced { table: self.table.name.clone() }]);
        engine.wake(|state| state.compact = true);
        Ok(())
    }
}

impl Load {
    fn hold(&mut self, row: &[u8], cell: PutCell) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(FULL);
        }
        // As [`suits`] has found.
        let (Time::At(timestamp), Value::Bytes(value)) = (cell.time, cell.value) else { return };
        let Some(family) = self.family_of(&cell.family) else { return };
        let is_ahead = timestamp > self.began && timestamp > self.engine.now();
        let tags = self.tags_of(if is_ahead { timed(cell.file, timestamp, self.began) } else { cell.file });
        let at = self.bytes.len() as u32;
        let key = key::cell_key(row, &cell.qualifier, timestamp, CellKind::Put, SeqNo(0));
        self.bytes.extend_from_slice(&key);
        self.bytes.extend_from_slice(&value);
        self.places.push(Place { family, tags, at, key: key.len() as u32, value: value.len() as u32 });
    }

    fn family_of(&mut self, name: &str) -> Option<u32> {
        if let Some(at) = self.families.iter().position(|family| family.name == name) {
            return Some(at as u32);
        }
        self.families.push(self.table.families.get(name)?.clone());
        Some(self.families.len() as u32 - 1)
    }

    fn tags_of(&mut self, file: FileAttributes) -> u32 {
        let tags = Tags { file, ..Tags::default() };
        if self.tags.last() != Some(&tags) {
            self.tags.push(tags);
        }
        self.tags.len() as u32 - 1
    }

    fn key(&self, place: &Place) -> &[u8] {
        &self.bytes[place.at as usize..][..place.key as usize]
    }

    fn value(&self, place: &Place) -> &[u8] {
        &self.bytes[(place.at + place.key) as usize..][..place.value as usize]
    }

    /// By family and key; of equal keys the last one put stays.
    fn sort(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        let order =
            |one: &Place, other: &Place| one.family.cmp(&other.family).then_with(|| self.key(one).cmp(self.key(other)));
        if !places.is_sorted_by(|one, other| order(one, other).is_lt()) {
            // Later ones first, so that they are those that stay.
            places.sort_unstable_by(|one, other| order(one, other).then(other.at.cmp(&one.at)));
            places.dedup_by(|later, kept| order(later, kept).is_eq());
        }
        self.places = places;
    }

    /// Stores all of it as extents; `false`: the table takes no load any more.
    fn store(&self) -> Result<bool> {
        let engine = &*self.engine;
        let _one = engine.flushing.lock();
        engine.log.check_poison()?;
        if !engine.loads(&self.table) {
            return Ok(false);
        }
        let publish = |seq: SeqNo| engine.read_point.store(seq.0, Ordering::Release);
        let seq = engine.log.append(&[], publish)?;
        // Order: the number is on the disk before a cell that has it, or another would be given it after a crash.
        engine.sync_to(seq)?;
        let layer = engine.layout().state.layer + 1;
        let made = self.write_extents(seq, layer)?;
        // Order: nothing is declared between the last look and the edit.
        let declared = engine.declaring.read();
        if !engine.loads(&self.table) {
            made.give_up(engine);
            return Ok(false);
        }
        self.note();
        let committed = engine.change(
            |_| {
                let items = made.extents.iter().map(|(file, facts)| add(*file, facts, facts.family)).collect();
                Ok(Edit { items }.with(Item::Layer(layer)))
            },
            |layout| engine.show(layout, |_| None),
        );
        drop(declared);
        committed.inspect_err(|_| made.give_up(engine))?;
        Ok(true)
    }

    fn write_extents(&self, seq: SeqNo, layer: u32) -> Result<Made> {
        let mut output = Output::new(&self.engine);
        let mut buffer = Vec::new();
        for places in self.places.chunk_by(|one, other| one.family == other.family) {
            let family = &self.families[places[0].family as usize];
            output.begin(options_of(family, (layer, layer), self.engine.now(), false))?;
            for place in places {
                buffer.clear();
                buffer.extend_from_slice(self.key(place));
                key::set_seq(&mut buffer, CellKind::Put, seq);
                let (tags, value) = (&self.tags[place.tags as usize], NewValue::Bytes(self.value(place)));
                output.add(&NewCell { key: &buffer, tags, value })?;
            }
            output.end()?;
        }
        output.finish()
    }

    /// What is known of stored cells without looking.
    fn note(&self) {
        for places in self.places.chunk_by(|one, other| one.family == other.family) {
            let times = places.iter().filter_map(|place| key::decode_suffix(self.key(place)));
            let Some(latest) = times.map(|(timestamp, ..)| timestamp.0).max() else { continue };
            let track = self.engine.track(self.families[places[0].family as usize].id);
            track.max_timestamp.fetch_max(latest, Ordering::AcqRel);
            track.opened_with.fetch_max(latest, Ordering::AcqRel);
        }
    }

    /// All of it the usual way.
    fn write(&self) -> Result<()> {
        for places in self.places.chunks(STEP) {
            let rows = places.iter().map(|place| self.usual(place)).collect::<Result<_>>()?;
            let (table, origin) = (self.table.name.clone(), Origin::default());
            self.engine.mutate_rows(ManyRows { table, rows, durability: None, origin })?;
        }
        self.engine.sync_to(self.engine.log.written())
    }

    fn usual(&self, place: &Place) -> Result<(RowKey, Vec<Mutation>)> {
        let broken = || Error::new(ErrorKind::Corrupt, "a cell of a bulk load has a key that is none");
        let key = key::decode(self.key(place)).ok_or_else(broken)?;
        let (family, value) = (&self.families[place.family as usize].name, self.value(place).to_vec());
        let cell = PutCell::new(family, key.qualifier, Time::At(key.timestamp), value);
        let cell = PutCell { file: self.tags[place.tags as usize].file.clone(), ..cell };
        Ok((key.row, vec![Mutation::Put(vec![cell])]))
    }
}
