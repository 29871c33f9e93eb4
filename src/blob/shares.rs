//! Who has chunks in hand, which chunks may be shared, and which are judged.
//!
//! One lock has it all, so that a look, a pin and a judgement never pass each other: what a session has shared or written
//! is kept until the session's root is dropped; from a mark until its judgement hints lead only to younger chunks, and
//! never to one that was judged dead. Hints are bounded: a chunk that is not found is written again.
//!
//! Must not know files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::env::sync::Mutex;

/// A chunk: file and number.
pub(super) type At = (u64, u32);

/// Hints that a hash may stand in.
const WAYS: usize = 4;
/// Bytes of a hint.
pub(super) const HINT: usize = size_of::<Hint>();

/// Hash, file (0: none) and number; plain numbers, so that hints that were never set take no memory.
type Hint = [u64; 3];

/// See the module.
pub(super) struct Shares {
    state: Mutex<State>,
}

struct State {
    /// The next chunk is this one or a later one.
    position: At,
    next_id: u64,
    /// Sessions, by when they began.
    since: BTreeMap<u64, At>,
    /// Older chunks that sessions have shared.
    pins: HashMap<At, u32, FxBuildHasher>,
    rounds: BTreeMap<u64, Round>,
    hints: Vec<Hint>,
    turn: usize,
    /// Judged dead, by file and number.
    dead: BTreeMap<u64, Vec<u64>>,
    /// Roots, encoded, whose chunks sessions keep that they were begun with.
    kept: BTreeMap<u64, Arc<[u8]>>,
    /// Those of sessions that have ended between a mark and its judgement.
    left: Vec<Arc<[u8]>>,
}

/// Between a mark and its judgement.
struct Round {
    before: At,
    pinned: HashSet<At, FxBuildHasher>,
}

/// A moment: chunks made after it, and those that somebody had in hand then, are not judged by what was live then.
/// Until it is dropped or used no older chunk is shared.
pub struct Mark {
    shares: Arc<Shares>,
    id: u64,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        state.rounds.remove(&self.id);
        if state.rounds.is_empty() {
            state.left.clear();
        }
    }
}

/// Keeps what a session has made or shared, until it is dropped.
pub(super) struct Hold {
    shares: Arc<Shares>,
    id: u64,
    pins: Mutex<Vec<At>>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        state.since.remove(&self.id);
        // Order: kept until what was live is gathered: what has its chunks by now may not have been looked at.
        let kept = state.kept.remove(&self.id);
        if !state.rounds.is_empty() {
            state.left.extend(kept);
        }
        for at in self.pins.lock().drain(..) {
            state.unpin(at);
        }
    }
}

impl Hold {
    /// The chunk that a hash leads to, kept from now on.
    pub(super) fn find(&self, hash: u64) -> Option<At> {
        let mut state = self.shares.state.lock();
        let at = state.find(hash)?;
        // What is younger than the session is not judged while it lasts.
        if state.since.get(&self.id).is_some_and(|since| at < *since) {
            *state.pins.entry(at).or_default() += 1;
            self.pins.lock().push(at);
        }
        Some(at)
    }
}

impl State {
    fn unpin(&mut self, at: At) {
        if let Some(count) = self.pins.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                self.pins.remove(&at);
            }
        }
    }

    fn set(&self, hash: u64) -> usize {
        // The high bits: what says where a list ends are low ones of another number.
        (hash >> 20) as usize % (self.hints.len() / WAYS) * WAYS
    }

    fn find(&self, hash: u64) -> Option<At> {
        let from = self.set(hash);
        let hint = self.hints[from..from + WAYS].iter().find(|hint| hint[0] == hash && hint[1] != 0)?;
        let at = (hint[1], hint[2] as u32);
        (self.rounds.values().all(|round| at >= round.before) && !self.is_dead(at)).then_some(at)
    }

    fn is_dead(&self, (blob, chunk): At) -> bool {
        let word = self.dead.get(&blob).and_then(|bits| bits.get(chunk as usize / 64));
        word.is_some_and(|word| word >> (chunk % 64) & 1 == 1)
    }

    fn set_dead(&mut self, (blob, chunk): At) {
        let bits = self.dead.entry(blob).or_default();
        let at = chunk as usize / 64;
        bits.resize(bits.len().max(at + 1), 0);
        bits[at] |= 1 << (chunk % 64);
    }
}

