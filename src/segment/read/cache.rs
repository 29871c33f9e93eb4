//! What was read of segments and may be asked again: blocks, indexes, pages of filters, by weight.
//!
//! Goes by use (S3-FIFO, Yang et al., SOSP 2023): one walk over much drives out little. Blocks of families that ask for
//! it have a quarter of the room for themselves, or none (HBase: LruBlockCache's in-memory share, BLOCKCACHE). Must not
//! read anything.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use quick_cache::sync::{Cache as Inner, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::model::FamilyId;
use crate::segment::parts::block::Block;
use crate::segment::parts::index::Index;

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
pub(in crate::segment) enum Held {
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

/// What becomes of blocks of a family that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    #[default]
    Common,
    /// They stay longer than others (IN_MEMORY).
    Preferred,
    /// They are not held (BLOCKCACHE false); indexes and filters are, as in HBase.
    None,
}

type Part = Inner<Key, Held, Weight, FxBuildHasher>;

/// See the module. One for a store: a file is known by its number.
pub struct Cache {
    bytes: usize,
    common: Part,
    /// Made with the first block that belongs there, of a quarter of the bytes.
    preferred: OnceLock<Part>,
    /// Of families that are not as most are.
    families: ArcSwap<FxHashMap<FamilyId, Caching>>,
}

/// A part of so many bytes.
fn part(bytes: usize) -> Part {
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity(bytes / ENTRY).weight_capacity(bytes as u64);
    options.shards((bytes / SHARD_MIN).clamp(1, SHARDS));
    match options.build() {
        Ok(options) => Inner::with_options(options, Weight, FxBuildHasher, DefaultLifecycle::default()),
        Err(_) => Inner::with(bytes / ENTRY, bytes as u64, Weight, FxBuildHasher, DefaultLifecycle::default()),
    }
}

impl Cache {
    /// A cache of so many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { bytes, common: part(bytes), preferred: OnceLock::new(), families: ArcSwap::default() })
    }

    /// From now on blocks of these families are held so, those of all others as most are.
    pub fn set_families(&self, families: FxHashMap<FamilyId, Caching>) {
        self.families.store(Arc::new(families));
    }

    fn of(&self, family: FamilyId) -> Caching {
        self.families.load().get(&family).copied().unwrap_or_default()
    }

    pub(in crate::segment) fn get(&self, file: u64, at: u64) -> Option<Held> {
        let preferred = || self.preferred.get().and_then(|preferred| preferred.get(&(file, at)));
        self.common.get(&(file, at)).or_else(preferred)
    }

    /// Holds an index or a page of a filter.
    pub(in crate::segment) fn put(&self, file: u64, at: u64, held: Held) {
        self.common.insert((file, at), held);
    }

    /// Holds a block of a family, if it wants that.
    pub(in crate::segment) fn put_block(&self, family: FamilyId, (file, at): (u64, u64), block: Arc<Block>) {
        match self.of(family) {
            Caching::None => {}
            Caching::Common => self.put(file, at, Held::Block(block)),
            Caching::Preferred => self.preferred().insert((file, at), Held::Block(block)),
        }
    }

    fn preferred(&self) -> &Part {
        self.preferred.get_or_init(|| {
            let bytes = self.bytes / 4;
            self.common.set_capacity((self.bytes - bytes) as u64);
            part(bytes)
        })
    }

    /// Bytes of blocks of a family that it has room for.
    pub fn room(&self, family: FamilyId) -> usize {
        match self.of(family) {
            Caching::None => 0,
            Caching::Common => self.bytes / 4 * 3,
            Caching::Preferred => self.bytes / 4,
        }
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        (self.common.weight() + self.preferred.get().map_or(0, |preferred| preferred.weight())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Codec;
    use crate::segment::parts::piece::{Header, Kind};

    fn block() -> Arc<Block> {
        let header = Header { kind: Kind::Keys, codec: Codec::None, count: 1, stored: 4096, raw: 4096, check: 0 };
        Arc::new(Block { bytes: vec![0; 4096], from: 0, header })
    }

    #[test]
    fn families_are_held_as_they_ask() {
        let cache = Cache::new(4 << 20);
        let [common, preferred, none] = [1, 2, 3].map(FamilyId);
        cache.set_families([(preferred, Caching::Preferred), (none, Caching::None)].into_iter().collect());
        cache.put_block(none, (3, 0), block());
        assert!(cache.get(3, 0).is_none());
        (0..50).for_each(|at| cache.put_block(preferred, (2, at), block()));
        // A walk over much of another family, looked at twice.
        for at in 0..10_000 {
            cache.put_block(common, (1, at), block());
            let _ = cache.get(1, at);
        }
        assert!((0..50).all(|at| cache.get(2, at).is_some()), "they were driven out");
        assert!(cache.get(1, 9_999).is_some());
        assert!(cache.bytes() <= 4 << 20, "{} bytes", cache.bytes());
        assert_eq!([common, preferred, none].map(|family| cache.room(family) >> 20), [3, 1, 0]);
    }
}
