//! Keys one after the other in one piece of memory: none of very many has an allocation of its own.

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyList {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl KeyList {
    /// An empty one with room for so many keys.
    pub fn with_capacity(keys: usize) -> Self {
        Self { bytes: Vec::new(), ends: Vec::with_capacity(keys) }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// The bytes of all of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that it takes.
    pub fn held(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    pub fn last(&self) -> Option<&[u8]> {
        self.get(self.len().checked_sub(1)?)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at).unwrap_or_default())
    }

    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }
}

impl<K: AsRef<[u8]>> FromIterator<K> for KeyList {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let keys = keys.into_iter();
        let mut list = Self::with_capacity(keys.size_hint().0);
        keys.for_each(|key| list.push(key.as_ref()));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_keys_that_were_put_into_it() {
        let keys = [&b"one"[..], b"", b"another", b"\0", b""];
        let list: KeyList = keys.iter().collect();
        assert!(list.iter().eq(keys));
        assert_eq!((list.len(), list.last(), list.get(2)), (5, Some(&b""[..]), Some(&b"another"[..])));
        assert_eq!((list.get(5), KeyList::default().last()), (None, None));
    }
}
