//! The lanes of a walk, and which of them has the least key.
//!
//! Of each lane it is known how many bytes its key shares with the least one, as of the offsets of a tournament (Graefe,
//! "Offset-value coding in database query processing"): who shares more with the key that was passed comes first, so
//! that most steps compare no keys.

use super::lane::Lane;
use crate::format::key::common;

/// See the module.
#[derive(Default)]
pub(super) struct Front {
    /// In no order; those that have no key are gone.
    lanes: Vec<Lane>,
    /// How many bytes the key of each shares with the one of the first, if `is_measured`; of the first itself it means
    /// nothing.
    shared: Vec<usize>,
    is_measured: bool,
    first: usize,
}

impl Front {
    /// Another lane, which has a key; [`Front::order`] comes after.
    pub(super) fn push(&mut self, lane: Lane) {
        self.lanes.push(lane);
    }

    /// The lane with the least key.
    #[inline]
    pub(super) fn first(&self) -> Option<&Lane> {
        self.lanes.get(self.first)
    }

    /// As [`Front::first`], for a step of it.
    #[inline]
    pub(super) fn to_step(&mut self) -> Option<&mut Lane> {
        if !self.is_measured && self.lanes.len() > 1 {
            self.measure();
        }
        self.lanes.get_mut(self.first)
    }

    #[inline]
    pub(super) fn first_mut(&mut self) -> Option<&mut Lane> {
        self.lanes.get_mut(self.first)
    }

    pub(super) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        self.lanes[at].key().unwrap_or_default()
    }

    /// Lanes have other keys: those that have none that `counts` go, and the least one is looked for.
    pub(super) fn order(&mut self, counts: impl Fn(&[u8]) -> bool) {
        self.lanes.retain(|lane| lane.key().is_some_and(&counts));
        self.look();
    }

    /// Compares all keys.
    fn look(&mut self) {
        self.first = (0..self.lanes.len()).min_by(|a, b| self.key(*a).cmp(self.key(*b))).unwrap_or(0);
        self.is_measured = false;
    }

    fn measure(&mut self) {
        self.shared.clear();
        for at in 0..self.lanes.len() {
            self.shared.push(common(self.key(at), self.key(self.first)));
        }
        self.is_measured = true;
    }

    /// The first lane has gone one step; so many bytes exactly its key shares with the one before, 0: that is not known.
    /// How many the least key shares with it, 0 likewise.
    #[inline]
    pub(super) fn settle(&mut self, shared: usize) -> usize {
        if self.lanes.len() < 2 {
            return shared;
        }
        if shared == 0 {
            self.look();
            return 0;
        }
        self.shared[self.first] = shared;
        self.choose()
    }

    /// The first lane has no key any more.
    pub(super) fn end_first(&mut self) -> usize {
        self.lanes.remove(self.first);
        if self.lanes.len() < 2 {
            (self.first, self.is_measured) = (0, false);
            return 0;
        }
        self.shared.remove(self.first);
        self.choose()
    }

    /// The least key, where it is known of all how much they share with one that was below them.
    fn choose(&mut self) -> usize {
        let first = (1..self.lanes.len()).fold(0, |least, at| if self.is_less(at, least) { at } else { least });
        let most = self.shared[first];
        for at in 0..self.lanes.len() {
            // Who shares less with what was below shares as much with the new one.
            if self.shared[at] == most && at != first {
                self.shared[at] = most + common(&self.key(at)[most..], &self.key(first)[most..]);
            }
        }
        self.first = first;
        most
    }

    #[inline]
    fn is_less(&self, at: usize, other: usize) -> bool {
        let (mine, others) = (self.shared[at], self.shared[other]);
        if mine != others {
            return mine > others;
        }
        let (mine, others) = (&self.key(at)[mine..], &self.key(other)[mine..]);
        match (mine.first(), others.first()) {
            (mine_first, other_first) if mine_first != other_first => mine_first < other_first,
            _ => mine < others,
        }
    }
}
