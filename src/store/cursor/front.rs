//! The lanes of a walk, and which of them has the least key.
//!
//! Of each lane it is known how many bytes its key shares with the least one, and the byte that follows (Graefe,
//! "Offset-value coding in database query processing"): who shares more with the key that was passed comes first, then
//! who has the lesser byte, so that most steps compare no keys.

use std::cmp::Ordering;

use super::lane::Lane;
use crate::Result;
use crate::format::key::common;

/// See the module.
#[derive(Default)]
pub struct Front {
    /// In no order; those that have no key are gone.
    lanes: Vec<Lane>,
    /// Of each, as [`code_of`] has it, beside the key of the first, if `is_measured`; that of the first itself means nothing.
    codes: Vec<u64>,
    is_measured: bool,
    first: usize,
}

/// Bits of a code for the byte that follows.
const BYTE_BITS: u32 = 9;

/// What is known of a key that shares so many bytes with one that is below it: of two keys beside one and the same the
/// lesser has the greater code, if they have not the same.
#[inline]
fn code_of(key: &[u8], shared: usize) -> u64 {
    let follows = key.get(shared).map_or(0, |byte| u64::from(*byte) + 1);
    (shared as u64) << BYTE_BITS | (256 - follows)
}

/// How many bytes a code says that are shared.
#[inline]
fn shared_of(code: u64) -> usize {
    (code >> BYTE_BITS) as usize
}

impl Front {
    /// Another lane, which has a key; [`Front::order`] comes after.
    pub fn push(&mut self, lane: Lane) {
        self.lanes.push(lane);
    }

    /// The lane with the least key.
    #[inline]
    pub fn first(&self) -> Option<&Lane> {
        self.lanes.get(self.first)
    }

    /// As [`Front::first`], for a step of it.
    #[inline]
    pub fn first_for_step(&mut self) -> Option<&mut Lane> {
        if !self.is_measured && self.lanes.len() > 1 {
            self.measure();
        }
        self.lanes.get_mut(self.first)
    }

    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut Lane> {
        self.lanes.get_mut(self.first)
    }

    pub fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        self.lanes[at].key().unwrap_or_default()
    }

    /// Lanes have other keys: those that have none that `counts` go, and the least one is looked for.
    pub fn order(&mut self, counts: impl Fn(&[u8]) -> bool) {
        self.lanes.retain(|lane| lane.key().is_some_and(&counts));
        self.look();
    }

    /// Compares all keys.
    fn look(&mut self) {
        self.first = (0..self.lanes.len()).min_by(|a, b| self.key(*a).cmp(self.key(*b))).unwrap_or(0);
        self.is_measured = false;
    }

    fn measure(&mut self) {
        self.codes.clear();
        for at in 0..self.lanes.len() {
            let key = self.key(at);
            self.codes.push(code_of(key, common(key, self.key(self.first))));
        }
        self.is_measured = true;
    }

    /// The first lane has gone one step; so many bytes exactly its key shares with the one before, 0: that is not known.
    /// How many the least key shares with it, 0 likewise.
    #[inline]
    pub fn settle(&mut self, shared: usize) -> usize {
        if self.lanes.len() < 2 {
            return shared;
        }
        if shared == 0 {
            self.look();
            return 0;
        }
        self.codes[self.first] = code_of(self.key(self.first), shared);
        self.choose()
    }

    /// The first lane has no key any more.
    pub fn end_first(&mut self) -> usize {
        self.lanes.remove(self.first);
        if self.lanes.len() < 2 {
            (self.first, self.is_measured) = (0, false);
            return 0;
        }
        self.codes.remove(self.first);
        self.choose()
    }

    /// Has the lanes that are in the row of the first one take such steps as lead out of it, each by itself; how many steps
    /// there were. `prefix`: what the keys of the row begin with. The lanes that then have no key that `counts` go.
    ///
    /// All others share less with the row's keys, and so as much with each of them: then all are known beside the row.
    pub fn pass_row(
        &mut self,
        prefix: &[u8],
        counts: impl Fn(&[u8]) -> bool,
        mut step: impl FnMut(&mut Lane) -> Result<usize>,
    ) -> Result<u64> {
        if !self.is_measured && self.lanes.len() > 1 {
            self.measure();
        }
        // What fails leaves nothing that could be relied on.
        let was_measured = std::mem::take(&mut self.is_measured);
        let (mut steps, mut has_ended) = (0, false);
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let is_in_row = at == self.first || self.codes.get(at).is_some_and(|code| shared_of(*code) >= prefix.len());
            let mut goes_on = is_in_row;
            while goes_on {
                let shared = step(lane)?;
                steps += 1;
                let Some(key) = lane.key().filter(|key| counts(key)) else {
                    has_ended = true;
                    break;
                };
                // Where a row goes on in another extent it is still to be passed.
                let shared = if shared == 0 || shared >= prefix.len() { common(key, prefix) } else { shared };
                goes_on = shared >= prefix.len();
                if let Some(code) = self.codes.get_mut(at) {
                    *code = code_of(key, shared);
                }
            }
        }
        match (has_ended, was_measured) {
            (true, _) => self.order(counts),
            (false, true) => {
                self.is_measured = true;
                self.choose();
            }
            (false, false) => {}
        }
        Ok(steps)
    }

    /// The least key, where it is known of all how much they share with one that was below them.
    #[inline]
    fn choose(&mut self) -> usize {
        let mut first = 0;
        let mut is_alone = true;
        for at in 1..self.codes.len() {
            match self.codes[at].cmp(&self.codes[first]) {
                Ordering::Greater => (first, is_alone) = (at, true),
                Ordering::Equal => is_alone = false,
                Ordering::Less => {}
            }
        }
        let code = self.codes[first];
        self.first = first;
        if !is_alone {
            self.choose_among(code);
        }
        shared_of(code)
    }

    /// As [`Front::choose`], among those of one code. All others share with the new key what they did with the former one.
    fn choose_among(&mut self, code: u64) {
        let among = (0..self.codes.len()).filter(|at| self.codes[*at] == code);
        self.first = among.min_by(|a, b| self.key(*a).cmp(self.key(*b))).unwrap_or(self.first);
        for at in 0..self.codes.len() {
            if self.codes[at] == code {
                let key = self.key(at);
                self.codes[at] = code_of(key, common(key, self.key(self.first)));
            }
        }
    }
}
