//! An import: bytes of a stream become changes of a table, batch by batch.
//!
//! Holds a batch, a record and a piece of the stream. All of it that says no timestamp has the same one, chosen at the
//! beginning: what is read and written again, after a crash for example, changes nothing (HBase: ImportTsv).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Format;
use super::batch::Batch;
use super::read::change::{Changes, Fault, Terms};
use super::read::delimited::{Columns, Empty};
use super::read::records::{Reader, shape};
use super::read::split::{Span, Splitter};
use crate::backend::Backend;
use crate::model::row_key::{Recipe, parse_fields};
use crate::model::{FileTime, TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

/// What is to be imported, and how it is read.
pub struct Plan {
    pub table: TableName,
    pub format: Format,
    /// Of `csv` and `tsv`; `None`: the first line names them.
    pub columns: Option<Columns>,
    pub empty: Empty,
    /// Of what says no timestamp itself.
    pub time: Timestamp,
    /// Of the same, where the timestamp is none that somebody has chosen: see [`import_mtime`].
    pub mtime: Option<FileTime>,
    /// Rows are given by the fields of this recipe.
    pub recipe: Option<Recipe>,
    /// Longest record in bytes.
    pub record_max: usize,
    /// Where in the stream it goes on.
    pub from: Position,
}

/// A place in a stream between two records: bytes and lines before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub bytes: u64,
    pub lines: u64,
}

/// What an import has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Changes of rows: neighbouring records of a row are one.
    pub rows: u64,
    pub cells: u64,
    /// Records that were not taken.
    pub bad: u64,
}

/// A record that is not taken.
pub struct Bad<'r> {
    pub line: u64,
    pub fault: Fault,
    /// Its bytes, without the line feed.
    pub record: &'r [u8],
}

impl Bad<'_> {
    /// Line, column and reason.
    pub fn sentence(&self) -> String {
        match self.fault.column {
            Some(column) => format!("line {}, column {column}: {}", self.line, self.fault.reason),
            None => format!("line {}: {}", self.line, self.fault.reason),
        }
    }
}

