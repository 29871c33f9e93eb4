//! Numbers of which a listing cannot tell from a name alone whose they are: those of nodes that are astray, which have no
//! identity or one whose number is not theirs, and the numbers of such identities.
//!
//! Bounded by the nodes that are held. Asked without the table's lock, for each entry of a listing.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use crate::env::sync::RwLock;

/// Room for so many numbers is kept.
const SPARSE: usize = 1024;

/// See the module. `0` stands for no number.
#[derive(Default)]
pub(in crate::fs) struct Astray {
    /// Mostly there are none, and nothing is locked.
    count: AtomicUsize,
    /// How many nodes each is there for.
    numbers: RwLock<FxHashMap<u64, u32>>,
}

impl Astray {
    /// Whether a number is one of those.
    pub fn concerns(&self, number: u64) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.numbers.read().contains_key(&number)
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.numbers.read().is_empty()
    }

    /// A node's identity has the number `now` instead of `before`.
    pub fn note(&self, ino: u64, before: u64, now: u64) {
        if before == now {
            return;
        }
        let mut numbers = self.numbers.write();
        for number in of(ino, now) {
            *numbers.entry(number).or_default() += 1;
        }
        for number in of(ino, before) {
            if let Some(count) = numbers.get_mut(&number) {
                *count -= 1;
                if *count == 0 {
                    numbers.remove(&number);
                }
            }
        }
        if numbers.is_empty() && numbers.capacity() > SPARSE {
            numbers.shrink_to_fit();
        }
        self.count.store(numbers.len(), Ordering::Release);
    }
}

/// What a node is there for whose identity has the number `own`.
fn of(ino: u64, own: u64) -> impl Iterator<Item = u64> {
    [ino, own].into_iter().filter(move |number| own != ino && *number != 0)
}
