//! Compaction of families: which part of one is judged when, and what is noted of it afterwards.
//!
//! A family's layers are what HBase has as files. Cells are not rewritten: that layers became one is noted in the
//! state of the index alone.

use super::doomed::Gone;
use super::engine::{Engine, family, known_table};
use super::flush::rules_by_id;
use super::pace::Pace;
use super::policy::{Choice, Settings, choose};
use super::purge::Thrift;
use super::sweep::{Extent, Sweep, Swept, Uncovered, index_cursor};
use crate::Result;
use crate::backend::{CompactionKind, CompactionProgress, Event};
use crate::index::{Checkpoint, FamilyStats, Layer, Meta, Sums, key};
use crate::model::{FamilyId, FamilySchema, Generation, Origin, TableName, Timestamp};

/// Cells of a dropped family that go at once.
const PIECE: usize = 4096;
/// A shorter segment is not worth a new one.
const SEALED: u64 = 64 << 10;

impl Engine {
    /// Compacts a family, or all of a table; at full speed.
    pub fn compact(&self, table: &TableName, name: Option<&str>, kind: CompactionKind) -> Result<()> {
        self.log.check_poison()?;
        let _hurry = self.hurry.up();
        self.wake(|_| ());
        let catalogue = self.catalogue.load_full();
        let schema = known_table(&catalogue, table)?;
        let families: Vec<&FamilySchema> = match name {
            Some(name) => vec![family(schema, name)?],
            None => schema.families.values().collect(),
        };
        families.into_iter().try_for_each(|family| self.compact_family(table, family, kind))?;
        self.compact_segments(kind)
    }

    /// Compacts a family at full speed.
    pub fn compact_family(&self, table: &TableName, family: &FamilySchema, kind: CompactionKind) -> Result<()> {
        let _one = self.compacting.lock();
        match self.requested(family, kind) {
            Some(extent) => self.compact_extent(table, family, extent, &mut Pace::full(self)),
            None => Ok(()),
        }
    }

    /// Makes room of what compactions have dropped, at full speed.
    pub fn compact_segments(&self, kind: CompactionKind) -> Result<()> {
        let thrift = if kind == CompactionKind::Major { Thrift::Space } else { Thrift::Work };
        if thrift == Thrift::Space {
            self.seal_mostly_dead()?;
        }
        self.purge_segments(&mut Pace::full(self), thrift)?;
        self.with_reserve(|| self.index.give_back(thrift == Thrift::Space))
    }

    /// Closes the segment that is written if little of it is alive, so that it can be emptied as the others are. Only
    /// while nothing is in memory: what is not flushed is replayed from there.
    fn seal_mostly_dead(&self) -> Result<()> {
        let in_memory = || self.tables.load().all().any(|table| !table.is_empty());
        let active = self.log.active_segment();
        let len = self.log.segments().get(active).map_or(0, |segment| segment.len());
        let live = self.meta.lock().segments.get(&active).map_or(0, |stats| stats.live_bytes);
        if len < SEALED || live * 2 >= len || in_memory() {
            return Ok(());
        }
        let reached = self
            .log
            .roll(|segment, offset| (!in_memory()).then(|| Checkpoint { seq: self.log.written(), segment, offset }))?;
        let Some(reached) = reached else { return Ok(()) };
        // Order: the log before the index that covers it.
        self.log.sync_to(reached.seq)?;
        self.change_meta(|meta| {
            if meta.checkpoint.segment < reached.segment {
                meta.checkpoint = reached;
            }
            Sums::default()
        })
    }

    /// What a compaction on request takes; `None`: there is nothing to do.
    pub fn requested(&self, family: &FamilySchema, kind: CompactionKind) -> Option<Extent> {
        let meta = self.meta.lock();
        let layers = meta.families.get(&family.id).map_or(&[][..], |stats| &stats.layers);
        let first = match kind {
            CompactionKind::Major => 0,
            CompactionKind::Minor if family.rules.new_version_behavior => return None,
            // All but the oldest, three at most; one alone has nothing to be merged with.
            CompactionKind::Minor if layers.len() < 3 => return None,
            CompactionKind::Minor => 1.max(layers.len() - 3),
        };
        let after = if first == 0 { Generation(0) } else { layers[first - 1].last };
        extent(kind, layers, after, layers.last()?.last)
    }

    /// Judges an extent and notes that its layers are one now. The caller holds `compacting`.
    pub fn compact_extent(
        &self,
        table: &TableName,
        family: &FamilySchema,
        extent: Extent,
        pace: &mut Pace<'_>,
    ) -> Result<()> {
        let all = self.meta.lock().families.get(&family.id).map_or(0, |stats| stats.cells);
        let say = |percent| {
            let progress =
                CompactionProgress { table: table.clone(), family: family.name.clone(), kind: extent.kind, percent };
            self.signals.state.lock().compaction = Some(progress);
        };
        say(0);
        let mut progress = |looked: u64| say((looked * 100 / all.max(1)).min(99) as u8);
        let swept = Sweep::new(self, family, extent).run(pace, &mut progress);
        self.signals.state.lock().compaction = None;
        let Some(swept) = swept? else { return Ok(()) };
        let made = Layer {
            rows: swept.rows,
            earliest_put: swept.earliest_put,
            made_at: self.now().0,
            major: extent.kind == CompactionKind::Major,
            // What else there is of it is known of the layers.
            last: extent.upto,
            cells: 0,
            bytes: 0,
        };
        self.change_meta(|meta| {
            meta.compactions += 1;
            meta.families.entry(family.id).or_default().merge_layers(extent.after, extent.upto, &made);
            Sums::default()
        })?;
        self.announce_uncovered(table, family, swept);
        Ok(())
    }

