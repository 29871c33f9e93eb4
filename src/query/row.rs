//! Puts the results of a get or a scan together, row by row (HBase: RegionScannerImpl, StoreScanner).

mod plain;

use super::build::build;
use super::collect::{Batches, FamilyCursor, Showing};
use super::filter::{Candidate, Decision, Direction, Filter, Hint, Included};
use super::parse::{Expression, parse};
use super::{Argument, ValueLoader};
use crate::model::{
    FamilySchema, ReadSpec, RowKey, Scan, StoredCell, TableSchema, TakePiece, Tells, TimeRange, Timestamp, after_prefix,
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
    batch: Option<usize>,
    tells: Tells,
    rows_left: Option<u64>,
    /// The row that was entered is read for the filter's sake only.
    discards: bool,
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
        query.batch = scan.batch.map(|n| n.max(1) as usize);
        query.rows_left = scan.limit;
        query.tells = scan.tells;
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
        let (batch, rows_left, tells) = (None, None, Tells::Values);
        Ok(Self { read, now, families, filter, expression, direction, batch, tells, rows_left, discards: false })
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
    pub fn read_row<S: CellSource>(&mut self, mut request: RowRequest<'_, S>) -> Result<Step> {
        let showing = self.showing();
        let mut batches = Batches::new(request.row, self.batch, (showing, self.tells));
        self.read_families(Need::Essential, &mut request, &mut batches)?;
        if showing == Showing::Later && self.passes(&mut batches.held) {
            if self.families.iter().any(|f| f.need == Need::Joined) {
                self.read_families(Need::Joined, &mut request, &mut batches)?;
                batches.held.sort_by(|a, b| a.family.cmp(&b.family));
            }
            batches.finish(&mut request)?;
        }
        if showing == Showing::Now {
            batches.finish(&mut request)?;
        }
        if batches.emitted {
            self.rows_left = self.rows_left.map(|n| n.saturating_sub(1));
        }
        Ok(self.after_row())
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
        need: Need,
        request: &mut RowRequest<'_, S>,
        batches: &mut Batches<'_>,
    ) -> Result<()> {
        for at in 0..self.families.len() {
            let family = &self.families[at];
            if !family.closed && family.need == need && !family.skips(request.row, self.direction) {
                self.read_family(at, request, batches)?;
            }
        }
        Ok(())
    }

    fn after_row(&mut self) -> Step {
        if let Some(filter) = &mut self.filter {
            filter.reset();
        }
        let filter_done = self.filter.as_ref().is_some_and(|f| f.is_done());
        let over = filter_done || self.rows_left == Some(0) || self.families.iter().all(|f| f.closed);
        if over { Step::Stop } else { Step::Continue }
    }

    /// What filters of whole rows say.
    fn passes(&mut self, cells: &mut Vec<Included>) -> bool {
        let Some(filter) = &mut self.filter else { return true };
        if cells.is_empty() {
            return false;
        }
        if filter.judges_rows() {
            filter.retain(cells);
        }
        !cells.is_empty() && !filter.excludes_row()
    }

    fn read_family<S: CellSource>(
        &mut self,
        at: usize,
        request: &mut RowRequest<'_, S>,
        batches: &mut Batches<'_>,
    ) -> Result<()> {
        let Self { read, now, families, filter, direction, tells, .. } = self;
        let family = &mut families[at];
        let source = (request.open)(&family.schema)?;
        let rules = rules(read, family, *now, filter.is_some());
        let mut reader = FamilyReader::new(source, rules);
        if !read.slice.from.is_empty() {
            reader.seek_column(&read.slice.from);
        }
        let mut cursor = FamilyCursor::new(read, &family.schema, *direction);
        let mut next_row = None;
        while let Some(visible) = reader.next()? {
            let cell = visible.cell;
            if read.slice.ends_before(&cell.qualifier) {
                break;
            }
            let mut included = match filter {
                Some(filter) => {
                    let name = &family.schema.name;
                    let mut place = Place { reader: &mut reader, cursor: &mut cursor, next_row: &mut next_row };
                    match ask(filter.as_mut(), name, cell, request.loader, &mut place)? {
                        Some(included) => included,
                        None => continue,
                    }
                }
                None => Included::whole(&family.schema.name, cell),
            };
            if *tells == Tells::Infos {
                included.expires_at = expiry(&included.cell, &family.schema.rules, *now);
            }
            if cursor.takes_next() {
                batches.add(included, request)?;
            }
            if cursor.is_full() {
                return Ok(());
            }
        }
        family.closed = reader.found_cells() && filter.as_ref().is_some_and(|f| f.is_done());
        family.next_row = next_row.or(family.next_row.take());
        Ok(())
    }
}

/// What a filter's answer moves.
struct Place<'p, 'r, S> {
    reader: &'p mut FamilyReader<'r, S>,
    cursor: &'p mut FamilyCursor,
    next_row: &'p mut Option<RowKey>,
}

/// Asks the filter about a cell and moves the reader as it says.
fn ask<S: CellSource>(
    filter: &mut dyn Filter,
    family: &str,
    cell: StoredCell,
    loader: &mut dyn ValueLoader,
    place: &mut Place<'_, '_, S>,
) -> Result<Option<Included>> {
    let Place { reader, cursor, next_row } = place;
    if filter.is_done() {
        reader.finish();
        return Ok(None);
    }
    let mut candidate = Candidate { family, cell: &cell, loader, value: None };
    let decision = filter.judge(&mut candidate)?;
    let value = candidate.value;
    match decision {
        Decision::Include | Decision::IncludeNextColumn if cursor.exceeds_versions(&cell) => {
            reader.leave_column(&cell.qualifier);
            return Ok(None);
        }
        Decision::IncludeNextColumn | Decision::NextColumn => reader.leave_column(&cell.qualifier),
        Decision::NextRow => reader.finish(),
        Decision::Seek => match filter.hint() {
            Some(Hint::Column(column)) if cursor.direction == Direction::Forward => reader.jump_to_column(&column)?,
            Some(Hint::Column(column)) => reader.seek_column(&column),
            Some(Hint::Row(row)) => {
                **next_row = Some(row);
                reader.finish();
            }
            None => {}
        },
        Decision::Include | Decision::Skip => {}
    }
    let included = Included { value, key_only: filter.empties_values(), ..Included::whole(family, cell) };
    Ok(decision.includes().then_some(included))
}

fn rules<'a>(read: &'a ReadSpec, family: &'a Family, now: Timestamp, filtered: bool) -> ReadRules<'a> {
    ReadRules {
        family: &family.schema.rules,
        now,
        time_range: family.time_range,
        max_versions: read.max_versions,
        columns: read.columns.get(&family.schema.name).and_then(Option::as_ref),
        view: if read.raw { View::Raw } else { View::Plain },
        filtered,
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
