//! `.at/-1h`: a relative time means one moment to whoever walks below it.
//!
//! A walk is told by its process group (`cp -r`, `find | xargs cat`) and goes on while it looks again and again.

use crate::env::sync::Mutex;
use crate::fs::caller::Caller;
use crate::fs::programs::walks::group_of;
use crate::model::Timestamp;

/// Walks that are remembered.
const WALKS: usize = 256;
/// A look so long after the last one, ms, begins another walk.
const PAUSE_MS: i64 = 5_000;
/// Likewise of the process that began it: it may copy a large file meanwhile.
const PAUSE_OF_FIRST_MS: i64 = 600_000;

/// One walk below one relative time.
struct Walk {
    text: Vec<u8>,
    group: u32,
    first: u32,
    moment: Timestamp,
    last_look: Timestamp,
}

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Moments(Mutex<Vec<Walk>>);

impl Moments {
    /// What a relative time means to a caller: `fresh`, unless it goes on with a walk.
    pub(in crate::fs) fn of(&self, text: &[u8], caller: Caller, now: Timestamp, fresh: Timestamp) -> Timestamp {
        let group = group_of(caller);
        let mut walks = self.0.lock();
        walks.retain(|walk| now.0.abs_diff(walk.last_look.0) < PAUSE_OF_FIRST_MS.unsigned_abs());
        let goes_on = |walk: &&mut Walk| {
            let pause = if walk.first == caller.pid { PAUSE_OF_FIRST_MS } else { PAUSE_MS };
            walk.text == text && walk.group == group && now.0.abs_diff(walk.last_look.0) < pause.unsigned_abs()
        };
        if let Some(walk) = walks.iter_mut().find(goes_on) {
            walk.last_look = now;
            return walk.moment;
        }
        walks.retain(|walk| walk.text != text || walk.group != group);
        if walks.len() == WALKS {
            walks.remove(0);
        }
        walks.push(Walk { text: text.to_vec(), group, first: caller.pid, moment: fresh, last_look: now });
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_has_one_moment_and_the_next_one_another() {
        let moments = Moments::default();
        let look = |pid, now| {
            let caller = Caller { pid, ..Caller::default() };
            moments.of(b"-1h", caller, Timestamp(now), Timestamp(now - 10)).0
        };
        // No such processes: each is a group of its own.
        let (one, other) = (4_000_001, 4_000_002);
        assert_eq!(look(one, 100_000), 99_990);
        assert_eq!(look(one, 104_000), 99_990);
        assert_eq!(look(other, 104_000), 103_990);
        assert_eq!(look(one, 104_000 + PAUSE_OF_FIRST_MS - 1), 99_990, "a large file lies between");
        assert_eq!(look(one, 104_000 + 3 * PAUSE_OF_FIRST_MS), 104_000 + 3 * PAUSE_OF_FIRST_MS - 10);
    }
}
