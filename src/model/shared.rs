//! Bytes that several hold: all that somebody else has, or the end of it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// See the module.
#[derive(Clone, Default)]
pub struct Shared {
    all: Arc<[u8]>,
    from: usize,
}

impl Shared {
    /// What stands from a place on; nothing where there is no such place.
    pub fn part(all: &Arc<[u8]>, from: usize) -> Self {
        Self { all: Arc::clone(all), from: from.min(all.len()) }
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.all[self.from..]
    }
}

impl From<Arc<[u8]>> for Shared {
    fn from(all: Arc<[u8]>) -> Self {
        Self { all, from: 0 }
    }
}

impl From<&[u8]> for Shared {
    fn from(bytes: &[u8]) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        Arc::<[u8]>::from(bytes).into()
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Shared {}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<[u8]>::deserialize(deserializer).map(Self::from)
    }
}
