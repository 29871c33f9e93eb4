//! A table, or a range of its rows, from one store into another: every version, what deleted them, and how long they live.
//!
//! A row's cells are written so that what is shown of it is the same, whichever rules its families have: what is hidden
//! first, then the tombstones, then what is shown. Deleted versions that a family with NEW_VERSION_BEHAVIOR keeps go behind
//! the tombstones, each with its end. Everything is written with its timestamps: what is copied twice is there
//! once. What bounds memory: some parts of 256 KiB, a row of at most 8 MiB, one value of any length.

mod compare;
mod declare;
mod judged;
mod kept;
mod masked;
mod pass;
mod renamed;
mod rows;
mod stream;
mod there;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use compare::{Compared, compare};
pub use declare::{declare, finish};
pub use renamed::{Copied, Part, rename};

use crate::Result;
use crate::backend::Backend;
use crate::model::{Cell, ManyRows, Mutation, Origin, RowKey, Scan, TableName, to_string_binary};
use pass::{NewFamilies, PASSES, Pass, Sorting};
use rows::Sorter;
use stream::{Item, Stream};

/// Bytes of a row that are held; one that has more is read several times.
const ROW: usize = 8 << 20;
/// Bytes and rows that are written at once.
const BATCH: usize = 1 << 20;
const BATCH_ROWS: usize = 1000;
/// Most versions that can be asked for.
const ALL: u32 = i32::MAX.cast_unsigned();

/// What is copied.
#[derive(Clone)]
pub struct Job {
    pub from: Arc<dyn Backend>,
    pub table: TableName,
    pub to: Arc<dyn Backend>,
    /// Its name there.
    pub target: TableName,
    /// First row.
    pub start: RowKey,
    /// The row before which it ends; empty: the end of the table.
    pub stop: RowKey,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    pub rows: u64,
    pub versions: u64,
    pub tombstones: u64,
    pub bytes: u64,
}

impl Job {
    fn scan(&self, table: &TableName, (start, inclusive): (&[u8], bool), raw: bool) -> Scan {
        let mut scan = Scan::all(table.clone());
        (scan.start, scan.start_inclusive, scan.stop) = (start.to_vec(), inclusive, self.stop.clone());
        (scan.read.raw, scan.read.max_versions) = (raw, ALL);
        scan
    }

    /// All cells of one row of the source; raw: with tombstones and what they hide.
    fn row(&self, row: &[u8], raw: bool) -> Result<Stream> {
        Stream::open(&self.from, self.scan_row(&self.table, row, raw))
    }

    /// The same of the target.
    fn row_there(&self, row: &[u8], raw: bool) -> Result<Stream> {
        Stream::open(&self.to, self.scan_row(&self.target, row, raw))
    }

    fn scan_row(&self, table: &TableName, row: &[u8], raw: bool) -> Scan {
        let mut scan = self.scan(table, (row, true), raw);
        (scan.stop, scan.stop_inclusive) = (row.to_vec(), true);
        scan
    }
}

/// Copies the rows behind `after` (`None`: all); those before one that the target refuses, which the error names
/// ([`crate::ErrorKind::is_of_what_is_put`]). `done` is told from time to time up to which row all is written, and what
/// was copied by this call.
pub fn copy(job: &Job, after: Option<&[u8]>, done: &mut dyn FnMut(&RowKey, &Tally) -> Result<()>) -> Result<Tally> {
    let start = after.map_or((job.start.as_slice(), true), |after| (after, false));
    let mut stream = Stream::open(&job.from, job.scan(&job.table, start, true))?;
    let new_families = NewFamilies::of(job)?;
    let mut writer = Writer::new(job, &new_families)?;
    let mut sorter = Sorter::default();
    while let Some(item) = stream.next()? {
        match item {
            Item::Cell(row, cell) => {
                if sorter.take(cell) {
                    writer.large_row(&row)?;
                    sorter.pass();
                }
            }
            Item::End(row) => {
                writer.row(&row, sorter.finish())?;
                if writer.is_full() {
                    writer.flush()?;
                    done(&row, &writer.tally)?;
                }
            }
        }
    }
    writer.flush()?;
    Ok(writer.tally)
}

/// Writes rows into the target.
struct Writer<'a> {
    job: &'a Job,
    open: Vec<(RowKey, Vec<Mutation>)>,
    bytes: usize,
    tally: Tally,
    is_cluster: bool,
    /// By checks of the target.
    is_judged: bool,
    new_families: &'a NewFamilies,
}

impl<'a> Writer<'a> {
    fn new(job: &'a Job, new_families: &'a NewFamilies) -> Result<Self> {
        let is_cluster = job.to.cluster_numbers()?.is_some();
        let is_judged = judged::is_judged(job)?;
        Ok(Self { job, open: Vec::new(), bytes: 0, tally: Tally::default(), is_cluster, is_judged, new_families })
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH || self.open.len() >= BATCH_ROWS
    }