/// Told of each bad record; an error ends the import, when what came before is written.
pub type TellBad<'t> = &'t mut dyn FnMut(&Bad<'_>) -> Result<()>;

/// See the module.
pub struct Import {
    backend: Arc<dyn Backend>,
    table: TableName,
    splitter: Splitter,
    reader: Reader,
    terms: Terms,
    recipe: Option<Recipe>,
    record_max: usize,
    batch: Batch,
    families: BTreeSet<String>,
    /// The families were asked for since a batch was written.
    has_looked: bool,
    tally: Tally,
    /// All before it is in the batch, or not to be taken.
    batched: Position,
    /// All before it is in the store.
    done: Position,
}

/// The timestamp of an import that begins now: the clock's, but later than all that is stored, so that what is
/// imported is what is read.
pub fn import_time(backend: &dyn Backend, table: &TableName) -> Result<Timestamp> {
    families_of(backend, table)?;
    Ok(Timestamp(backend.moment(table)?.0.saturating_add(1).min(Timestamp::MAX.0)))
}

/// What the files of an import have for their mtime whose timestamp runs ahead of the clock: the clock's time.
pub fn import_mtime(backend: &dyn Backend, time: Timestamp) -> Option<FileTime> {
    let now = backend.now();
    (time > now).then(|| now.into())
}

impl Import {
    /// Refuses a table that is not there or takes no writes, and columns of families that it lacks.
    pub fn new(backend: Arc<dyn Backend>, plan: Plan) -> Result<Self> {
        let mut import = Self {
            terms: Terms { time: plan.time, mtime: plan.mtime, value_limit: backend.value_limit() },
            splitter: Splitter::new(shape(plan.format), (plan.from.bytes, plan.from.lines)),
            backend,
            table: plan.table,
            reader: Reader::new(plan.format, plan.empty, plan.columns),
            recipe: plan.recipe,
            record_max: plan.record_max,
            batch: Batch::default(),
            families: BTreeSet::new(),
            has_looked: false,
            tally: Tally::default(),
            batched: plan.from,
            done: plan.from,
        };
        import.look()?;
        import.check_columns().map_err(|text| Error::new(ErrorKind::NoSuchFamily, text))?;
        Ok(import)
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The columns of `csv` and `tsv`, once they are known.
    pub fn columns(&self) -> Option<&Columns> {
        self.reader.columns()
    }

    /// All of the stream before it is in the store.
    pub fn done(&self) -> Position {
        self.done
    }

    /// The next bytes of the stream. What is whole of them is written in batches; [`Import::write`] writes the rest.
    pub fn feed(&mut self, bytes: &[u8], tell: TellBad<'_>) -> Result<()> {
        self.splitter.push(bytes);
        while let Some(span) = self.splitter.next() {
            self.record(&span, tell)?;
        }
        if self.splitter.held() > self.record_max {
            self.write(tell)?;
            let text = format!(
                "line {}: it has more than {} MiB (a quote that is not closed, or another format?); the lines before it \
                 are imported",
                self.splitter.passed().1 + 1,
                self.record_max >> 20
            );
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        Ok(())
    }

    /// Writes what is whole. Its rows may go on.
    pub fn write(&mut self, tell: TellBad<'_>) -> Result<()> {
        self.batch.end_row();
        self.write_batch(tell)
    }

    /// As at the end of the stream, which may go on: what stands behind the last line feed is read, and will be again.
    pub fn write_all(&mut self, tell: TellBad<'_>) -> Result<()> {
        if let Some(span) = self.splitter.rest() {
            let changes = self.read(&span);
            self.take(changes, &span, tell)?;
        }
        self.write(tell)
    }

    /// The stream has ended.
    pub fn finish(&mut self, tell: TellBad<'_>) -> Result<()> {
        match self.splitter.take_rest() {
            Some(span) => self.record(&span, tell)?,
            None => self.note_batched(),
        }
        self.write(tell)
    }

    fn record(&mut self, span: &Span, tell: TellBad<'_>) -> Result<()> {
        if !self.splitter.bytes()[span.range.clone()].trim_ascii().is_empty() {
            let changes = self.read(span);
            self.take(changes, span, tell)?;
        }
        self.note_batched();
        Ok(())
    }

    /// What was cut off the stream needs no look any more.
    fn note_batched(&mut self) {
        let (bytes, lines) = self.splitter.passed();
        self.batched = Position { bytes, lines };
    }

    /// `None`: it was the line of names.
    fn read(&mut self, span: &Span) -> std::result::Result<Option<Changes>, Fault> {
        let text = &self.splitter.bytes()[span.range.clone()];
        let mut changes = self.reader.read(text, &self.terms)?;
        if let (Some(changes), Some(recipe)) = (&mut changes, &self.recipe) {
            let key = parse_fields(&changes.row).and_then(|fields| recipe.encode(&fields));
            changes.row = key.map_err(|e| Fault::whole(e.message))?;
        }
        match &changes {
            Some(changes) => {
                let mut families = changes.changes.iter().map(super::read::change::Change::family);
                if let Some(lacking) = families.find(|family| !self.families.contains(*family)).map(str::to_owned) {
                    self.look_again(&lacking)?;
                }
            }
            None => self.check_columns().map_err(Fault::whole)?,
        }
        Ok(changes)
    }

    fn take(
        &mut self,
        changes: std::result::Result<Option<Changes>, Fault>,
        span: &Span,
        tell: TellBad<'_>,
    ) -> Result<()> {
        match changes {
            Ok(Some(changes)) => {
                if self.batch.waits_long() {
                    self.batch.end_row();
                }
                if self.batch.is_full_for(&changes) {
                    self.write_batch(tell)?;
                }
                self.tally.cells += changes.changes.len() as u64;
                let text = &self.splitter.bytes()[span.range.clone()];
                self.tally.rows += u64::from(self.batch.add(changes, span.line, text));
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(fault) => {
                // Without names nothing behind the first line can be read.
                let has_names = !self.reader.lacks_names();
                let text = self.splitter.bytes()[span.range.clone()].to_vec();
                let bad = Bad { line: span.line, fault, record: &text };
                let told = if has_names { tell(&bad) } else { Err(refusal(&bad)) };
                match told {
                    Ok(()) => {
                        self.tally.bad += 1;
                        Ok(())
                    }
                    Err(e) => self.write(tell).and(Err(e)),
                }
            }
        }
    }

    /// Writes the batch. What is one row's fault is that row's alone.
    fn write_batch(&mut self, tell: TellBad<'_>) -> Result<()> {
        let many = self.batch.take(&self.table);
        if many.rows.iter().any(|(_, mutations)| !mutations.is_empty()) {
            match self.backend.mutate_rows(many.clone()) {
                Err(e) if is_of_a_row(&e) => self.write_each(many, tell)?,
                done => done.map_err(|e| e.context(self.not_written()))?,
            }
        }
        let is_whole = self.batch.is_whole();
        self.batch.clear();
        self.has_looked = false;
        if is_whole {
            self.done = self.batched;
        }
        Ok(())
    }

    fn write_each(&mut self, many: crate::model::ManyRows, tell: TellBad<'_>) -> Result<()> {
        for (number, row) in many.each().enumerate() {
            if row.mutations.is_empty() {
                continue;
            }
            let Err(e) = self.backend.mutate(row, None) else { continue };
            if !is_of_a_row(&e) {
                return Err(e.context(self.not_written()));
            }
            for (line, record) in self.batch.records(number) {
                tell(&Bad { line, fault: Fault::whole(e.message.clone()), record })?;
                self.tally.bad += 1;
            }
        }
        Ok(())
    }

    fn not_written(&self) -> String {
        format!("behind line {}, up to which all is imported", self.done.lines)
    }

    /// Asks which families the table has.
    fn look(&mut self) -> Result<()> {
        self.families = families_of(self.backend.as_ref(), &self.table)?;
        Ok(())
    }

    /// A family that was not there may have been declared meanwhile; asked once a batch.
    fn look_again(&mut self, family: &str) -> std::result::Result<(), Fault> {
        if !std::mem::replace(&mut self.has_looked, true) {
            self.look().map_err(|e| Fault::whole(e.message))?;
        }
        if self.families.contains(family) { Ok(()) } else { Err(Fault::whole(self.lacks(family))) }
    }

    fn lacks(&self, family: &str) -> String {
        format!(
            "table {} has no family {}; declare it: cellfs alter STORE {} {}",
            self.table,
            family.escape_debug(),
            self.table,
            family.escape_debug()
        )
    }

    fn check_columns(&self) -> std::result::Result<(), String> {
        let mut families = self.columns().into_iter().flat_map(Columns::families);
        families.find(|family| !self.families.contains(*family)).map_or(Ok(()), |family| Err(self.lacks(family)))
    }
}

/// The families of a table that takes what is imported.
fn families_of(backend: &dyn Backend, name: &TableName) -> Result<BTreeSet<String>> {
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(name).ok_or_else(|| {
        let text = format!("table {name} does not exist; make it: cellfs create STORE {name} FAMILY...");
        Error::new(ErrorKind::NoSuchTable, text)
    })?;
    if table.read_only() {
        let text = format!("table {name} is READONLY; alter it to import into it");
        return Err(Error::new(ErrorKind::ReadOnlyTable, text));
    }
    Ok(table.families.keys().cloned().collect())
}

/// What a bad record says where it ends the import.
pub fn refusal(bad: &Bad<'_>) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("{}; the lines before it are imported", bad.sentence()))
}

/// Whether another row may be taken.
fn is_of_a_row(e: &Error) -> bool {
    matches!(
        e.kind,
        ErrorKind::IllegalArgument
            | ErrorKind::FailedSanityCheck
            | ErrorKind::Constraint
            | ErrorKind::Refused
            | ErrorKind::ValueTooLarge
            | ErrorKind::NoSuchFamily
            | ErrorKind::AlreadyExists
    )
}
