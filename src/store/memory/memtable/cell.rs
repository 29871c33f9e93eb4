//! A cell of a memtable: key and value in one piece of memory, and the key's first bytes as numbers in front. Most
//! comparisons end there, without a look at the key itself, which lies elsewhere.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::format::key;
use crate::model::{CellKind, SeqNo, Shared, Tags, ValueBytes};

/// A cell and its key.
#[derive(Clone, Debug)]
pub struct MemCell {
    head: Head,
    /// The value, or the root of a large one; before it the key.
    bytes: Shared,
    /// Most cells have none.
    extra: Option<Arc<Extra>>,
}

/// The first bytes of a key, as many as are missing being zero: numbers that differ are ordered as the keys are.
type Head = (u64, u64);

/// What few cells have.
#[derive(Clone, Debug)]
struct Extra {
    tags: Tags,
    /// The value is a root, of a value of so many bytes.
    root: Option<u64>,
}

/// Bytes that [`SCRATCH`] keeps at most.
const SCRATCH_MAX: usize = 64 << 10;

thread_local! {
    /// Where a cell's bytes are put together, before it is known how many there are.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl MemCell {
    /// A cell by its key, which is appended to the bytes given; tags are kept only if there are any.
    pub fn new(put_key: impl FnOnce(&mut Vec<u8>), tags: &Tags, value: ValueBytes<'_>) -> Self {
        let root = if let ValueBytes::Root { len, .. } = value { Some(len) } else { None };
        let has_extra = root.is_some() || *tags != Tags::default();
        let extra = has_extra.then(|| Arc::new(Extra { tags: tags.clone(), root }));
        SCRATCH.with_borrow_mut(|scratch| {
            put_key(scratch);
            // A row has at most 32,767 bytes, a qualifier is bounded as a record is.
            let (head, key_len) = (head_of(scratch), scratch.len() as u32);
            scratch.extend_from_slice(value.bytes());
            let bytes = Shared::new(scratch, key_len);
            scratch.clear();
            scratch.shrink_to(SCRATCH_MAX);
            Self { head, bytes, extra }
        })
    }

    /// Puts the sequence number into a key that was made without one.
    pub fn set_seq(&mut self, kind: CellKind, seq: SeqNo) {
        self.bytes.change_before(|key| key::set_seq(key, kind, seq));
        self.head = head_of(self.bytes.before());
    }

    pub fn key(&self) -> &[u8] {
        self.bytes.before()
    }

    /// The value's bytes, or those of the root.
    pub fn stored(&self) -> &[u8] {
        &self.bytes
    }

    pub fn value(&self) -> ValueBytes<'_> {
        match self.extra.as_ref().and_then(|extra| extra.root) {
            Some(len) => ValueBytes::Root { len, bytes: self.stored() },
            None => ValueBytes::Bytes(self.stored()),
        }
    }

    /// [`MemCell::stored`] without a copy.
    pub fn shared(&self) -> Shared {
        self.bytes.clone()
    }

    /// What rides along, if anything does.
    pub fn tags(&self) -> Option<&Tags> {
        self.extra.as_ref().map(|extra| &extra.tags)
    }

    /// Whether nothing rides along.
    pub fn is_plain(&self) -> bool {
        self.tags().is_none_or(|tags| *tags == Tags::default())
    }

    /// Whether its value is lost.
    pub fn is_damaged(&self) -> bool {
        self.tags().is_some_and(|tags| tags.is_damaged)
    }

    /// Whether its value does not stand among the keys, being large.
    pub fn is_root(&self) -> bool {
        matches!(self.value(), ValueBytes::Root { .. })
    }

    /// The value, if it is none of the large ones and the cell has no tags.
    pub fn bare_value(&self) -> Option<&[u8]> {
        self.extra.is_none().then(|| self.stored())
    }

    /// Bytes of key and value in memory.
    pub(super) fn held(&self) -> usize {
        self.bytes.all().len()
    }

    /// Brings both ends of what it has into the processor's cache.
    pub(super) fn touch(&self) -> u8 {
        let all = self.bytes.all();
        all.first().unwrap_or(&0) ^ all.last().unwrap_or(&0)
    }
}

/// A key that is looked for.
pub(super) struct Sought<'k> {
    head: Head,
    bytes: &'k [u8],
}

