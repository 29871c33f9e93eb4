//! The row that several cursors read together.

use crate::format::key;
use crate::model::RowKey;

/// See the module. Its buffers are used again, so that a row costs no allocation.
#[derive(Default)]
pub struct RowPlace {
    prefix: Vec<u8>,
    end: Vec<u8>,
}

impl RowPlace {
    /// Goes to the least row of these keys, at which cursors stand; whether there is one.
    pub fn enter(&mut self, each: impl FnOnce(&mut dyn FnMut(&[u8]))) -> bool {
        let (mut found, prefix) = (false, &mut self.prefix);
        each(&mut |key| {
            let row = key::row_prefix_len(key).and_then(|len| key.get(..len)).unwrap_or(key);
            if !found || row < prefix.as_slice() {
                prefix.clear();
                prefix.extend_from_slice(row);
                found = true;
            }
        });
        key::set_prefix_end(&self.prefix, &mut self.end);
        found
    }

    /// What the keys of its cells begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The first key that is past them.
    pub fn end(&self) -> &[u8] {
        &self.end
    }

    /// Its key; `None`: none was entered yet.
    pub fn row(&self) -> Option<RowKey> {
        key::row_of(&self.prefix)
    }
}
