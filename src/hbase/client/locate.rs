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

    /// The states of all tables, by `namespace:name` (the namespace `default` left out): 0 enabled, 1
    /// disabled, 2 disabling, 3 enabling.
    pub fn table_states(&self) -> Result<HashMap<Vec<u8>, i32>> {
        let column = vec![Column { family: b"table".to_vec(), qualifier: vec![b"state".to_vec()] }];
        let mut scanner = Scanner::new(self, meta_table(), Scan { column, ..Scan::default() }, None);
        let mut states = HashMap::new();
        while let Some(part) = scanner.next()? {
            for cell in part.cells {
                let state = TableState::decode(&cell.value[..]).map_err(Error::protocol)?.state;
                states.insert(cell.row, state);
            }
        }
        Ok(states)
    }

    /// After a row's region was not found where it should be: whether that will last.
    pub(super) fn check_enabled(&self, table: &TableName, tries: &Tries) -> Result<()> {
        match self.state_once(table, tries) {
            Ok(1 | 2) => {
                let shown = table_key(table);
                let text = format!("table {} is disabled", String::from_utf8_lossy(&shown));
                Err(Error::new(Kind::TableDisabled, text))
            }
            Err(e) if e.kind == Kind::NoTable => Err(e),
            // What cannot be asked now says nothing.
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of hbase:meta of a table of one region, as a server of 2.6.4 sent it.
    const ROW: &str = concat!(
        "0000007b0000004e0000002500347265632c2c313739353435363730333533302e3736303331356562623962376136306539",
        "3861393836386637636538636138662e04696e666f726567696f6e696e666f000001a2098f1d81045042554608aab8bccca0",
        "34120e0a0764656661756c7412037265631a00220028003000380000000064000000540000000800347265632c2c31373935",
        "3435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e04696e666f7365",
        "716e756d447572696e674f70656e000001a2098f1d81040000000000000002000000610000004a0000000f00347265632c2c",
        "313739353435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e04696e",
        "666f736572766572000001a2098f1d81046c6f63616c686f73743a313730323000000063000000530000000800347265632c",
        "2c313739353435363730333533302e37363033313565626239623761363065393861393836386637636538636138662e0469",
        "6e666f7365727665727374617274636f6465000001a2098f1d8104000001a2095913c50000006b000000460000001d003472",
        "65632c2c313739353435363730333533302e3736303331356562623962376136306539386139383638663763653863613866",
        "2e04696e666f736e000001a2098f1cd6046c6f63616c686f73742c31373032302c3137393534353331363234333700000055",
        "000000490000000400347265632c2c313739353435363730333533302e373630333135656262396237613630653938613938",
        "36386637636538636138662e04696e666f7374617465000001a2098f1d81044f50454e",
    );

    #[test]
    fn a_recorded_row_of_meta_is_a_region() {
        let mut cells = super::super::cell::decode(&hex::decode(ROW).unwrap()).unwrap();
        let region = region_of(&cells).unwrap().unwrap();
        assert_eq!(region.name, b"rec,,1795456703530.760315ebb9b7a60e98a9868f7ce8ca8f.");
        assert_eq!(region.server, Server { host: "localhost".into(), port: 17020 });
        assert_eq!((region.start(), region.end()), (&b""[..], &b""[..]));
        assert_eq!(region.info.table_name, TableName { namespace: b"default".to_vec(), qualifier: b"rec".to_vec() });
        assert!(region.contains(b"any"));
        // One that is being opened has no server yet.
        cells.retain(|cell| cell.qualifier != b"server");
        assert_eq!(region_of(&cells).unwrap_err().kind, Kind::Location);
        cells.retain(|cell| cell.qualifier != b"regioninfo");
        assert_eq!(region_of(&cells).unwrap(), None);
    }
}
