//! Names that the kernel was told are absent and may keep so: a change of a whole row or table brings some of
//! them back without naming them.
//!
//! Bounded: the name that falls out is asked back from the kernel.

use std::num::NonZeroUsize;

use crate::env::sync::Mutex;
use lru::LruCache;
use rustc_hash::FxBuildHasher;

/// Names that are remembered.
const NAMES: usize = 16_384;

/// A name in a directory, by the directory's inode number.
pub type Name = (u64, Box<[u8]>);

/// See the module.
pub struct AbsentNames {
    names: Mutex<LruCache<Name, (), FxBuildHasher>>,
}

impl Default for AbsentNames {
    fn default() -> Self {
        let names = NonZeroUsize::new(NAMES).unwrap_or(NonZeroUsize::MIN);
        Self { names: LruCache::with_hasher(names, FxBuildHasher).into() }
    }
}

impl AbsentNames {
    /// Remembers a name; the kernel must drop the one that is answered.
    pub fn add(&self, parent: u64, name: &[u8]) -> Option<Name> {
        let name = (parent, Box::from(name));
        let mut names = self.names.lock();
        if names.get(&name).is_some() {
            return None;
        }
        names.push(name, ()).map(|(old, ())| old)
    }

    /// Whether a name is remembered, which it stays: the kernel may be told of it as absent at this moment.
    pub fn has(&self, parent: u64, name: &[u8]) -> bool {
        let names = self.names.lock();
        !names.is_empty() && names.contains(&(parent, Box::from(name)))
    }

    /// The name is there now.
    pub fn remove(&self, parent: u64, name: &[u8]) {
        let mut names = self.names.lock();
        if !names.is_empty() {
            names.pop(&(parent, Box::from(name)));
        }
    }

    /// Takes out the names in directories that are `wanted`.
    pub fn take(&self, wanted: impl Fn(u64) -> bool) -> Vec<Name> {
        let mut names = self.names.lock();
        let taken: Vec<Name> =
            names.iter().map(|(name, ())| name).filter(|(parent, _)| wanted(*parent)).cloned().collect();
        for name in &taken {
            names.pop(name);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_name_is_given_up_and_directories_are_told_apart() {
        let absent = AbsentNames::default();
        assert_eq!(absent.add(1, b"a"), None);
        assert_eq!(absent.add(1, b"a"), None);
        absent.add(2, b"a");
        for number in 0..NAMES as u64 - 2 {
            assert_eq!(absent.add(3, &number.to_le_bytes()), None);
        }
        assert_eq!(absent.add(4, b"b"), Some((1, Box::from(*b"a"))));
        assert_eq!([absent.has(4, b"b"), absent.has(4, b"a")], [true, false]);
        absent.remove(4, b"b");
        assert!(!absent.has(4, b"b"));
        assert_eq!(absent.take(|parent| parent == 4), []);
        assert_eq!(absent.take(|parent| parent == 2), [(2, Box::from(*b"a"))]);
        assert_eq!(absent.take(|parent| parent == 2), []);
    }
}
