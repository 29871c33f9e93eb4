//! Which block has a key: the index of a group, and the list of an extent's groups.
//!
//! Both go by separators: the shortest bytes above the last key before and not above the first key in it. Pure.

use std::cmp::Ordering;

use super::facts::Place;
use super::piece::HEADER;
use crate::format::key::common;
use crate::format::{put_varint, take, take_varint};

/// Bytes of a group's index, at which the group ends.
pub(in crate::segment) const INDEX_BYTES: usize = 4096;
/// Most blocks of a group.
pub(in crate::segment) const GROUP_BLOCKS: usize = 1024;

/// The shortest bytes that are above `before` and not above `key`.
pub(in crate::segment) fn separator<'a>(before: &[u8], key: &'a [u8]) -> &'a [u8] {
    let shared = common(before, key);
    &key[..(shared + 1).min(key.len())]
}

/// Sorted bytes, one after the other.
#[derive(Debug, Default)]
struct Separators {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Of all but the first: how many bytes they have in common, and of each the eight that follow, as a number. Once all
    /// are there; a search looks at few others.
    common: usize,
    heads: Vec<u64>,
}

/// The first eight bytes as a number, in their order.
fn head(bytes: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = bytes.len().min(8);
    head[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(head)
}

impl Separators {
    fn get(&self, n: usize) -> &[u8] {
        let from = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from as usize..self.ends[n] as usize]
    }

    /// Appends one. All together have less than 4 GiB: those of a group some KiB, of a list of groups one a group.
    fn push(&mut self, separator: &[u8]) {
        self.bytes.extend_from_slice(separator);
        self.ends.push(self.bytes.len() as u32);
    }

    /// All are there: they are searched from now on.
    fn complete(&mut self) {
        let Some(last) = self.ends.len().checked_sub(1).filter(|last| *last > 0) else { return };
        self.common = common(self.get(1), self.get(last));
        let heads = (1..=last).map(|n| head(self.get(n).get(self.common..).unwrap_or_default()));
        self.heads = std::iter::once(0).chain(heads).collect();
    }

    /// The last one that is not above `key` is in this range, or is the first of it.
    fn near(&self, key: &[u8]) -> (usize, usize) {
        let all = self.ends.len();
        if self.heads.is_empty() {
            return (0, all);
        }
        let (front, rest) = key.split_at(self.common.min(key.len()));
        match front.cmp(&self.get(1)[..self.common]) {
            Ordering::Less => return (0, 1),
            Ordering::Greater => return (all - 1, all),
            Ordering::Equal => {}
        }
        let wanted = head(rest);
        let low = self.heads.partition_point(|head| *head < wanted);
        let same = self.heads[low..].partition_point(|head| *head == wanted);
        (low.saturating_sub(1), low + same)
    }

    /// The last one that is not above `key`, else the first.
    fn find(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = self.near(key);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.get(middle) <= key { low = middle } else { high = middle }
        }
        low
    }

    /// Appends one that is stored as what it does not share with the one before; takes it from `bytes`.
    fn take(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let shared = usize::try_from(take_varint(bytes)?).ok()?;
        let rest = usize::try_from(take_varint(bytes)?).ok()?;
        let rest = take(bytes, rest)?;
        let from = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before]) as usize;
        let last = self.bytes.len();
        if shared > last - from || u32::try_from(last + shared + rest.len()).is_err() {
            return None;
        }
        self.bytes.extend_from_within(from..from + shared);
        self.push(rest);
        // Two that are the same could not be told apart.
        let n = self.ends.len() - 1;
        (n == 0 || self.get(n - 1) < self.get(n)).then_some(())
    }

    fn put(out: &mut Vec<u8>, before: &[u8], separator: &[u8]) {
        let shared = common(before, separator);
        put_varint(out, shared as u64);
        put_varint(out, (separator.len() - shared) as u64);
        out.extend_from_slice(&separator[shared..]);
    }

    fn weight(&self) -> usize {
        self.bytes.len() + self.ends.len() * 4 + self.heads.len() * 8
    }
}

/// The index of a group.
#[derive(Debug, Default)]
pub(in crate::segment) struct Index {
    separators: Separators,
    blocks: Vec<Place>,
}

impl Index {
    pub(in crate::segment) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(in crate::segment) fn block(&self, n: usize) -> Option<Place> {
        self.blocks.get(n).copied()
    }

    pub(in crate::segment) fn separator(&self, n: usize) -> &[u8] {
        self.separators.get(n)
    }

    /// The block that has a key, if any has.
    pub(in crate::segment) fn find(&self, key: &[u8]) -> usize {
        self.separators.find(key)
    }

    pub(in crate::segment) fn push(&mut self, separator: &[u8], block: Place) {
        self.separators.push(separator);
        self.blocks.push(block);
    }

    /// All blocks are there: from now on it is searched.
    pub(in crate::segment) fn complete(mut self) -> Self {
        self.separators.complete();
        self
    }

    pub(in crate::segment) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes that it would have, about.
    pub(in crate::segment) fn encoded_len(&self) -> usize {
        self.separators.bytes.len() + self.blocks.len() * 8
    }

    pub(in crate::segment) fn weight(&self) -> usize {
        self.separators.weight() + self.blocks.len() * size_of::<Place>()
    }

