//! What was read of segments and may be asked again: blocks, indexes, lists of groups, pages of filters, by weight.
//!
//! In shards, each with its lock; in each the one that was not asked for the longest goes first. Must not read anything.

use std::sync::Arc;

use lru::LruCache;
use rustc_hash::FxBuildHasher;

use super::block::Block;
use super::index::{Groups, Index};
use crate::env::sync::Mutex;

/// Shards, and the least bytes of one.
const SHARDS: usize = 16;
const SHARD_MIN: usize = 1 << 20;
/// Spare buffers of a shard, and the largest of them.
const SPARE: usize = 2;
const SPARE_BYTES: usize = 72 << 10;
/// Bytes that an entry costs beside what it holds.
const OVERHEAD: usize = 128;

/// File and offset.
type Key = (u64, u64);

/// What can be held.
#[derive(Clone)]
pub(super) enum Held {
    /// A block, or a page of a filter.
    Block(Arc<Block>),
    Index(Arc<Index>),
    Groups(Arc<Groups>),
}

impl Held {
    fn weight(&self) -> usize {
        OVERHEAD
            + match self {
                Held::Block(block) => block.bytes.len(),
                Held::Index(index) => index.weight(),
                Held::Groups(groups) => groups.weight(),
            }
    }
}

struct Shard {
    held: LruCache<Key, Held, FxBuildHasher>,
    /// Buffers of blocks that have gone, for those to come: so nothing is filled with zeros to be read into.
    spare: Vec<Vec<u8>>,
    bytes: usize,
}

impl Shard {
    fn drop(&mut self, held: Held) {
        self.bytes -= held.weight();
        if let Held::Block(block) = held
            && self.spare.len() < SPARE
            && let Some(block) = Arc::into_inner(block)
            && block.bytes.capacity() <= SPARE_BYTES
        {
            self.spare.push(block.bytes);
        }
    }
}

/// See the module. One for a store: a file is known by its number.
pub struct Cache {
    shards: Vec<Mutex<Shard>>,
    shard_bytes: usize,
}

impl Cache {
    /// A cache of so many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        let shards = (bytes / SHARD_MIN).clamp(1, SHARDS);
        let shard = || {
            let held = LruCache::unbounded_with_hasher(FxBuildHasher);
            Mutex::new(Shard { held, spare: Vec::new(), bytes: 0 })
        };
        Arc::new(Self { shards: (0..shards).map(|_| shard()).collect(), shard_bytes: bytes / shards })
    }

    fn shard(&self, key: Key) -> &Mutex<Shard> {
        let mixed = (key.0 ^ key.1.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(mixed >> 32) as usize % self.shards.len()]
    }

    pub(super) fn get(&self, file: u64, at: u64) -> Option<Held> {
        let key = (file, at);
        self.shard(key).lock().held.get(&key).cloned()
    }

    pub(super) fn put(&self, file: u64, at: u64, held: Held) {
        let weight = held.weight();
        if weight > self.shard_bytes {
            return;
        }
        let key = (file, at);
        let mut shard = self.shard(key).lock();
        shard.bytes += weight;
        if let Some(before) = shard.held.put(key, held) {
            shard.drop(before);
        }
        while shard.bytes > self.shard_bytes {
            let Some((_, old)) = shard.held.pop_lru() else { break };
            shard.drop(old);
        }
    }

    /// A buffer for a block at a place, with any bytes in it.
    pub(super) fn spare(&self, file: u64, at: u64) -> Vec<u8> {
        self.shard((file, at)).lock().spare.pop().unwrap_or_default()
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }
}
