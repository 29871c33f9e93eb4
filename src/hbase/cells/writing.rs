//! Mutations of a row, as HBase's.

use std::os::unix::fs::FileExt;

use super::filters::{filter, number};
use super::times::{Looked, Times};
use crate::backend::Event;
use crate::hbase::HBase;
use crate::hbase::client::Applied;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::data::{MutationProto, QualifierValue, delete_type, mutation_type};
use crate::hbase::client::proto::filter::{BinaryComparator, TimestampsFilter};
use crate::hbase::client::proto::filter::{Join, binary, compared, first_key_only, list, named};
use crate::hbase::client::proto::schema::{Empty, NameBytesPair};
use crate::hbase::convert::{cell, info, table_name, time_range, unsupported};
use crate::hbase::schema::altering::{check_own, known};
use crate::model::{
    Catalogue, CellInfo, ColumnKey, CompareOp, Condition, DeleteKind, DeleteMarker, Durability, ManyRows, Mutated,
    Mutation, Origin, PutCell, RowMutations, TableName, TableSchema, TimeRange, Timestamp, Value, check_row,
};
use crate::{Error, ErrorKind, Result};

/// Longest value that HBase's servers take unless they are told otherwise (hbase.server.keyvalue.maxsize).
pub(in crate::hbase) const VALUE_LIMIT: u64 = 10 << 20;

/// What a change of a row comes to.
#[derive(Default)]
struct Plan {
    protos: Vec<MutationProto>,
    /// Versions that puts make, of those with a time of ours.
    written: Vec<CellInfo>,
    events: Vec<Event>,
}

/// The row that is changed, and by whom.
struct Target<'a> {
    table: &'a TableSchema,
    row: &'a Vec<u8>,
    times: Times<'a>,
    durability: Option<i32>,
    origin: Origin,
}

impl HBase {
    /// Applies the mutations of one row, all or none, if the condition holds.
    pub(in crate::hbase) fn change_row(&self, change: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        check_row(&change.row)?;
        let catalogue = self.described.catalogue(&self.cluster)?;
        let table = self.writable(&catalogue, &change.table)?;
        let one = std::iter::once((&change.row, &change.mutations[..]));
        let looked = Looked::at(self, &change.table, one)?;
        let plan = self.plan(table, &looked, &change)?;
        if plan.protos.is_empty() {
            return Err(Error::new(ErrorKind::IllegalArgument, "No columns to put"));
        }
        let condition = condition.map(|condition| condition_of(&change.row, condition)).transpose()?;
        let done = self.send(&change, plan.protos, condition)?;
        if !done.processed {
            return Ok(Mutated { applied: false, results: Vec::new(), written: Vec::new() });
        }
        self.announce(&plan.events);
        let key = |cell: &crate::hbase::client::Cell| ColumnKey {
            table: change.table.clone(),
            row: change.row.clone(),
            family: String::from_utf8_lossy(&cell.family).into_owned(),
            qualifier: cell.qualifier.clone(),
        };
        let of = |cell: &crate::hbase::client::Cell| {
            let key = key(cell);
            let family = table.families.get(&key.family);
            info(&key, Timestamp(cell.timestamp), cell.value.len() as u64, family)
        };
        let written = plan.written.into_iter().chain(done.cells.iter().map(of)).collect();
        Ok(Mutated { applied: true, results: done.cells.into_iter().map(cell).collect(), written })
    }

    fn send(
        &self,
        change: &RowMutations,
        mut protos: Vec<MutationProto>,
        condition: Option<data::Condition>,
    ) -> Result<Applied> {
        let to = table_name(&change.table);
        let done = match (protos.len(), protos.pop()) {
            (1, Some(one)) => self.cluster.mutate(&to, one, condition),
            (_, last) => self.cluster.mutate_row(&to, &change.row, protos.into_iter().chain(last).collect(), condition),
        };
        self.values.forget(&change.table, &change.row);
        Ok(done?)
    }

