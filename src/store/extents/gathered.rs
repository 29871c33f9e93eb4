//! Cells that become extents of their families in one step, past log and memtable: those of a bulk load, and entries of an
//! index that is built.
//!
//! Memory: [`FULL`].

use std::sync::atomic::Ordering;

use super::flush::add;
use super::writing::{Made, Output, options_of};
use crate::Result;
use crate::format::key;
use crate::journal::{Edit, Item};
use crate::model::{CellKind, FamilySchema, SeqNo, Tags, ValueBytes};
use crate::segment::NewCell;
use crate::store::engine::{Engine, edits};
use crate::store::recover::rescue;

/// Bytes of keys, values and places that are stored in one step.
const FULL: usize = 8 << 20;

/// Where a cell is in [`Gathered::bytes`]: its key, without a sequence number, and its value behind it.
#[derive(Clone, Copy)]
struct Place {
    /// Of [`Gathered::families`].
    family: u32,
    /// Of [`Gathered::tags`].
    tags: u32,
    at: u32,
    key: u32,
    value: u32,
}

/// A cell of them.
pub struct GatheredCell<'g> {
    pub family: &'g FamilySchema,
    pub tags: &'g Tags,
    /// Without a sequence number.
    pub key: &'g [u8],
    pub value: &'g [u8],
}

/// See the module. All cells are puts.
#[derive(Default)]
pub struct Gathered {
    /// Those of which cells are held.
    families: Vec<FamilySchema>,
    /// Those that cells have; the last one is that of most cells to come.
    tags: Vec<Tags>,
    places: Vec<Place>,
    bytes: Vec<u8>,
}

impl Gathered {
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether they are to be stored before more are held.
    pub fn is_full(&self) -> bool {
        self.held() >= FULL
    }

    /// Bytes that they take.
    pub fn held(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>() + self.tags.len() * size_of::<Tags>()
    }

    /// About the bytes that they take on the disk.
    pub fn stored_bytes(&self) -> u64 {
        self.bytes.len() as u64 + self.places.len() as u64
    }

    /// Holds a put; its key has no sequence number.
    pub fn hold(&mut self, family: &FamilySchema, tags: Tags, key: &[u8], value: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(FULL);
        }
        let (family, tags) = (self.number_of(family), self.tags_of(tags));
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.places.push(Place { family, tags, at, key: key.len() as u32, value: value.len() as u32 });
    }

    fn number_of(&mut self, family: &FamilySchema) -> u32 {
        let known = self.families.iter().position(|known| known.id == family.id);
        let at = known.unwrap_or_else(|| {
            self.families.push(family.clone());
            self.families.len() - 1
        });
        at as u32
    }

    fn tags_of(&mut self, tags: Tags) -> u32 {
        if self.tags.last() != Some(&tags) {
            self.tags.push(tags);
        }
        self.tags.len() as u32 - 1
    }

    /// What they took is taken again by the next ones.
    pub fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
        self.tags.clear();
    }

    fn key(&self, place: &Place) -> &[u8] {
        &self.bytes[place.at as usize..][..place.key as usize]
    }

    fn cell(&self, place: &Place) -> GatheredCell<'_> {
        GatheredCell {
            family: &self.families[place.family as usize],
            tags: &self.tags[place.tags as usize],
            key: self.key(place),
            value: &self.bytes[(place.at + place.key) as usize..][..place.value as usize],
        }
    }

    /// Each of them, in their order.
    pub fn cells(&self) -> impl Iterator<Item = GatheredCell<'_>> {
        self.places.iter().map(|place| self.cell(place))
    }

    /// By family and key; of equal keys the last one that was held stays.
    pub fn sort(&mut self) {
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

    /// Lets go of the first one; its key. They are sorted.
    pub fn pop_first(&mut self) -> Option<Vec<u8>> {
        let first = self.places.first().map(|place| self.key(place).to_vec())?;
        self.places.remove(0);
        Some(first)
    }

    fn write_extents(&self, engine: &Engine, seq: SeqNo, layer: u32) -> Result<Made> {
        let mut output = Output::new(engine);
        let mut buffer = Vec::new();
        for places in self.places.chunk_by(|one, other| one.family == other.family) {
            let family = &self.families[places[0].family as usize];
            output.begin(options_of(family, (layer, layer), engine.now(), false))?;
            for place in places {
                let GatheredCell { tags, key, value, .. } = self.cell(place);
                buffer.clear();
                buffer.extend_from_slice(key);
                key::set_seq(&mut buffer, CellKind::Put, seq);
                output.add(&NewCell { key: &buffer, tags, value: ValueBytes::Bytes(value) })?;
            }
            output.end()?;
        }
        output.finish()
    }

    /// What is known of stored cells without looking.
    fn note(&self, engine: &Engine, seq: SeqNo) {
        for places in self.places.chunk_by(|one, other| one.family == other.family) {
            let times = places.iter().filter_map(|place| key::decode_suffix(self.key(place)));
            let Some(latest) = times.map(|(timestamp, ..)| timestamp.0).max() else { continue };
            let track = engine.tracks.of(self.families[places[0].family as usize].id);
            track.max_timestamp.fetch_max(latest, Ordering::AcqRel);
            track.opened_with.fetch_max(latest, Ordering::AcqRel);
            track.unordered_upto.fetch_max(seq.0, Ordering::AcqRel);
        }
    }
}

/// Stores cells, which are sorted, as extents, with a number that `number` gives them and that is on the disk; `false`:
/// `takes` refuses them. They count with the edit that names the extents.
pub fn store_gathered(
    engine: &Engine,
    cells: &Gathered,
    number: &dyn Fn() -> Result<SeqNo>,
    takes: &dyn Fn() -> bool,
) -> Result<bool> {
    let _one = engine.turns.flush();
    engine.log.check_poison()?;
    if !takes() {
        return Ok(false);
    }
    let seq = number()?;
    // Order: the number is on the disk before a cell that has it, or another would be given it after a crash.
    rescue::sync_to(engine, seq)?;
    let layer = engine.layout().state.layer + 1;
    let made = cells.write_extents(engine, seq, layer)?;
    // Order: nothing is declared between the last look and the edit.
    let declared = engine.turns.as_declared();
    if !takes() {
        made.give_up(engine);
        return Ok(false);
    }
    cells.note(engine, seq);
    let committed = edits::commit(
        engine,
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
