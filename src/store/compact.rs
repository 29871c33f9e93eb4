//! Compaction of families: what the rules of visibility drop leaves the index, piece by piece.

use super::cursor::{Cursor, stored_cell};
use super::engine::{Engine, family, known_table};
use super::flush::Dropped;
use crate::Result;
use crate::backend::{CompactionKind, Event};
use crate::index::{Change, Index, IndexRow, Meta, key};
use crate::model::{FamilyId, FamilySchema, Generation, Origin, TableName, Timestamp};
use crate::visibility::{FlushMatcher, Verdict, major_compaction};

/// Cells that are judged before the flush gets its turn.
const PIECE: usize = 4096;

/// Cells of one row and family, as they are in the index.
type RowRun = Vec<(Vec<u8>, IndexRow)>;

/// What a compaction looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// Everything that was flushed.
    All { earliest_put: Timestamp },
    /// Generations from this one on become one.
    Since(Generation),
}

/// Changes of one piece.
#[derive(Default)]
struct Piece {
    changes: Vec<Change>,
    dropped: Dropped,
    removed: RowRun,
}

impl Engine {
    /// Compacts a family, or all of a table.
    pub fn compact(&self, table: &TableName, name: Option<&str>, kind: CompactionKind) -> Result<()> {
        let catalogue = self.catalogue.load_full();
        let schema = known_table(&catalogue, table)?;
        let families: Vec<&FamilySchema> = match name {
            Some(name) => vec![family(schema, name)?],
            None => schema.families.values().collect(),
        };
        for family in families {
            self.compact_family(family, kind)?;
        }
        self.announce(&[Event::Table { table: table.clone(), origin: Origin(0) }]);
        self.purge_segments()
    }

    fn compact_family(&self, family: &FamilySchema, kind: CompactionKind) -> Result<()> {
        let _one = self.compacting.lock();
        let Some(selection) = self.select(family, kind)? else { return Ok(()) };
        let mut from = key::family_prefix(family.id);
        while let Some(next) = self.compact_piece(family, selection, &from)? {
            from = next;
        }
        self.change_meta(|meta| {
            meta.compactions += 1;
            if matches!(selection, Selection::All { .. }) {
                let stats = meta.families.entry(family.id).or_default();
                (stats.changed, stats.compacted_at) = (0, self.now().0);
            }
        })
    }

    /// Changes the state alone.
    pub fn change_meta(&self, change: impl FnOnce(&mut Meta)) -> Result<()> {
        let _alone = self.maintenance.lock();
        let mut meta = self.meta.lock().clone();
        change(&mut meta);
        self.index.write(&mut std::iter::empty(), &mut || meta.clone())?;
        *self.meta.lock() = meta;
        Ok(())
    }

    /// Which cells take part; `None`: there is nothing to do.
    fn select(&self, family: &FamilySchema, kind: CompactionKind) -> Result<Option<Selection>> {
        if kind == CompactionKind::Minor && family.rules.new_version_behavior {
            return Ok(None);
        }
        let mut earliest_put = Timestamp::MAX;
        let mut generations = std::collections::BTreeSet::new();
        let mut cursor = index_cursor(&self.index, &key::family_prefix(family.id), key::family_end(family.id));
        if !(family.rules.new_version_behavior && kind == CompactionKind::Major) {
            while let Some((key, row)) = cursor.pop()? {
                generations.insert(row.generation);
                if let Some((timestamp, kind, _)) = key::decode_suffix(&key)
                    && kind.is_put()
                {
                    earliest_put = earliest_put.min(timestamp);
                }
            }
        }
        let all = Selection::All { earliest_put };
        Ok(match kind {
            CompactionKind::Major => Some(all),
            // All but the oldest, three at most; one alone has nothing to be merged with.
            CompactionKind::Minor => {
                let newest: Vec<Generation> =
                    generations.iter().rev().take(3.min(generations.len().saturating_sub(1))).copied().collect();
                if newest.len() < 2 { None } else { newest.last().map(|g| Selection::Since(*g)) }
            }
        })
    }

    /// Compacts some rows from `from` on; where to go on.
    fn compact_piece(&self, family: &FamilySchema, selection: Selection, from: &[u8]) -> Result<Option<Vec<u8>>> {
        // Order: no flush in between, or a row would be judged on half of what is there.
        let _alone = self.maintenance.lock();
        let mut cursor = index_cursor(&self.index, from, key::family_end(family.id));
        let mut piece = Piece::default();
        let mut looked = 0;
        let mut next = None;
        while let Some(prefix) = next_prefix(&mut cursor)? {
            if looked >= PIECE {
                next = Some(prefix);
                break;
            }
            looked += self.judge_row(family, selection, prefix, &mut cursor, &mut piece)?;
        }
        self.with_reserve(|| self.apply_piece(&piece))?;
        Ok(next)
    }

