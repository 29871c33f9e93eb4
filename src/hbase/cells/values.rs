//! Values of versions: asked for by column and timestamp, and remembered for a moment, for a file is read piece by piece.
//! Whoever reads one of a family that was listed is likely to read those behind it too: they are asked for along with it.
//!
//! What bounds memory: [`MOST`] bytes in [`MOST_VALUES`] are remembered, and what [`super::ahead`] says.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::ahead::{FRESH, Listings};
use super::reading::{ALL_VERSIONS, of_row, raw};
use crate::env::sync::Mutex;
use crate::hbase::HBase;
use crate::hbase::client::proto::data;
use crate::hbase::client::{Cell, Scanner};
use crate::hbase::convert::{column, table_name, time_range};
use crate::model::{CellInfo, ColumnKey, RowKey, TableName, TimeRange, Timestamp, ValueRef};
use crate::{Error, ErrorKind, Result};

const MOST: usize = 64 << 20;
/// They are looked through one by one.
const MOST_VALUES: usize = 4096;

struct Kept {
    column: ColumnKey,
    timestamp: Timestamp,
    value: Arc<[u8]>,
    at: Instant,
}

/// Values that were read last, and what was listed last.
#[derive(Default)]
pub(in crate::hbase) struct Values {
    /// How many bytes they have, and the values, the oldest first.
    kept: Mutex<(usize, VecDeque<Kept>)>,
    pub listings: Listings,
}

impl Values {
    fn find(&self, column: &ColumnKey, timestamp: Timestamp) -> Option<Arc<[u8]>> {
        let kept = self.kept.lock();
        let is_it = |kept: &&Kept| kept.timestamp == timestamp && kept.at.elapsed() < FRESH && kept.column == *column;
        kept.1.iter().rev().find(is_it).map(|kept| Arc::clone(&kept.value))
    }

    fn keep(&self, column: ColumnKey, timestamp: Timestamp, value: &Arc<[u8]>) {
        let mut kept = self.kept.lock();
        kept.0 += value.len();
        kept.1.push_back(Kept { column, timestamp, value: Arc::clone(value), at: Instant::now() });
        while kept.0 > MOST
            || kept.1.len() > MOST_VALUES
            || kept.1.front().is_some_and(|first| first.at.elapsed() >= FRESH)
        {
            let Some(first) = kept.1.pop_front() else { break };
            kept.0 -= first.value.len();
        }
    }

    /// A row is written to.
    pub fn forget(&self, table: &TableName, row: &RowKey) {
        self.listings.forget(table, row);
        let mut kept = self.kept.lock();
        kept.1.retain(|kept| kept.column.row != *row || kept.column.table != *table);
        kept.0 = kept.1.iter().map(|kept| kept.value.len()).sum();
    }
}

impl HBase {
    /// A part of a version's value.
    pub(in crate::hbase) fn value_part(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        let value = self.value(cell)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(value.len());
        let end = start.saturating_add(len).min(value.len());
        Ok(value[start..end].to_vec())
    }

    /// A version's value.
    pub(in crate::hbase) fn value(&self, cell: &CellInfo) -> Result<Arc<[u8]>> {
        let key = match &cell.value {
            ValueRef::Here(bytes) => return Ok((**bytes).into()),
            ValueRef::Of { key, .. } => key,
        };
        let foreign = |_| Error::new(ErrorKind::Io, "this value is none of the cluster's");
        let key: ColumnKey = postcard::from_bytes(key).map_err(foreign)?;
        if let Some(value) = self.values.find(&key, cell.timestamp) {
            return Ok(value);
        }
        self.read_ahead(&key, cell.timestamp)?;
        if let Some(value) = self.values.find(&key, cell.timestamp) {
            return Ok(value);
        }
        let found = self.version(&key, cell.timestamp)?;
        let gone = || {
            let (name, time) = (key.qualifier.escape_ascii(), cell.timestamp);
            Error::new(ErrorKind::NotFound, format!("{}:{name} has no version {time} any more", key.family))
        };
        let value: Arc<[u8]> = found.ok_or_else(gone)?.value.into();
        self.values.keep(key, cell.timestamp, &value);
        Ok(value)
    }

    /// Reads the value with those behind it, if it is of a family that was listed.
    fn read_ahead(&self, key: &ColumnKey, timestamp: Timestamp) -> Result<()> {
        let (wanted, range) = self.values.listings.ahead(key, timestamp);
        if wanted.len() < 2 {
            return Ok(());
        }
        let columns = data::Column { family: key.family.as_bytes().to_vec(), qualifier: wanted };
        let of_then = time_range(range);
        let get =
            data::Get { row: key.row.clone(), column: vec![columns], time_range: of_then, ..data::Get::default() };
        for cell in self.cluster.get(&table_name(&key.table), get)? {
            let column = ColumnKey { qualifier: cell.qualifier, ..key.clone() };
            self.values.keep(column, Timestamp(cell.timestamp), &cell.value.into());
        }
        Ok(())
    }

    /// A version, live or kept.
    fn version(&self, key: &ColumnKey, timestamp: Timestamp) -> Result<Option<Cell>> {
        let get = data::Get {
            row: key.row.clone(),
            column: column(key),
            time_range: time_range(TimeRange::at(timestamp)),
            ..data::Get::default()
        };
        if let Some(cell) = self.cluster.get(&table_name(&key.table), get)?.into_iter().next() {
            return Ok(Some(cell));
        }
        // A tombstone of this timestamp hides it even from reads of its time.
        let family = data::Column { family: key.family.as_bytes().to_vec(), qualifier: Vec::new() };
        let scan = data::Scan {
            column: vec![family],
            attribute: vec![raw()],
            max_versions: Some(ALL_VERSIONS),
            time_range: time_range(TimeRange::at(timestamp)),
            filter: Some(super::listing::only_column(&key.qualifier)),
            ..data::Scan::default()
        };
        let mut scanner = Scanner::new(&self.cluster, table_name(&key.table), of_row(&key.row, scan), None);
        while let Some(part) = scanner.next()? {
            let is_it =
                |cell: &Cell| cell.kind == crate::hbase::client::wire::cell::PUT && cell.qualifier == key.qualifier;
            if let Some(cell) = part.cells.into_iter().find(is_it) {
                return Ok(Some(cell));
            }
        }
        Ok(None)
    }
}