    /// Applies the mutations of many rows, each row by itself; those of a region go together.
    pub(in crate::hbase) fn change_rows(&self, change: ManyRows) -> Result<()> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let table = self.writable(&catalogue, &change.table)?;
        let (to, mut batch, mut events) = (table_name(&change.table), Vec::new(), Vec::new());
        let is_plain = |mutation: &Mutation| matches!(mutation, Mutation::Put(_));
        let rows = change.rows.iter().map(|(row, mutations)| (row, &mutations[..]));
        let looked = Looked::at(self, &change.table, rows)?;
        for row in change.each() {
            check_row(&row.row)?;
            if !row.mutations.iter().all(is_plain) {
                self.change_row(row, None)?;
                continue;
            }
            let plan = self.plan(table, &looked, &row)?;
            self.values.forget(&row.table, &row.row);
            batch.push(plan.protos);
            events.extend(plan.events);
        }
        self.cluster.batch(&to, &batch)?;
        self.announce(&events);
        Ok(())
    }

    /// A table that the cluster has and that takes writes.
    fn writable<'a>(&self, catalogue: &'a Catalogue, name: &TableName) -> Result<&'a TableSchema> {
        if self.described.is_pending(name) {
            let text = format!("table {name} has no family yet: declare one first");
            return Err(Error::new(ErrorKind::NoSuchFamily, text));
        }
        let table = known(catalogue, name)?;
        check_own(name)?;
        if table.read_only() {
            let text = format!("table {name}: region is read only (READONLY is true); alter it to write");
            return Err(Error::new(ErrorKind::ReadOnlyTable, text));
        }
        Ok(table)
    }

    fn plan(&self, table: &TableSchema, looked: &Looked, change: &RowMutations) -> Result<Plan> {
        let times = looked.of(self, &change.row);
        let durability = change.durability.map(durability);
        let target = Target { table, row: &change.row, times, durability, origin: change.origin };
        let mut plan = Plan::default();
        for mutation in &change.mutations {
            match mutation {
                Mutation::Put(cells) => cells.iter().try_for_each(|cell| self.put(&target, cell, &mut plan))?,
                Mutation::Restore(cell) => self.put(&target, cell, &mut plan)?,
                Mutation::Delete(markers) => target.delete(markers, &mut plan)?,
                Mutation::Increment(increment) => {
                    let of = |delta: i64| delta.to_be_bytes().to_vec();
                    let columns = increment.columns.iter().map(|c| (&*c.family, &*c.qualifier, of(c.delta)));
                    let range = time_range(increment.time_range);
                    target.add((mutation_type::INCREMENT, increment.ttl_ms, range), columns, &mut plan)?;
                }
                Mutation::Append(append) => {
                    let columns = append.columns.iter().map(|c| (&*c.family, &*c.qualifier, c.delta.clone()));
                    let range = time_range(append.time_range);
                    target.add((mutation_type::APPEND, append.ttl_ms, range), columns, &mut plan)?;
                }
            }
        }
        Ok(plan)
    }

    fn put(&self, target: &Target<'_>, put: &PutCell, plan: &mut Plan) -> Result<()> {
        if put.ended_at.is_some() {
            return unsupported("HBase takes no versions that were deleted before: restore those that are live");
        }
        target.check_family(&put.family)?;
        crate::model::check_value_len(&put.family, &put.qualifier, put.value.len(), VALUE_LIMIT)?;
        if !target.table.families.get(&put.family).is_some_and(|family| family.rules.new_version_behavior) {
            target.times.check_not_ended(&put.family, &put.qualifier)?;
        }
        let timestamp = target.times.of(put.time, &put.family, Some(&put.qualifier))?;
        let key = target.key(&put.family, &put.qualifier);
        if let Some(timestamp) = timestamp {
            let family = target.table.families.get(&put.family);
            plan.written.push(info(&key, timestamp, put.value.len(), family));
        }
        let value = QualifierValue {
            qualifier: Some(put.qualifier.clone()),
            value: Some(self.bytes_of(&put.value)?),
            timestamp: timestamp.map(|timestamp| timestamp.0.cast_unsigned()),
            delete_type: None,
        };
        plan.events.push(Event::Column { column: key.into(), origin: target.origin });
        let proto = target.proto(mutation_type::PUT, put.ttl_ms);
        add_value(plan, proto, &put.family, value);
        Ok(())
    }

    /// The bytes of a value: HBase takes a cell as a whole, of [`VALUE_LIMIT`] bytes at most.
    pub(in crate::hbase) fn bytes_of(&self, value: &Value) -> Result<Vec<u8>> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.clone()),
            Value::Spilled { file, len } => {
                let mut bytes = vec![0; usize::try_from(*len).unwrap_or(usize::MAX)];
                file.read_exact_at(&mut bytes, 0).map_err(|e| Error::io("read a value that was written", &e))?;
                Ok(bytes)
            }
            Value::Shared(cell) => Ok(self.value(cell)?.to_vec()),
            Value::Written(_) => Err(Error::new(ErrorKind::Io, "a value of another store")),
        }
    }
}

