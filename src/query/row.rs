//! Puts the results of a get or a scan together, row by row (HBase: RegionScannerImpl, StoreScanner).

mod ask;
mod lent;
mod plain;

use self::ask::Asked;
pub use self::ask::Onward;
use super::collect::{Batches, FamilyCursor, Showing, Taker};
use super::filters::build::build;
use super::filters::filter::{Direction, Filter, Included};
use super::filters::parse::{Expression, parse};
use super::{Argument, ValueLoader};
use crate::model::{
    FamilySchema, ReadSpec, RowKey, Scan, TableSchema, TakePiece, Tells, TimeRange, Timestamp, after_prefix,
};
use crate::visibility::{CellSource, FamilyReader, ReadRules, View, expiry};
use crate::{Error, ErrorKind, Result};

/// What a row's key alone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKeyVerdict {
    /// Read its cells.
    Read,
    /// Go on with the next row.
    Skip,
    /// The scan is over.
    Stop,
}

/// Whether to go on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Continue,
    Stop,
}

/// Where the cells of one row come from and where results go.
pub struct RowRequest<'a, S> {
    pub row: &'a [u8],
    /// Opens the cells of a family of the row, before its first cell.
    pub open: &'a mut dyn FnMut(&FamilySchema) -> Result<S>,
    pub loader: &'a mut dyn ValueLoader,
    /// Takes each result piece by piece; several of one row if the scan has a batch limit. After an error the pieces
    /// that were taken stand for no whole result.
    pub emit: TakePiece<'a>,
}

struct Family {
    schema: FamilySchema,
    time_range: TimeRange,
    /// The filter had nothing more to ask of this family (HBase closes the store's scanner).
    closed: bool,
    need: Need,
    /// A filter's hint: rows before it are passed over in this family.
    next_row: Option<RowKey>,
}

/// When a family of a row is read (HBase: storeHeap, joinedHeap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Essential,
    /// Once the filter has let the row pass.
    Joined,
}

impl Family {
    fn skips(&self, row: &[u8], direction: Direction) -> bool {
        self.next_row.as_ref().is_some_and(|next| direction.compare(row, next).is_lt())
    }
}

/// One get or scan: fed every row that has a stored cell in its families, in the order of the scan.
pub struct RowQuery {
    read: ReadSpec,
    now: Timestamp,
    families: Vec<Family>,
    filter: Option<Box<dyn Filter>>,
    expression: Option<Expression>,
    direction: Direction,
    rows_left: Option<u64>,
    /// The row that was entered is read for the filter's sake only.
    discards: bool,
    /// What is in the answer of the row that is read.
    answer: Batches,
}

/// A family of a row while it is read.
pub struct InFamily {
    at: usize,
    cursor: FamilyCursor,
    next_row: Option<RowKey>,
    /// A cell was stored there, visible or not.
    found_cells: bool,
    /// The limit was reached: the filter was not asked about the rest.
    is_full: bool,
}

impl RowQuery {
    /// A read of one row.
    pub fn get(read: &ReadSpec, table: &TableSchema, now: Timestamp) -> Result<Self> {
        let mut query = Self::new(read, table, now, Direction::Forward)?;
        query.join_families();
        Ok(query)
    }

    /// Families that no part of the filter needs wait until it has let the row pass. As HRegion does it: for
    /// gets, unlike scans.
    fn join_families(&mut self) {
        let Some(filter) = &self.filter else { return };
        for family in self.families.iter_mut().filter(|f| !filter.needs_family(&f.schema.name)) {
            family.need = Need::Joined;
        }
    }

    /// A read of many rows; the limit of rows is kept here, the range of rows is the caller's.
    pub fn scan(scan: &Scan, table: &TableSchema, now: Timestamp) -> Result<Self> {
        let direction = if scan.reversed { Direction::Reversed } else { Direction::Forward };
        let mut query = Self::new(&scan.read, table, now, direction)?;
        if scan.batch.is_some() && query.filter.as_ref().is_some_and(|f| f.judges_rows()) {
            let text = "Cannot set batch on a scan using a filter that needs whole rows. Leave the batch limit out";
            return Err(Error::new(ErrorKind::IncompatibleFilter, text));
        }
        query.answer.size = scan.batch.map(|n| n.max(1) as usize);
        query.rows_left = scan.limit;
        query.answer.tells = scan.tells;
        Ok(query)
    }

    fn new(read: &ReadSpec, table: &TableSchema, now: Timestamp, direction: Direction) -> Result<Self> {
        if read.max_versions == 0 {
            return Err(Error::new(ErrorKind::IllegalArgument, "max_versions must be positive"));
        }
        if read.raw && read.columns.values().any(Option::is_some) {
            return Err(Error::new(ErrorKind::Refused, "Cannot specify any column for a raw scan; name families only"));
        }
        let expression = read.filter.as_deref().map(parse).transpose()?;
        let filter = expression.as_ref().map(|e| build(e, direction)).transpose()?;
        let families = families(read, table)?;
        let read = read.clone();
        let answer = Batches::new(families.iter().map(|family| family.schema.name.clone()).collect());
        Ok(Self { read, now, families, filter, expression, direction, rows_left: None, discards: false, answer })
    }

