//! The next page of a listing, fetched while the kernel takes the present one.
//!
//! Bounded: one page for each open directory that has more than one, and few in all. One that nobody has come for in time
//! gives way to the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::Result;
use crate::env::sync::{Instant, Mutex};
use crate::fs::cache::changes::Moment;
use crate::tree::list::listing::Entries;

/// Entries fetched from the store at once.
pub const PAGE: usize = 2048;
/// Pages that are kept for all directories. One is 0.8 MB of cells that have attributes, 0.2 MB of rows.
const MOST: usize = 32;
/// What was fetched before that is fetched again: who lists is to see what was made since.
const FRESH: Duration = Duration::from_secs(1);

/// What the store was asked for once.
#[derive(Debug, Default)]
pub struct Page {
    pub entries: Entries,
    /// The numbers of their identities, as far as keys tell them.
    pub own: Vec<Option<u64>>,
    /// When the store was asked.
    pub seen: Moment,
    /// Bytes of it, about.
    pub held: usize,
}

/// Room for one of the pages that are kept.
struct Kept;

static KEPT: AtomicUsize = AtomicUsize::new(0);

impl Kept {
    fn take() -> Option<Self> {
        let more = |kept| (kept < MOST).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See the module. Locked while it is fetched, after the handle's cursor.
#[derive(Default)]
pub struct Ahead(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Nothing,
    /// The page after this key is to be fetched.
    Wanted(Vec<u8>),
    /// Somebody is to fetch it.
    Begun(Vec<u8>),
    Fetched {
        after: Vec<u8>,
        until: Instant,
        page: Page,
        _kept: Kept,
    },
}

/// Whose pages were fetched, and until when they are fresh, in this order.
#[derive(Default)]
pub struct Fetched(Mutex<VecDeque<(Instant, Weak<Ahead>)>>);

impl Fetched {
    fn note(&self, until: Instant, of: &Arc<Ahead>) {
        self.0.lock().push_back((until, Arc::downgrade(of)));
    }

    /// Gives back those that are too old by now, of directories that are not read on.
    fn give_way(&self, now: Instant) {
        let mut all = self.0.lock();
        while let Some((_, of)) = all.pop_front_if(|(until, _)| *until <= now) {
            of.upgrade().into_iter().for_each(|of| of.drop_stale(now));
        }
    }
}

impl Fetched {
    /// Fetches the page that was begun, if nobody has gone on.
    pub fn fill(&self, ahead: &Arc<Ahead>, page: impl FnOnce(&[u8]) -> Result<Page>) {
        let mut state = ahead.0.lock();
        let after = match std::mem::take(&mut *state) {
            State::Begun(after) => after,
            // Whoever lists has gone on.
            other => {
                *state = other;
                return;
            }
        };
        self.give_way(Instant::now());
        if let Some(kept) = Kept::take()
            && let Ok(page) = page(&after)
        {
            let until = Instant::now() + FRESH;
            *state = State::Fetched { after, until, page, _kept: kept };
            drop(state);
            self.note(until, ahead);
        }
    }
}

impl Ahead {
    /// Gives back a page that is too old. Waits for nobody: who has it locked takes it, or fetches another.
    fn drop_stale(&self, now: Instant) {
        if let Some(mut state) = self.0.try_lock()
            && matches!(&*state, State::Fetched { until, .. } if *until <= now)
        {
            *state = State::Nothing;
        }
    }

    /// The page after a key, if it was fetched. What was not begun by now is not fetched any more.
    pub fn take(&self, after: Option<&[u8]>) -> Option<Page> {
        match std::mem::take(&mut *self.0.lock()) {
            State::Fetched { after: of, until, page, _kept } if Some(&*of) == after && Instant::now() < until => {
                Some(page)
            }
            _ => None,
        }
    }

    pub fn want(&self, after: &[u8]) {
        *self.0.lock() = State::Wanted(after.to_vec());
    }

    /// Whether the caller is to have a page fetched. Waits for nobody.
    pub fn begin(&self) -> bool {
        let Some(mut state) = self.0.try_lock() else { return false };
        match std::mem::take(&mut *state) {
            State::Wanted(after) => {
                *state = State::Begun(after);
                true
            }
            other => {
                *state = other;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::list::listing::Entry;

    fn fetched(ahead: &Ahead, after: &[u8], until: Instant) {
        let page = Page { entries: Entries::Each(vec![Entry::below(None, b"next".to_vec())]), ..Page::default() };
        let kept = Kept::take().unwrap();
        *ahead.0.lock() = State::Fetched { after: after.to_vec(), until, page, _kept: kept };
    }

    #[test]
    fn a_page_is_fetched_once_and_only_for_who_goes_on_there() {
        let ahead = Ahead::default();
        assert!(!ahead.begin() && ahead.take(None).is_none());
        ahead.want(b"a");
        assert!(ahead.begin() && !ahead.begin());
        assert!(ahead.take(Some(b"a")).is_none(), "nobody has fetched it");
        fetched(&ahead, b"a", Instant::now() + FRESH);
        assert_eq!(ahead.take(Some(b"a")).map(|page| page.entries.len()), Some(1));
        assert!(ahead.take(Some(b"a")).is_none());
        fetched(&ahead, b"a", Instant::now() + FRESH);
        assert!(ahead.take(Some(b"b")).is_none() && ahead.take(Some(b"a")).is_none());
        fetched(&ahead, b"a", Instant::now());
        assert!(ahead.take(Some(b"a")).is_none(), "what was made since would lack");
    }

    /// Else idle ones would keep those who read from having any.
    #[test]
    fn a_page_that_nobody_has_come_for_in_time_gives_way() {
        let (all, now) = (Fetched::default(), Instant::now());
        let [stale, fresh, taken]: [Arc<Ahead>; 3] = std::array::from_fn(|_| Arc::default());
        for (ahead, until) in [(&stale, now), (&taken, now), (&fresh, now + FRESH)] {
            fetched(ahead, b"a", until);
            all.note(until, ahead);
        }
        let locked = taken.0.lock();
        all.give_way(now);
        drop(locked);
        let is_kept = |ahead: &Ahead| matches!(&*ahead.0.lock(), State::Fetched { .. });
        assert_eq!([&stale, &fresh, &taken].map(|ahead| is_kept(ahead)), [false, true, true]);
        assert_eq!(all.0.lock().len(), 1);
        drop(fresh);
        all.give_way(now + FRESH);
        assert!(all.0.lock().is_empty());
    }

    /// Else an answer waits for a page that another request of the same handle has asked for.
    #[test]
    fn who_answers_does_not_wait_for_a_page_that_is_fetched() {
        let ahead = Ahead::default();
        ahead.want(b"a");
        let _fetching = ahead.0.lock();
        assert!(!ahead.begin());
    }
}