    /// In classic families a tombstone that went uncovers puts that were written after it with smaller timestamps:
    /// nothing else that a compaction does can be seen in a plain read.
    fn announce_uncovered(&self, table: &TableName, family: &FamilySchema, swept: Swept) {
        let origin = Origin(0);
        let table = table.clone();
        let events: Vec<Event> = match swept.uncovered {
            Uncovered::TooMany => vec![Event::Table { table, origin }],
            Uncovered::Rows(rows) => {
                let of_family =
                    |row| Event::Row { table: table.clone(), row, family: Some(family.name.clone()), origin };
                rows.into_iter().map(of_family).collect()
            }
        };
        self.announce(&events);
    }

    /// Changes the state alone, and the sums beside it.
    pub fn change_meta(&self, change: impl Fn(&mut Meta) -> Sums) -> Result<()> {
        let _alone = self.maintenance.lock();
        let meta = self.with_reserve(|| {
            let mut meta = self.meta.lock().clone();
            let sums = change(&mut meta);
            self.index.write(&mut std::iter::empty(), || (meta, sums))
        })?;
        *self.meta.lock() = meta;
        Ok(())
    }

    /// Deletes the cells of families that are no longer declared; no marks are needed, because no rebuild
    /// takes them.
    fn drop_undeclared(&self, pace: &mut Pace<'_>) -> Result<()> {
        let stored: Vec<FamilyId> = self.meta.lock().families.keys().copied().collect();
        let declared = rules_by_id(&self.catalogue.load());
        for id in stored.into_iter().filter(|id| !declared.contains_key(id)) {
            let _one = self.compacting.lock();
            while self.drop_some(id)? {
                if !pace.go_on() {
                    return Ok(());
                }
            }
            self.change_meta(|meta| {
                meta.families.remove(&id);
                let mut sums = Sums::default();
                sums.columns.forget(id);
                sums
            })?;
        }
        Ok(())
    }

    /// What was held to be shared while unflushed cells might have shared it.
    pub fn settle_shares(&self) -> Result<()> {
        let _alone = self.maintenance.lock();
        let meta = self.meta.lock().clone();
        let meta = self.index.settle_shares(meta, &|segment| self.may_be_shared(segment))?;
        *self.meta.lock() = meta;
        Ok(())
    }

    fn drop_some(&self, family: FamilyId) -> Result<bool> {
        let mut cursor = index_cursor(&self.index, &key::family_prefix(family), key::family_end(family));
        let mut gone = Vec::new();
        while gone.len() < PIECE
            && let Some((key, row)) = cursor.pop()?
        {
            gone.push(Gone { key, row });
        }
        self.with_reserve(|| self.remove_rows(&gone))?;
        Ok(!gone.is_empty())
    }

    /// What goes without a compaction: dropped families, what has expired.
    pub fn tidy(&self, pace: &mut Pace<'_>) -> Result<()> {
        self.forget_dropped()?;
        self.drop_undeclared(pace)?;
        self.settle_shares()?;
        self.expire_segments(pace)
    }

    /// What the background does by itself: dropped families, what has expired, what is due by HBase's rules, then
    /// segments with little in them.
    pub fn compact_as_needed(&self) -> Result<()> {
        let mut pace = Pace::background(self);
        self.tidy(&mut pace)?;
        let catalogue = self.catalogue.load_full();
        for table in catalogue.tables.values().filter(|table| table.compaction_enabled()) {
            for family in table.families.values() {
                let settings = Settings::of(table, family)?;
                let _one = self.compacting.lock();
                if let Some(extent) = self.due(family, &settings) {
                    self.compact_extent(&table.name, family, extent, &mut pace)?;
                }
                if !pace.go_on() {
                    return Ok(());
                }
            }
        }
        self.purge_segments(&mut pace, Thrift::Work)?;
        self.with_reserve(|| self.index.give_back(false))
    }

    /// What is to be compacted of a family now.
    fn due(&self, family: &FamilySchema, settings: &Settings) -> Option<Extent> {
        let meta = self.meta.lock();
        let stats: &FamilyStats = meta.families.get(&family.id)?;
        let newest = stats.layers.last()?.last;
        match choose(family.id, stats, &family.rules, settings, self.now()) {
            Choice::Nothing => None,
            Choice::Minor { after, upto } => extent(CompactionKind::Minor, &stats.layers, after, upto),
            Choice::Major => extent(CompactionKind::Major, &stats.layers, Generation(0), newest),
        }
    }
}

/// The layers behind `after` up to `upto`; `None` of none.
fn extent(kind: CompactionKind, layers: &[Layer], after: Generation, upto: Generation) -> Option<Extent> {
    let inside = layers.iter().filter(|layer| layer.last > after && layer.last <= upto);
    let earliest_put: Timestamp = inside.map(|layer| layer.earliest_put).min()?;
    Some(Extent { kind, after, upto, earliest_put })
}
