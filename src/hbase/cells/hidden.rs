//! Increments and appends that a tombstone hides.
//!
//! Servers give what is added the time of their clock, or of the version that it is added to (HRegion.reckonDeltas), though
//! the column may have a tombstone that is as late: with classic deletes nobody would see what was acknowledged. So of what
//! began with nothing such a tombstone is looked for; what it hides is put again behind it if there is still nothing, else
//! it is added again, if its condition holds still.

use super::reading::{ALL_VERSIONS, of_row, raw};
use crate::Result;
use crate::hbase::HBase;
use crate::hbase::client::Scanner;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::filter::{Join, column_range, lengths_only, list};
use crate::hbase::client::wire::cell::tombstone;
use crate::hbase::convert::{table_name, time_range};
use crate::model::{
    Append, Cell, Condition, Increment, Mutated, Mutation, PutCell, RowMutations, TableName, TableSchema, Time,
    TimeRange, Timestamp, hidden_for_good,
};

impl HBase {
    /// As [`HBase::change_row`]; what tombstones hide of what is added is put again behind them.
    pub(in crate::hbase) fn change_row_shown(
        &self,
        change: RowMutations,
        condition: Option<Condition>,
    ) -> Result<Mutated> {
        let adds = |mutation: &Mutation| matches!(mutation, Mutation::Increment(_) | Mutation::Append(_));
        if !change.mutations.iter().any(adds) {
            return self.change_row(change, condition);
        }
        // Order: what fails behind the change would say that nothing was changed.
        let catalogue = self.described.catalogue(&self.cluster)?;
        let mut done = self.change_row(change.clone(), condition.clone())?;
        let Some(table) = catalogue.tables.get(&change.table) else { return Ok(done) };
        // Those of puts stand before those of what is added.
        let puts = done.written.len().saturating_sub(done.results.len());
        for n in 0..done.results.len() {
            let Some(alone) = began_with_nothing(table, &change, &done.results[n]) else { continue };
            let Some(mut again) = self.unhide(&alone, &condition, &done.results[n])? else { continue };
            let (Some(result), Some(written)) = (again.results.pop(), again.written.pop()) else { return Ok(again) };
            (done.results[n], done.written[puts + n]) = (result, written);
        }
        Ok(done)
    }

    /// What became of a cell that a tombstone hides; `None`: none does. `alone`: the change that has made it, of it alone.
    fn unhide(&self, alone: &RowMutations, condition: &Option<Condition>, cell: &Cell) -> Result<Option<Mutated>> {
        let (mut cell, mut last) = (cell.clone(), None);
        while let Some(at) = self.tombstone_over((&alone.table, &alone.row), &cell)? {
            let time = Timestamp(at.saturating_add(1));
            if time > Timestamp::MAX {
                return Err(hidden_for_good(&cell.family, &cell.qualifier));
            }
            let (put, absent) = put_if_absent(alone, &cell, time);
            let done = self.change_row(put, Some(absent))?;
            if done.applied {
                return Ok(Some(Mutated { results: vec![Cell { timestamp: time, ..cell }], ..done }));
            }
            let again = self.change_row(alone.clone(), condition.clone())?;
            let began_again = again.results.first().is_some_and(|next| next.value == cell.value);
            let Some(next) = again.results.first().filter(|_| began_again) else { return Ok(Some(again)) };
            cell = next.clone();
            last = Some(again);
        }
        Ok(last)
    }

    /// The time of the latest tombstone that hides a cell: one of its column, or of the family.
    fn tombstone_over(&self, (table, row): (&TableName, &[u8]), cell: &Cell) -> Result<Option<i64>> {
        let behind = [&cell.qualifier[..], b"\0"].concat();
        let of_column = self.latest_over((table, row), cell, column_range(&cell.qualifier, &behind))?;
        if cell.qualifier.is_empty() {
            return Ok(of_column);
        }
        // Those of a family stand at its beginning.
        let of_family = self.latest_over((table, row), cell, column_range(b"", b"\0"))?;
        Ok(of_column.max(of_family))
    }

    fn latest_over(&self, (table, row): (&TableName, &[u8]), cell: &Cell, columns: data::Named) -> Result<Option<i64>> {
        let scan = data::Scan {
            column: vec![data::Column { family: cell.family.as_bytes().to_vec(), qualifier: Vec::new() }],
            attribute: vec![raw()],
            filter: Some(list(Join::All, vec![columns, lengths_only()])),
            time_range: time_range(TimeRange { min: cell.timestamp.0, ..TimeRange::ALL }),
            max_versions: Some(ALL_VERSIONS),
            ..of_row(row, data::Scan::default())
        };
        let mut scanner = Scanner::new(&self.cluster, table_name(table), scan, None);
        let mut latest = None;
        while let Some(part) = scanner.next()? {
            let times = part.cells.iter().filter(|other| hides(other, cell)).map(|other| other.timestamp);
            latest = latest.max(times.max());
        }
        Ok(latest)
    }
}

fn hides(other: &crate::hbase::client::Cell, cell: &Cell) -> bool {
    let is_of_column = other.qualifier == cell.qualifier;
    let (is_as_late, is_its_time) = (other.timestamp >= cell.timestamp.0, other.timestamp == cell.timestamp.0);
    match other.kind {
        tombstone::VERSION => is_of_column && is_its_time,
        tombstone::FAMILY_VERSION => is_its_time,
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
    if table.families.get(&cell.family)?.rules.new_version_behavior {
        return None;
    }
    let alone = change.mutations.iter().find_map(|mutation| match mutation {
        Mutation::Increment(of) if is_later(of.time, of.time_range) => {
            let column = of.columns.iter().find(|c| c.family == cell.family && c.qualifier == cell.qualifier)?;
            let is_first = column.delta.to_be_bytes() == *cell.value;
            is_first.then(|| Mutation::Increment(Increment { columns: vec![column.clone()], ..of.clone() }))
        }
        Mutation::Append(of) if is_later(of.time, of.time_range) => {
            let column = of.columns.iter().find(|c| c.family == cell.family && c.qualifier == cell.qualifier)?;
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
    let (family, qualifier) = (cell.family.clone(), cell.qualifier.clone());
    let put = PutCell { ttl_ms, ..PutCell::new(&*family, &*qualifier, Time::At(time), &*cell.value) };
    let put = RowMutations { mutations: vec![Mutation::Put(vec![put])], ..alone.clone() };
    (put, Condition::Newest { family, qualifier, version: None })
}
