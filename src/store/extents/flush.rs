//! Flush: the oldest frozen memtable becomes extents of a segment, as far as the rules of visibility keep its cells.

use crate::store::engine::changes::past;
use crate::store::engine::{Engine, edits};
use crate::store::recover::rescue;
use crate::store::space::{backlog, reserve, room};

use rustc_hash::FxHashMap;

use super::writing::{Output, options_of};
use crate::Result;
use crate::format::key;
use crate::journal::{Edit, Item, Reference};
use crate::model::{Catalogue, FamilyId, FamilySchema, Generation, StoredCell, ValueRef};
use crate::segment::{ExtentFacts, NewCell};
use crate::store::memory::memtable::{FamilyTable, Frozen, MemCell, Memtables};
use crate::store::options::Background;
use crate::visibility::{FlushMatcher, Verdict};

/// All families whose cells are kept.
pub fn families_by_id(catalogue: &Catalogue) -> FxHashMap<FamilyId, FamilySchema> {
    catalogue.stored_families().map(|family| (family.id, family.clone())).collect()
}

/// Moves everything that was written before the call into extents.
pub fn flush(engine: &Engine) -> Result<()> {
    backlog::freeze(engine)?;
    let flushed = flush_frozen(engine);
    engine.wake(|state| state.compact = true);
    flushed
}

/// Flushes what is frozen, oldest first.
pub fn flush_frozen(engine: &Engine) -> Result<()> {
    let _one = engine.turns.flush();
    flush_all(engine)
}

/// Once all memtables are flushed and nobody writes: what the log has is in extents, or is lost for good.
pub fn cover_log(engine: &Engine) -> Result<()> {
    let (tables, last) = (engine.tables(), engine.log.written());
    if tables.active.is_empty() && tables.frozen.is_empty() {
        edits::commit(engine, |_| Ok(Item::Covered(last).into()), |layout| engine.show(layout, |_| None))?;
        past::retire_log(engine, last);
    }
    Ok(())
}

/// As [`flush_frozen`]; the caller holds `flushing`.
pub fn flush_all(engine: &Engine) -> Result<()> {
    while let Some(oldest) = engine.tables().frozen.first().cloned() {
        // Order: before the flush, during which the memtable is filled again.
        make_spare_ahead(engine);
        let flushed = reserve::with_much_of_reserve(engine, oldest.table.bytes(), || flush_one(engine, &oldest));
        room::note_flush(engine, &flushed);
        flushed.map_err(|e| room::told_full(engine, e))?;
        past::retire_log(engine, oldest.last);
    }
    Ok(())
}

/// Makes the next file of the log where a memtable was filled, so that no writer waits for that when the next one is.
fn make_spare_ahead(engine: &Engine) {
    let is_full = engine.tables().frozen.iter().any(|frozen| frozen.table.bytes() >= engine.options.memtable_bytes);
    if engine.options.background == Background::Off || !is_full || !engine.log.needs_spare() {
        return;
    }
    if let Err(e) = engine.structure.next_number().and_then(|number| engine.log.make_spare(number)) {
        log::debug!("{e}; whoever needs it tries again");
    }
}

