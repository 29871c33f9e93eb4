//! An import: bytes of a stream become changes of a table, batch by batch.
//!
//! Holds a batch, a record and a piece of the stream. All of it that says no timestamp has the same one, chosen at the
//! beginning: what is read and written again, after a crash for example, changes nothing (HBase: ImportTsv).

mod families;
mod plan;
mod times;

use std::sync::Arc;

use super::Format;
use super::bad::{Bad, Counted, TellBad, refusal, too_long};
use super::batch::Batch;
use super::load::{Loads, Taken};
use super::parquet::read::Rows;
use super::reached::{Position, Reached, Tally};
use super::read::array::Array;
use super::read::change::{Changes, Fault, Terms};
use super::read::delimited::Columns;
use super::read::records::{Reader, shape};
use super::read::split::{Shape, Span, Splitter};
use crate::backend::Backend;
use crate::model::row_key::{Recipe, parse_fields};
use crate::model::{ManyRows, Mutation, RowMutations, TableName};
use crate::{Error, ErrorKind, Result};

use families::Families;
pub use plan::Plan;
use times::Times;

/// Line, or row, and bytes of a record.
type Record<'r> = (u64, &'r [u8]);

/// What a record says; `None`: the names of the columns.
type Judged = std::result::Result<Option<Changes>, Fault>;

/// See the module.
pub struct Import {
    backend: Arc<dyn Backend>,
    counted: Counted,
    table: TableName,
    splitter: Splitter,
    reader: Reader,
    terms: Terms,
    recipe: Option<Recipe>,
    record_max: usize,
    batch: Batch,
    loads: Loads,
    families: Families,
    times: Times,
    tally: Tally,
    /// All before it is in the batch, or not to be taken.
    batched: Reached,
    /// All before it is in the store.
    done: Reached,
    /// Byte of the stream where it began.
    began: u64,
    /// The last line, if it has no line feed and may be a part of one.
    unended: Option<u64>,
}

impl Import {
    /// Refuses a table that is not there or takes no writes, and columns of families that it lacks.
    pub fn new(backend: Arc<dyn Backend>, plan: Plan) -> Result<Self> {
        let families = Families::of(backend.as_ref(), &plan.table)?;
        let import = Self {
            terms: Terms { time: plan.time, mtime: plan.mtime, value_limit: backend.value_limit() },
            counted: if plan.format == Format::Parquet { Counted::Rows } else { Counted::Lines },
            splitter: Splitter::new(shape(plan.format), (plan.from.bytes, plan.from.lines)).within(plan.from.array),
            backend,
            table: plan.table,
            reader: Reader::new(plan.format, plan.empty, plan.columns).going_on_at(plan.from.bytes),
            recipe: plan.recipe,
            record_max: plan.record_max,
            batch: Batch::default(),
            loads: Loads::default(),
            families,
            times: Times::default(),
            tally: Tally::default(),
            batched: Reached { at: plan.from, tally: Tally::default() },
            done: Reached { at: plan.from, tally: Tally::default() },
            began: plan.from.bytes,
            unended: None,
        };
        import.check_columns().map_err(|text| Error::new(ErrorKind::NoSuchFamily, text))?;
        Ok(import)
    }

    pub fn tally(&self) -> Tally {
        // Of other formats a record is a row, and few have one twice.
        Tally { comes_back: self.batch.comes_back && matches!(self.reader, Reader::Json), ..self.tally }
    }

    /// The columns of `csv` and `tsv`, once they are known.
    pub fn columns(&self) -> Option<&Columns> {
        self.reader.columns()
    }

    /// All of the stream before it is in the store.
    pub fn done(&self) -> Position {
        self.done.at
    }

    /// Whether all that was taken of the stream is in the store. What a write has left out does not come again.
    pub fn is_stored(&self) -> bool {
        self.done.at == self.batched.at
    }

    /// What was done of the stream before that place: what is behind it comes again where the import goes on.
    pub fn tally_done(&self) -> Tally {
        self.done.tally
    }

