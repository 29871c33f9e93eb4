//! Which server has which rows: look-ups in hbase:meta.

use std::sync::Arc;

use prost::Message;

use super::region::{META, Region, meta_table, no_table, region_of, table_key};
use crate::hbase::client::cluster::Cluster;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::data::{Column, Get, GetRequest, GetResponse, Scan, ScanRequest, ScanResponse};
use crate::hbase::client::proto::schema::{RegionInfo, TableName, TableState};
use crate::hbase::client::retry::Tries;
use crate::hbase::client::wire::cell::Cell;
use crate::hbase::client::wire::connection::{Priority, Service};

/// Longest key of a row.
const MOST_ROW: usize = 32_767;

impl Cluster {
    /// The region of a row.
    pub(in crate::hbase::client) fn locate(&self, table: &TableName, row: &[u8], tries: &Tries) -> Result<Arc<Region>> {
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
    pub(in crate::hbase::client) fn locate_before(
        &self,
        table: &TableName,
        start: &[u8],
        tries: &Tries,
    ) -> Result<Arc<Region>> {
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
        let answer = self
            .call(to, ("Scan", &request), Priority::Meta, tries.left_to_read())
            .inspect_err(|e| self.blame(&meta, e))?;
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

    pub(in crate::hbase::client) fn meta_region(&self, tries: &Tries) -> Result<Region> {
        let server = self.meta(tries.left())?;
        let info = RegionInfo { region_id: 1, table_name: meta_table(), ..RegionInfo::default() };
        Ok(Region { name: META.to_vec(), info, server, started: None })
    }

    /// What a failed call to a region means for what is remembered.
    pub(in crate::hbase::client) fn blame(&self, region: &Region, error: &Error) {
        self.note(&region.server, error);
        if error.kind == Kind::Location {
            self.locations.forget(region);
            if region.name == META {
                self.forget_meta();
            }
        }
    }

    /// The state of a table as hbase:meta has it: 0 enabled, 1 disabled, 2 disabling, 3 enabling.
    fn state_once(&self, table: &TableName, tries: &Tries) -> Result<i32> {
        let meta = self.meta_region(tries)?;
        let column = vec![Column { family: b"table".to_vec(), qualifier: vec![b"state".to_vec()] }];
        let get = Get { row: table_key(table), column, ..Get::default() };
        let request = GetRequest { region: meta.specifier(), get };
        let to = (&meta.server, Service::Client);
        let answer = self
            .call(to, ("Get", &request), Priority::Meta, tries.left_to_read())
            .inspect_err(|e| self.blame(&meta, e))?;
        let found: GetResponse = answer.message()?;
        let mut cells = crate::hbase::client::wire::cell::of_outcome(
            found.result.unwrap_or_default(),
            &mut answer.cells()?.into_iter(),
        )?;
        let cell = cells.pop().ok_or_else(|| no_table(table))?;
        Ok(TableState::decode(&cell.value[..]).map_err(Error::protocol)?.state)
    }

    /// After a row's region was not found where it should be: whether that will last.
    pub(in crate::hbase::client) fn check_enabled(&self, table: &TableName, tries: &Tries) -> Result<()> {
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
