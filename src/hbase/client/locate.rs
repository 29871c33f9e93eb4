//! Which server has which rows: hbase:meta, and what is remembered of it.
//!
//! What bounds memory: [`MOST`] regions are remembered; past it all are forgotten and asked for anew.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use prost::Message;

use super::cell::Cell;
use super::cluster::Cluster;
use super::connection::{Priority, Server, Service};
use super::error::{Error, Kind, Result};
use super::proto::data::{Column, Get, GetRequest, GetResponse, Scan, ScanRequest, ScanResponse};
use super::proto::schema::{RegionInfo, RegionSpecifier, TableName, TableState};
use super::retry::Tries;
use super::scanner::Scanner;

const MOST: usize = 200_000;
/// The one region of hbase:meta.
const META: &[u8] = b"hbase:meta,,1";
/// Longest key of a row.
const MOST_ROW: usize = 32_767;

/// A region, and the server that has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Its row in hbase:meta.
    pub name: Vec<u8>,
    pub info: RegionInfo,
    pub server: Server,
}

impl Region {
    /// First row.
    pub fn start(&self) -> &[u8] {
        self.info.start_key.as_deref().unwrap_or_default()
    }

    /// The row before which it ends; empty: the last of its table.
    pub fn end(&self) -> &[u8] {
        self.info.end_key.as_deref().unwrap_or_default()
    }

    pub(super) fn contains(&self, row: &[u8]) -> bool {
        row >= self.start() && (self.end().is_empty() || row < self.end())
    }

    pub(super) fn specifier(&self) -> RegionSpecifier {
        RegionSpecifier { kind: 1, value: self.name.clone() }
    }

    pub(super) fn priority(&self) -> Priority {
        if self.name == META { Priority::Meta } else { Priority::Normal }
    }
}

/// The table of all regions.
pub(super) fn meta_table() -> TableName {
    TableName { namespace: b"hbase".to_vec(), qualifier: b"meta".to_vec() }
}

/// Regions by their first rows.
type Known = BTreeMap<Vec<u8>, Arc<Region>>;

/// See the module.
#[derive(Default)]
pub(super) struct Locations(Mutex<HashMap<TableName, Known>>);

impl Locations {
    fn find(&self, table: &TableName, row: &[u8]) -> Option<Arc<Region>> {
        let known = self.0.lock();
        let (_, region) = known.get(table)?.range(..=row.to_vec()).next_back()?;
        region.contains(row).then(|| Arc::clone(region))
    }

    fn keep(&self, table: &TableName, region: &Arc<Region>) {
        let mut known = self.0.lock();
        if known.values().map(BTreeMap::len).sum::<usize>() >= MOST {
            known.clear();
        }
        known.entry(table.clone()).or_default().insert(region.start().to_vec(), Arc::clone(region));
    }

    pub fn forget(&self, region: &Region) {
        let mut known = self.0.lock();
        if let Some(of_table) = known.get_mut(&region.info.table_name)
            && of_table.get(region.start()).is_some_and(|now| now.name == region.name)
        {
            of_table.remove(region.start());
        }
    }

    pub fn forget_server(&self, server: &Server) {
        self.0.lock().values_mut().for_each(|known| known.retain(|_, region| region.server != *server));
    }

    pub fn forget_table(&self, table: &TableName) {
        self.0.lock().remove(table);
    }
}

/// What stands before the first comma of a region's name.
fn table_key(table: &TableName) -> Vec<u8> {
    match &table.namespace[..] {
        b"default" | b"" => table.qualifier.clone(),
        namespace => [namespace, b":", &table.qualifier].concat(),
    }
}

/// A region of a row of hbase:meta; `None`: it is a parent that was split, or a copy.
fn region_of(cells: &[Cell]) -> Result<Option<Region>> {
    let value = |qualifier: &[u8]| cells.iter().find(|cell| cell.qualifier == qualifier).map(|cell| &cell.value[..]);
    let Some(info) = value(b"regioninfo").and_then(super::zookeeper::message) else { return Ok(None) };
    let info = RegionInfo::decode(info).map_err(Error::protocol)?;
    if info.offline == Some(true) || info.split == Some(true) || info.replica_id.unwrap_or(0) != 0 {
        return Ok(None);
    }
    let name = cells.first().map(|cell| cell.row.clone()).unwrap_or_default();
    let server = value(b"server").and_then(|server| std::str::from_utf8(server).ok()).unwrap_or_default();
    let server = server.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    let (host, port) = server.ok_or_else(|| {
        let shown = name.escape_ascii();
        Error::new(Kind::Location, format!("region {shown} is being opened"))
    })?;
    Ok(Some(Region { name, info, server: Server { host, port } }))
}

fn no_table(table: &TableName) -> Error {
    let shown = table_key(table);
    Error::new(Kind::NoTable, format!("table {} does not exist", String::from_utf8_lossy(&shown)))
}

impl Cluster {
    /// The region of a row.
    pub(super) fn locate(&self, table: &TableName, row: &[u8], tries: &Tries) -> Result<Arc<Region>> {
        if *table == meta_table() {
            return self.meta_region(tries).map(Arc::new);
        }
        if let Some(known) = self.locations.find(table, row) {
            return Ok(known);
        }
        let mut start = [&table_key(table), &b","[..], row].concat();
        // The row of hbase:meta may be no longer than any other: of a key that fills it the end is left out.
        start.truncate(MOST_ROW - 2);
        let is_cut = start.len() < table_key(table).len() + 1 + row.len();
        // A colon follows all digits: it is behind every region of that first row.
        start.extend(b",:");
        let found = self.meta_row(table, start, tries)?;
        let region = match found.filter(|region| region.contains(row)) {
            Some(region) => region,
            None if is_cut => {
                let all = self.regions(table)?;
                all.into_iter().find(|region| region.contains(row)).ok_or_else(|| no_table(table))?
            }
            None => {
                return Err(Error::new(Kind::Location, format!("hbase:meta has no region of {}", row.escape_ascii())));
            }
        };
        let region = Arc::new(region);
        self.locations.keep(table, &region);
        Ok(region)
    }