/// Puts of one kind go into one mutation, as HBase's Put has many cells.
fn add_value(plan: &mut Plan, proto: MutationProto, family: &str, value: QualifierValue) {
    let like = |other: &&mut MutationProto| {
        let bare = |of: &MutationProto| (of.mutate_type, of.attribute.clone());
        bare(other) == bare(&proto) && proto.mutate_type == Some(mutation_type::PUT)
    };
    if plan.protos.last_mut().filter(like).is_none() {
        plan.protos.push(proto);
    }
    let Some(proto) = plan.protos.last_mut() else { return };
    let name = family.as_bytes();
    match proto.column_value.iter_mut().find(|column| column.family == name) {
        Some(column) => column.qualifier_value.push(value),
        None => proto.column_value.push(data::ColumnValue { family: name.to_vec(), qualifier_value: vec![value] }),
    }
}

impl Target<'_> {
    fn key(&self, family: &str, qualifier: &[u8]) -> ColumnKey {
        ColumnKey {
            table: self.table.name.clone(),
            row: self.row.clone(),
            family: family.to_owned(),
            qualifier: qualifier.to_vec(),
        }
    }

    fn check_family(&self, family: &str) -> Result<()> {
        if self.table.families.contains_key(family) {
            return Ok(());
        }
        let text = format!("Column family {} does not exist in table {}", family.escape_debug(), self.table.name);
        Err(Error::new(ErrorKind::NoSuchFamily, text))
    }

    /// Servers take a tombstone of the empty column for one of the family where NEW_VERSION_BEHAVIOR is set, and fail
    /// to read the row from then on (seen in 2.6.4, NewVersionBehaviorTracker).
    fn check_empty(&self, family: &str, qualifier: Option<&[u8]>) -> Result<()> {
        let is_new = self.table.families.get(family).is_some_and(|family| family.rules.new_version_behavior);
        if is_new && qualifier.is_some_and(<[u8]>::is_empty) {
            return unsupported(
                "HBase cannot read a row again whose empty column was deleted in a family of NEW_VERSION_BEHAVIOR: \
                 delete the family of the row (cellfs deleteall), or write to the column",
            );
        }
        Ok(())
    }

    fn proto(&self, kind: i32, ttl_ms: Option<u64>) -> MutationProto {
        let ttl = ttl_ms.map(|ttl| NameBytesPair { name: "_ttl".to_owned(), value: Some(ttl.to_be_bytes().to_vec()) });
        MutationProto {
            row: Some(self.row.clone()),
            mutate_type: Some(kind),
            attribute: ttl.into_iter().collect(),
            durability: self.durability,
            ..MutationProto::default()
        }
    }

    /// An Increment or an Append.
    fn add<'c>(
        &self,
        (kind, ttl_ms, range): (i32, Option<u64>, Option<crate::hbase::client::proto::schema::TimeRange>),
        columns: impl Iterator<Item = (&'c str, &'c [u8], Vec<u8>)>,
        plan: &mut Plan,
    ) -> Result<()> {
        let mut proto = MutationProto { time_range: range, ..self.proto(kind, ttl_ms) };
        for (family, qualifier, delta) in columns {
            self.check_family(family)?;
            plan.events.push(Event::Column { column: self.key(family, qualifier).into(), origin: self.origin });
            let value =
                QualifierValue { qualifier: Some(qualifier.to_vec()), value: Some(delta), ..QualifierValue::default() };
            match proto.column_value.iter_mut().find(|column| column.family == family.as_bytes()) {
                Some(column) => column.qualifier_value.push(value),
                None => proto
                    .column_value
                    .push(data::ColumnValue { family: family.as_bytes().to_vec(), qualifier_value: vec![value] }),
            }
        }
        plan.protos.push(proto);
        Ok(())
    }

    fn delete(&self, markers: &[DeleteMarker], plan: &mut Plan) -> Result<()> {
        let mut proto = self.proto(mutation_type::DELETE, None);
        for DeleteMarker { kind, time, .. } in markers {
            let mut add = |family: &str, qualifier: Option<&[u8]>, kind: i32| -> Result<()> {
                self.check_family(family)?;
                self.check_empty(family, qualifier)?;
                let timestamp = match (kind, time) {
                    // The newest, whichever that is at the server.
                    (delete_type::ONE_VERSION, time) if !matches!(time, crate::model::Time::At(_)) => None,
                    _ => self.times.of(*time, family, qualifier)?,
                };
                proto.column_value.push(data::ColumnValue {
                    family: family.as_bytes().to_vec(),
                    qualifier_value: vec![QualifierValue {
                        qualifier: Some(qualifier.unwrap_or_default().to_vec()),
                        value: None,
                        timestamp: timestamp.map(|timestamp| timestamp.0.cast_unsigned()),
                        delete_type: Some(kind),
                    }],
                });
                plan.events.push(match qualifier {
                    Some(qualifier) => {
                        Event::Column { column: self.key(family, qualifier).into(), origin: self.origin }
                    }
                    None => Event::Row {
                        table: self.table.name.clone(),
                        row: self.row.clone(),
                        family: Some(family.to_owned()),
                        origin: self.origin,
                    },
                });
                Ok(())
            };
            match kind {
                DeleteKind::Version { family, qualifier } => add(family, Some(qualifier), delete_type::ONE_VERSION)?,
                DeleteKind::Column { family, qualifier } => add(family, Some(qualifier), delete_type::COLUMN)?,
                DeleteKind::Family { family } => add(family, None, delete_type::FAMILY)?,
                DeleteKind::FamilyVersion { family } => add(family, None, delete_type::FAMILY_VERSION)?,
                DeleteKind::Row => {
                    self.table.families.keys().try_for_each(|family| add(family, None, delete_type::FAMILY))?;
                }
            }
        }
        plan.protos.push(proto);
        Ok(())
    }
}