    /// The next bytes of the stream. What is whole of them is written in batches; [`Import::write`] writes the rest.
    pub fn feed(&mut self, bytes: &[u8], tell: TellBad<'_>) -> Result<()> {
        self.splitter.push(bytes);
        self.note_batched();
        while let Some(span) = self.splitter.next() {
            self.record(&span, tell)?;
        }
        if self.splitter.held() > self.record_max {
            self.write(tell)?;
            return Err(too_long(self.splitter.passed().1 + 1, self.record_max));
        }
        Ok(())
    }

    /// The next rows of a file, at most so many; whether there may be more. What is whole is written in batches.
    pub fn feed_rows(&mut self, rows: &mut Rows, most: usize, tell: TellBad<'_>) -> Result<bool> {
        for _ in 0..most {
            let row = match rows.next(&self.terms) {
                None => return Ok(false),
                Some(Ok(row)) => row,
                Some(Err(e)) => return self.write(tell).and(Err(e)),
            };
            let changes = row.changes.and_then(|changes| self.judged(changes));
            self.take(changes.map(Some), (row.number, &row.text), tell)?;
            // About what it would have as text.
            let bytes = self.batched.at.bytes + row.text.len() as u64;
            let at = Position { bytes, lines: row.number, array: Array::Closed };
            self.batched = Reached { at, tally: self.tally };
        }
        Ok(true)
    }

    /// Writes what is whole. Its rows may go on.
    pub fn write(&mut self, tell: TellBad<'_>) -> Result<()> {
        if self.loads.is_open() {
            let stored = self.loads.finish(self.batched);
            return self.note_stored(stored);
        }
        self.batch.end_row();
        self.write_batch(tell)
    }

    /// What follows goes to the table under the name that it has now; all that was taken before is written.
    pub fn follow(&mut self, table: &TableName) {
        (self.table, self.loads) = (table.clone(), Loads::default());
    }

    /// As at the end of the stream, which may go on: what stands behind the last line feed is read by itself, and again.
    pub fn write_all(&mut self, tell: TellBad<'_>) -> Result<()> {
        self.write(tell)?;
        let rest = self.splitter.rest();
        if let Some(span) = &rest {
            let changes = self.read(span);
            self.take_span(changes, span, tell)?;
            self.write(tell)?;
        }
        self.note_unended(rest.as_ref());
        Ok(())
    }

    /// The stream has ended.
    pub fn finish(&mut self, tell: TellBad<'_>) -> Result<()> {
        let rest = self.splitter.take_rest();
        self.note_unended(rest.as_ref());
        // What is cut off within a row is told of the row.
        let fault = self.splitter.array().fault_at_end().filter(|_| rest.is_none());
        rest.map_or(Ok(()), |span| self.record(&span, tell))?;
        self.note_batched();
        if let Some(reason) = fault {
            self.refuse(Fault::whole(reason), (self.batched.at.lines + 1, b""), tell)?;
        }
        self.write(tell)
    }

    /// Where the stream has ended, the line behind its last line feed, if what is left of one that was cut would read as a
    /// whole one.
    pub fn unended(&self) -> Option<u64> {
        self.unended
    }

    fn note_unended(&mut self, rest: Option<&Span>) {
        let is_one = |span: &&Span| !self.reader.is_blank(&self.splitter.bytes()[span.range.clone()]);
        self.unended = rest.filter(|_| self.reader.takes_cut()).filter(is_one).map(|span| span.line);
    }

    fn record(&mut self, span: &Span, tell: TellBad<'_>) -> Result<()> {
        if !self.reader.is_blank(&self.splitter.bytes()[span.range.clone()]) {
            let changes = self.read(span);
            self.take_span(changes, span, tell)?;
        }
        self.note_batched();
        Ok(())
    }

    /// What was cut off the stream needs no look any more.
    fn note_batched(&mut self) {
        let ((bytes, lines), array) = (self.splitter.passed(), self.splitter.array());
        self.batched = Reached { at: Position { bytes, lines, array }, tally: self.tally };
    }

