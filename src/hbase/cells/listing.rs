//! Names and versions, without their values: a server sends lengths in their place.

use std::collections::VecDeque;
use std::iter::Peekable;

use super::kept::Tombstones;
use super::reading::{ALL_VERSIONS, of_row, raw};
use crate::Result;
use crate::backend::{HistoryFrom, RowListing, VersionRun, Versions};
use crate::hbase::HBase;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::filter::{Join, binary, column_range, compared, first_key_only, lengths_only, list};
use crate::hbase::client::{Cell, Scanner};
use crate::hbase::convert::{column, info, length, table_name, time_range};
use crate::hbase::schema::altering::known;
use crate::model::{
    CellInfo, ColumnKey, FamilySchema, KeepDeleted, Qualifier, RowKey, TableName, TableSchema, TimeRange, Timestamp,
};

/// Cells that a listing takes from a server at once.
const PAGE: u32 = 1000;

/// The cells of one column, and the tombstones of its family (whose qualifier is empty).
pub(in crate::hbase) fn only_column(qualifier: &[u8]) -> data::Named {
    let one = |qualifier: &[u8]| compared("QualifierFilter", 2, binary(qualifier));
    if qualifier.is_empty() { one(b"") } else { list(Join::Any, vec![one(b""), one(qualifier)]) }
}

/// A family of a row.
struct Place<'a> {
    table: &'a TableName,
    row: &'a [u8],
    family: &'a str,
    schema: Option<&'a FamilySchema>,
}

impl Place<'_> {
    fn info(&self, cell: &Cell) -> Result<CellInfo> {
        let key = ColumnKey {
            table: self.table.clone(),
            row: self.row.to_vec(),
            family: self.family.to_owned(),
            qualifier: cell.qualifier.clone(),
        };
        Ok(info(&key, Timestamp(cell.timestamp), length(&cell.value)?, self.schema))
    }

    fn keeps_deleted(&self) -> bool {
        self.schema.is_some_and(|family| family.rules.keep_deleted != KeepDeleted::False)
    }

    fn columns(&self) -> Vec<data::Column> {
        vec![data::Column { family: self.family.as_bytes().to_vec(), qualifier: Vec::new() }]
    }
}

/// The cells of a row, as they are asked for.
struct Cells<'a>(Scanner<'a>, std::vec::IntoIter<Cell>);

impl<'a> Cells<'a> {
    fn new(hbase: &'a HBase, place: &Place<'_>, scan: data::Scan) -> Peekable<Self> {
        let scan = of_row(place.row, data::Scan { batch_size: Some(PAGE), ..scan });
        let scanner = Scanner::new(&hbase.cluster, table_name(place.table), scan, None);
        Self(scanner, Vec::new().into_iter()).peekable()
    }
}

impl Iterator for Cells<'_> {
    type Item = Result<Cell>;

    fn next(&mut self) -> Option<Result<Cell>> {
        loop {
            if let Some(cell) = self.1.next() {
                return Some(Ok(cell));
            }
            match self.0.next() {
                Ok(None) => return None,
                Ok(Some(part)) => self.1 = part.cells.into_iter(),
                Err(e) => return Some(Err(e.into())),
            }
        }
    }
}

/// Versions of a family that reads see, and those that are deleted and kept, merged.
struct Walk<'a> {
    live: Peekable<Cells<'a>>,
    /// What a raw scan shows.
    kept: Option<Peekable<Cells<'a>>>,
    tombstones: Tombstones,
    /// The next deleted version, and when it was.
    deleted: Option<(Cell, Timestamp)>,
    from: Option<&'a HistoryFrom>,
}

impl Walk<'_> {
    fn is_skipped(&self, cell: &Cell) -> bool {
        self.from.is_some_and(|from| {
            let is_shown = || from.before.is_some_and(|before| cell.timestamp >= before.0);
            cell.qualifier < from.qualifier || cell.qualifier == from.qualifier && is_shown()
        })
    }

    /// The next version; when it was deleted, if it was.
    fn next(&mut self) -> Result<Option<(Cell, Option<Timestamp>)>> {
        while self.deleted.is_none()
            && let Some(cell) = self.kept.as_mut().and_then(Iterator::next).transpose()?
        {
            let end = self.tombstones.take(&cell).filter(|_| !self.is_skipped(&cell));
            self.deleted = end.map(|end| (cell, end));
        }
        while let Some(Ok(cell)) = self.live.peek().cloned()
            && self.is_skipped(&cell)
        {
            self.live.next();
        }
        let order = match (self.live.peek(), &self.deleted) {
            (None, None) => return Ok(None),
            (Some(Err(_)), _) | (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(Ok(live)), Some((deleted, _))) => place_of(live).cmp(&place_of(deleted)),
        };
        // What reads see is not deleted, whatever tombstones there are: it may have come after them.
        if order.is_eq() {
            self.deleted = None;
        }
        if order.is_le() {
            return Ok(self.live.next().transpose()?.map(|cell| (cell, None)));
        }
        Ok(self.deleted.take().map(|(cell, end)| (cell, Some(end))))
    }
}