    pub(in crate::segment) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(INDEX_BYTES);
        put_varint(&mut out, self.blocks.len() as u64);
        let mut end = 0;
        for (n, block) in self.blocks.iter().enumerate() {
            let before = n.checked_sub(1).map_or(&[][..], |before| self.separators.get(before));
            Separators::put(&mut out, before, self.separators.get(n));
            put_varint(&mut out, block.at - end);
            put_varint(&mut out, u64::from(block.stored));
            end = block.end();
        }
        out
    }

    /// The inverse; the blocks lie from `start` to `end`.
    pub(in crate::segment) fn decode(mut bytes: &[u8], start: u64, end: u64) -> Option<Self> {
        let bytes = &mut bytes;
        let count = take_varint(bytes)?;
        if count == 0 || count > GROUP_BLOCKS as u64 {
            return None;
        }
        let mut index = Index::default();
        let mut before = 0u64;
        for n in 0..count {
            index.separators.take(bytes)?;
            let at = before.checked_add(take_varint(bytes)?)?;
            let block = Place { at, stored: u32::try_from(take_varint(bytes)?).ok()? };
            if n == 0 && at != start || block.checked_end()? > end {
                return None;
            }
            before = block.end();
            index.blocks.push(block);
        }
        bytes.is_empty().then(|| index.complete())
    }
}

/// One group of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::segment) struct Group {
    /// Where its first block is.
    pub(in crate::segment) start: u64,
    pub(in crate::segment) index: Place,
    /// Lines of its filter, and of the one of rows with family tombstones.
    pub(in crate::segment) lines: u32,
    pub(in crate::segment) tombstone_lines: u32,
}

/// The list of an extent's groups.
#[derive(Debug, Default)]
pub(in crate::segment) struct Groups {
    separators: Separators,
    groups: Vec<Group>,
}

impl Groups {
    pub(in crate::segment) fn len(&self) -> usize {
        self.groups.len()
    }

    pub(in crate::segment) fn get(&self, n: usize) -> Option<Group> {
        self.groups.get(n).copied()
    }

    pub(in crate::segment) fn separator(&self, n: usize) -> &[u8] {
        self.separators.get(n)
    }

    /// The group that has a key, if any has.
    pub(in crate::segment) fn find(&self, key: &[u8]) -> usize {
        self.separators.find(key)
    }

    pub(in crate::segment) fn push(&mut self, separator: &[u8], group: Group) {
        self.separators.push(separator);
        self.groups.push(group);
    }

    /// All groups are there: from now on it is searched.
    pub(in crate::segment) fn complete(mut self) -> Self {
        self.separators.complete();
        self
    }

    pub(in crate::segment) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.groups.len() as u64);
        let mut end = 0;
        for (n, group) in self.groups.iter().enumerate() {
            let before = n.checked_sub(1).map_or(&[][..], |before| self.separators.get(before));
            Separators::put(&mut out, before, self.separators.get(n));
            put_varint(&mut out, group.start - end);
            put_varint(&mut out, group.index.at - group.start);
            put_varint(&mut out, u64::from(group.index.stored));
            put_varint(&mut out, u64::from(group.lines));
            put_varint(&mut out, u64::from(group.tombstone_lines));
            end = group.index.end();
        }
        out
    }

    /// The inverse; the groups lie from `start` to `end`.
    pub(in crate::segment) fn decode(mut bytes: &[u8], start: u64, end: u64) -> Option<Self> {
        let bytes = &mut bytes;
        // Each has seven bytes at least.
        let count = take_varint(bytes).filter(|count| *count > 0 && *count <= bytes.len() as u64)?;
        let mut groups = Groups::default();
        let mut before = 0u64;
        for n in 0..count {
            groups.separators.take(bytes)?;
            let at = before.checked_add(take_varint(bytes)?)?;
            let index_at = at.checked_add(take_varint(bytes)?)?;
            let index = Place { at: index_at, stored: small(bytes)? };
            let group = Group { start: at, index, lines: small(bytes)?, tombstone_lines: small(bytes)? };
            if n == 0 && at != start || group.index.checked_end()? > end || index_at < at + HEADER as u64 {
                return None;
            }
            before = group.index.end();
            groups.groups.push(group);
        }
        bytes.is_empty().then(|| groups.complete())
    }
}

fn small(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_varint(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let front = prop::sample::select(vec![&b""[..], b"a", b"row-0000-", b"row-00000000000-"]);
        let rest = prop::collection::vec(prop::sample::select(vec![0u8, 1, b'a', 0xFF]), 0..11);
        (front, rest).prop_map(|(front, rest)| [front, &rest].concat())
    }

    proptest! {
        #[test]
        fn what_is_found_is_the_last_that_is_not_above(
            all in prop::collection::btree_set(bytes(), 1..40),
            keys in prop::collection::vec(bytes(), 40),
        ) {
            let mut separators = Separators::default();
            all.iter().for_each(|separator| separators.push(separator));
            separators.complete();
            for key in keys.iter().chain(&all) {
                let last = all.iter().rposition(|separator| separator <= key).unwrap_or(0);
                prop_assert_eq!(separators.find(key), last, "{:?} in {:?}", key, all);
            }
        }
    }
}
