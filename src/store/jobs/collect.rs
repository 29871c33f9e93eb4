//! Chunks of large values that nothing refers to any more are given back to the disk.
//!
//! Live is a chunk that an extent has that is counted by the journal, a snapshot or a reader, or that a cell in memory
//! or what a draft began with leads to. No counts are kept: what is live is the union of what the extents say.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::Result;
use crate::blob::Root;
use crate::journal::{Edit, Item, State};
use crate::model::{FamilyId, ValueBytes};
use crate::store::engine::{Engine, edits};
use crate::store::layout::runs::File;
use crate::store::memory::memtable::Memtable;
use crate::store::space::reserve;

/// Chunks by blob and number.
pub type Chunks = FxHashSet<(u64, u32)>;

/// Judges all chunks that were there when it was called.
pub fn collect_blobs(engine: &Engine) -> Result<()> {
    let blobs = &engine.values.blobs;
    if blobs.numbers().is_empty() || engine.log.poison().is_some() {
        return Ok(());
    }
    // Order: the mark before what is live is gathered: what is made meanwhile is not judged.
    let mark = blobs.mark();
    let Some(live) = live_chunks(engine)? else { return Ok(()) };
    let collected = blobs.collect(&|blob, chunk| live.contains(&(blob, chunk)), mark)?;
    log::debug!("{collected:?}, {} chunks are live", live.len());
    if collected.files_gone.is_empty() {
        return Ok(());
    }
    let mut edit = Edit::default();
    edit.items.extend(collected.files_gone.iter().map(|file| Item::BlobGone { file: *file }));
    // It makes room.
    reserve::with_reserve(engine, || edits::commit(engine, |_| Ok(edit.clone()), |_| ()))?;
    for number in collected.files_gone {
        let path = blobs.path(number);
        blobs.forget(number);
        if let Err(e) = engine.options.env.remove(&path) {
            log::warn!("remove {}: {e}; it goes at the next start", path.display());
        }
    }
    Ok(())
}

/// As [`collect_blobs`], once an open: files do not say what of them was given back before.
pub fn judge_blobs(engine: &Engine) -> Result<()> {
    let mut judged = engine.values.judged.lock();
    if std::mem::replace(&mut *judged, true) { Ok(()) } else { collect_blobs(engine) }
}

/// `None`: damage hides what is live.
pub fn live_chunks(engine: &Engine) -> Result<Option<Chunks>> {
    let mut live = Chunks::default();
    // Order: memtables and extents of one moment first. What is copied later was there then, or is held by a reader.
    let parts = Arc::clone(&engine.views.now());
    let of_parts = parts.layout.extents().map(|extent| Arc::clone(&extent.file));
    let mut looked = FxHashSet::default();
    for file in of_parts.chain(engine.structure.held().1).chain(engine.structure.lingering()) {
        if looked.insert(file.number) && !add_file(&mut live, &file) {
            log::warn!("no room of large values is given back: segment {} does not say what it has", file.number);
            return Ok(None);
        }
    }
    for table in parts.tables.all() {
        add_memory(engine, &mut live, table, &|_| true)?;
    }
    for table in engine.views.retired() {
        add_memory(engine, &mut live, &table, &|_| true)?;
    }
    // Order: last: what has come to be held since was still somewhere above.
    for root in engine.values.blobs.held() {
        add_root(engine, &mut live, &root)?;
    }
    Ok(Some(live))
}

/// Tells no longer of damage of what nothing refers to any more.
pub fn forget_damage(engine: &Engine) {
    if !engine.met.is_any() {
        return;
    }
    let (_, files) = engine.structure.held();
    let segments: Vec<_> = files.iter().map(|file| engine.structure.path(file.number)).collect();
    let blobs = &engine.values.blobs;
    let paths: Vec<_> = blobs.numbers().into_iter().map(|number| (number, blobs.path(number))).collect();
    // What a dropped table had may share its segment with others, and lie there until that is compacted.
    let needed = OnceCell::new();
    let is_gone = |blob: u64, chunk: u32| {
        let is_dead = blobs.dead(blob).get(chunk as usize / 64).is_some_and(|word| word >> (chunk % 64) & 1 == 1);
        let needed = || needed.get_or_init(|| needed_chunks(engine)).as_ref();
        is_dead || needed().is_some_and(|needed: &Chunks| !needed.contains(&(blob, chunk)))
    };
    engine.met.forget_gone(&*engine.options.env, &|path, chunk| match paths.iter().find(|(_, blob)| blob == path) {
        Some((number, _)) => chunk.is_some_and(|chunk| is_gone(*number, chunk)),
        None => !segments.iter().any(|segment| segment == path),
    });
}

/// The chunks that a read of now or of a snapshot may need, of cells in the log too; `None`: damage hides which.
pub fn needed_chunks(engine: &Engine) -> Option<Chunks> {
    let mut needed = Chunks::default();
    let tables = engine.tables();
    let (state, files) = engine.structure.held();
    if !files.iter().all(|file| add_needed(&mut needed, file, &state)) {
        return None;
    }
    let kept = kept_families(&state);
    let added = tables.all().try_for_each(|table| add_memory(engine, &mut needed, table, &|id| kept.contains(&id)));
    added.is_ok().then_some(needed)
}

/// Adds what cells in memory lead to, of some families.
pub fn add_memory(engine: &Engine, live: &mut Chunks, table: &Memtable, of: &dyn Fn(FamilyId) -> bool) -> Result<()> {
    for (_, family) in table.families().into_iter().filter(|(id, _)| of(*id)) {
        family.all(|cell| match cell.value() {
            ValueBytes::Root { bytes, .. } => match Root::decode(bytes) {
                Some(root) => add_root(engine, live, &root),
                None => Ok(()),
            },
            ValueBytes::Bytes(_) => Ok(()),
        })?;
    }
    Ok(())
}

fn add_root(engine: &Engine, live: &mut Chunks, root: &Root) -> Result<()> {
    engine.values.blobs.each_chunk(root, &mut |blob, chunk| {
        live.insert((blob, chunk));
        Ok(())
    })
}

/// Families whose cells are kept.
pub fn kept_families(state: &State) -> BTreeSet<FamilyId> {
    state.catalogue.stored_families().map(|family| family.id).collect()
}

/// Adds what those extents of a file refer to that count now or in a snapshot; whether that is known.
pub fn add_needed(live: &mut Chunks, file: &File, state: &State) -> bool {
    let of_it = state.references.keys().filter(|reference| reference.file == file.number);
    let counting: BTreeSet<u32> = of_it.map(|reference| reference.extent).collect();
    add_extents(live, file, &|extent| counting.contains(&extent))
}

/// Adds what the extents of a file refer to; whether that is known.
fn add_file(live: &mut Chunks, file: &File) -> bool {
    add_extents(live, file, &|_| true)
}

fn add_extents(live: &mut Chunks, file: &File, counts: &dyn Fn(u32) -> bool) -> bool {
    let Ok(segment) = &file.segment else { return false };
    for extent in segment.extents().iter().filter(|extent| counts(extent.facts().number)) {
        let Ok(chunks) = extent.chunks() else { return false };
        for (blob, set) in chunks {
            live.extend(set.iter().map(|chunk| (blob, chunk)));
        }
    }
    true
}
