//! What was read of segments and may be asked again: blocks, indexes, pages of filters, by weight.
//!
//! Goes by use (S3-FIFO, Yang et al., SOSP 2023): one walk over much drives out little. Must not read anything.

use std::sync::Arc;

use quick_cache::sync::{Cache as Inner, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::FxBuildHasher;

use super::block::Block;
use super::index::Index;

/// Most shards, each with its lock, and the least bytes of one.
const SHARDS: usize = 16;
const SHARD_MIN: usize = 1 << 20;
/// Bytes that an entry has, about.
const ENTRY: usize = 4 << 10;
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
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Held> for Weight {
    fn weight(&self, _: &Key, held: &Held) -> u64 {
        let held = match held {
            Held::Block(block) => block.bytes.len(),
            Held::Index(index) => index.weight(),
        };
        (OVERHEAD + held) as u64
    }
}

/// See the module. One for a store: a file is known by its number.
pub struct Cache(Inner<Key, Held, Weight, FxBuildHasher>);

impl Cache {
    /// A cache of so many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(bytes / ENTRY).weight_capacity(bytes as u64);
        options.shards((bytes / SHARD_MIN).clamp(1, SHARDS));
        let inner = match options.build() {
            Ok(options) => Inner::with_options(options, Weight, FxBuildHasher, DefaultLifecycle::default()),
            Err(_) => Inner::with(bytes / ENTRY, bytes as u64, Weight, FxBuildHasher, DefaultLifecycle::default()),
        };
        Arc::new(Self(inner))
    }

    pub(super) fn get(&self, file: u64, at: u64) -> Option<Held> {
        self.0.get(&(file, at))
    }

    pub(super) fn put(&self, file: u64, at: u64, held: Held) {
        self.0.insert((file, at), held);
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.0.weight() as usize
    }
}
