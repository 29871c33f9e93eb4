//! Whether the target shows what the source shows: a checksum of every range of rows, on either side.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::stream::{Item, Stream};
use super::{Job, RowKey};
use crate::Result;
use crate::model::Cell;

/// A range ends after so many rows or bytes.
const ROWS: u64 = 10_000;
const BYTES: u64 = 64 << 20;
/// A range that differs is looked at again so often: cells may expire between two looks.
const AGAIN: usize = 2;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Of all ranges: a checksum of their checksums.
    Same { ranges: u64, rows: u64, versions: u64, checksum: u128 },
    /// The first range that differs, and what either side has in it; an empty last row: up to the end.
    Differs { first: RowKey, last: RowKey, source: Side, target: Side },
}

/// One side of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    pub rows: u64,
    pub versions: u64,
    pub checksum: u128,
}

/// What is being summed up.
#[derive(Default)]
struct Sum {
    side: Side,
    bytes: u64,
    hash: Xxh3,
}

impl Sum {
    fn cell(&mut self, row: &[u8], cell: &Cell) {
        let numbers = [row.len(), cell.family.len(), cell.qualifier.len(), cell.value.len()];
        numbers.iter().for_each(|len| self.hash.update(&(*len as u64).to_le_bytes()));
        self.hash.update(&cell.timestamp.0.to_le_bytes());
        let parts = [row, cell.family.as_bytes(), &cell.qualifier, &cell.value];
        parts.iter().for_each(|part| self.hash.update(part));
        self.side.versions += 1;
        self.bytes += numbers.iter().map(|len| *len as u64).sum::<u64>();
    }

    fn take(&mut self) -> Side {
        let mut side = std::mem::take(&mut self.side);
        side.checksum = self.hash.digest128();
        (self.hash, self.bytes) = (Xxh3::new(), 0);
        side
    }
}

/// Compares all that plain reads show, with all its versions. `done` is told how many rows are.
pub fn compare(job: &Job, done: &mut dyn FnMut(u64)) -> Result<Compared> {
    let mut stream = Stream::open(&job.from, job.scan(&job.table, (&job.start, true), false))?;
    let (mut sum, mut all) = (Sum::default(), Xxh3::new());
    let (mut ranges, mut rows, mut versions) = (0, 0, 0);
    let mut first = (job.start.clone(), true);
    loop {
        let item = stream.next()?;
        let last = match item {
            Some(Item::Cell(row, cell)) => {
                sum.cell(&row, &cell);
                continue;
            }
            Some(Item::End(row)) => {
                sum.side.rows += 1;
                if sum.side.rows < ROWS && sum.bytes < BYTES {
                    continue;
                }
                Some(row)
            }
            None => None,
        };
        let source = sum.take();
        if let Some((source, target)) = differs(job, (&first.0, first.1), last.as_deref(), source)? {
            let last = last.map_or_else(RowKey::new, |last| last.to_vec());
            return Ok(Compared::Differs { first: first.0, last, source, target });
        }
        (ranges, rows, versions) = (ranges + 1, rows + source.rows, versions + source.versions);
        all.update(&source.checksum.to_le_bytes());
        done(rows);
        match last {
            Some(last) => first = (last.to_vec(), false),
            None => return Ok(Compared::Same { ranges, rows, versions, checksum: all.digest128() }),
        }
    }
}

/// Both sides of a range, if they are not the same.
fn differs(job: &Job, first: (&[u8], bool), last: Option<&RowKey>, source: Side) -> Result<Option<(Side, Side)>> {
    let mut source = source;
    for again in 0..=AGAIN {
        let target = side(job, (&job.to, &job.target), first, last)?;
        if source == target {
            return Ok(None);
        }
        if again == AGAIN {
            return Ok(Some((source, target)));
        }
        source = side(job, (&job.from, &job.table), first, last)?;
    }
    Ok(None)
}

fn side(
    job: &Job,
    (backend, table): (&Arc<dyn crate::backend::Backend>, &crate::model::TableName),
    first: (&[u8], bool),
    last: Option<&RowKey>,
) -> Result<Side> {
    let mut scan = job.scan(table, first, false);
    if let Some(last) = last {
        (scan.stop, scan.stop_inclusive) = (last.clone(), true);
    }
    let (mut stream, mut sum) = (Stream::open(backend, scan)?, Sum::default());
    while let Some(item) = stream.next()? {
        match item {
            Item::Cell(row, cell) => sum.cell(&row, &cell),
            Item::End(_) => sum.side.rows += 1,
        }
    }
    Ok(sum.take())
}
