//! Cells that a compaction drops, in an order in which no state in between shows more than before or after.
//!
//! A put may be hidden by newer ones that go too, or by a tombstone that goes: of a column the oldest put goes first,
//! then its tombstones; tombstones of the family go when the row is done. What must wait is held in memory up to a
//! number of cells, the rest in an unnamed file.

use std::sync::Arc;

use super::engine::Engine;
use super::flush::Dropped;
use crate::env::EnvFile;
use crate::index::{Change, ColumnChanges, IndexRow, Sums, key};
use crate::model::{FamilyId, Qualifier, StoredCell};
use crate::{Error, ErrorKind, Result};

/// A row of the index that goes.
pub struct Gone {
    pub key: Vec<u8>,
    pub row: IndexRow,
}

impl Gone {
    /// The row of the index that a cell was read from.
    pub fn new(family: FamilyId, row: &[u8], cell: StoredCell) -> Self {
        let StoredCell { qualifier, timestamp, kind, seq, generation, tags, value, own } = cell;
        let key = key::cell_key(family, row, &qualifier, timestamp, kind, seq);
        Self { key, row: IndexRow { value, generation, tags, own } }
    }
}

/// See the module.
pub struct Doomed<'e> {
    engine: &'e Engine,
    family: FamilyId,
    /// Those that may go now.
    ready: Vec<Gone>,
    column: Qualifier,
    puts: Held<'e>,
    tombstones: Held<'e>,
    family_tombstones: Held<'e>,
}

impl<'e> Doomed<'e> {
    pub fn new(engine: &'e Engine, family: FamilyId) -> Self {
        let held = || Held { engine, recent: Vec::new(), spilled: None };
        let (puts, tombstones, family_tombstones) = (held(), held(), held());
        Self { engine, family, ready: Vec::new(), column: Qualifier::new(), puts, tombstones, family_tombstones }
    }

    /// A cell that can go at once, whatever becomes of others.
    pub fn drop_now(&mut self, gone: Gone) -> Result<()> {
        self.ready.push(gone);
        if self.ready.len() < self.engine.options.compaction_cells { Ok(()) } else { self.apply() }
    }

    /// A cell of a row that is judged as a whole; all of one column follow one another.
    pub fn hold(&mut self, row: &[u8], cell: StoredCell) -> Result<()> {
        if cell.kind.is_family_tombstone() {
            return self.family_tombstones.push(Gone::new(self.family, row, cell));
        }
        if cell.qualifier != self.column {
            self.end_column()?;
            self.column.clone_from(&cell.qualifier);
        }
        let held = if cell.kind.is_put() { &mut self.puts } else { &mut self.tombstones };
        held.push(Gone::new(self.family, row, cell))
    }

    fn end_column(&mut self) -> Result<()> {
        while let Some(gone) = self.puts.pop()? {
            self.drop_now(gone)?;
        }
        while let Some(gone) = self.tombstones.pop()? {
            self.drop_now(gone)?;
        }
        Ok(())
    }

    /// The row was judged to its end.
    pub fn end_row(&mut self) -> Result<()> {
        self.end_column()?;
        self.column.clear();
        while let Some(gone) = self.family_tombstones.pop()? {
            self.drop_now(gone)?;
        }
        Ok(())
    }

    /// Drops what is ready.
    pub fn apply(&mut self) -> Result<()> {
        self.engine.with_reserve(|| self.engine.forget_cells(&self.ready))?;
        self.ready.clear();
        Ok(())
    }
}

impl Engine {
    /// Takes rows out of the index for good.
    pub fn forget_cells(&self, gone: &[Gone]) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let mut dropped = Dropped::default();
        gone.iter().for_each(|one| dropped.add(&one.row));
        // Order: what the index has of them is on the disk before they are marked. Else a power cut could take a
        // commit back that has a tombstone, and the replay would pass by the tombstone because it is marked.
        self.index.make_checkpoint_durable()?;
        // Order: marked before the index forgets them; without the lock, flushes go on meanwhile.
        self.mark_dead(&dropped)?;
        self.remove_rows(gone)
    }

    /// Takes rows out of the index that need no marks, because no rebuild takes them or nobody would see them.
    pub fn remove_rows(&self, gone: &[Gone]) -> Result<()> {
        // Order: before the lock; what hides them was shown to all that begins from here on.
        self.reads.await_those_of_before();
        let _alone = self.maintenance.lock();
        let mut meta = self.meta.lock().clone();
        let mut sums = Sums { columns: ColumnChanges::new(&meta), ..Sums::default() };
        for Gone { key, row } in gone {
            meta.count_out(key, row, self.may_be_shared(row.value.segment), &mut sums);
        }
        let mut changes = gone.iter().map(|one| Ok(Change::Delete(one.key.clone())));
        let state = (meta, sums);
        let meta = self.index.write(&mut changes, || state)?;
        *self.meta.lock() = meta;
        Ok(())
    }
}

/// Cells that wait; the last one comes back first.
struct Held<'e> {
    engine: &'e Engine,
    recent: Vec<Gone>,
    spilled: Option<Spilled>,
}

/// Blocks of cells in a file without a name.
struct Spilled {
    file: Arc<dyn EnvFile>,
    /// Offset and length of each.
    blocks: Vec<(u64, usize)>,
}

impl Held<'_> {
    fn push(&mut self, gone: Gone) -> Result<()> {
        if self.recent.len() >= self.engine.options.compaction_cells {
            self.spill()?;
        }
        self.recent.push(gone);
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<Gone>> {
        if self.recent.is_empty() {
            self.take_back()?;
        }
        Ok(self.recent.pop())
    }

    fn spill(&mut self) -> Result<()> {
        let path = self.engine.options.path.join("compaction.spill");
        let io = |e: std::io::Error| Error::io(format!("write {}", path.display()), &e);
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let env = &self.engine.options.env;
                if env.exists(&path).map_err(io)? {
                    env.remove(&path).map_err(io)?;
                }
                let file = env.create_new(&path).map_err(io)?;
                // It lives as long as it is open.
                env.remove(&path).map_err(io)?;
                self.spilled.insert(Spilled { file, blocks: Vec::new() })
            }
        };
        let mut bytes = Vec::new();
        for Gone { key, row } in self.recent.drain(..) {
            let mut packed = Vec::new();
            row.encode(&key, &mut packed);
            for part in [&key, &packed] {
                bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
                bytes.extend_from_slice(part);
            }
        }
        let at = spilled.blocks.last().map_or(0, |(offset, len)| offset + *len as u64);
        spilled.file.write_at(&bytes, at).map_err(io)?;
        spilled.blocks.push((at, bytes.len()));
        Ok(())
    }

    fn take_back(&mut self) -> Result<()> {
        let Some(spilled) = &mut self.spilled else { return Ok(()) };
        let Some((at, len)) = spilled.blocks.pop() else {
            self.spilled = None;
            return Ok(());
        };
        let mut bytes = vec![0; len];
        let read = spilled.file.read_at(&mut bytes, at);
        read.map_err(|e| Error::io("read back what a compaction holds", &e))?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            self.recent.push(unpack(&mut rest).ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    "what a compaction has put aside was changed on the disk; it is tried again",
                )
            })?);
        }
        Ok(())
    }
}

fn unpack(rest: &mut &[u8]) -> Option<Gone> {
    let mut part = || {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (part, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        *rest = after;
        Some(part)
    };
    let (key, packed) = (part()?, part()?);
    Some(Gone { key: key.to_vec(), row: IndexRow::decode(key, packed)? })
}
