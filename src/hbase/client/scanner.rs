//! Scans over the regions of a table, resumed at their place whatever happens to a region or a scanner.
//!
//! What bounds memory: an answer has about [`ANSWER`] bytes; a row that is longer comes in parts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::cluster::Cluster;
use super::error::{Error, Kind, Result};
use super::find::region::Region;
use super::proto::data::{Scan, ScanRequest, ScanResponse};
use super::proto::schema::TableName;
use super::retry::Tries;
use super::wire::cell::Cell;
use super::wire::connection::Service;

/// Bytes that one answer is asked to have at most (HBase: hbase.client.scanner.max.result.size).
const ANSWER: u64 = 2 << 20;
/// Rows that one answer is asked to have at most.
const ROWS: u32 = 10_000;

/// Cells of one row, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub row: Vec<u8>,
    pub cells: Vec<Cell>,
    /// No more of the row follows.
    pub is_end: bool,
}

/// A scanner that a server has open.
struct Open {
    region: Arc<Region>,
    id: u64,
    next_call: u64,
}

/// How far a scan has come.
#[derive(Clone, Default)]
struct Place {
    row: Vec<u8>,
    /// The last cell that was given out of a row that goes on, without its value; `None`: the row is over.
    cell: Option<Cell>,
}

/// A scan under way.
pub struct Scanner<'a> {
    cluster: &'a Cluster,
    table: TableName,
    scan: Scan,
    /// Rows that are still wanted.
    limit: Option<u64>,
    open: Option<Open>,
    ready: VecDeque<Part>,
    place: Option<Place>,
    /// First row of the region that comes next; reversed: the one at which it ends.
    next_region: Option<Vec<u8>>,
    is_done: bool,
    read_point: Option<u64>,
    /// What servers have counted, where somebody reads the log of it.
    counted: Option<BTreeMap<String, i64>>,
}

impl<'a> Scanner<'a> {
    /// A scan that begins when it is first asked for something.
    pub fn new(cluster: &'a Cluster, table: TableName, mut scan: Scan, limit: Option<u64>) -> Self {
        scan.max_result_size = Some(ANSWER);
        let is_done = limit == Some(0);
        Self {
            cluster,
            table,
            scan,
            limit,
            open: None,
            ready: VecDeque::new(),
            place: None,
            next_region: None,
            is_done,
            read_point: None,
            counted: log::log_enabled!(log::Level::Debug).then(BTreeMap::new),
        }
    }

    fn is_reversed(&self) -> bool {
        self.scan.reversed == Some(true)
    }

