//! What was not on the disk when a sync failed, written once more from memory to a file of the log of its own.

use std::collections::BTreeMap;

use crate::Result;
use crate::format::key;
use crate::log::{FileHeader, LogCell, write_whole};
use crate::model::{FamilyId, SeqNo, Tags};
use crate::store::engine::Engine;
use crate::store::memory::memtable::{MemCell, seq_of};

/// A cell in memory and its family.
type Held = (FamilyId, MemCell);

/// Writes it; how many records it was. The caller's log takes nothing any more.
fn write_unsynced(engine: &Engine) -> Result<u64> {
    let synced = engine.log.synced();
    // Order: with nothing being appended, so that all is there that came before the log took nothing any more.
    let unsynced = engine.log.pause(|| unsynced(engine, synced));
    let mut whole = SeqNo(u64::MAX);
    if engine.values.blobs.sync().is_err() {
        // What leads to chunks that may not be on the disk is not known to be there.
        let leads = |cells: &[Held]| cells.iter().any(|(.., cell)| cell.is_root());
        let first = unsynced.iter().find(|(_, cells)| leads(cells)).map(|(seq, _)| *seq);
        whole = first.map_or(whole, |first| SeqNo(first.0 - 1));
    }
    if unsynced.is_empty() {
        return Ok(0);
    }
    let number = engine.structure.next_number()?;
    let header = FileHeader { number, before: engine.log.synced_record(), edit: engine.layout().state.edit };
    let dir = engine.options.path.join("log");
    let none = Tags::default();
    write_whole(&*engine.options.env, &dir, engine.structure.store(), (header, whole), &mut |add| {
        for (seq, cells) in &unsynced {
            let decoded: Vec<_> = cells.iter().filter_map(|held| Some((held, key::decode(held.1.key())?))).collect();
            let cells: Vec<LogCell<'_>> = decoded
                .iter()
                .map(|((family, cell), key)| LogCell {
                    family: *family,
                    row: &key.row,
                    qualifier: &key.qualifier,
                    timestamp: key.timestamp,
                    kind: key.kind,
                    tags: cell.tags().unwrap_or(&none),
                    value: cell.value(),
                })
                .collect();
            add(*seq, &cells)?;
        }
        Ok(())
    })?;
    Ok(unsynced.len() as u64)
}

/// The batches in memory behind a number.
fn unsynced(engine: &Engine, synced: SeqNo) -> BTreeMap<SeqNo, Vec<Held>> {
    let mut batches: BTreeMap<SeqNo, Vec<Held>> = BTreeMap::new();
    for (id, table) in engine.tables().all().flat_map(|table| table.families()) {
        let gathered: std::result::Result<(), ()> = table.all(|cell| {
            let seq = seq_of(cell.key());
            if seq > synced {
                batches.entry(seq).or_default().push((id, cell.clone()));
            }
            Ok(())
        });
        debug_assert!(gathered.is_ok());
    }
    batches
}

/// Everything that was written is on the disk when this returns.
pub fn sync_log(engine: &Engine) -> Result<()> {
    engine.log.check_poison()?;
    sync_to(engine, engine.log.written())
}

/// As [`sync_log`], of what was written up to a number.
pub fn sync_to(engine: &Engine, seq: SeqNo) -> Result<()> {
    let before = engine.log.poison().is_some();
    // Order: chunks before the records that lead to them.
    let synced = engine.log.sync_to(seq, &|| engine.values.blobs.sync());
    if synced.is_err() && !before {
        rescue(engine);
    }
    engine.progress.note_synced(engine.log.synced_record());
    synced
}

/// After a failed sync: what may not be on the disk is written once more, to a file of its own, if that is possible.
fn rescue(engine: &Engine) {
    match write_unsynced(engine) {
        Ok(records) => log::warn!("{records} records that were not on the disk are in a new file of the log now"),
        Err(e) => log::error!("what was not on the disk could not be written elsewhere: {e}"),
    }
}