    /// `None`: it was the line of names.
    fn read(&mut self, span: &Span) -> std::result::Result<Option<Changes>, Fault> {
        let text = &self.splitter.bytes()[span.range.clone()];
        if let Some(reason) = span.fault(text) {
            return Err(Fault::whole(reason));
        }
        match self.reader.read((span.line, text), &self.terms)? {
            Some(changes) => self.judged(changes).map(Some),
            None => self.check_columns().map_err(Fault::whole).map(|()| None),
        }
    }

    /// What a record says, with its key made, if its families are there.
    fn judged(&mut self, mut changes: Changes) -> std::result::Result<Changes, Fault> {
        if let Some(recipe) = &self.recipe {
            let key = parse_fields(&changes.row).and_then(|fields| recipe.encode(&fields));
            changes.row = key.map_err(|e| Fault::whole(e.message))?;
        }
        for change in &mut changes.changes {
            self.families.check((self.backend.as_ref(), &self.table), change.family())?;
            if self.families.is_classic(change.family()) {
                self.times.set(&changes.row, change, self.terms.time);
            }
        }
        Ok(changes)
    }

    fn take_span(&mut self, changes: Judged, span: &Span, tell: TellBad<'_>) -> Result<()> {
        // Lent to the batch, and given back.
        let splitter = std::mem::replace(&mut self.splitter, Splitter::new(Shape::Lines, (0, 0)));
        let taken = self.take(changes, (span.line, &splitter.bytes()[span.range.clone()]), tell);
        self.splitter = splitter;
        taken
    }

    fn take(&mut self, changes: Judged, record: Record<'_>, tell: TellBad<'_>) -> Result<()> {
        match changes {
            Ok(Some(changes)) if self.loads.is_open() => self.load(changes, record, tell),
            Ok(Some(changes)) => self.gather(changes, record, tell),
            Ok(None) => Ok(()),
            Err(fault) => self.refuse(fault, record, tell),
        }
    }

    /// Adds a record to the batch.
    fn gather(&mut self, changes: Changes, record: Record<'_>, tell: TellBad<'_>) -> Result<()> {
        if self.batch.waits_long() {
            self.batch.end_row();
        }
        if self.batch.is_full_for(&changes) {
            self.write_batch(tell)?;
            if self.batch.is_whole() {
                let passed = self.done.at.bytes.saturating_sub(self.began);
                self.loads.begin(&self.backend, &self.table, passed)?;
            }
            if self.loads.is_open() {
                return self.load(changes, record, tell);
            }
        }
        self.tally.cells += changes.changes.len() as u64;
        self.tally.rows += u64::from(self.batch.add(changes, record.0, record.1));
        Ok(())
    }

    /// Adds a record to a bulk load.
    fn load(&mut self, changes: Changes, record: Record<'_>, tell: TellBad<'_>) -> Result<()> {
        if self.loads.is_full() {
            // Order: before the record, so that what is stored ends where it is said to.
            let stored = self.loads.store(self.batched, || self.backend.bulk_load(&self.table));
            self.note_stored(stored)?;
        }
        let (cells, is_new) = (changes.changes.len() as u64, self.batch.comes_to(&changes.row));
        match self.loads.put(changes) {
            Ok(Taken::Loaded) => self.tally.cells += cells,
            Ok(Taken::Usual(changes)) => {
                let stored = self.loads.end(self.batched);
                self.note_stored(stored)?;
                // To the batch its row is that of the record before: it is counted here.
                self.gather(changes, record, tell)?;
            }
            Err(e) if e.kind.is_of_what_is_put() => return self.refuse(Fault::whole(e.message), record, tell),
            Err(e) => return self.note_stored(Err(e)),
        }
        self.tally.rows += u64::from(is_new);
        Ok(())
    }