    /// The region that ends where another begins.
    pub(super) fn locate_before(&self, table: &TableName, start: &[u8], tries: &Tries) -> Result<Arc<Region>> {
        let mut row = [&table_key(table), &b","[..], start].concat();
        row.truncate(MOST_ROW - 1);
        row.push(b',');
        let found = self.meta_row(table, row, tries)?.filter(|region| region.start() < start);
        found.map(Arc::new).ok_or_else(|| Error::new(Kind::Location, "hbase:meta has a gap before a region"))
    }

    /// The region whose row of hbase:meta is the last up to `start`.
    fn meta_row(&self, table: &TableName, start: Vec<u8>, tries: &Tries) -> Result<Option<Region>> {
        let meta = self.meta_region(tries)?;
        let scan = Scan {
            column: vec![Column { family: b"info".to_vec(), qualifier: Vec::new() }],
            start_row: Some(start),
            stop_row: Some([&table_key(table), &b",,"[..]].concat()),
            include_stop_row: Some(true),
            reversed: Some(true),
            caching: Some(1),
            ..Scan::default()
        };
        let request = ScanRequest {
            region: Some(meta.specifier()),
            scan: Some(scan),
            number_of_rows: Some(1),
            close_scanner: Some(true),
            ..ScanRequest::default()
        };
        let to = (&meta.server, Service::Client);
        let answer =
            self.call(to, ("Scan", &request), Priority::Meta, tries.left()).inspect_err(|e| self.blame(&meta, e))?;
        let mut cells = answer.cells()?;
        for outcome in answer.message::<ScanResponse>()?.results {
            cells.extend(outcome.cell.into_iter().map(Cell::from));
        }
        if cells.is_empty() {
            return Err(no_table(table));
        }
        let found = region_of(&cells)?;
        Ok(found.filter(|region| region.info.table_name == *table))
    }

    fn meta_region(&self, tries: &Tries) -> Result<Region> {
        let server = self.meta(tries.left())?;
        let info = RegionInfo { region_id: 1, table_name: meta_table(), ..RegionInfo::default() };
        Ok(Region { name: META.to_vec(), info, server })
    }

    /// What a failed call to a region means for what is remembered.
    pub(super) fn blame(&self, region: &Region, error: &Error) {
        self.note(&region.server, error);
        if error.kind == Kind::Location {
            self.locations.forget(region);
            if region.name == META {
                self.forget_meta();
            }
        }
    }

    /// All regions of a table, in order.
    pub fn regions(&self, table: &TableName) -> Result<Vec<Region>> {
        let key = table_key(table);
        let scan = Scan {
            column: vec![Column { family: b"info".to_vec(), qualifier: Vec::new() }],
            start_row: Some([&key, &b",,"[..]].concat()),
            // hbase:meta compares what stands between commas: a name with a space behind is the next.
            stop_row: Some([&key, &b" ,,"[..]].concat()),
            ..Scan::default()
        };
        let mut scanner = Scanner::new(self, meta_table(), scan, None);
        let (mut regions, mut row) = (Vec::new(), Vec::new());
        while let Some(part) = scanner.next()? {
            row.extend(part.cells);
            if part.is_end {
                regions.extend(region_of(&row)?.filter(|region| region.info.table_name == *table));
                row.clear();
            }
        }
        if regions.is_empty() { Err(no_table(table)) } else { Ok(regions) }
    }

    /// The state of a table as hbase:meta has it: 0 enabled, 1 disabled, 2 disabling, 3 enabling.
    pub fn table_state(&self, table: &TableName) -> Result<i32> {
        let mut tries = self.tries("asking for the state of a table");
        loop {
            match self.state_once(table, &tries) {
                Err(e) => tries.again(e)?,
                state => return state,
            }
        }
    }

    fn state_once(&self, table: &TableName, tries: &Tries) -> Result<i32> {
        let meta = self.meta_region(tries)?;
        let column = vec![Column { family: b"table".to_vec(), qualifier: vec![b"state".to_vec()] }];
        let get = Get { row: table_key(table), column, ..Get::default() };
        let request = GetRequest { region: meta.specifier(), get };
        let to = (&meta.server, Service::Client);
        let answer =
            self.call(to, ("Get", &request), Priority::Meta, tries.left()).inspect_err(|e| self.blame(&meta, e))?;
        let found: GetResponse = answer.message()?;
        let mut cells = super::cell::of_outcome(found.result.unwrap_or_default(), &mut answer.cells()?.into_iter())?;
        let cell = cells.pop().ok_or_else(|| no_table(table))?;
        Ok(TableState::decode(&cell.value[..]).map_err(Error::protocol)?.state)
    }

    /// After a row's region was not found where it should be: whether that will last.
    pub(super) fn check_enabled(&self, table: &TableName) -> Result<()> {
        match self.table_state(table)? {
            1 | 2 => {
                let shown = table_key(table);
                let text = format!("table {} is disabled", String::from_utf8_lossy(&shown));
                Err(Error::new(Kind::TableDisabled, text))
            }
            _ => Ok(()),
        }
    }
}