    /// Judges one row; how many cells it has.
    fn judge_row(
        &self,
        family: &FamilySchema,
        selection: Selection,
        prefix: Vec<u8>,
        cursor: &mut Cursor<'_>,
        piece: &mut Piece,
    ) -> Result<usize> {
        let end = key::prefix_end(&prefix);
        let mut run = RowRun::new();
        while cursor.peek()?.is_some_and(|key| key < end.as_slice())
            && let Some(cell) = cursor.pop()?
        {
            run.push(cell);
        }
        let now = self.now();
        let len = run.len();
        match selection {
            Selection::All { earliest_put } => {
                let cells = run.iter().filter_map(|(key, row)| stored_cell(key, row.clone(), prefix.len()).map(Ok));
                let mut gone = rustc_hash::FxHashSet::default();
                major_compaction(&family.rules, now, earliest_put, cells, |cell| {
                    let row = key::row_of(&prefix).unwrap_or_default();
                    let (timestamp, kind, seq) = (cell.timestamp, cell.kind, cell.seq);
                    gone.insert(key::cell_key(family.id, &row, &cell.qualifier, timestamp, kind, seq));
                    Ok(())
                })?;
                run.into_iter().filter(|(key, _)| gone.contains(key)).for_each(|cell| piece.remove(cell));
            }
            Selection::Since(oldest) => merge_generations(family, oldest, run, prefix.len(), now, piece),
        }
        Ok(len)
    }

    fn apply_piece(&self, piece: &Piece) -> Result<()> {
        if piece.changes.is_empty() {
            return Ok(());
        }
        self.mark_dead(&piece.dropped)?;
        let mut meta = self.meta.lock().clone();
        for (key, row) in &piece.removed {
            count_out(&mut meta, key, row);
        }
        self.index.write(&mut piece.changes.iter().cloned().map(Ok), &mut || meta.clone())?;
        *self.meta.lock() = meta;
        Ok(())
    }

    /// Deletes the cells of families that are no longer declared; no marks are needed, because no rebuild
    /// takes them.
    fn drop_undeclared(&self) -> Result<()> {
        let stored: Vec<FamilyId> = self.meta.lock().families.keys().copied().collect();
        let declared = super::flush::rules_by_id(&self.catalogue.load());
        for id in stored.into_iter().filter(|id| !declared.contains_key(id)) {
            let _one = self.compacting.lock();
            while self.drop_some(id)? {}
            self.change_meta(|meta| {
                meta.families.remove(&id);
            })?;
        }
        Ok(())
    }

    fn drop_some(&self, family: FamilyId) -> Result<bool> {
        let _alone = self.maintenance.lock();
        let mut cursor = index_cursor(&self.index, &key::family_prefix(family), key::family_end(family));
        let mut piece = Piece::default();
        while piece.removed.len() < PIECE
            && let Some((key, row)) = cursor.pop()?
        {
            piece.changes.push(Change::Delete(key.clone()));
            piece.removed.push((key, row));
        }
        let more = !piece.removed.is_empty();
        self.with_reserve(|| self.apply_piece(&piece))?;
        Ok(more)
    }

    /// What the background does by itself: dropped families, then segments.
    pub fn compact_as_needed(&self) -> Result<()> {
        self.forget_dropped()?;
        self.drop_undeclared()?;
        for family in self.due_for_major() {
            super::worker::doing(self, &format!("major compaction of {}", family.name));
            self.compact_family(&family, CompactionKind::Major)?;
        }
        self.purge_segments()
    }

    /// New-version families in which much was written since the last time: there a compaction never
    /// changes what a read sees.
    fn due_for_major(&self) -> Vec<FamilySchema> {
        let catalogue = self.catalogue.load();
        let meta = self.meta.lock();
        let due = |id: FamilyId| meta.families.get(&id).is_some_and(|f| f.changed > 100_000 && f.changed * 2 > f.cells);
        let enabled =
            catalogue.tables.values().filter(|t| t.attributes.get("COMPACTION_ENABLED").is_none_or(|v| v == "true"));
        let families = enabled.flat_map(|table| table.families.values());
        families.filter(|f| f.rules.new_version_behavior && due(f.id)).cloned().collect()
    }
}

impl Piece {
    fn remove(&mut self, (key, row): (Vec<u8>, IndexRow)) {
        if let Some((_, kind, _)) = key::decode_suffix(&key) {
            self.dropped.add(kind, &row);
        }
        self.changes.push(Change::Delete(key.clone()));
        self.removed.push((key, row));
    }
}

/// The generations from `oldest` on as one, without what a minor compaction drops.
fn merge_generations(
    family: &FamilySchema,
    oldest: Generation,
    run: RowRun,
    prefix_len: usize,
    now: Timestamp,
    piece: &mut Piece,
) {
    let mut matcher = FlushMatcher::new(&family.rules, now);
    for (key, mut row) in run.into_iter().filter(|(_, row)| row.generation >= oldest) {
        let Some(cell) = stored_cell(&key, row.clone(), prefix_len) else { continue };
        if matcher.judge(&cell) == Verdict::Drop {
            piece.remove((key, row));
        } else if row.generation != oldest {
            row.generation = oldest;
            piece.changes.push(Change::Put(key, row));
        }
    }
}

/// The index alone.
pub fn index_cursor<'s>(index: &'s Index, from: &[u8], end: Vec<u8>) -> Cursor<'s> {
    Cursor::in_index(index, from, end, 256)
}

fn next_prefix(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>> {
    let key = cursor.peek()?;
    Ok(key.and_then(|key| Some(key[..key::row_prefix_len(key)?].to_vec())))
}

fn count_out(meta: &mut Meta, key: &[u8], row: &IndexRow) {
    meta.remove(row);
    let (Some(family), Some((_, kind, _))) = (key::family_of(key), key::decode_suffix(key)) else { return };
    let stats = meta.families.entry(family).or_default();
    stats.cells = stats.cells.saturating_sub(1);
    stats.family_tombstones -= u64::from(kind.is_family_tombstone()).min(stats.family_tombstones);
}
