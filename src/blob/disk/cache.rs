//! What was read last, by weight: chunks, and tables of files.

use std::hash::Hash;
use std::sync::Arc;

use lru::LruCache;

use crate::env::sync::Mutex;

/// See the module.
pub(in crate::blob) struct Cache<K: Hash + Eq, V> {
    most: usize,
    state: Mutex<State<K, V>>,
}

/// With the bytes of each value and of all.
type State<K, V> = (LruCache<K, (Arc<V>, usize)>, usize);

impl<K: Hash + Eq, V> Cache<K, V> {
    /// Holds about `most` bytes.
    pub(in crate::blob) fn new(most: usize) -> Self {
        Self { most, state: Mutex::new((LruCache::unbounded(), 0)) }
    }

    pub(in crate::blob) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.state.lock().0.get(key).map(|(value, _)| value.clone())
    }

    /// Keeps a value of so many bytes, for which others may have to go.
    pub(in crate::blob) fn put(&self, key: K, value: Arc<V>, weight: usize) {
        let mut state = self.state.lock();
        let (cache, held) = &mut *state;
        if let Some((_, (_, old))) = cache.push(key, (value, weight)) {
            *held -= old;
        }
        *held += weight;
        while *held > self.most
            && let Some((_, (_, old))) = cache.pop_lru()
        {
            *held -= old;
        }
    }

    /// Forgets what is asked for.
    pub(in crate::blob) fn forget(&self, is_meant: impl Fn(&K) -> bool)
    where
        K: Clone,
    {
        let mut state = self.state.lock();
        let (cache, held) = &mut *state;
        let meant: Vec<K> = cache.iter().map(|(key, _)| key).filter(|key| is_meant(key)).cloned().collect();
        for key in meant {
            *held -= cache.pop(&key).map_or(0, |(_, weight)| weight);
        }
    }
}
