//! From when on `.at` shows all that there was: what VERSIONS, a TTL or the end of deleted cells may have taken.
//!
//! Nothing is written down when a rule drops a version. A column that has as many versions as its family keeps may have
//! had older ones; one with fewer has had none but those. Where rules came to keep more, or what they kept was purged,
//! the family says so ([`Complete`]).

use std::fmt::Write;

use crate::Result;
use crate::backend::{Backend, HistoryFrom, RowListing, Versions};
use crate::model::{
    CellInfo, Complete, FamilyRules, FamilySchema, KeepDeleted, Qualifier, RowKey, TableName, TimeRange, Timestamp,
};
use crate::tree::base::Tree;
use crate::tree::names::escape::{Level, Spelling};
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;
use crate::visibility::is_outranked;

/// Versions that are looked at for a whole family.
const OF_FAMILY: usize = 200_000;
/// Versions that are looked at for what may lack in a directory.
const OF_DIRECTORY: usize = 20_000;
const PAGE: usize = 1000;

/// A walk over the versions of a family, until it has looked at so many.
struct Look<'a> {
    backend: &'a dyn Backend,
    table: &'a TableName,
    family: &'a FamilySchema,
    left: usize,
    /// The latest oldest version of a column that may have had older ones.
    latest: Option<(Timestamp, RowKey, Qualifier)>,
}

/// The versions of one column, newest first.
#[derive(Default)]
struct Column {
    live: usize,
    kept: usize,
    oldest_live: Option<Timestamp>,
    oldest_kept: Option<Timestamp>,
}

impl Column {
    fn add(&mut self, cell: &CellInfo) {
        let (count, oldest) = match cell.deleted_at {
            None => (&mut self.live, &mut self.oldest_live),
            Some(_) => (&mut self.kept, &mut self.oldest_kept),
        };
        *count += 1;
        *oldest = Some(cell.timestamp);
    }

    /// Before this there may have been versions that were dropped.
    fn bound(&self, rules: &FamilyRules, now: Timestamp) -> Option<Timestamp> {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let live = self.oldest_live.filter(|oldest| is_outranked(rules, count(self.live), *oldest, now));
        live.max(self.oldest_kept.filter(|_| count(self.kept) >= rules.versions))
    }
}

impl<'a> Look<'a> {
    fn new(backend: &'a dyn Backend, table: &'a TableName, family: &'a FamilySchema, most: usize) -> Self {
        Self { backend, table, family, left: most, latest: None }
    }

    /// Looks at all rows; false: there are too many versions.
    fn all(&mut self) -> Result<bool> {
        if !self.may_be_full()? {
            return Ok(true);
        }
        let mut after: Option<RowKey> = None;
        loop {
            let listing = RowListing {
                table: self.table.clone(),
                after: after.take(),
                before: Vec::new(),
                time_range: TimeRange::ALL,
                which: Versions::LiveAndKept,
                limit: PAGE,
            };
            let rows = self.backend.list_rows(&listing)?;
            for row in rows.iter() {
                if !self.row(row)? {
                    return Ok(false);
                }
            }
            match rows.last() {
                Some(last) if rows.len() == PAGE => after = Some(last.to_vec()),
                _ => return Ok(true),
            }
        }
    }

    /// Whether some column can have as many versions as are kept: by the numbers that there are of each qualifier.
    fn may_be_full(&self) -> Result<bool> {
        if self.family.rules.versions >= i32::MAX as u32 {
            return Ok(false);
        }
        let all = self.backend.table_columns(self.table)?;
        let columns = all.into_iter().find(|of| of.family == self.family.name).and_then(|of| of.columns);
        let versions = u64::from(self.family.rules.versions);
        Ok(columns.is_none_or(|columns| columns.iter().any(|column| column.cells >= versions)))
    }

    /// Looks at a row; false: there are too many versions.
    fn row(&mut self, row: &[u8]) -> Result<bool> {
        let mut from: Option<HistoryFrom> = None;
        let (mut qualifier, mut column) = (None::<Qualifier>, Column::default());
        loop {
            let page = self.backend.list_history(self.table, row, &self.family.name, from.as_ref(), PAGE)?;
            for (of, cell) in &page {
                if qualifier.as_ref() != Some(of) {
                    self.settle(row, qualifier.replace(of.clone()), std::mem::take(&mut column));
                }
                column.add(cell);
            }
            self.left = self.left.saturating_sub(page.len().max(1));
            match page.last() {
                Some((of, cell)) if page.len() == PAGE && self.left > 0 => {
                    from = Some(HistoryFrom { qualifier: of.clone(), before: Some(cell.timestamp) });
                }
                _ => break,
            }
        }
        self.settle(row, qualifier, column);
        Ok(self.left > 0)
    }