    /// The next cells; `None` at the end. Its time begins anew with each answer of a server: one that looks through
    /// much and finds little says that it is alive.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be asked again after an error")]
    pub fn next(&mut self) -> Result<Option<Part>> {
        let mut tries = self.cluster.tries("a scan");
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            if self.is_done {
                return Ok(None);
            }
            match self.advance(&tries) {
                Ok(()) => tries.renew(),
                Err(e) => {
                    self.open = None;
                    if e.kind == Kind::Location && tries.failures() >= 2 {
                        self.cluster.check_enabled(&self.table, &tries)?;
                    }
                    tries.again(e)?;
                }
            }
        }
    }

    /// Asks for more once.
    fn advance(&mut self, tries: &Tries) -> Result<()> {
        let (region, request) = match self.open.as_mut() {
            Some(open) => {
                let request = ScanRequest {
                    scanner_id: Some(open.id),
                    next_call_seq: Some(open.next_call),
                    ..ScanRequest::default()
                };
                open.next_call += 1;
                (Arc::clone(&open.region), request)
            }
            None => {
                let (region, scan) = self.resume(tries)?;
                let request = ScanRequest {
                    region: Some(region.specifier()),
                    scan: Some(scan),
                    next_call_seq: Some(0),
                    ..ScanRequest::default()
                };
                (region, request)
            }
        };
        let rows = self.limit.map_or(ROWS, |limit| u32::try_from(limit).unwrap_or(ROWS).min(ROWS));
        let request = ScanRequest {
            number_of_rows: Some(rows),
            // The server closes the scanner by itself once it has given them.
            limit_of_rows: self.limit.and_then(|limit| u32::try_from(limit).ok()),
            client_handles_partials: Some(true),
            client_handles_heartbeats: Some(true),
            track_scan_metrics: self.counted.is_some().then_some(true),
            ..request
        };
        let to = (&region.server, Service::Client);
        let answer = self.cluster.call(to, ("Scan", &request), region.priority(), tries.left_to_read());
        let answer = answer.inspect_err(|e| self.cluster.blame(&region, e))?;
        let cells = answer.cells()?;
        self.take(&region, answer.message()?, cells)
    }

    /// The region to go on in, and what to ask it for.
    fn resume(&self, tries: &Tries) -> Result<(Arc<Region>, Scan)> {
        let mut scan = self.scan.clone();
        if let Some(place) = &self.place {
            scan.start_row = Some(place.row.clone());
            scan.include_start_row = Some(place.cell.is_some());
        }
        if self.place.as_ref().is_some_and(|place| place.cell.is_some()) {
            // The rest of a row is to be of the same moment as its beginning.
            scan.mvcc_read_point = self.read_point;
        }
        let start = scan.start_row.clone().unwrap_or_default();
        let region = match (&self.next_region, self.is_reversed()) {
            (Some(next), false) if *next > start => {
                // Before its first row there is nothing left.
                (scan.start_row, scan.include_start_row) = (Some(next.clone()), Some(true));
                self.cluster.locate(&self.table, next, tries)?
            }
            (Some(end), true) => self.cluster.locate_before(&self.table, end, tries)?,
            (None, true) if start.is_empty() => self.last_region(tries)?,
            // What begins behind the last row of a region begins in the next one or in it; the look-up by the row is right
            // for both, and an empty answer leads on.
            _ => self.cluster.locate(&self.table, &start, tries)?,
        };
        Ok((region, scan))
    }

    fn last_region(&self, tries: &Tries) -> Result<Arc<Region>> {
        // Behind every key that a region can begin with.
        self.cluster.locate(&self.table, &[0xFF; 64], tries)
    }

    fn count(&mut self, response: &ScanResponse) {
        let (Some(counted), Some(told)) = (&mut self.counted, &response.scan_metrics) else { return };
        *counted.entry("ANSWERS".to_owned()).or_default() += 1;
        for metric in &told.metrics {
            let name = metric.name.clone().unwrap_or_default();
            *counted.entry(name).or_default() += metric.value.unwrap_or(0);
        }
    }

    /// Takes an answer apart.
    fn take(&mut self, region: &Arc<Region>, response: ScanResponse, cells: Vec<Cell>) -> Result<()> {
        self.count(&response);
        if response.mvcc_read_point.is_some() && self.open.is_none() {
            self.read_point = response.mvcc_read_point;
        }
        let mut cells = cells.into_iter();
        let mut results: Vec<Vec<Cell>> = Vec::new();
        for count in &response.cells_per_result {
            let one: Vec<Cell> = cells.by_ref().take(*count as usize).collect();
            if one.len() < *count as usize {
                return Err(Error::protocol("cells of a scan are missing"));
            }
            results.push(one);
        }
        results.extend(response.results.into_iter().map(|one| one.cell.into_iter().map(Cell::from).collect()));
        for (at, result) in results.into_iter().enumerate() {
            let goes_on = response.partial_flag_per_result.get(at).copied().unwrap_or(false);
            self.take_result(result, goes_on);
        }
        let is_over = response.more_results == Some(false);
        let is_region_over = is_over || response.more_results_in_region == Some(false);
        if let Some(id) = response.scanner_id.filter(|_| self.open.is_none() && !is_region_over) {
            self.open = Some(Open { region: Arc::clone(region), id, next_call: 1 });
        }
        if self.limit == Some(0) || is_over {
            if is_region_over {
                self.open = None;
            }
            self.finish();
        } else if is_region_over {
            self.leave(region);
        } else if self.open.is_none() {
            return Err(Error::protocol("a scan without a scanner"));
        }
        Ok(())
    }

    fn take_result(&mut self, mut result: Vec<Cell>, goes_on: bool) {
        let Some(row) = result.first().map(|cell| cell.row.clone()) else { return };
        if let Some(Place { row: at, cell: Some(last) }) = self.place.clone() {
            if at == row {
                // Of a row that is read again: what was given out before. A cell that is gone since does not matter.
                if let Some(found) = result.iter().position(|cell| is_behind(cell, &last)) {
                    result.drain(..found);
                } else {
                    result.clear();
                }
            } else {
                self.end_row();
            }
        }
        let last = result.last().map(bare).or_else(|| self.place.as_ref().and_then(|place| place.cell.clone()));
        self.place = Some(Place { row: row.clone(), cell: last.filter(|_| goes_on) });
        if !goes_on {
            self.limit = self.limit.map(|limit| limit.saturating_sub(1));
        }
        self.ready.push_back(Part { row, cells: result, is_end: !goes_on });
    }

    /// A row of which more was announced has no more.
    fn end_row(&mut self) {
        if let Some(place) = &mut self.place
            && place.cell.take().is_some()
        {
            self.limit = self.limit.map(|limit| limit.saturating_sub(1));
            self.ready.push_back(Part { row: place.row.clone(), cells: Vec::new(), is_end: true });
        }
    }

    fn finish(&mut self) {
        self.end_row();
        self.close();
        self.is_done = true;
    }

    /// On to the next region, if one can have more.
    fn leave(&mut self, region: &Region) {
        self.open = None;
        self.end_row();
        let stop = self.scan.stop_row.as_deref().unwrap_or_default();
        let (edge, is_last) = if self.is_reversed() {
            (region.start(), !stop.is_empty() && region.start() <= stop)
        } else {
            let past = region.end() > stop || region.end() == stop && self.scan.include_stop_row != Some(true);
            (region.end(), !stop.is_empty() && past)
        };
        if edge.is_empty() || is_last || self.limit == Some(0) {
            self.is_done = true;
        } else {
            self.next_region = Some(edge.to_vec());
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let request = ScanRequest { scanner_id: Some(open.id), close_scanner: Some(true), ..ScanRequest::default() };
        let to = (&open.region.server, Service::Client);
        // A scanner that is left open ends by itself.
        let timeout = std::time::Duration::from_secs(1);
        let _ = self.cluster.call(to, ("Scan", &request), open.region.priority(), timeout);
    }
}

impl Drop for Scanner<'_> {
    fn drop(&mut self) {
        self.close();
        if let Some(counted) = self.counted.take().filter(|counted| !counted.is_empty()) {
            let table = super::find::region::table_key(&self.table);
            let told: Vec<String> = counted.iter().map(|(name, count)| format!("{name}={count}")).collect();
            log::debug!("a scan of {}: {}", String::from_utf8_lossy(&table), told.join(" "));
        }
    }
}

/// A cell without its value, which may be long.
fn bare(cell: &Cell) -> Cell {
    let Cell { row, family, qualifier, timestamp, kind, value: _ } = cell;
    let (row, family, qualifier) = (row.clone(), family.clone(), qualifier.clone());
    Cell { row, family, qualifier, timestamp: *timestamp, kind: *kind, value: Vec::new() }
}

/// Whether a cell comes after another of its row (CellComparatorImpl).
fn is_behind(cell: &Cell, other: &Cell) -> bool {
    let key = |cell: &Cell| (cell.family.clone(), cell.qualifier.clone());
    let newest_first = |cell: &Cell| (std::cmp::Reverse(cell.timestamp), std::cmp::Reverse(cell.kind));
    (key(cell), newest_first(cell)) > (key(other), newest_first(other))
}
