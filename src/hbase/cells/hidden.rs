//! Increments and appends that a tombstone hides.
//!
//! Servers give what is added the time of their clock, or of the version that it is added to (HRegion.reckonDeltas), though
//! the column may have a tombstone that is as late: with classic deletes nobody would see what was acknowledged. So of what
//! began with nothing such a tombstone is looked for; what it hides is put again behind it if there is still nothing, else
//! it is added again.

use super::reading::{ALL_VERSIONS, of_row, raw};
use crate::Result;
use crate::hbase::HBase;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::filter::lengths_only;
use crate::hbase::client::{Applied, Cell, Scanner};
use crate::hbase::convert::{table_name, time_range};
use crate::model::{
    Append, Condition, Increment, Mutation, PutCell, RowMutations, TableSchema, Time, TimeRange, Timestamp,
    hidden_for_good,
};

/// Types of tombstones (KeyValue.Type).
mod tombstone {
    pub const VERSION: u8 = 8;
    pub const FAMILY_VERSION: u8 = 10;
    pub const COLUMN: u8 = 12;
    pub const FAMILY: u8 = 14;
}

impl HBase {
    /// What was done by a change, with what tombstones hid of it put again behind them.
    pub(in crate::hbase) fn unhidden(
        &self,
        table: &TableSchema,
        change: &RowMutations,
        mut done: Applied,
    ) -> Result<Applied> {
        for cell in &mut done.cells {
            if let Some(alone) = began_with_nothing(table, change, cell) {
                self.unhide(table, &alone, cell)?;
            }
        }
        Ok(done)
    }

    /// `alone`: the change of this cell alone.
    fn unhide(&self, table: &TableSchema, alone: &RowMutations, cell: &mut Cell) -> Result<()> {
        while let Some(at) = self.tombstone_over(table, cell)? {
            let time = Timestamp(at.saturating_add(1));
            if time > Timestamp::MAX {
                return Err(hidden_for_good(&String::from_utf8_lossy(&cell.family), &cell.qualifier));
            }
            let (put, absent) = put_if_absent(alone, cell, time);
            if self.change_row(put, Some(absent))?.applied {
                cell.timestamp = time.0;
                return Ok(());
            }
            let Some(again) = self.apply_again(table, alone)?.cells.pop() else { return Ok(()) };
            let began_again = again.value == cell.value;
            *cell = again;
            if !began_again {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The time of the latest tombstone that hides a cell.
    fn tombstone_over(&self, table: &TableSchema, cell: &Cell) -> Result<Option<i64>> {
        let scan = data::Scan {
            column: vec![data::Column { family: cell.family.clone(), qualifier: Vec::new() }],
            attribute: vec![raw()],
            filter: Some(lengths_only()),
            time_range: time_range(TimeRange { min: cell.timestamp, ..TimeRange::ALL }),
            max_versions: Some(ALL_VERSIONS),
            ..of_row(&cell.row, data::Scan::default())
        };
        let mut scanner = Scanner::new(&self.cluster, table_name(&table.name), scan, None);
        let mut latest = None;
        while let Some(part) = scanner.next()? {
            let times = part.cells.iter().filter(|other| hides(other, cell)).map(|other| other.timestamp);
            latest = latest.max(times.max());
        }
        Ok(latest)
    }
}

fn hides(other: &Cell, cell: &Cell) -> bool {
    let (is_of_column, is_as_late) = (other.qualifier == cell.qualifier, other.timestamp >= cell.timestamp);
    match other.kind {
        tombstone::VERSION => is_of_column && other.timestamp == cell.timestamp,
        tombstone::FAMILY_VERSION => other.timestamp == cell.timestamp,
        tombstone::COLUMN => is_of_column && is_as_late,
        tombstone::FAMILY => is_as_late,
        _ => false,
    }
}

/// Whether what is added is to be later than all that the column has: what says `Now` has HBase's rule.
fn is_later(time: Time, seen: TimeRange) -> bool {
    time != Time::Now && seen == TimeRange::ALL
}

/// The change that has made a cell, without what it has done beside that, where it may have seen nothing in the column and
/// a tombstone may hide what it has made.
fn began_with_nothing(table: &TableSchema, change: &RowMutations, cell: &Cell) -> Option<RowMutations> {
    let family = std::str::from_utf8(&cell.family).ok()?;
    if table.families.get(family)?.rules.new_version_behavior {
        return None;
    }
    let alone = change.mutations.iter().find_map(|mutation| match mutation {
        Mutation::Increment(of) if is_later(of.time, of.time_range) => {
            let column = of.columns.iter().find(|c| c.family == family && c.qualifier == cell.qualifier)?;
            let is_first = column.delta.to_be_bytes() == *cell.value;
            is_first.then(|| Mutation::Increment(Increment { columns: vec![column.clone()], ..of.clone() }))
        }
        Mutation::Append(of) if is_later(of.time, of.time_range) => {
            let column = of.columns.iter().find(|c| c.family == family && c.qualifier == cell.qualifier)?;
            let is_first = column.delta == cell.value;
            is_first.then(|| Mutation::Append(Append { columns: vec![column.clone()], ..of.clone() }))
        }
        _ => None,
    })?;
    Some(RowMutations { mutations: vec![alone], ..change.clone() })
}

/// A put of what a cell has, at a time, if the column shows nothing.
fn put_if_absent(alone: &RowMutations, cell: &Cell, time: Timestamp) -> (RowMutations, Condition) {
    let ttl_ms = match alone.mutations.first() {
        Some(Mutation::Increment(of)) => of.ttl_ms,
        Some(Mutation::Append(of)) => of.ttl_ms,
        _ => None,
    };
    let (family, qualifier) = (String::from_utf8_lossy(&cell.family).into_owned(), cell.qualifier.clone());
    let put = PutCell { ttl_ms, ..PutCell::new(&*family, &*qualifier, Time::At(time), &*cell.value) };
    let put = RowMutations { mutations: vec![Mutation::Put(vec![put])], ..alone.clone() };
    (put, Condition::Newest { family, qualifier, version: None })
}