/// What is compared of both.
pub(super) trait Keyed {
    fn parts(&self) -> (Head, &[u8]);
}

fn head_of(bytes: &[u8]) -> Head {
    let mut head = [0; 16];
    let len = bytes.len().min(head.len());
    head[..len].copy_from_slice(&bytes[..len]);
    let number = u128::from_be_bytes(head);
    ((number >> 64) as u64, number as u64)
}

/// How many of these, which ascend, have lesser keys than this; it is looked for from the front on.
pub fn count_before(cells: &[MemCell], key: &[u8]) -> usize {
    let sought = Sought::new(key);
    let is_before = |cell: &MemCell| cell.parts() < sought.parts();
    let mut far = 1;
    while cells.get(far - 1).is_some_and(is_before) {
        far *= 2;
    }
    let near = far / 2;
    near + cells[near..cells.len().min(far)].partition_point(is_before)
}

impl<'k> Sought<'k> {
    pub(super) fn new(bytes: &'k [u8]) -> Self {
        Self { head: head_of(bytes), bytes }
    }
}

impl Keyed for MemCell {
    fn parts(&self) -> (Head, &[u8]) {
        (self.head, self.key())
    }
}

impl Keyed for Sought<'_> {
    fn parts(&self) -> (Head, &[u8]) {
        (self.head, self.bytes)
    }
}

impl<'k> Borrow<dyn Keyed + 'k> for MemCell {
    fn borrow(&self) -> &(dyn Keyed + 'k) {
        self
    }
}

impl Ord for MemCell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.head.cmp(&other.head).then_with(|| self.key().cmp(other.key()))
    }
}

impl PartialOrd for MemCell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MemCell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MemCell {}

impl Ord for dyn Keyed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for dyn Keyed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Keyed + '_ {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use proptest::prelude::*;

    fn cell(key: &[u8]) -> MemCell {
        MemCell::new(|out| out.extend_from_slice(key), &Tags::default(), ValueBytes::Bytes(b"value"))
    }

    proptest! {
        #[test]
        fn cells_are_ordered_as_their_keys_are(
            common in prop::collection::vec(0..3_u8, 0..20),
            one in prop::collection::vec(0..3_u8, 0..6),
            other in prop::collection::vec(0..3_u8, 0..6),
        ) {
            let (one, other) = ([&*common, &*one].concat(), [&*common, &*other].concat());
            let stored = [cell(&one), cell(&other)];
            prop_assert_eq!(stored[0].cmp(&stored[1]), one.cmp(&other));
            let (sought, stored): (&dyn Keyed, &dyn Keyed) = (&Sought::new(&one), stored[1].borrow());
            prop_assert_eq!(sought.cmp(stored), one.cmp(&other));
        }

        #[test]
        fn cells_before_a_key_are_counted(mut keys in prop::collection::vec(prop::collection::vec(0..3_u8, 0..16), 0..40)) {
            let sought = keys.pop().unwrap_or_default();
            keys.sort();
            let cells: Vec<MemCell> = keys.iter().map(|key| cell(key)).collect();
            prop_assert_eq!(count_before(&cells, &sought), keys.partition_point(|key| *key < sought));
        }
    }

    #[test]
    fn a_cell_has_what_it_was_made_of() {
        let tags = Tags { ttl_ms: Some(5), ..Tags::default() };
        for (kept, key) in [(&tags, b"".as_slice()), (&Tags::default(), b"k")] {
            let key = key::cell_key(key, b"q", Timestamp(7), CellKind::Put, SeqNo(0));
            let put_key = |out: &mut Vec<u8>| out.extend_from_slice(&key);
            let mut large = MemCell::new(put_key, kept, ValueBytes::Root { len: 99, bytes: b"root" });
            assert!(large.is_root() && large.bare_value().is_none());
            assert_eq!(
                (large.value().value_len(), &*large.shared(), large.is_plain()),
                (99, b"root".as_slice(), *kept != tags)
            );
            large.set_seq(CellKind::Put, SeqNo(3));
            assert_eq!(key::decode_suffix(large.key()), Some((Timestamp(7), CellKind::Put, SeqNo(3))));
            let short = MemCell::new(put_key, kept, ValueBytes::Bytes(b"v"));
            assert_eq!(
                (short.value().value_len(), short.bare_value()),
                (1, (*kept != tags).then_some(b"v".as_slice()))
            );
        }
    }
}