    fn settle(&mut self, row: &[u8], qualifier: Option<Qualifier>, column: Column) {
        let bound = column.bound(&self.family.rules, self.backend.now());
        if let Some((bound, qualifier)) = bound.zip(qualifier)
            && self.latest.as_ref().is_none_or(|(latest, ..)| *latest < bound)
        {
            self.latest = Some((bound, row.to_vec(), qualifier));
        }
    }

    /// What is known by now.
    fn complete(&self, now: Timestamp) -> Complete {
        let rules = &self.family.rules;
        let name = |level, key: &[u8]| String::from_utf8_lossy(&Spelling::default().name(level, key)).into_owned();
        let dropped = self.latest.as_ref().map(|(from, row, qualifier)| Complete {
            from: *from,
            because: format!(
                "VERSIONS {} may have dropped older versions of {}/{}/{}",
                rules.versions,
                name(Level::Row, row),
                self.family.name,
                name(Level::Qualifier, qualifier)
            ),
        });
        let age = |age: Option<u64>| age.map(|age| Timestamp(now.0.saturating_sub_unsigned(age).max(0)));
        let expired = age(rules.ttl_ms).map(|from| Complete { from, because: "TTL drops what is older".to_owned() });
        let kept = rules.keep_deleted != KeepDeleted::False;
        let purged = age(rules.purge_deleted_after_ms.filter(|_| kept && rules.new_version_behavior));
        let purged = purged
            .filter(|from| *from > self.family.made_at)
            .map(|from| Complete { from, because: "PURGE_DELETED_AFTER drops what was deleted before".to_owned() });
        let latest = [dropped, expired, purged, self.family.complete.clone()].into_iter().fold(None, Complete::later);
        latest.unwrap_or_else(|| Complete {
            from: Timestamp::ZERO,
            because: "no rule or purge has dropped anything".to_owned(),
        })
    }
}

/// `complete`: a line for each of the families, or for one.
pub fn text(backend: &dyn Backend, table: &TableName, of: Option<&str>) -> Result<String> {
    let catalogue = backend.catalogue()?;
    let families = catalogue.tables.get(table).map(|schema| &schema.families);
    let wanted = families.into_iter().flatten().filter(|(name, _)| of.is_none_or(|of| of == *name));
    let mut content = "family\tfrom_ms\tfrom\tbecause\n".to_owned();
    for (name, family) in wanted {
        let mut look = Look::new(backend, table, family, OF_FAMILY);
        let shown = String::from_utf8_lossy(&Spelling::default().name(Level::Family, name.as_bytes())).into_owned();
        if !look.all()? {
            let _ = writeln!(content, "# {shown}: more than {OF_FAMILY} versions are too many to look at");
            continue;
        }
        let Complete { from, mut because } = look.complete(backend.now());
        if family.rules.keep_deleted == KeepDeleted::False {
            because.push_str("; KEEP_DELETED_CELLS FALSE: what was deleted is not shown");
        }
        let _ = writeln!(content, "{shown}\t{from}\t{}\t{because}", from.iso());
    }
    Ok(content)
}

/// What may lack in a directory or at a name below `.at`, in a sentence; `None`: nothing, or more is there than is
/// looked at.
pub fn lack(tree: &Tree, key: &NodeKey) -> Result<Option<String>> {
    let View::At(time) = key.view else { return Ok(None) };
    let Some(table) = key.place.table().cloned() else { return Ok(None) };
    let catalogue = tree.backend.catalogue()?;
    let Some(schema) = catalogue.tables.get(&table) else { return Ok(None) };
    for family in schema.families.values() {
        let mut look = Look::new(tree.backend.as_ref(), &table, family, OF_DIRECTORY);
        let looked = match &key.place {
            Place::Table(_) => look.all()?,
            Place::Row(row) => look.row(&row.row)?,
            Place::Family(place) if place.family == family.name => look.row(&place.row)?,
            Place::Cell(column) if column.family == family.name => {
                let mut versions = Column::default();
                let cells = tree.backend.list_versions(column, Versions::LiveAndKept, None, OF_DIRECTORY)?;
                cells.iter().for_each(|cell| versions.add(cell));
                look.settle(&column.row, Some(column.qualifier.clone()), versions);
                true
            }
            _ => continue,
        };
        let complete = look.complete(tree.backend.now());
        if looked && complete.from > time && !complete.because.starts_with("PURGE_DELETED_AFTER drops") {
            return Ok(Some(format!(
                "of {time} not all may be shown: {}, from {} on it is whole; \
                 .schema/{}/.info/complete of the table says so of the family, whose VERSIONS and TTL say how much is kept",
                complete.because,
                complete.from.iso(),
                family.name
            )));
        }
    }
    Ok(None)
}
