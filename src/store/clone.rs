//! Bringing tables of a snapshot back: their stored cells are copied into new segments as they are, tombstones,
//! numbers and all, under families of their own, and shown in one step.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalogue::no_namespace;
use super::engine::{Engine, known_table};
use super::flush::Counted;
use super::memtable::{Indexed, Memtables};
use crate::Result;
use crate::backend::{Existing, Restoration};
use crate::index::{Change, Direction, IndexRow, key};
use crate::model::{FamilyId, Generation, Origin, TableId, TableName, TableSchema};
use crate::wal::{Entry, Rewriter};

/// Cells that are copied before they are indexed.
const PIECE: usize = 4096;

/// Cells on their way into a family.
struct Copying<'a> {
    from: &'a Engine,
    to: &'a Engine,
    writer: Rewriter,
    /// Those that are full and not indexed yet.
    full: Vec<Rewriter>,
    /// What the copied cells count as flushed together.
    generation: Option<Generation>,
}

impl Engine {
    /// Makes tables of those that `from`, an opened snapshot, has.
    pub fn restore_from(&self, from: &Engine, restoration: &Restoration, origin: Origin) -> Result<()> {
        self.log.check_poison()?;
        let mut staged = Vec::new();
        let filled = restoration.tables.iter().try_for_each(|(table, to)| {
            let filled = self.fill_one(from, (table, to), restoration.existing, &mut staged);
            filled.map_err(|e| e.context(format!("make {to} of a snapshot")))
        });
        // Order: the rows are on the disk before the catalogue shows them; no replay of the log brings them back.
        let filled = filled.and_then(|()| self.index.make_durable());
        let shown = filled.and_then(|()| self.publish(&staged, restoration.existing, origin));
        if shown.is_err() {
            // What stays staged is given up when the store is opened.
            let _ = self.unstage(&staged);
        }
        shown
    }

    fn fill_one(
        &self,
        from: &Engine,
        (table, to): (&TableName, &TableName),
        existing: Existing,
        staged: &mut Vec<TableId>,
    ) -> Result<()> {
        let there = from.catalogue.load_full();
        let old = known_table(&there, table)?.clone();
        let name = to.clone();
        let namespace = there.namespaces.get(&*name.namespace).cloned();
        let namespace = match namespace.or_else(|| self.catalogue.load().namespaces.get(&*name.namespace).cloned()) {
            Some(namespace) => namespace,
            None => return Err(no_namespace(&name.namespace)),
        };
        let new = self.stage(&TableSchema { name, ..old.clone() }, &there, &namespace, existing)?;
        staged.push(new.id);
        self.with_reserve(|| self.fill_staged(from, &old, &new))
    }

    fn fill_staged(&self, from: &Engine, old: &TableSchema, staged: &TableSchema) -> Result<()> {
        let writer = Rewriter::create(self.log.segments())?;
        let mut copying = Copying { from, to: self, writer, full: Vec::new(), generation: None };
        for (name, family) in &old.families {
            if let Some(new) = staged.families.get(name) {
                copying.family(family.id, new.id)?;
            }
        }
        Ok(())
    }

    /// Adds rows of a generation to the index that the log's own segments hold already.
    fn index_copies(&self, rows: &[(Vec<u8>, IndexRow)], generation: Generation) -> Result<()> {
        let _alone = self.maintenance.lock();
        let mut meta = self.meta.lock().clone();
        meta.generation = meta.generation.max(generation);
        let mut counted = Counted::new(meta, self.now());
        rows.iter().for_each(|(key, row)| counted.add(key, row));
        let mut changes = rows.iter().map(|(key, row)| Ok(Change::Put(key.clone(), row.clone())));
        let meta = self.index.write(&mut changes, || counted.finish())?;
        let indexed = Arc::new(Indexed::of(&meta));
        *self.meta.lock() = meta;
        self.log.pause(|_, _| {
            let tables: Memtables = (**self.tables.load()).clone();
            self.tables.store(Arc::new(Memtables { indexed, ..tables }));
        });
        Ok(())
    }
}

impl Copying<'_> {
    fn family(&mut self, old: FamilyId, new: FamilyId) -> Result<()> {
        let (mut from, end) = (key::family_prefix(old), key::family_end(old));
        loop {
            let mut page = Vec::new();
            let count = self.from.index.page(&from, &end, PIECE, Direction::Ascending, &mut |key, row| {
                page.push((key.to_vec(), row));
                Ok(())
            })?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            from.clone_from(last);
            from.push(0);
            self.piece(page, new)?;
            if count < PIECE {
                return Ok(());
            }
        }
    }

    fn piece(&mut self, page: Vec<(Vec<u8>, IndexRow)>, family: FamilyId) -> Result<()> {
        let generation = *self.generation.get_or_insert_with(|| Generation(self.to.meta.lock().generation.0 + 1));
        let mut rows = Vec::with_capacity(page.len());
        for (key, old) in page {
            let Some(cell) = key::decode(&key) else { continue };
            let key::CellKey { row, qualifier, timestamp, kind, seq, .. } = cell;
            let entry = Entry { family, row, qualifier, timestamp, kind, seq, tags: old.tags.clone() };
            if self.writer.bytes() >= self.to.options.segment_bytes {
                self.writer.sync()?;
                let next = Rewriter::create(self.to.log.segments())?;
                self.full.push(std::mem::replace(&mut self.writer, next));
            }
            let value = self.writer.copy_from(self.from.log.segments(), &old.value, &entry)?;
            self.track(&entry);
            let new = key::cell_key(family, &entry.row, &entry.qualifier, timestamp, kind, seq);
            rows.push((new, IndexRow { value, generation, own: None, ..old }));
        }
        // Order: the copies are on the disk before the index points to them.
        self.writer.sync()?;
        self.to.index_copies(&rows, generation)?;
        self.full.clear();
        Ok(())
    }

    fn track(&self, entry: &Entry) {
        let track = self.to.track(entry.family);
        track.max_timestamp.fetch_max(entry.timestamp.0, Ordering::AcqRel);
        track.opened_with.fetch_max(entry.timestamp.0, Ordering::AcqRel);
        track.expiring.fetch_or(entry.tags.ttl_ms.is_some(), Ordering::AcqRel);
        track.family_tombstones.fetch_or(entry.kind.is_family_tombstone(), Ordering::AcqRel);
    }
}
