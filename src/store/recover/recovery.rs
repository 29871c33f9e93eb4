//! Recovery: the fold over the log that fills the memtable with what is in no extent yet.
//!
//! A file of the log counts up to where a later one takes over. What nobody has ever known to be on the disk ends at the
//! first record that is not whole; what was known to be there and is gone is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunks::{self, LeftOut};
use super::follow::{Loss, Replay};
use super::replayed::{self, Found, Replayed};
use crate::blob::Blobs;
use crate::format::key;
use crate::log::{self as cells, FileHeader, FoundCell, Log, LogCell, Record};
use crate::model::{FamilyId, SeqNo, ValueBytes};
use crate::store::health::damage::Damages;
use crate::store::health::lost;
use crate::store::health::progress::Progress;
use crate::store::layout::structure::Structure;
use crate::store::memory::memtable::{MemCell, Memtable};
use crate::store::options::StoreOptions;
use crate::{Error, Result};

/// What recovery comes to.
pub struct Recovered {
    pub memtable: Memtable,
    pub log: Log,
    /// The last sequence number that was given.
    pub last: SeqNo,
    /// Up to which number columns that cannot be named have lost versions.
    pub doubt: Option<SeqNo>,
    /// What it lacks of large values.
    pub missing: Option<Error>,
}

/// Makes memtable and log.
pub fn recover(
    options: &StoreOptions,
    structure: &Arc<Structure>,
    blobs: &Blobs,
    progress: &Progress,
    damages: &mut Damages,
) -> Result<Recovered> {
    let (env, dir, store) = (&options.env, options.path.join("log"), structure.store_id());
    let state = Arc::clone(&structure.layout().state);
    let layout = structure.layout();
    let noted = (progress.seen.synced, progress.is_unreadable);
    let found = Found { env: &**env, store: &options.path, id: &store, layout: &layout, blobs, noted };
    let Replayed { mut replay, old, empty, synced, owed, greatest, left_out } = replayed::replay(&found, damages)?;
    replay.torn.iter().for_each(|text| log::warn!("{text}"));
    if let Some(LeftOut { first, records }) = left_out {
        log::warn!(
            "the log ends before number {}: chunks of its large values never came to the disk. {records} records, written \
             in about the last second, are left out: they were not known to be on the disk",
            first.0
        );
    }
    let kept: BTreeSet<FamilyId> = state.catalogue.stored_families().map(|family| family.id).collect();
    let missing = chunks::missing(&replay, (&kept, blobs), owed);
    tell_lost(options, &mut replay, owed, damages)?;
    let memtable = memtable_of(options, &kept, &replay.records);
    // Order: what may not be on the disk is, before anything is acknowledged that builds on it.
    let is_there = if replay.is_made_good_by_another { SeqNo(0) } else { synced.min(replay.last) };
    let before = is_there.max(state.covered);
    let header = FileHeader { number: structure.next_number()?, before, edit: state.edit };
    let whole = cells::write_whole(&**env, &dir, &store, (header, SeqNo(u64::MAX)), &mut |add| {
        for record in replay.records.iter().filter(|record| record.seq > before) {
            let cells: Vec<LogCell<'_>> = record.cells.iter().map(FoundCell::to_write).collect();
            add(record.seq, &cells)?;
        }
        Ok(())
    })?;
    let io = |number| move |e| Error::io(format!("remove log file {number}"), &e);
    for number in empty {
        env.remove(&cells::path_of(&dir, number)).map_err(io(number))?;
    }
    let retains = state.catalogue.settings.changes_retain() > 0;
    let (mut complete, mut unreadable) = (Vec::new(), Vec::new());
    for old in old {
        match old.becomes((before, state.covered), retains) {
            Some(becomes) => cells::retire(&**env, &dir, old.number, becomes).map_err(io(old.number))?,
            None => {
                complete.push((old.number, before));
                unreadable.extend(old.is_unreadable.then_some(old.number));
            }
        }
    }
    let log = Log::open(Arc::clone(env), &dir, store, (whole, greatest), complete);
    log.keep(unreadable);
    let doubt = lost::in_doubt(&**env, &options.path)?;
    Ok(Recovered { memtable, log, last: greatest, doubt, missing })
}

fn tell_lost(options: &StoreOptions, replay: &mut Replay, owed: SeqNo, damages: &mut Damages) -> Result<()> {
    let (env, dir) = (&*options.env, &options.path);
    replay.made_good.iter().for_each(|text| damages.add(text));
    if replay.last < owed {
        let text =
            format!("the log ends with number {}, though up to {} it was on the disk once", replay.last.0, owed.0);
        replay.lost.push(Loss { after: replay.last, upto: owed, text, is_named: false, is_open: false });
    }
    for Loss { after, upto, text, is_named, is_open: _ } in &replay.lost {
        let known = lost::read(env, dir)?;
        if !known.iter().any(|one| one.explains(*after, *upto)) {
            damages.add(&format!("{text}. Restore what is missing from a backup"));
            lost::note(env, dir, (*after, *upto), *is_named)?;
        }
    }
    Ok(())
}

/// What the records have of families that are kept.
fn memtable_of(options: &StoreOptions, families: &BTreeSet<FamilyId>, records: &[Record]) -> Memtable {
    let memtable = Memtable::default();
    for record in records {
        options.recovered.fetch_add(1, Ordering::Relaxed);
        for cell in record.cells.iter().filter(|cell| families.contains(&cell.family)) {
            insert(&memtable, cell, record.seq);
        }
    }
    memtable
}

fn insert(memtable: &Memtable, cell: &FoundCell, seq: SeqNo) {
    let bytes = cell.value.as_slice();
    let column = (cell.row.as_slice(), cell.qualifier.as_slice());
    let put_key = |out: &mut Vec<u8>| key::put_cell_key(out, column, (cell.timestamp, cell.kind, seq));
    let value = match cell.root {
        Some(len) => ValueBytes::Root { len, bytes },
        None => ValueBytes::Bytes(bytes),
    };
    memtable.insert(cell.family, MemCell::new(put_key, &cell.tags, value));
}
