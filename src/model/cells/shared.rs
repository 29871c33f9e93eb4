//! Bytes that several hold, and that one reads from a place on: what is before it is for whoever made them.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use triomphe::{Arc, ThinArc};

/// See the module. As large as a pointer: where the bytes are read from stands with them.
#[derive(Clone, Default)]
pub struct Shared(Option<ThinArc<u32, u8>>);

impl Shared {
    /// A copy of bytes that are read from a place on, which is one of them or their end.
    pub fn new(bytes: &[u8], from: u32) -> Self {
        Self((!bytes.is_empty()).then(|| ThinArc::from_header_and_slice(from, bytes)))
    }

    /// Those before the place where they are read from.
    pub fn before(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |all| &all.slice[..all.header.header as usize])
    }

    /// Changes those; nothing is copied while nobody else has them.
    pub fn change_before(&mut self, change: impl FnOnce(&mut [u8])) {
        let Some(all) = &mut self.0 else { return };
        let from = all.header.header;
        if ThinArc::strong_count(all) > 1 {
            *all = ThinArc::from_header_and_slice(from, &all.slice);
        }
        all.with_arc_mut(|all| {
            // Nobody else can have got it meanwhile: that takes a look at this.
            if let Some(all) = Arc::get_mut(all) {
                change(&mut all.slice_mut()[..from as usize]);
            }
        });
    }

    /// All bytes.
    pub fn all(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |all| &all.slice)
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |all| &all.slice[all.header.header as usize..])
    }
}

impl From<&[u8]> for Shared {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes, 0)
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        bytes.as_slice().into()
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
        Vec::<u8>::deserialize(deserializer).map(Self::from)
    }
}
