//! hbase:meta read as a whole: the regions of a table, the states of all tables.

use std::collections::HashMap;

use prost::Message;

use super::region::{Region, meta_table, no_table, region_of, table_key};
use crate::hbase::client::cluster::Cluster;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::data::{Column, Get, Scan};
use crate::hbase::client::proto::schema::{TableName, TableState};
use crate::hbase::client::scanner::Scanner;

impl Cluster {
    /// The region of that encoded name, in whichever table: hbase:meta is read up to it.
    pub fn region_called(&self, encoded: &str) -> Result<Option<Region>> {
        let column = vec![Column { family: b"info".to_vec(), qualifier: Vec::new() }];
        let mut scanner = Scanner::new(self, meta_table(), Scan { column, ..Scan::default() }, None);
        let mut row = Vec::new();
        while let Some(part) = scanner.next()? {
            row.extend(part.cells);
            if part.is_end {
                if part.row.ends_with(format!(".{encoded}.").as_bytes()) {
                    return region_of(&row);
                }
                row.clear();
            }
        }
        Ok(None)
    }

    /// The name of the region of that encoded name, also of one that nobody serves.
    pub fn region_name(&self, encoded: &str) -> Result<Option<Vec<u8>>> {
        let column = vec![Column { family: b"info".to_vec(), qualifier: vec![b"state".to_vec()] }];
        let mut scanner = Scanner::new(self, meta_table(), Scan { column, ..Scan::default() }, None);
        while let Some(part) = scanner.next()? {
            if part.row.ends_with(format!(".{encoded}.").as_bytes()) {
                return Ok(Some(part.row));
            }
        }
        Ok(None)
    }

    /// All regions of a table, in order.
    pub fn regions(&self, table: &TableName) -> Result<Vec<Region>> {
        if *table == meta_table() {
            // It has no row of itself.
            let tries = self.tries("asking for hbase:meta");
            return self.meta_region(&tries).map(|region| vec![region]);
        }
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

    /// A table's descriptor in words, as a server that has a region of it says them: where it refuses a family.
    pub fn descriptor(&self, table: &TableName) -> Result<String> {
        // No family has a colon in its name.
        let column = vec![Column { family: b":".to_vec(), qualifier: Vec::new() }];
        let get = Get { row: vec![0], column, ..Get::default() };
        match self.get(table, get) {
            Err(e) if e.kind == Kind::NoFamily => match e.text.split_once(" in table ") {
                Some((_, told)) => Ok(told.to_owned()),
                None => Err(e),
            },
            Err(e) => Err(e),
            Ok(_) => Err(Error::protocol("a family that cannot be was read")),
        }
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
}
