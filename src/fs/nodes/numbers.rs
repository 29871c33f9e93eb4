//! Numbers of nodes: a keyed hash of their identities, the same at every mount of a store.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use siphasher::sip::SipHasher24;

use crate::tree::place::{NodeKey, Place};

/// Number of the root directory.
pub const ROOT_INO: u64 = 1;

/// See the module.
pub struct Numbers {
    hasher: SipHasher24,
}

/// Numbers of what one directory has by keys: what all of its identities begin with is hashed once.
pub struct NumbersBelow(SipHasher24);

impl Numbers {
    pub fn new(hash_key: &[u8; 16]) -> Self {
        Self { hasher: SipHasher24::new_with_key(hash_key) }
    }

    /// The number of an identity.
    pub fn of(&self, key: &NodeKey) -> u64 {
        let mut hasher = self.hasher;
        key.hash(&mut hasher);
        number(&hasher)
    }

    /// Of what a table or a family has by keys, see [`Place::below_by_key`]; `None`: it is another directory.
    pub fn below(&self, dir: &NodeKey) -> Option<NumbersBelow> {
        let mut hasher = self.hasher;
        (&dir.snapshot, dir.view).hash(&mut hasher);
        // The key stands last in the identity, unless a question follows.
        match &dir.place {
            _ if dir.asked.is_some() => return None,
            Place::Table(table) => {
                discriminant(&dir.place.below_by_key(&[])).hash(&mut hasher);
                table.hash(&mut hasher);
            }
            Place::Family(family) => {
                discriminant(&dir.place.below_by_key(&[])).hash(&mut hasher);
                (&family.table, &family.row, &family.family).hash(&mut hasher);
            }
            _ => return None,
        }
        Some(NumbersBelow(hasher))
    }
}

impl NumbersBelow {
    /// The number of what the directory has by this key.
    pub fn of(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0;
        key.hash(&mut hasher);
        number(&hasher)
    }
}

fn number(hasher: &SipHasher24) -> u64 {
    hasher.finish().max(ROOT_INO + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{TableName, Timestamp};
    use crate::tree::place::{FamilyPlace, SnapshotId};
    use crate::tree::view::View;

    #[test]
    fn what_is_below_a_directory_has_the_numbers_of_its_identities() {
        let numbers = Numbers::new(&[7; 16]);
        let table = TableName::parse("space:table").unwrap();
        let family = FamilyPlace { table: table.clone(), row: b"row\0".to_vec(), family: "family".into() };
        let snapshot = SnapshotId { name: "of".into(), made_at: Timestamp(5) };
        for place in [Place::Table(Arc::new(table)), Place::Family(Arc::new(family))] {
            let present = NodeKey::plain(place);
            let past = NodeKey { view: View::At(Timestamp(3)), ..present.clone() };
            let kept = NodeKey { snapshot: Some(Arc::new(snapshot.clone())), ..present.clone() };
            for dir in [present, past, kept] {
                let below = numbers.below(&dir).unwrap();
                for key in [&b"k"[..], b"", b"a longer key than a word has", b"\0\xFF"] {
                    assert_eq!(below.of(key), numbers.of(&dir.sibling(dir.place.below_by_key(key))), "{dir:?}");
                }
            }
        }
        assert!(numbers.below(&NodeKey::plain(Place::Root)).is_none());
    }

    /// A backup knows files by them.
    #[test]
    fn numbers_stay_what_they_are() {
        let table = TableName::parse("space:table").unwrap();
        let family = FamilyPlace { table, row: b"row".to_vec(), family: "family".into() };
        let dir = NodeKey::plain(Place::Family(Arc::new(family)));
        let cell = dir.sibling(dir.place.below_by_key(b"qualifier"));
        assert_eq!(
            [&dir, &cell].map(|key| Numbers::new(&[7; 16]).of(key)),
            [17_634_264_533_208_865_852, 3_323_726_056_915_660_200]
        );
    }
}