    /// Takes a row that is held, or nothing of one that is written already.
    fn row(&mut self, row: &RowKey, cells: Option<Vec<Cell>>) -> Result<()> {
        self.tally.rows += 1;
        let Some(cells) = cells else { return Ok(()) };
        if cells.iter().map(|cell| cell.value.len()).sum::<usize>() >= BATCH {
            // A large row goes by itself: rows that go together are held twice.
            self.flush()?;
        }
        if cells.iter().all(rows::is_put) {
            let cells = rows::once(cells);
            self.add(row, rows::puts(cells.into_iter().rev()));
            return Ok(());
        }
        let mut shown = Vec::new();
        if cells.iter().any(rows::is_put) {
            let mut stream = self.job.row(row, false)?;
            while let Some(item) = stream.next()? {
                if let Item::Cell(_, cell) = item {
                    shown.push(rows::place(&cell));
                }
            }
        }
        let mut passes = BTreeMap::<Pass, Vec<Cell>>::new();
        let mut sorting = Sorting::new(self.job, row, self.new_families)?;
        for mut cell in cells {
            let is_shown = shown.binary_search(&rows::place(&cell)).is_ok();
            if let Some(pass) = sorting.pass_of(&mut cell, is_shown)? {
                passes.entry(pass).or_default().push(cell);
            }
        }
        // Order: each pass is a step of its own.
        for (pass, cells) in passes {
            match pass {
                Pass::Hidden | Pass::HiddenKept | Pass::Kept | Pass::Shown => {
                    self.add(row, rows::puts(cells.into_iter().rev()));
                    self.flush()?;
                }
                Pass::Tombstones | Pass::LaterTombstones => {
                    for step in rows::steps(cells) {
                        self.add(row, rows::deletes(step));
                        self.flush()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a row again, for each pass: it is too large to be held.
    fn large_row(&mut self, row: &RowKey) -> Result<()> {
        self.flush()?;
        for wanted in PASSES {
            let (mut raw, mut plain) = (self.job.row(row, true)?, self.job.row(row, false)?);
            let mut shown = plain.next_cell()?;
            let mut sorting = Sorting::new(self.job, row, self.new_families)?;
            while let Some(mut cell) = raw.next_cell()? {
                let place = rows::place(&cell);
                while shown.as_ref().is_some_and(|one| rows::place(one) < place) {
                    shown = plain.next_cell()?;
                }
                let is_shown = shown.as_ref().is_some_and(|one| rows::place(one) == place);
                if sorting.pass_of(&mut cell, is_shown)? == Some(wanted) {
                    let is_of_family = rows::is_of_family(&cell);
                    let mutations = match rows::is_put(&cell) {
                        true => rows::puts(std::iter::once(cell)),
                        false => rows::deletes(vec![cell]),
                    };
                    self.add(row, mutations);
                    if self.is_full() || is_of_family {
                        self.flush()?;
                    }
                }
            }
            self.flush()?;
        }
        Ok(())
    }

    fn add(&mut self, row: &RowKey, mut mutations: Vec<Mutation>) {
        if self.is_cluster {
            // A deleted version that was brought back as such would be shown there: HBase has no such thing.
            mutations.retain(|mutation| !matches!(mutation, Mutation::Restore(_)));
        }
        for mutation in &mutations {
            match mutation {
                Mutation::Put(cells) => {
                    let bytes: u64 = cells.iter().map(|cell| cell.value.len() + cell.qualifier.len() as u64).sum();
                    self.tally.versions += cells.len() as u64;
                    self.tally.bytes += bytes;
                    self.bytes += usize::try_from(bytes).unwrap_or(usize::MAX) + cells.len() * 32;
                }
                Mutation::Restore(cell) => {
                    self.tally.versions += 1;
                    self.bytes += usize::try_from(cell.value.len()).unwrap_or(usize::MAX) + 32;
                }
                Mutation::Delete(markers) => self.tally.tombstones += markers.len() as u64,
                _ => {}
            }
        }
        self.bytes += row.len();
        match self.open.last_mut().filter(|(open, _)| open == row) {
            Some((_, open)) => open.extend(mutations),
            None if mutations.is_empty() => {}
            None => self.open.push((row.clone(), mutations)),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.open);
        if rows.is_empty() {
            return Ok(());
        }
        if rows.len() > 1 {
            match self.write(rows.clone()) {
                Err(e) if e.kind.is_of_what_is_put() => {}
                done => return done,
            }
        }
        // One by one what stands before the row that is refused is written.
        rows.into_iter().try_for_each(|(row, mutations)| {
            let named = to_string_binary(&row);
            let done = self.write(vec![(row, mutations)]);
            done.map_err(|e| if e.kind.is_of_what_is_put() { e.context(format_args!("row {named}")) } else { e })
        })
    }

    fn write(&self, rows: Vec<(RowKey, Vec<Mutation>)>) -> Result<()> {
        let steps = if self.is_judged { vec![rows] } else { judged::unjudged(rows) };
        steps.into_iter().try_for_each(|rows| {
            let table = self.job.target.clone();
            self.job.to.mutate_rows(ManyRows {
                table,
                rows,
                durability: None,
                origin: Origin::default(),
                keeps_files: false,
            })
        })
    }
}
