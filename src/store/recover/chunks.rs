//! Where the log ends because the chunks of a large value never came to the disk.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::follow::Replay;
use crate::blob::{Blobs, Root};
use crate::log::Record;
use crate::model::{FamilyId, SeqNo};
use crate::store::health::damage::Damages;
use crate::store::layout::runs::Layout;
use crate::{Error, ErrorKind};

/// Whole records that do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of the first, whose chunks never came.
    pub first: SeqNo,
    /// It, and those behind it.
    pub records: usize,
}

/// A record whose chunks never came to the disk ends the log there, as a torn record does; up to `owed` it counts.
///
/// A chunk that has come and cannot be read is damaged, and ends nothing: a rename refers to it again, and what follows
/// that may have been synced. Of a file that was not sealed this is known where records up to `owed`, or extents, refer to
/// it or to a later chunk.
pub fn end_at_missing(
    replay: &mut Replay,
    (layout, blobs): (&Layout, &Blobs),
    owed: SeqNo,
    damages: &mut Damages,
) -> Option<LeftOut> {
    let first = replay.records.partition_point(|record| record.seq <= owed);
    let (known, later) = replay.records.split_at(first);
    let (of_records, of_extents) = (greatest_of_records(known), OnceCell::new());
    let was_there = |blob: u64, chunk: u32| {
        let reaches = |greatest: &Greatest| greatest.get(&blob).is_some_and(|upto| chunk <= *upto);
        // Seldom asked, and read from each extent.
        reaches(&of_records) || reaches(of_extents.get_or_init(|| greatest_of_extents(layout)))
    };
    let mut have_come = |record: &Record| {
        roots(record).all(|root| match root.map(|root| blobs.has_come(&root, &was_there)) {
            Some(Ok(has_come)) => has_come,
            Some(Err(e)) => {
                damages.add(&e.message);
                true
            }
            None => false,
        })
    };
    let at = first + later.iter().position(|record| !have_come(record))?;
    let left_out = LeftOut { first: replay.records[at].seq, records: replay.records.len() - at };
    replay.records.truncate(at);
    replay.last = replay.records.last().map_or(owed.min(replay.last), |record| record.seq);
    Some(left_out)
}

/// The damage that chunks are not there to which records up to `owed` lead: these count all the same, as they were on the disk,
/// and so were the chunks. No chunk is read.
pub fn missing(replay: &Replay, (kept, blobs): (&BTreeSet<FamilyId>, &Blobs), owed: SeqNo) -> Option<Error> {
    let owed = replay.records.iter().take_while(|record| record.seq <= owed);
    let cells = owed.flat_map(|record| &record.cells).filter(|cell| cell.root.is_some() && kept.contains(&cell.family));
    let chunks: BTreeSet<_> =
        cells.filter_map(|cell| Root::decode(&cell.value)).flat_map(|root| root.chunks().collect::<Vec<_>>()).collect();
    let missing = chunks.into_iter().filter_map(|(blob, chunk)| blobs.find(blob, chunk).err());
    let mut missing = missing.filter(|e| e.kind == ErrorKind::Corrupt);
    let Error { kind, message } = missing.next()?;
    Some(match missing.count() {
        0 => Error::new(kind, message),
        more => Error::new(kind, format!("{message} ({more} more chunks that the log leads to are not there)")),
    })
}

/// What a record has of large values; `None` where that makes no sense.
fn roots(record: &Record) -> impl Iterator<Item = Option<Root>> {
    record.cells.iter().filter(|cell| cell.root.is_some()).map(|cell| Root::decode(&cell.value))
}

/// The greatest number of a chunk in each file that something on the disk refers to: chunks are synced before the log and
/// before extents, in the order in which they were written.
type Greatest = BTreeMap<u64, u32>;

fn greatest_of_records(records: &[Record]) -> Greatest {
    let roots = records.iter().flat_map(roots).flatten();
    greatest(roots.flat_map(|root| root.chunks().collect::<Vec<_>>()))
}

/// Those that cannot be read know of none.
fn greatest_of_extents(layout: &Layout) -> Greatest {
    let chunks = layout.extents().filter_map(|extent| extent.readable().and_then(|extent| extent.chunks()).ok());
    greatest(chunks.flatten().filter_map(|(blob, chunks)| chunks.iter().max().map(|chunk| (blob, chunk))))
}

fn greatest(chunks: impl Iterator<Item = (u64, u32)>) -> Greatest {
    let mut greatest = Greatest::new();
    for (blob, chunk) in chunks {
        greatest.entry(blob).and_modify(|upto| *upto = chunk.max(*upto)).or_insert(chunk);
    }
    greatest
}