    /// The families that are read, ascending by name.
    pub fn families(&self) -> impl Iterator<Item = &FamilySchema> {
        self.families.iter().filter(|f| !f.closed).map(|f| &f.schema)
    }

    /// Where to begin instead of the scan's own start: no row before it can pass the filter.
    ///
    /// For a reversed scan it is an exclusive bound: begin with the greatest row below it.
    pub fn start_hint(&self) -> Option<Vec<u8>> {
        let expression = self.expression.as_ref().filter(|e| !has_while(e))?;
        let prefix = required_prefix(expression)?;
        let bound = if self.direction == Direction::Forward { prefix.to_vec() } else { after_prefix(prefix) };
        (!bound.is_empty()).then_some(bound)
    }

    /// Judges a row by its key, before any of its cells is read. Order: once for each row, before [`Self::read_row`].
    pub fn enter(&mut self, row: &[u8]) -> RowKeyVerdict {
        if self.rows_left == Some(0) || self.families.iter().all(|f| f.closed) {
            return RowKeyVerdict::Stop;
        }
        if self.families.iter().all(|f| f.closed || f.skips(row, self.direction)) {
            return RowKeyVerdict::Skip;
        }
        let Some(filter) = &mut self.filter else { return RowKeyVerdict::Read };
        if !filter.excludes_key(row) {
            return RowKeyVerdict::Read;
        }
        if filter.is_done() {
            return RowKeyVerdict::Stop;
        }
        // HBase shows a filter the cells of the rows that it excludes too (RegionScannerImpl.nextRow); WHILE is
        // the one that remembers.
        if self.expression.as_ref().is_some_and(has_while) {
            self.discards = true;
            return RowKeyVerdict::Read;
        }
        filter.reset();
        RowKeyVerdict::Skip
    }

    /// Reads a row that [`Self::enter`] let pass.
    pub fn read_row<S: CellSource>(&mut self, request: RowRequest<'_, S>) -> Result<Step> {
        let RowRequest { row, open, loader, emit } = request;
        let mut taker = Taker { loader, emit };
        self.begin(row);
        self.read_families((Need::Essential, row), open, &mut taker)?;
        if self.passes() {
            if self.families.iter().any(|f| f.need == Need::Joined) {
                self.read_families((Need::Joined, row), open, &mut taker)?;
                self.answer.sort_families();
            }
            self.answer.finish(&mut taker)?;
        }
        Ok(self.after_row())
    }

    /// Begins a row that [`Self::enter`] let pass.
    pub fn begin(&mut self, row: &[u8]) {
        let showing = self.showing();
        self.answer.enter(row, showing);
    }

    /// What becomes of the cells of the row that was entered, for as much as is known before they are read.
    fn showing(&mut self) -> Showing {
        if std::mem::take(&mut self.discards) {
            return Showing::Never;
        }
        let Some(filter) = &mut self.filter else { return Showing::Now };
        if filter.judges_rows() || self.families.iter().any(|f| f.need == Need::Joined) {
            Showing::Later
        // Of the others only those that judge keys exclude rows, and they have seen the key.
        } else if filter.excludes_row() {
            Showing::Never
        } else {
            Showing::Now
        }
    }

    fn read_families<S: CellSource>(
        &mut self,
        (need, row): (Need, &[u8]),
        open: &mut dyn FnMut(&FamilySchema) -> Result<S>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        for at in 0..self.families.len() {
            if self.families[at].need == need && self.reads_family(at, row) {
                let source = open(&self.families[at].schema)?;
                let mut part = self.enter_family(at);
                self.read_stored(&mut part, source, taker)?;
                self.leave_family(part);
            }
        }
        Ok(())
    }

    /// Whether anything is wanted of a family in this row.
    fn reads_family(&self, at: usize, row: &[u8]) -> bool {
        let family = &self.families[at];
        !family.closed && !family.skips(row, self.direction)
    }

    fn enter_family(&self, at: usize) -> InFamily {
        let cursor = FamilyCursor::new(&self.read, &self.families[at].schema);
        InFamily { at, cursor, next_row: None, found_cells: false, is_full: false }
    }

    /// Nothing more is read of the family.
    pub fn leave_family(&mut self, part: InFamily) {
        if !part.is_full {
            let family = &mut self.families[part.at];
            family.closed = part.found_cells && self.filter.as_ref().is_some_and(|f| f.is_done());
            family.next_row = part.next_row.or(family.next_row.take());
        }
    }

    fn after_row(&mut self) -> Step {
        if self.answer.emitted {
            self.rows_left = self.rows_left.map(|n| n.saturating_sub(1));
        }
        if let Some(filter) = &mut self.filter {
            filter.reset();
        }
        let filter_done = self.filter.as_ref().is_some_and(|f| f.is_done());
        let over = filter_done || self.rows_left == Some(0) || self.families.iter().all(|f| f.closed);
        if over { Step::Stop } else { Step::Continue }
    }