fn durability(of: Durability) -> i32 {
    match of {
        Durability::SkipWal => 1,
        Durability::AsyncWal => 2,
        Durability::SyncWal => 3,
        Durability::FsyncWal => 4,
    }
}

/// A condition of a row, judged by the server under the row's lock.
pub(in crate::hbase) fn condition_of(row: &[u8], condition: Condition) -> Result<data::Condition> {
    let bare = data::Condition { row: row.to_vec(), ..data::Condition::default() };
    // A value that is empty counts as absent, as it does for HBase's own callers.
    let absent = |family: String, qualifier: Vec<u8>, op: CompareOp, range: TimeRange| data::Condition {
        family: Some(family.into_bytes()),
        qualifier: Some(qualifier),
        compare_type: Some(number(op)),
        comparator: Some(named("NullComparator", &Empty {})),
        time_range: time_range(range),
        ..bare.clone()
    };
    Ok(match condition {
        Condition::Column { family, qualifier, op, value: None, time_range } => {
            absent(family, qualifier, op, time_range)
        }
        Condition::Column { family, qualifier, op, value: Some(value), time_range } => data::Condition {
            comparator: Some(named("BinaryComparator", &BinaryComparator::of(&value))),
            ..absent(family, qualifier, op, time_range)
        },
        Condition::Filter { filter: text, time_range: range } => {
            data::Condition { filter: Some(filter(&text)?), time_range: time_range(range), ..bare }
        }
        Condition::Newest { family, qualifier, version: None } => {
            absent(family, qualifier, CompareOp::Equal, TimeRange::ALL)
        }
        Condition::Newest { family, qualifier, version: Some((timestamp, _)) } => {
            // The first cell that the server meets in the column is the newest; it passes if it has this time.
            let filters = vec![
                compared("FamilyFilter", 2, binary(family.as_bytes())),
                compared("QualifierFilter", 2, binary(&qualifier)),
                first_key_only(),
                named("TimestampsFilter", &TimestampsFilter { timestamps: vec![timestamp.0], can_hint: None }),
            ];
            data::Condition { filter: Some(list(Join::All, filters)), ..bare }
        }
        // Numbers of versions are their timestamps here.
        Condition::NoneAfter { family, qualifier, seq } => {
            let range = TimeRange { min: seq.0.saturating_add(1).cast_signed(), ..TimeRange::ALL };
            absent(family, qualifier, CompareOp::Equal, range)
        }
    })
}
