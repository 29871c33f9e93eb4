//! The index's side of a check: order, checksums and numbers of its rows, and rows without an entry.

use std::collections::BTreeMap;

use super::walk::{Checker, is_damage};
use crate::index::{IndexRow, IndexView, SegmentStats, key};
use crate::model::{FamilyId, SegmentId, SeqNo, Severity};
use crate::wal::{Entry, read_head};
use crate::{ErrorKind, Result};

const PAGE: usize = 4096;

/// Takes a key and its row.
type EachRow<'f, C> = dyn FnMut(&mut C, &[u8], IndexRow) -> Result<()> + 'f;

/// What is counted over all rows.
#[derive(Default)]
struct Counts {
    families: BTreeMap<FamilyId, u64>,
    segments: BTreeMap<SegmentId, SegmentStats>,
    /// Over the places of shared values: equal sums of the same places in any order.
    places: u64,
    last: Vec<u8>,
}

/// A number of a place that others hardly share.
fn mixed((segment, offset): (SegmentId, u64)) -> u64 {
    let mut z = (u64::from(segment.0) << 40 ^ offset).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Checker<'_, '_> {
    /// All rows, then what was counted against what the index says of itself.
    pub(super) fn rows(&mut self) -> Result<()> {
        let Some(index) = self.index else { return Ok(()) };
        let mut counts = Counts::default();
        match self.count(index, &mut counts) {
            Err(e) if is_damage(&e) => return self.index_finding(None, e.message),
            other => other?,
        }
        self.compare(&counts)?;
        self.compare_shares(index, &counts)?;
        if self.matched == self.summary.rows { Ok(()) } else { self.surplus(index) }
    }

    fn index_finding(&mut self, cell: Option<String>, text: impl Into<String>) -> Result<()> {
        self.find(Severity::Damage, (self.index_path.clone(), None), cell, text)
    }

    fn pages(&mut self, index: &IndexView<'_>, each: &mut EachRow<'_, Self>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let mut page = Vec::new();
            let count = index.page(&from, &[0xFF; 8], PAGE, &mut |key, row| {
                page.push((key.to_vec(), row));
                Ok(())
            })?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            from.clone_from(last);
            from.push(0);
            for (key, row) in page {
                each(self, &key, row)?;
            }
            self.advance(count as u64)?;
            if count < PAGE {
                return Ok(());
            }
        }
    }

    fn count(&mut self, index: &IndexView<'_>, counts: &mut Counts) -> Result<()> {
        self.pages(index, &mut |checker, key, row| {
            checker.summary.rows += 1;
            if key <= counts.last.as_slice() {
                checker.index_finding(None, "rows are out of order")?;
            }
            counts.last = key.to_vec();
            if let Some(family) = key::family_of(key) {
                *counts.families.entry(family).or_default() += 1;
            }
            counts.segments.entry(row.value.segment).or_default().live += 1;
            if let Some((own, _)) = row.own {
                counts.segments.entry(row.value.segment).or_default().shares += 1;
                counts.segments.entry(own).or_default().live += 1;
                counts.places = counts.places.wrapping_add(mixed((row.value.segment, row.value.offset)));
            }
            Ok(())
        })
    }

    fn compare(&mut self, counts: &Counts) -> Result<()> {
        let families = std::mem::take(&mut self.meta.families);
        for (id, stats) in &families {
            let rows = counts.families.get(id).copied().unwrap_or(0);
            if rows != stats.cells {
                let text = format!("family number {} has {rows} rows, {} were written", id.0, stats.cells);
                self.index_finding(None, text)?;
            }
        }
        let segments = std::mem::take(&mut self.meta.segments);
        for (id, stats) in &segments {
            let rows = counts.segments.get(id).cloned().unwrap_or_default();
            if (rows.live, rows.shares) != (stats.live, stats.shares) {
                let text = format!(
                    "{} rows point into segment {}, {} of them share values; {} and {} were counted when they were \
                     written",
                    rows.live, id.0, rows.shares, stats.live, stats.shares
                );
                self.index_finding(None, text)?;
            }
            if stats.live > 0 && self.segments.get(*id).is_none() {
                let path = self.segments.path(*id).display().to_string();
                let text = format!("it is missing; {} rows of the index point into it", stats.live);
                self.find(Severity::Damage, (path, None), None, text)?;
            }
        }
        Ok(())
    }

    fn compare_shares(&mut self, index: &IndexView<'_>, counts: &Counts) -> Result<()> {
        let mut sum = 0u64;
        let walked = index.walk_shares(&mut |segment, offset, shares| {
            sum = sum.wrapping_add(mixed((segment, offset)).wrapping_mul(shares));
        });
        match walked {
            Err(e) if e.kind == ErrorKind::Corrupt => return self.index_finding(None, e.message),
            other => other?,
        }
        let text = "the counts of shared values are not those of the rows that share them";
        if sum == counts.places { Ok(()) } else { self.index_finding(None, text) }
    }

    /// Rows whose entries were not met.
    fn surplus(&mut self, index: &IndexView<'_>) -> Result<()> {
        self.pages(index, &mut |checker, key, row| {
            let Some(entry) = entry_of(key, &row) else { return Ok(()) };
            let (segment, offset) = row.place();
            let at = (checker.segments.path(segment).display().to_string(), Some(offset));
            let own = read_head(checker.segments, segment, offset);
            let value = read_head(checker.segments, row.value.segment, row.value.offset);
            let text = match (own, value) {
                (Ok(Some(own)), Ok(Some(value))) if own.entry == entry && value.value == row.value => return Ok(()),
                (Err(e), _) | (_, Err(e)) if !matches!(e.kind, ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    return Err(e);
                }
                (Ok(Some(own)), _) if own.entry != entry => "there is another cell than the index says",
                _ => "what the index says to be there cannot be read",
            };
            let cell = Some(checker.name(&entry));
            checker.find(Severity::Damage, at, cell, text)
        })
    }
}

fn entry_of(key: &[u8], row: &IndexRow) -> Option<Entry> {
    let key::CellKey { family, row: name, qualifier, timestamp, kind, seq } = key::decode(key)?;
    let seq: SeqNo = seq;
    Some(Entry { family, row: name, qualifier, timestamp, kind, seq, tags: row.tags.clone() })
}