    /// Whether the row is in the answer, as far as filters of whole rows say: what waits of it, or what was shown at once.
    fn passes(&mut self) -> bool {
        match self.answer.showing {
            Showing::Now => return true,
            Showing::Never => return false,
            Showing::Later => {}
        }
        let Some(filter) = &mut self.filter else { return true };
        if self.answer.holds_none() {
            return false;
        }
        if filter.judges_rows() {
            self.answer.retain(|version| filter.keeps(version));
        }
        !self.answer.holds_none() && !filter.excludes_row()
    }

    /// Reads cells of a family by the rules in full: all of the row, or those of one column; from where to read on.
    pub fn read_stored<S: CellSource>(
        &mut self,
        part: &mut InFamily,
        source: S,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Onward> {
        let Self { read, now, families, filter, direction, answer, .. } = self;
        let (family, name) = (&families[part.at], &families[part.at].schema.name);
        let mut reader = FamilyReader::new(source, rules(read, family, *now, filter.is_some()));
        if !read.slice.from.is_empty() {
            reader.seek_column(&read.slice.from);
        }
        let mut last = Onward::Next;
        while let Some(visible) = reader.next()? {
            let cell = visible.cell;
            if read.slice.ends_before(&cell.qualifier) {
                break;
            }
            let included = match filter {
                Some(filter) => {
                    let InFamily { cursor, next_row, .. } = part;
                    let asked = ask::of_stored(filter.as_mut(), (name, cell), taker.loader, cursor, next_row)?;
                    follow(&asked, &mut reader, *direction == Direction::Forward && !read.heeds_tombstones)?;
                    last = asked.onward.clone();
                    asked.included(name)
                }
                None => Some(Included::whole(name, cell)),
            };
            let Some(mut included) = included else { continue };
            if answer.tells == Tells::Infos {
                included.expires_at = expiry(&included.cell, &family.schema.rules, *now);
            }
            if part.cursor.takes_next() {
                answer.add(included, taker)?;
            }
            if part.cursor.is_full() {
                part.is_full = true;
                return Ok(Onward::NextRow);
            }
        }
        part.found_cells |= reader.cells_read() > 0;
        Ok(last)
    }
}

/// Moves the reader as the filter says; `jumps`: to where it hints, whatever lies between.
fn follow<S: CellSource>(asked: &Asked, reader: &mut FamilyReader<'_, S>, jumps: bool) -> Result<()> {
    match &asked.onward {
        Onward::Next => {}
        Onward::NextColumn => reader.leave_column(&asked.cell.qualifier),
        Onward::Column(column) if jumps => reader.jump_to_column(column)?,
        Onward::Column(column) => reader.seek_column(column),
        Onward::NextRow => reader.finish(),
    }
    Ok(())
}

fn rules<'a>(read: &'a ReadSpec, family: &'a Family, now: Timestamp, filtered: bool) -> ReadRules<'a> {
    ReadRules {
        time_range: family.time_range,
        max_versions: read.max_versions,
        columns: read.columns.get(&family.schema.name).and_then(Option::as_ref),
        view: if read.raw { View::Raw } else { View::Plain },
        filtered,
        ..ReadRules::plain(&family.schema.rules, now)
    }
}

fn families(read: &ReadSpec, table: &TableSchema) -> Result<Vec<Family>> {
    if let Some(name) = read.columns.keys().find(|name| !table.families.contains_key(*name)) {
        let text = format!("Column family {name} does not exist in table {}. Declare it first", table.name);
        return Err(Error::new(ErrorKind::NoSuchFamily, text));
    }
    let wanted = |f: &&FamilySchema| read.columns.is_empty() || read.columns.contains_key(&f.name);
    let family = |f: &FamilySchema| Family {
        schema: f.clone(),
        time_range: read.family_time_ranges.get(&f.name).copied().unwrap_or(read.time_range),
        closed: false,
        need: Need::Essential,
        next_row: None,
    };
    Ok(table.families.values().filter(wanted).map(family).collect())
}

/// The prefix that every row must have which passes this filter.
fn required_prefix(expression: &Expression) -> Option<&[u8]> {
    match expression {
        Expression::Call { name, arguments } if name == "PrefixFilter" => match arguments.first() {
            Some(Argument::Quoted(prefix)) => Some(prefix),
            _ => None,
        },
        Expression::AllOf(parts) => parts.iter().find_map(required_prefix),
        _ => None,
    }
}

/// WHILE may end a scan at a row before the prefix.
fn has_while(expression: &Expression) -> bool {
    match expression {
        Expression::While(_) => true,
        Expression::Skip(inner) => has_while(inner),
        Expression::AllOf(parts) | Expression::AnyOf(parts) => parts.iter().any(has_while),
        Expression::Call { .. } => false,
    }
}
