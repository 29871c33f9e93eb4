//! What an extent knows of its qualifiers: how often each was put, how many bytes, the oldest and the newest.
//!
//! Pure. Counts puts alone: a tombstone makes no column.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::format::{key, put_varint, take, take_varint, unzigzag, zigzag};
use crate::model::{Qualifier, Timestamp};

/// Most qualifiers that an extent tells of, and most bytes of them.
const COLUMNS_MAX: usize = 10_000;
const BYTES_MAX: usize = 4 << 20;

/// One qualifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnFacts {
    pub qualifier: Qualifier,
    /// Puts.
    pub cells: u64,
    /// Bytes of their values.
    pub bytes: u64,
    pub oldest: Timestamp,
    pub newest: Timestamp,
}

/// Gathers them; what it holds is bounded.
#[derive(Default)]
pub(in crate::segment) struct ColumnGatherer {
    by_qualifier: HashMap<Box<[u8]>, usize, FxBuildHasher>,
    facts: Vec<ColumnFacts>,
    bytes: usize,
    too_many: bool,
    /// The one that is going by.
    current: Option<usize>,
}

impl ColumnGatherer {
    /// A put of a qualifier, which is escaped and that of the puts since [`Self::next_column`].
    pub(in crate::segment) fn put(&mut self, qualifier: &[u8], timestamp: Timestamp, len: u64) {
        if self.too_many {
            return;
        }
        if self.current.is_none() {
            self.current = self.find(qualifier);
        }
        if let Some(facts) = self.current.and_then(|n| self.facts.get_mut(n)) {
            facts.cells += 1;
            facts.bytes += len;
            facts.oldest = facts.oldest.min(timestamp);
            facts.newest = facts.newest.max(timestamp);
        }
    }

    /// Another column begins.
    pub(in crate::segment) fn next_column(&mut self) {
        self.current = None;
    }

    fn find(&mut self, qualifier: &[u8]) -> Option<usize> {
        if let Some(n) = self.by_qualifier.get(qualifier) {
            return Some(*n);
        }
        self.bytes += qualifier.len();
        if self.facts.len() == COLUMNS_MAX || self.bytes > BYTES_MAX {
            self.too_many = true;
            self.by_qualifier = HashMap::default();
            self.facts = Vec::new();
            return None;
        }
        let n = self.facts.len();
        let (oldest, newest) = (Timestamp(i64::MAX), Timestamp(i64::MIN));
        let escaped = qualifier;
        let qualifier = key::unescape(escaped)?;
        self.by_qualifier.insert(escaped.into(), n);
        self.facts.push(ColumnFacts { qualifier, cells: 0, bytes: 0, oldest, newest });
        Some(n)
    }

    /// The section; it begins with 0 if there were too many.
    pub(in crate::segment) fn encode(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.too_many {
            out.push(0);
            return out;
        }
        self.facts.sort_unstable_by(|a, b| a.qualifier.cmp(&b.qualifier));
        put_varint(&mut out, self.facts.len() as u64 + 1);
        for facts in &self.facts {
            put_varint(&mut out, facts.qualifier.len() as u64);
            out.extend_from_slice(&facts.qualifier);
            put_varint(&mut out, facts.cells);
            put_varint(&mut out, facts.bytes);
            put_varint(&mut out, zigzag(facts.oldest.0));
            put_varint(&mut out, zigzag(facts.newest.0));
        }
        out
    }
}

/// Reads the section. Inner `None`: there were too many.
pub(in crate::segment) fn decode(mut bytes: &[u8]) -> Option<Option<Vec<ColumnFacts>>> {
    let bytes = &mut bytes;
    let Some(count) = take_varint(bytes)?.checked_sub(1) else { return bytes.is_empty().then_some(None) };
    if count > COLUMNS_MAX as u64 {
        return None;
    }
    let mut all = Vec::new();
    for _ in 0..count {
        let len = usize::try_from(take_varint(bytes)?).ok()?;
        let qualifier = take(bytes, len)?.to_vec();
        let (cells, size) = (take_varint(bytes)?, take_varint(bytes)?);
        let (oldest, newest) = (unzigzag(take_varint(bytes)?), unzigzag(take_varint(bytes)?));
        let (oldest, newest) = (Timestamp(oldest), Timestamp(newest));
        all.push(ColumnFacts { qualifier, cells, bytes: size, oldest, newest });
    }
    bytes.is_empty().then_some(Some(all))
}
