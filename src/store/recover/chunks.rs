//! Where the log ends because the chunks of a large value never came to the disk.

use std::collections::BTreeMap;

use super::follow::Replay;
use crate::blob::{Blobs, Root};
use crate::journal::BlobRecord;
use crate::log::Record;
use crate::model::SeqNo;
use crate::store::health::damage::Damages;

/// The chunks that records refer to.
#[derive(Clone, Copy)]
pub struct Chunks<'a> {
    pub blobs: &'a Blobs,
    /// The files as the journal had them, before those that were open were sealed.
    pub before: &'a BTreeMap<u64, BlobRecord>,
}

impl Chunks<'_> {
    /// A record whose chunks never came to the disk ends the log there, as a torn record does; up to `owed` it counts.
    ///
    /// A chunk that was on the disk once is damaged, and ends nothing: a rename refers to it again, and what follows that
    /// may have been synced.
    pub fn end_at_missing(&self, replay: &mut Replay, owed: SeqNo, damages: &mut Damages) {
        let first = replay.records.partition_point(|record| record.seq <= owed);
        let (known, later) = replay.records.split_at(first);
        let greatest = greatest_chunks(known);
        let is_sealed = |blob: &u64| self.before.get(blob).is_some_and(|record| record.sealed.is_some());
        let was_there =
            |blob: u64, chunk: u32| is_sealed(&blob) || greatest.get(&blob).is_some_and(|upto| chunk <= *upto);
        if let Some(at) = later.iter().position(|record| !self.are_whole(record, &was_there, damages)) {
            replay.records.truncate(first + at);
            replay.last = replay.records.last().map_or(owed.min(replay.last), |record| record.seq);
        }
    }

    fn are_whole(&self, record: &Record, was_there: &dyn Fn(u64, u32) -> bool, damages: &mut Damages) -> bool {
        roots(record).all(|root| match root.map(|root| self.blobs.is_whole(&root, was_there)) {
            Some(Ok(whole)) => whole,
            Some(Err(e)) => {
                damages.add(&e.message);
                true
            }
            None => false,
        })
    }
}

/// What a record has of large values; `None` where that makes no sense.
fn roots(record: &Record) -> impl Iterator<Item = Option<Root>> {
    record.cells.iter().filter(|cell| cell.root.is_some()).map(|cell| Root::decode(&cell.value))
}

/// The greatest number of a chunk in each file that records refer to: chunks are synced before the log, in the order in
/// which they were written.
fn greatest_chunks(records: &[Record]) -> BTreeMap<u64, u32> {
    let mut greatest = BTreeMap::new();
    let roots = records.iter().flat_map(roots).flatten();
    for (blob, chunk) in roots.flat_map(|root| root.chunks().collect::<Vec<_>>()) {
        greatest.entry(blob).and_modify(|upto: &mut u32| *upto = chunk.max(*upto)).or_insert(chunk);
    }
    greatest
}
