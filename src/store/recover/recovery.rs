//! Recovery: the fold over the log that fills the memtable with what is in no extent yet.
//!
//! A file of the log counts up to where a later one takes over. What nobody has ever known to be on the disk ends at the
//! first record that is not whole; what was known to be there and is gone is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunks;
use super::files::{Files, Read, Written, greatest, greatest_whole, known_synced, read_files};
use super::follow::{Known, Loss, Replay, follow};
use crate::blob::Blobs;
use crate::format::key;
use crate::journal::State;
use crate::log::{self as cells, Becomes, FileHeader, FoundCell, Log, LogCell, Record};
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
}

/// A file of the log that was replayed.
struct Old {
    number: u64,
    before: Option<SeqNo>,
    is_unreadable: bool,
}

impl Old {
    fn of(file: &Read) -> Self {
        Self { number: file.number, before: file.before, is_unreadable: file.is_unreadable }
    }

    /// What becomes of it at once, as a new file has everything behind `before`; `None`: it counts until that is covered.
    fn becomes(&self, (before, covered): (SeqNo, SeqNo), retains: bool) -> Option<Becomes> {
        let is_covered = before <= covered;
        let begins = self.before.unwrap_or(SeqNo(0));
        match (is_covered || begins >= before, self.is_unreadable) {
            (false, _) => None,
            (true, true) => Some(Becomes::Aside),
            (true, false) if is_covered && begins < before && retains => Some(Becomes::Past),
            (true, false) => Some(Becomes::Gone),
        }
    }
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
    let written = Written::of(&**env, &options.path);
    let Files { read: files, empty, damaged } = read_files(&**env, (&dir, &store), (state.covered, written), damages)?;
    let old: Vec<Old> = files.iter().map(Old::of).collect();
    let synced = known_synced(&files).max(progress.seen.synced);
    // What was noted last may have been about all that is there.
    let counts_all = progress.is_unreadable || written == Written::ThisBoot;
    let owed = synced.max(if counts_all { greatest_whole(&files) } else { SeqNo(0) });
    // That of a bulk load stands in its extents too.
    let stored = structure.layout().extents().filter_map(|extent| extent.facts()).map(|facts| facts.greatest_seq).max();
    let greatest = greatest(&files).max(owed).max(state.covered).max(stored.unwrap_or_default());
    let mut replay = follow(files, &damaged, Known { covered: state.covered, owed, greatest, written });
    chunks::end_at_missing(&mut replay, (&structure.layout(), blobs), owed, damages);
    tell_lost(options, &mut replay, owed, damages)?;
    // Order: what is written from now on has greater numbers than what may be lost.
    let greatest = replay.lost.iter().map(|loss| loss.upto).fold(greatest, SeqNo::max);
    let memtable = memtable_of(options, &state, &replay.records);
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
    Ok(Recovered { memtable, log, last: greatest, doubt })
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
fn memtable_of(options: &StoreOptions, state: &State, records: &[Record]) -> Memtable {
    let families: BTreeSet<FamilyId> = state.catalogue.stored_families().map(|family| family.id).collect();
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