impl Shares {
    /// Holds so many hints at most.
    pub(super) fn new(hints: usize, position: At) -> Self {
        let hints: Vec<Hint> = vec![[0; 3]; hints.max(WAYS).next_multiple_of(WAYS)];
        let state = State {
            position,
            next_id: 0,
            since: BTreeMap::new(),
            pins: HashMap::default(),
            rounds: BTreeMap::new(),
            hints,
            turn: 0,
            dead: BTreeMap::new(),
            kept: BTreeMap::new(),
            left: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// All chunks from now on come at or behind this place.
    pub(super) fn advance(&self, to: At) {
        let mut state = self.state.lock();
        state.position = state.position.max(to);
    }

    /// Begins a session, or goes on with one.
    pub(super) fn hold(self: &Arc<Self>, continues: Option<&Arc<Hold>>) -> Arc<Hold> {
        continues.map_or_else(|| self.begin(None), Arc::clone)
    }

    /// Begins a session that keeps the chunks of an encoded root, which must be live until then.
    pub(super) fn hold_root(self: &Arc<Self>, root: Arc<[u8]>) -> Arc<Hold> {
        self.begin(Some(root))
    }

    fn begin(self: &Arc<Self>, root: Option<Arc<[u8]>>) -> Arc<Hold> {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        let since = state.position;
        state.since.insert(id, since);
        state.kept.extend(root.map(|root| (id, root)));
        Arc::new(Hold { shares: self.clone(), id, pins: Mutex::default() })
    }

    /// Roots, encoded, that sessions keep, and those that any has kept since the oldest mark.
    pub(super) fn kept(&self) -> Vec<Arc<[u8]>> {
        let state = self.state.lock();
        state.kept.values().chain(&state.left).cloned().collect()
    }

    /// Remembers what bytes of a hash lie in.
    pub(super) fn hint(&self, hash: u64, at: At) {
        let mut state = self.state.lock();
        if state.is_dead(at) {
            return;
        }
        let from = state.set(hash);
        let free = state.hints[from..from + WAYS].iter().position(|hint| hint[1] == 0 || hint[0] == hash);
        state.turn = (state.turn + 1) % WAYS;
        let way = free.unwrap_or(state.turn);
        state.hints[from + way] = [hash, at.0, u64::from(at.1)];
    }

    /// No hint leads into a file any more.
    pub(super) fn forget(&self, blob: u64) {
        let mut state = self.state.lock();
        state.hints.iter_mut().filter(|hint| hint[1] == blob).for_each(|hint| *hint = [0; 3]);
        state.dead.remove(&blob);
    }

    /// See [`Mark`].
    pub(super) fn mark(self: &Arc<Self>) -> Mark {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        let before = state.since.values().copied().min().map_or(state.position, |oldest| oldest.min(state.position));
        let pinned = state.pins.keys().copied().collect();
        state.rounds.insert(id, Round { before, pinned });
        Mark { shares: self.clone(), id }
    }

    /// Judges the chunks of a file with numbers below `chunks`: which are dead now and were not before. No hint leads to
    /// them any more.
    pub(super) fn judge(&self, mark: &Mark, blob: u64, chunks: u32, live: &dyn Fn(u64, u32) -> bool) -> Judged {
        // Order: what is live is asked without the lock; the answer stands, whatever happens meanwhile.
        let candidates: Vec<u32> = (0..chunks).filter(|chunk| !live(blob, *chunk)).collect();
        let mut state = self.state.lock();
        let Some(round) = state.rounds.get(&mark.id) else { return Judged::default() };
        let is_dead = |chunk: &u32| (blob, *chunk) < round.before && !round.pinned.contains(&(blob, *chunk));
        let dead: Vec<u32> = candidates.into_iter().filter(is_dead).collect();
        let new = dead.iter().copied().filter(|chunk| !state.is_dead((blob, *chunk))).collect();
        for chunk in &dead {
            state.set_dead((blob, *chunk));
        }
        Judged { new, all_dead: dead.len() == chunks as usize }
    }

    /// For the log: where the next chunk comes, and what the sessions keep.
    pub(super) fn in_hand(&self) -> String {
        let state = self.state.lock();
        let (sessions, oldest) = (state.since.len(), state.since.values().min());
        format!("next {:?}, {sessions} sessions from {oldest:?}, {} pins", state.position, state.pins.len())
    }

    /// Chunks of a file that were judged dead, as bits.
    pub(super) fn dead(&self, blob: u64) -> Vec<u64> {
        self.state.lock().dead.get(&blob).cloned().unwrap_or_default()
    }

    /// Takes over what an earlier process has judged.
    pub(super) fn set_dead(&self, blob: u64, bits: &[u64]) {
        if !bits.is_empty() {
            self.state.lock().dead.insert(blob, bits.to_vec());
        }
    }
}

/// What [`Shares::judge`] has found.
#[derive(Default)]
pub(super) struct Judged {
    /// Dead from now on.
    pub new: Vec<u32>,
    /// Nothing in the file is live.
    pub all_dead: bool,
}