fn flush_one(engine: &Engine, frozen: &Frozen) -> Result<()> {
    engine.log.check_poison()?;
    #[cfg(test)]
    if engine.breaks(crate::store::options::Broken::FreesLogFirst) {
        engine.log.remove_covered(frozen.last, crate::log::Becomes::Gone);
    }
    if past::retained(engine) > 0 {
        // Order: followers read of the log what nobody else needs of it any more.
        rescue::sync_to(engine, frozen.last)?;
    }
    // Order: chunks before the extents that refer to them.
    engine.values.blobs.sync()?;
    let layer = engine.layout().state.layer + 1;
    let families = families_by_id(&engine.catalogue.load());
    let mut output = Output::new(engine);
    let written = write_extents(engine, frozen, &families, layer, &mut output);
    let made = written.and_then(|()| output.finish())?;
    let committed = edits::commit(
        engine,
        |layout| {
            let kept = families_by_id(&layout.state.catalogue);
            let facts = made.extents.iter().filter(|(_, facts)| kept.contains_key(&facts.family));
            let mut edit = Edit::default();
            edit.items.extend(facts.map(|(file, facts)| add(*file, facts, facts.family)));
            Ok(edit.with(Item::Covered(frozen.last)).with(Item::Layer(layer)).with(Item::Flushed))
        },
        |layout| {
            // Order: in one step, so that no view lacks a memtable and its extents.
            engine.show(layout, |tables| {
                let mut tables: Memtables = tables.clone();
                tables.frozen.retain(|other| !std::sync::Arc::ptr_eq(&other.table, &frozen.table));
                Some(tables)
            });
        },
    );
    committed.inspect_err(|_| made.give_up(engine))?;
    engine.views.retire(&frozen.table);
    engine.backlog.note_less();
    Ok(())
}

fn write_extents(
    engine: &Engine,
    frozen: &Frozen,
    families: &FxHashMap<FamilyId, FamilySchema>,
    layer: u32,
    output: &mut Output<'_>,
) -> Result<()> {
    for (id, table) in frozen.table.families() {
        // What is of no family that is kept goes with its memtable.
        if let Some(family) = families.get(&id) {
            output.begin(options_of(family, (layer, layer), engine.now(), false))?;
            write_family(engine, family, &table, output)?;
            output.end()?;
        }
    }
    Ok(())
}

fn write_family(engine: &Engine, family: &FamilySchema, table: &FamilyTable, output: &mut Output<'_>) -> Result<()> {
    let mut judge = RowJudge { prefix: Vec::new(), matcher: None, now: engine.now() };
    table.all(|cell| {
        let keeps = family.rules.new_version_behavior || judge.judge(cell, family) == Verdict::Keep;
        if keeps { output.add(&new_cell(cell)) } else { Ok(()) }
    })
}

/// An extent counts as one of a family.
pub fn add(file: u64, facts: &ExtentFacts, family: FamilyId) -> Item {
    let reference = Reference { family, file, extent: facts.number };
    Item::Add { reference, first_layer: facts.layers.0, last_layer: facts.layers.1 }
}

fn new_cell(cell: &MemCell) -> NewCell<'_> {
    NewCell { key: cell.key(), tags: cell.tags().unwrap_or(crate::store::cursor::lent::no_tags()), value: cell.value() }
}

/// Runs a matcher for each row that goes by.
struct RowJudge<'a> {
    prefix: Vec<u8>,
    matcher: Option<FlushMatcher<'a>>,
    now: crate::model::Timestamp,
}

impl<'a> RowJudge<'a> {
    fn judge(&mut self, cell: &MemCell, family: &'a FamilySchema) -> Verdict {
        let key = cell.key();
        if self.matcher.is_none() || !key.starts_with(&self.prefix) {
            let len = key::row_prefix_len(key).unwrap_or(key.len());
            self.prefix = key[..len].to_vec();
            self.matcher = Some(FlushMatcher::new(&family.rules, self.now));
        }
        match (&mut self.matcher, judged(key, cell.tags(), self.prefix.len(), Generation(0))) {
            (Some(matcher), Some(cell)) => matcher.judge(&cell),
            _ => Verdict::Keep,
        }
    }
}

/// A cell as the rules that judge it see it, without its value; `None` for a broken key.
pub fn judged(
    key: &[u8],
    tags: Option<&crate::model::Tags>,
    row_len: usize,
    generation: Generation,
) -> Option<StoredCell> {
    let (timestamp, kind, seq) = key::decode_suffix(key)?;
    let qualifier = key::qualifier_of(key, row_len)?;
    let tags = tags.cloned().unwrap_or_default();
    Some(StoredCell { qualifier, timestamp, kind, seq, generation, tags, value: ValueRef::default(), ordinal: 0 })
}
