//! Gets and scans: everything that a server can judge is judged there.
//!
//! A get is a scan of one row, so that a wide row comes in parts and is never held whole.

use super::filters::filter;
use crate::Result;
use crate::backend::Rows;
use crate::hbase::HBase;
use crate::hbase::client;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::filter::{Join, column_range, lengths_only, list};
use crate::hbase::client::proto::schema::{ColumnFamilyTimeRange, NameBytesPair};
use crate::hbase::client::wire::cell::PUT;
use crate::hbase::client::{Part, Scanner};
use crate::hbase::convert::{cell, info, length, table_name, time_range, unsupported};
use crate::hbase::schema::altering::known;
use crate::model::{
    ColumnKey, ColumnSlice, FoundCell, Get, Piece, ReadSpec, Results, RowResult, Scan, TableSchema, TakePiece, Tells,
    VALUE_PIECE, check_row,
};

/// Shown with its tombstones, nothing masked.
pub(in crate::hbase) fn raw() -> NameBytesPair {
    NameBytesPair { name: "_raw_".to_owned(), value: Some(vec![0xFF]) }
}

/// Most versions that can be asked for.
pub(in crate::hbase) const ALL_VERSIONS: u32 = i32::MAX.cast_unsigned();

/// What is asked of each row.
fn scan_of(read: &ReadSpec, tells: Tells) -> Result<data::Scan> {
    let mut filters = Vec::new();
    if read.slice != ColumnSlice::default() {
        filters.push(column_range(&read.slice.from, &read.slice.before));
    }
    if let Some(text) = &read.filter {
        filters.push(filter(text)?);
    }
    if tells == Tells::Infos {
        // Order: the last to see a cell, so that filters before it see its value.
        filters.push(lengths_only());
    }
    let columns = read.columns.iter().map(|(family, qualifiers)| data::Column {
        family: family.as_bytes().to_vec(),
        qualifier: qualifiers.iter().flatten().cloned().collect(),
    });
    let of_families = read.family_time_ranges.iter().filter_map(|(family, range)| {
        Some(ColumnFamilyTimeRange { column_family: family.as_bytes().to_vec(), time_range: time_range(*range)? })
    });
    Ok(data::Scan {
        column: columns.collect(),
        attribute: if read.raw { vec![raw()] } else { Vec::new() },
        filter: (!filters.is_empty()).then(|| list(Join::All, filters)),
        time_range: time_range(read.time_range),
        cf_time_range: of_families.collect(),
        max_versions: Some(match RawVersions::of(read, tells) {
            Some(_) => ALL_VERSIONS,
            None => read.max_versions.min(ALL_VERSIONS),
        }),
        store_limit: read.max_per_family,
        store_offset: (read.offset_per_family > 0).then_some(read.offset_per_family),
        ..data::Scan::default()
    })
}

/// Counts the versions of a raw scan, of which tombstones are none: servers count them too where they are asked for lengths,
/// which is a filter (UserScanQueryMatcher.mergeFilterResponse).
struct RawVersions {
    most: u32,
    /// Family, qualifier and versions of the column that was seen last.
    column: Option<(Vec<u8>, Vec<u8>, u32)>,
}

impl RawVersions {
    /// `None`: the server counts as it is to.
    fn of(read: &ReadSpec, tells: Tells) -> Option<Self> {
        let is_limited = read.max_per_family.is_some() || read.offset_per_family > 0;
        let counts = read.raw && tells == Tells::Infos && read.filter.is_none() && !is_limited;
        counts.then_some(Self { most: read.max_versions, column: None })
    }

    /// Whether a cell is shown: not those of a column behind its last version that is.
    fn shows(&mut self, cell: &client::Cell) -> bool {
        let same = self.column.take().filter(|(family, name, _)| *family == cell.family && *name == cell.qualifier);
        let (family, name, before) = same.unwrap_or_else(|| (cell.family.clone(), cell.qualifier.clone(), 0));
        let versions = before.saturating_add(u32::from(cell.kind == PUT || before > self.most));
        self.column = Some((family, name, versions));
        versions <= self.most
    }
}

/// A scan of one row.
pub(in crate::hbase) fn of_row(row: &[u8], scan: data::Scan) -> data::Scan {
    data::Scan {
        start_row: Some(row.to_vec()),
        stop_row: Some(row.to_vec()),
        include_start_row: Some(true),
        include_stop_row: Some(true),
        ..scan
    }
}

fn of_rows(scan: &Scan) -> Result<data::Scan> {
    if scan.by.is_some() {
        return unsupported("HBase has no secondary indexes: scan by row keys, or with a filter");
    }
    let mut wanted = data::Scan {
        start_row: Some(scan.start.clone()),
        stop_row: Some(scan.stop.clone()),
        include_start_row: Some(scan.start_inclusive),
        include_stop_row: Some(scan.stop_inclusive),
        reversed: scan.reversed.then_some(true),
        batch_size: scan.batch,
        ..scan_of(&scan.read, scan.tells)?
    };
    if scan.start.is_empty() {
        wanted.include_start_row = Some(true);
    }
    Ok(wanted)
}

