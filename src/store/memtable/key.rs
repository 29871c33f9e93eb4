//! Keys of a memtable, each with its first bytes as a number in front: most comparisons end there, without a look at the
//! key itself, which lies elsewhere in memory.

use std::borrow::Borrow;
use std::cmp::Ordering;

/// Bytes of a key that stand in front.
const HEAD: usize = 16;

/// A key that is stored.
pub(super) struct MemKey {
    head: u128,
    bytes: Box<[u8]>,
}

/// A key that is looked for.
pub(super) struct Sought<'k> {
    head: u128,
    bytes: &'k [u8],
}

/// What is compared of both.
pub(super) trait Keyed {
    fn parts(&self) -> (u128, &[u8]);
}

/// The first bytes, as many as are missing being zero: numbers that differ are ordered as the keys are.
fn head_of(bytes: &[u8]) -> u128 {
    let mut head = [0; HEAD];
    let len = bytes.len().min(HEAD);
    head[..len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(head)
}

impl MemKey {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { head: head_of(&bytes), bytes: bytes.into_boxed_slice() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<'k> Sought<'k> {
    pub(super) fn new(bytes: &'k [u8]) -> Self {
        Self { head: head_of(bytes), bytes }
    }
}

impl Keyed for MemKey {
    fn parts(&self) -> (u128, &[u8]) {
        (self.head, &self.bytes)
    }
}

impl Keyed for Sought<'_> {
    fn parts(&self) -> (u128, &[u8]) {
        (self.head, self.bytes)
    }
}

impl Ord for MemKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for MemKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MemKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for MemKey {}

impl<'k> Borrow<dyn Keyed + 'k> for MemKey {
    fn borrow(&self) -> &(dyn Keyed + 'k) {
        self
    }
}

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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_bytes_are(
            common in prop::collection::vec(0..3_u8, 0..20),
            one in prop::collection::vec(0..3_u8, 0..6),
            other in prop::collection::vec(0..3_u8, 0..6),
        ) {
            let (one, other) = ([&*common, &*one].concat(), [&*common, &*other].concat());
            let stored = [MemKey::new(one.clone()), MemKey::new(other.clone())];
            prop_assert_eq!(stored[0].cmp(&stored[1]), one.cmp(&other));
            let (sought, stored): (&dyn Keyed, &dyn Keyed) = (&Sought::new(&one), stored[1].borrow());
            prop_assert_eq!(sought.cmp(stored), one.cmp(&other));
        }
    }
}
