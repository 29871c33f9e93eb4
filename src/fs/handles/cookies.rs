//! Cookies of the entries that a directory handle has passed, each with the key after which the listing goes on from it.
//!
//! A name has the cookie that it was given first, also when it is read again after others before it were removed or made:
//! those that are new then get cookies of their own, behind all others, so that cookies and keys may not have one order.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::fs::handles::passed::{Passed, TOGETHER};

/// Entries of a handle that can be replayed exactly.
pub const REPLAY: usize = 65_536;
/// Entries of all handles that can be; past it a handle keeps few.
const REPLAY_SUM: usize = 4 << 20;
const REPLAY_FEW: usize = 256;

/// Entries that all handles keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// See the module. Bounded by [`REPLAY`].
#[derive(Debug)]
pub struct Cookies {
    /// Keys by cookie without gaps, and the cookie of the first.
    keys: Passed,
    from: u64,
    /// Some key came where another had been: cookies are looked for by key.
    is_mixed: bool,
    /// Cookies by the hash of the key, from when somebody has asked for one that way.
    by_key: Option<FxHashMap<u64, u64>>,
}

impl Cookies {
    /// None yet; the first will be this one.
    pub fn beginning_with(from: u64) -> Self {
        Self { keys: Passed::default(), from, is_mixed: false, by_key: None }
    }

    /// The cookie that will be given next.
    pub fn end(&self) -> u64 {
        self.from + self.keys.len() as u64
    }

    pub fn key(&self, cookie: u64) -> Option<&[u8]> {
        self.keys.get(usize::try_from(cookie.checked_sub(self.from)?).ok()?)
    }

    /// Whether what has one cookie more comes behind what has one less.
    pub fn are_in_order(&self) -> bool {
        !self.is_mixed
    }

    /// The cookie of what comes behind the one that has `passed`: its own, or [`Cookies::end`].
    pub fn cookie_of(&mut self, passed: u64, key: &[u8]) -> u64 {
        let following = passed + 1;
        let is_known = following == self.end() || self.key(following) == Some(key);
        if is_known && !self.is_mixed {
            return following;
        }
        self.is_mixed = true;
        let (keys, from) = (&self.keys, self.from);
        let all = || (0..keys.len()).filter_map(|index| Some((FxBuildHasher.hash_one(keys.get(index)?), index)));
        let by_key =
            self.by_key.get_or_insert_with(|| all().map(|(hash, index)| (hash, from + index as u64)).collect());
        let own = by_key.get(&FxBuildHasher.hash_one(key)).copied();
        own.filter(|own| self.key(*own) == Some(key)).unwrap_or(self.end())
    }

    /// Gives the next cookie.
    pub fn push(&mut self, key: &[u8]) {
        let cookie = self.end();
        if let Some(by_key) = &mut self.by_key {
            by_key.insert(FxBuildHasher.hash_one(key), cookie);
        }
        self.keys.push(key);
        if self.keys.len().is_multiple_of(TOGETHER) {
            self.forget_oldest();
        }
    }

    /// Keeps no more than a handle may.
    fn forget_oldest(&mut self) {
        let kept = KEPT.fetch_add(TOGETHER, Ordering::Relaxed) + TOGETHER;
        let most = if kept <= REPLAY_SUM { REPLAY } else { REPLAY_FEW };
        while self.keys.len() > most {
            // Made anew without those that are forgotten, once they are as many as the others.
            self.by_key.take_if(|by_key| by_key.len() > 2 * most);
            self.keys.forget_first();
            self.from += TOGETHER as u64;
            KEPT.fetch_sub(TOGETHER, Ordering::Relaxed);
        }
    }
}

impl Drop for Cookies {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.keys.len() / TOGETHER * TOGETHER, Ordering::Relaxed);
    }
}