/// Puts the parts of rows out as pieces.
struct Out<'a> {
    table: &'a TableSchema,
    tells: Tells,
    /// Each part is a result of its own.
    is_batched: bool,
    is_open: bool,
    versions: Option<RawVersions>,
}

impl Out<'_> {
    fn part(&mut self, part: Part, take: TakePiece<'_>) -> Result<()> {
        let Part { row, cells, is_end } = part;
        if !self.is_open && !cells.is_empty() {
            take(&Piece::Row(row.clone()))?;
            self.is_open = true;
        }
        for one in cells {
            if self.versions.as_mut().is_none_or(|versions| versions.shows(&one)) {
                self.cell(&row, one, take)?;
            }
        }
        if self.is_open && (is_end || self.is_batched) {
            self.is_open = false;
            self.versions.iter_mut().for_each(|versions| versions.column = None);
            take(&Piece::End)?;
        }
        Ok(())
    }

    fn cell(&self, row: &[u8], one: client::Cell, take: TakePiece<'_>) -> Result<()> {
        let mut found = cell(one);
        if self.tells == Tells::Infos {
            let key = ColumnKey {
                table: self.table.name.clone(),
                row: row.to_vec(),
                family: found.family.clone(),
                qualifier: found.qualifier.clone(),
            };
            let family = self.table.families.get(&found.family);
            let info = info(&key, found.timestamp, length(&found.value)?, family);
            let (family, qualifier, kind) = (found.family, found.qualifier, found.kind);
            return take(&Piece::Found(Box::new(FoundCell { family, qualifier, kind, info })));
        }
        if found.value.len() <= VALUE_PIECE {
            return take(&Piece::Cell(found));
        }
        let value = std::mem::take(&mut found.value);
        take(&Piece::Head(found, value.len() as u64))?;
        value.chunks(VALUE_PIECE).try_for_each(|part| take(&Piece::Value(part.to_vec())))
    }
}

impl HBase {
    fn pieces(
        &self,
        table: &TableSchema,
        (scan, limit): (data::Scan, Option<u64>),
        (read, tells): (&ReadSpec, Tells),
        take: TakePiece<'_>,
    ) -> Result<()> {
        if self.described.is_pending(&table.name) {
            return Ok(());
        }
        let mut out = Out {
            table,
            tells,
            is_batched: scan.batch_size.is_some(),
            is_open: false,
            versions: RawVersions::of(read, tells),
        };
        let mut scanner = Scanner::new(&self.cluster, table_name(&table.name), scan, limit);
        while let Some(part) = scanner.next()? {
            out.part(part, take)?;
        }
        Ok(())
    }

    pub(in crate::hbase) fn get_row(&self, get: &Get, take: TakePiece<'_>) -> Result<()> {
        check_row(&get.row)?;
        let catalogue = self.described.catalogue(&self.cluster)?;
        let scan = of_row(&get.row, scan_of(&get.read, Tells::Values)?);
        self.pieces(known(&catalogue, &get.table)?, (scan, None), (&get.read, Tells::Values), take)
    }

    pub(in crate::hbase) fn scan_rows(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        self.pieces(known(&catalogue, &scan.table)?, (of_rows(scan)?, scan.limit), (&scan.read, scan.tells), take)
    }

    pub(in crate::hbase) fn rows(&self, scan: &Scan) -> Result<Rows<'_>> {
        let catalogue = self.described.catalogue(&self.cluster)?;
        let table = known(&catalogue, &scan.table)?.clone();
        if self.described.is_pending(&table.name) {
            return Ok(Box::new(std::iter::empty()));
        }
        let wanted = of_rows(scan)?;
        let (tells, is_batched) = (scan.tells, wanted.batch_size.is_some());
        let mut scanner = Scanner::new(&self.cluster, table_name(&table.name), wanted, scan.limit);
        let (mut results, mut is_open, mut is_over) = (Results::default(), false, false);
        let mut versions = RawVersions::of(&scan.read, tells);
        let mut next = move || -> Result<Option<RowResult>> {
            while let Some(part) = scanner.next()? {
                let mut whole = None;
                let mut out = Out { table: &table, tells, is_batched, is_open, versions: versions.take() };
                out.part(part, &mut |piece| {
                    whole = results.take(piece).or(whole.take());
                    Ok(())
                })?;
                (is_open, versions) = (out.is_open, out.versions);
                if whole.is_some() {
                    return Ok(whole);
                }
            }
            Ok(None)
        };
        Ok(Box::new(std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let found = next();
            is_over = !matches!(found, Ok(Some(_)));
            found.transpose()
        })))
    }
}
