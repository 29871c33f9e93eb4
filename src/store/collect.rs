//! Chunks of large values that nothing refers to any more are given back to the disk.
//!
//! Live is a chunk that an extent has that is counted by the journal, a snapshot or a reader, or that a cell in memory
//! or what a draft began with leads to. No counts are kept: what is live is the union of what the extents say.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::engine::Engine;
use super::layout::File;
use super::memtable::{MemValue, Memtable};
use crate::Result;
use crate::blob::Root;
use crate::journal::{Edit, Item};

/// Chunks by blob and number.
pub type Chunks = FxHashSet<(u64, u32)>;

impl Engine {
    /// Judges all chunks that were there when it was called.
    pub fn collect_blobs(&self) -> Result<()> {
        let blobs = &self.values.blobs;
        if blobs.numbers().is_empty() || self.log.poison().is_some() {
            return Ok(());
        }
        // Order: the mark before what is live is gathered: what is made meanwhile is not judged.
        let mark = blobs.mark();
        let Some(live) = self.live_chunks()? else { return Ok(()) };
        let collected = blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark)?;
        log::debug!("{collected:?}, {} chunks are live", live.len());
        if collected.files_gone.is_empty() {
            return Ok(());
        }
        let mut edit = Edit::default();
        edit.items.extend(collected.files_gone.iter().map(|file| Item::BlobGone { file: *file }));
        // It makes room.
        self.with_reserve(|| self.change(|_| Ok(edit.clone()), |_| ()))?;
        for number in collected.files_gone {
            let path = blobs.path(number);
            blobs.forget(number);
            if let Err(e) = self.options.env.remove(&path) {
                log::warn!("remove {}: {e}; it goes at the next start", path.display());
            }
        }
        Ok(())
    }

    /// `None`: damage hides what is live.
    pub fn live_chunks(&self) -> Result<Option<Chunks>> {
        let mut live = Chunks::default();
        // Order: memtables and extents of one moment first. What is copied later was there then, or is held by a reader.
        let parts = self.parts.load_full();
        let of_parts = parts.layout.extents().map(|extent| Arc::clone(&extent.file));
        let mut looked = FxHashSet::default();
        for file in of_parts.chain(self.structure.held().1).chain(self.structure.lingering()) {
            if looked.insert(file.number) && !add_file(&mut live, &file) {
                log::warn!("no room of large values is given back: segment {} does not say what it has", file.number);
                return Ok(None);
            }
        }
        for table in parts.tables.all() {
            self.add_memory(&mut live, table)?;
        }
        let retired: Vec<_> = {
            let mut retired = self.retired.lock();
            retired.retain(|table| table.strong_count() > 0);
            retired.iter().filter_map(std::sync::Weak::upgrade).collect()
        };
        for table in retired {
            self.add_memory(&mut live, &table)?;
        }
        // Order: last: what has come to be held since was still somewhere above.
        for root in self.values.blobs.held() {
            self.add_root(&mut live, &root)?;
        }
        Ok(Some(live))
    }

    /// Adds what cells in memory lead to.
    pub fn add_memory(&self, live: &mut Chunks, table: &Memtable) -> Result<()> {
        for (_, family) in table.families() {
            family.all(|_, cell| match &cell.value {
                MemValue::Root { bytes, .. } => match Root::decode(bytes) {
                    Some(root) => self.add_root(live, &root),
                    None => Ok(()),
                },
                MemValue::Bytes(_) => Ok(()),
            })?;
        }
        Ok(())
    }

    fn add_root(&self, live: &mut Chunks, root: &Root) -> Result<()> {
        self.values.blobs.each_chunk(root, &mut |blob, chunk| {
            live.insert((blob, chunk));
            Ok(())
        })
    }
}

/// Adds what the extents of a file refer to; whether that is known.
pub fn add_file(live: &mut Chunks, file: &File) -> bool {
    let Ok(segment) = &file.segment else { return false };
    for extent in segment.extents() {
        let Ok(chunks) = extent.chunks() else { return false };
        for (blob, set) in chunks {
            live.extend(set.iter().map(|chunk| (blob, chunk)));
        }
    }
    true
}
