//! What all open directories keep of entries that were fetched and not asked for yet.
//!
//! Bounded in all, however many are open: beyond [`MOST`] bytes those that were read longest ago give theirs back, and
//! fetch them again from where they are when they are read on.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::env::sync::Mutex;

/// Bytes that they keep, about: a page is 0.8 MB of cells that have attributes, 0.1 MB of rows.
const MOST: usize = 64 << 20;

/// Open directories (`D`) that keep entries.
pub struct Held<D> {
    /// Lock: leaf.
    state: Mutex<State<D>>,
    most: usize,
}

struct State<D> {
    /// Those that keep any, by the turn at which they were read last.
    by_turn: BTreeMap<u64, (usize, Weak<D>)>,
    bytes: usize,
    last: u64,
}

/// When a directory was read last, if it keeps entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn(Option<u64>);

impl<D> Default for Held<D> {
    fn default() -> Self {
        Self::with_most(MOST)
    }
}

impl<D> Held<D> {
    fn with_most(most: usize) -> Self {
        let state = State { by_turn: BTreeMap::new(), bytes: 0, last: 0 };
        Self { state: Mutex::new(state), most }
    }

    /// A directory was read and keeps so many bytes now. Those that have to give theirs back, each unless it was read since:
    /// then it has another turn.
    pub fn note(&self, turn: &mut Turn, dir: &Arc<D>, bytes: usize) -> Vec<(Turn, Arc<D>)> {
        let mut state = self.state.lock();
        state.remove(turn);
        if bytes == 0 {
            return Vec::new();
        }
        state.last += 1;
        *turn = Turn(Some(state.last));
        let last = state.last;
        state.by_turn.insert(last, (bytes, Arc::downgrade(dir)));
        state.bytes += bytes;
        let mut over = Vec::new();
        // One alone may keep what it needs.
        while state.bytes > self.most && state.by_turn.len() > 1 {
            let Some((turn, (bytes, dir))) = state.by_turn.pop_first() else { break };
            state.bytes -= bytes;
            over.extend(dir.upgrade().map(|dir| (Turn(Some(turn)), dir)));
        }
        over
    }

    /// A directory keeps nothing any more.
    pub fn forget(&self, turn: &mut Turn) {
        self.state.lock().remove(turn);
    }
}

impl<D> State<D> {
    fn remove(&mut self, turn: &mut Turn) {
        let before = turn.0.take().and_then(|turn| self.by_turn.remove(&turn));
        self.bytes -= before.map_or(0, |(bytes, _)| bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_read_longest_ago_give_back_what_is_too_much() {
        let held = Held::with_most(100);
        let dirs: Vec<Arc<usize>> = (0..4).map(Arc::new).collect();
        let mut turns = [Turn::default(); 4];
        let read = |turns: &mut [Turn; 4], n: usize, bytes| {
            let over = held.note(&mut turns[n], &dirs[n], bytes);
            over.into_iter().map(|(turn, dir)| (*dir, turn == turns[*dir])).collect::<Vec<_>>()
        };
        assert_eq!(read(&mut turns, 0, 40), []);
        assert_eq!(read(&mut turns, 1, 40), []);
        assert_eq!(read(&mut turns, 0, 40), [], "it is read again and keeps no more");
        assert_eq!(read(&mut turns, 2, 40), [(1, true)]);
        held.forget(&mut turns[0]);
        assert_eq!(read(&mut turns, 3, 60), []);
        assert_eq!(read(&mut turns, 1, 30), [(2, true)]);
        assert_eq!(read(&mut turns, 1, 0), []);
        assert_eq!(read(&mut turns, 3, 300), [], "one alone keeps what it needs");
        assert_eq!(held.state.lock().bytes, 300);
    }

    #[test]
    fn a_directory_that_is_closed_has_nothing_to_give_back() {
        let held = Held::with_most(100);
        let (mut turn, closed) = (Turn::default(), Arc::new(1));
        assert!(held.note(&mut turn, &closed, 80).is_empty());
        drop(closed);
        assert!(held.note(&mut Turn::default(), &Arc::new(2), 80).is_empty());
        assert_eq!(held.state.lock().bytes, 80);
    }
}
