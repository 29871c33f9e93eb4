//! What a start makes of the log before it writes anything: recovery goes on from there, and a check tells it beforehand.

use std::path::Path;

use super::chunks::{self, LeftOut};
use super::files::{Files, Written, greatest, greatest_whole, known_synced, read_files};
use super::follow::{Known, Replay, follow};
use super::old::Old;
use crate::Result;
use crate::blob::Blobs;
use crate::env::Env;
use crate::format::StoreId;
use crate::model::SeqNo;
use crate::store::health::damage::Damages;
use crate::store::layout::runs::Layout;

/// A store as it is found, by the holder of its lock.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    pub env: &'a dyn Env,
    /// Its directory.
    pub store: &'a Path,
    pub id: &'a StoreId,
    pub layout: &'a Layout,
    pub blobs: &'a Blobs,
    /// Up to where the log was on the disk, as is noted outside of it; whether more may have been noted.
    pub noted: (SeqNo, bool),
}

/// See the module.
#[derive(Default)]
pub struct Replayed {
    pub replay: Replay,
    pub old: Vec<Old>,
    /// Numbers of files that nothing was written to.
    pub empty: Vec<u64>,
    /// Up to where all was on the disk, as far as anything says.
    pub synced: SeqNo,
    /// Up to where what is gone was there once.
    pub owed: SeqNo,
    /// The greatest number that anything has, or had.
    pub greatest: SeqNo,
    /// What was never whole though its records are.
    pub left_out: Option<LeftOut>,
}

/// Reads and follows the log.
pub fn replay(found: &Found<'_>, damages: &mut Damages) -> Result<Replayed> {
    let Found { env, store, id, layout, blobs, noted: (noted, is_unreadable) } = *found;
    let (dir, covered, written) = (store.join("log"), layout.state.covered, Written::of(env, store));
    let Files { read: files, empty, damaged } = read_files(env, (&dir, id), (covered, written), damages)?;
    let old = files.iter().map(Old::of).collect();
    let synced = known_synced(&files).max(noted);
    // What was noted last may have been about all that is there.
    let counts_all = is_unreadable || written == Written::ThisBoot;
    let owed = synced.max(if counts_all { greatest_whole(&files) } else { SeqNo(0) });
    // That of a bulk load stands in its extents too.
    let stored = layout.extents().filter_map(|extent| extent.facts()).map(|facts| facts.greatest_seq).max();
    let greatest = greatest(&files).max(owed).max(covered).max(stored.unwrap_or_default());
    let mut replay = follow(files, &damaged, Known { covered, owed, greatest, written });
    let left_out = chunks::end_at_missing(&mut replay, (layout, blobs), owed, damages);
    // Order: what is written from now on has greater numbers than what may be lost.
    let greatest = replay.lost.iter().map(|loss| loss.upto).fold(greatest, SeqNo::max);
    Ok(Replayed { replay, old, empty, synced, owed, greatest, left_out })
}