/// Order of versions in a family: columns ascending, newest first.
fn place_of(cell: &Cell) -> (&[u8], std::cmp::Reverse<i64>) {
    (&cell.qualifier, std::cmp::Reverse(cell.timestamp))
}

impl HBase {
    /// Calls with a table's schema; a table without families has nothing to list.
    fn listing<T: Default>(&self, name: &TableName, list: impl FnOnce(&TableSchema) -> Result<T>) -> Result<T> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let table = known(&catalogue, name)?;
        if self.described.is_pending(name) { Ok(T::default()) } else { list(table) }
    }

    pub(in crate::hbase) fn newest_version(&self, key: &ColumnKey, range: TimeRange) -> Result<Option<CellInfo>> {
        self.listing(&key.table, |table| {
            let Some(family) = table.families.get(&key.family) else { return Ok(None) };
            let get = data::Get {
                row: key.row.clone(),
                column: column(key),
                filter: Some(lengths_only()),
                time_range: time_range(range),
                ..data::Get::default()
            };
            let found = self.cluster.get(&table_name(&key.table), get)?.into_iter().next();
            let told = |cell: Cell| Ok(info(key, Timestamp(cell.timestamp), length(&cell.value)?, Some(family)));
            found.map(told).transpose()
        })
    }

    pub(in crate::hbase) fn row_keys(&self, listing: &RowListing) -> Result<Vec<RowKey>> {
        self.listing(&listing.table, |table| {
            let keeps = |family: &FamilySchema| family.rules.keep_deleted != KeepDeleted::False;
            let with_kept = listing.which == Versions::LiveAndKept && table.families.values().any(keeps);
            let names =
                if with_kept { lengths_only() } else { list(Join::All, vec![first_key_only(), lengths_only()]) };
            let scan = data::Scan {
                start_row: listing.after.clone(),
                include_start_row: Some(listing.after.is_none()),
                stop_row: Some(listing.before.clone()),
                time_range: time_range(listing.time_range),
                filter: Some(names),
                attribute: if with_kept { vec![raw()] } else { Vec::new() },
                ..data::Scan::default()
            };
            let limit = (!with_kept).then_some(listing.limit as u64);
            let mut scanner = Scanner::new(&self.cluster, table_name(&listing.table), scan, limit);
            let mut rows: Vec<RowKey> = Vec::new();
            while rows.len() < listing.limit
                && let Some(part) = scanner.next()?
            {
                let has_put = part.cells.iter().any(|cell| cell.kind == crate::hbase::client::wire::cell::PUT);
                if has_put && rows.last() != Some(&part.row) {
                    rows.push(part.row);
                }
            }
            Ok(rows)
        })
    }

    pub(in crate::hbase) fn family_names(
        &self,
        (name, row): (&TableName, &[u8]),
        range: TimeRange,
        which: Versions,
    ) -> Result<Vec<String>> {
        self.listing(name, |table| {
            let get = data::Get {
                row: row.to_vec(),
                filter: Some(lengths_only()),
                time_range: time_range(range),
                store_limit: Some(1),
                ..data::Get::default()
            };
            let live = self.cluster.get(&table_name(name), get)?;
            let mut names: Vec<String> =
                live.into_iter().map(|cell| String::from_utf8_lossy(&cell.family).into_owned()).collect();
            if which == Versions::LiveAndKept {
                for (family, schema) in
                    table.families.iter().filter(|(family, _)| !names.contains(family)).collect::<Vec<_>>()
                {
                    let place = Place { table: name, row, family, schema: Some(schema) };
                    if !self.history_page(&place, None, 1)?.is_empty() {
                        names.push(family.clone());
                    }
                }
            }
            names.sort();
            Ok(names)
        })
    }

    pub(in crate::hbase) fn columns_after(
        &self,
        (name, row, family): (&TableName, &[u8], &str),
        after: Option<&[u8]>,
        range: TimeRange,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.listing(name, |table| {
            let Some(schema) = table.families.get(family) else { return Ok(Vec::new()) };
            let place = Place { table: name, row, family, schema: Some(schema) };
            let filter = match after {
                Some(after) => {
                    let first = [after, &[0]].concat();
                    list(Join::All, vec![column_range(&first, b""), lengths_only()])
                }
                None => lengths_only(),
            };
            let get = data::Get {
                row: row.to_vec(),
                column: place.columns(),
                filter: Some(filter),
                time_range: time_range(range),
                store_limit: Some(u32::try_from(limit).unwrap_or(ALL_VERSIONS)),
                ..data::Get::default()
            };
            let found = self.cluster.get(&table_name(name), get)?;
            let told = found.into_iter().map(|cell| Ok((cell.qualifier.clone(), place.info(&cell)?)));
            let told = told.collect::<Result<Vec<_>>>()?;
            if range == TimeRange::ALL {
                self.values.listings.add((name, row, family), &told);
            }
            Ok(told)
        })
    }

    pub(in crate::hbase) fn versions(
        &self,
        key: &ColumnKey,
        which: Versions,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CellInfo>> {
        self.listing(&key.table, |table| {
            let Some(schema) = table.families.get(&key.family) else { return Ok(Vec::new()) };
            let place = Place { table: &key.table, row: &key.row, family: &key.family, schema: Some(schema) };
            if which == Versions::LiveAndKept && place.keeps_deleted() {
                let from = HistoryFrom { qualifier: key.qualifier.clone(), before };
                let found = self.history_of(&place, Some(&from), Some(&key.qualifier), limit)?;
                return Ok(found.into_iter().map(|(_, cell)| cell).collect());
            }
            let get = data::Get {
                row: key.row.clone(),
                column: column(key),
                filter: Some(lengths_only()),
                time_range: time_range(earlier(before)),
                max_versions: Some(ALL_VERSIONS),
                store_limit: Some(u32::try_from(limit).unwrap_or(ALL_VERSIONS)),
                ..data::Get::default()
            };
            self.cluster.get(&table_name(&key.table), get)?.iter().map(|cell| place.info(cell)).collect()
        })
    }

    pub(in crate::hbase) fn history(
        &self,
        (name, row, family): (&TableName, &[u8], &str),
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.listing(name, |table| {
            let Some(schema) = table.families.get(family) else { return Ok(Vec::new()) };
            self.history_page(&Place { table: name, row, family, schema: Some(schema) }, from, limit)
        })
    }

    fn history_page(
        &self,
        place: &Place<'_>,
        from: Option<&HistoryFrom>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        self.history_of(place, from, None, limit)
    }

    /// Versions that plain reads can see, merged with deleted ones that a raw scan shows and the family keeps.
    fn history_of(
        &self,
        place: &Place<'_>,
        from: Option<&HistoryFrom>,
        only: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Qualifier, CellInfo)>> {
        let first = from.map_or(&[][..], |from| &from.qualifier);
        let end = only.map_or(Vec::new(), |only| [only, &[0]].concat());
        let scan = |filters, attribute| data::Scan {
            column: place.columns(),
            filter: Some(list(Join::All, filters)),
            max_versions: Some(ALL_VERSIONS),
            attribute,
            ..data::Scan::default()
        };
        let range = || column_range(first, &end);
        let live = Cells::new(self, place, scan(vec![range(), lengths_only()], Vec::new()));
        let kept = place.keeps_deleted().then(|| {
            // The tombstones of the family have the empty qualifier.
            let of_family = compared("QualifierFilter", 2, binary(b""));
            let names = list(Join::Any, vec![of_family, range()]);
            Cells::new(self, place, scan(vec![names, lengths_only()], vec![raw()]))
        });
        let mut walk = Walk { live, kept, tombstones: Tombstones::default(), deleted: None, from };
        let mut found = Vec::new();
        while found.len() < limit
            && let Some((cell, end)) = walk.next()?
        {
            let told = CellInfo { deleted_at: end, hidden_from: end, ..place.info(&cell)? };
            found.push((cell.qualifier, told));
        }
        Ok(found)
    }

    pub(in crate::hbase) fn around(&self, key: &ColumnKey, timestamp: Timestamp, count: usize) -> Result<VersionRun> {
        let mut cells: Vec<CellInfo> = Vec::new();
        let (mut before, mut newer, mut dropped) = (None, VecDeque::new(), false);
        // Newer ones come first; as many as are wanted are kept of them.
        loop {
            let page = self.versions(key, Versions::LiveAndKept, before, PAGE as usize)?;
            let is_last = page.len() < PAGE as usize;
            before = page.last().map(|cell| cell.timestamp);
            for cell in page {
                if cell.timestamp > timestamp {
                    newer.push_back(cell);
                    if newer.len() > count {
                        newer.pop_front();
                        dropped = true;
                    }
                } else if cells.len() <= count + 1 {
                    cells.push(cell);
                }
            }
            if is_last || cells.len() > count + 1 {
                break;
            }
        }
        if cells.first().is_none_or(|cell| cell.timestamp != timestamp) {
            return Ok(VersionRun::default());
        }
        let to_oldest = cells.len() <= count + 1;
        cells.truncate(count + 1);
        newer.extend(cells);
        Ok(VersionRun { cells: newer.into(), from_newest: !dropped, to_oldest })
    }
}

fn earlier(before: Option<Timestamp>) -> TimeRange {
    before.map_or(TimeRange::ALL, |before| TimeRange { max: before.0, ..TimeRange::ALL })
}