    /// Loads were stored, all or some of them.
    fn note_stored(&mut self, stored: Result<()>) -> Result<()> {
        self.done = self.loads.stored().unwrap_or(self.done);
        stored.map_err(|e| e.context(self.not_written()))
    }

    fn refuse(&mut self, fault: Fault, record: Record<'_>, tell: TellBad<'_>) -> Result<()> {
        // Without names nothing behind the first line can be read.
        let has_names = !self.reader.lacks_names();
        let bad = Bad { counted: self.counted, line: record.0, fault, record: record.1 };
        let told = if has_names { tell(&bad) } else { Err(refusal(&bad)) };
        told.or_else(|e| self.write(tell).and(Err(e)))?;
        self.tally.bad += bad.units();
        Ok(())
    }

    /// Writes the batch. What is one row's fault is that row's alone.
    fn write_batch(&mut self, tell: TellBad<'_>) -> Result<()> {
        let many = self.batch.take(&self.table);
        if many.rows.iter().any(|(_, mutations)| !mutations.is_empty()) {
            match self.backend.mutate_rows(many.clone()) {
                Err(e) if e.kind.is_of_what_is_put() => self.write_each(many, tell)?,
                done => done.map_err(|e| e.context(self.not_written()))?,
            }
        }
        self.batch.clear();
        self.families.has_looked = false;
        if self.batch.is_whole() {
            // Less what the store has refused of the batch.
            self.done = Reached { at: self.batched.at, tally: self.tally };
        }
        Ok(())
    }

    fn write_each(&mut self, many: ManyRows, tell: TellBad<'_>) -> Result<()> {
        for (number, row) in many.each().enumerate() {
            if row.mutations.is_empty() {
                continue;
            }
            let Some(e) = self.refused(row.clone())? else { continue };
            let parts = self.batch.apart(number, &row.mutations);
            if let [(source, mutations)] = parts.as_slice() {
                self.refuse_stored((*source, mutations), &e, tell)?;
                self.tally.rows = self.tally.rows.saturating_sub(1);
                continue;
            }
            let mut is_taken = false;
            for (source, mutations) in parts {
                let part = RowMutations { mutations: mutations.clone(), ..row.clone() };
                match self.refused(part)? {
                    Some(e) => self.refuse_stored((source, &mutations), &e, tell)?,
                    None => is_taken = true,
                }
            }
            self.tally.rows = self.tally.rows.saturating_sub(u64::from(!is_taken));
        }
        Ok(())
    }

    /// Why the store does not take these changes, where that is their fault.
    fn refused(&self, row: RowMutations) -> Result<Option<Error>> {
        match self.backend.mutate_rows(ManyRows::of_files(row)) {
            Ok(()) => Ok(None),
            Err(e) if e.kind.is_of_what_is_put() => Ok(Some(e)),
            Err(e) => Err(e.context(self.not_written())),
        }
    }

    /// Tells of a record of the batch that the store has refused.
    fn refuse_stored(&mut self, (source, mutations): (usize, &[Mutation]), e: &Error, tell: TellBad<'_>) -> Result<()> {
        self.tally.cells = self.tally.cells.saturating_sub(mutations.iter().map(Mutation::cells).sum::<usize>() as u64);
        if let Some((line, record)) = self.batch.record(source) {
            let bad = Bad { counted: self.counted, line, fault: Fault::whole(e.message.clone()), record };
            tell(&bad)?;
            self.tally.bad += bad.units();
        }
        Ok(())
    }

    fn check_columns(&self) -> std::result::Result<(), String> {
        self.families.check_columns(&self.table, self.columns())
    }

    /// What is said before why it does not go on.
    pub fn not_written(&self) -> String {
        let (unit, done) = (self.counted.unit(), self.done.at.lines);
        let cut = self.unended.filter(|line| *line > done);
        let cut = cut.map_or_else(String::new, |line| format!(", and of {unit} {line} what had come by a close"));
        format!("behind {unit} {done}, up to which all is imported{cut}")
    }
}
