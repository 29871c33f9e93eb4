//! Where a directory handle is: its cookies stay exact for the entries it passed last.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fs::cache::changes::Moment;
use crate::fs::handles::ahead::{PAGE, Page};
use crate::fs::handles::held::Turn;
use crate::fs::handles::passed::{Passed, TOGETHER};
use crate::tree::list::listing::Listed;

/// Entries of a handle that can be replayed exactly.
const REPLAY: usize = 65_536;
/// Entries of all handles that can be; past it a handle keeps few.
const REPLAY_SUM: usize = 4 << 20;
const REPLAY_FEW: usize = 256;

/// Entries that all handles keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Every so many entries a key is remembered for longer.
const SPARSE_STEP: u64 = 65_536;
/// Most of those; past it every other one is dropped.
const SPARSE_MAX: usize = 1024;
/// Cookies of `.` and `..`; entries follow.
pub const DOTS: u64 = 2;

/// Where a directory handle is.
#[derive(Debug)]
pub struct Cursor {
    /// Entries fetched; those before `at` are passed, the one there has the cookie `passed + 1`.
    page: Page,
    at: usize,
    /// Cookie of the last entry that was passed.
    pub passed: u64,
    /// Key after which the next page starts, and that after which the present one does.
    pub fetched: Option<Vec<u8>>,
    begun: Option<Vec<u8>>,
    pub ended: bool,
    /// Whether it keeps entries.
    pub turn: Turn,
    /// Keys of entries that were passed, ascending by cookie without gaps, and the cookie of the first.
    recent: Passed,
    recent_from: u64,
    /// Some older cookies with their keys.
    sparse: Vec<(u64, Vec<u8>)>,
}

/// What comes next in a listing.
#[derive(Clone, Copy)]
pub struct Next<'c> {
    pub entry: Listed<'c>,
    /// The number of its identity, if its key tells it.
    pub own: Option<u64>,
    /// When the store was asked for it.
    pub seen: Moment,
    pub cookie: u64,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            page: Page::default(),
            at: 0,
            passed: DOTS,
            fetched: None,
            begun: None,
            ended: false,
            turn: Turn::default(),
            recent: Passed::default(),
            recent_from: DOTS + 1,
            sparse: Vec::new(),
        }
    }
}

impl Cursor {
    /// Moves to the entries after cookie `offset`: exactly for recent ones, else from the nearest key before.
    pub fn seek(&mut self, offset: u64) {
        if offset == self.passed {
            return;
        }
        let recent =
            offset.checked_sub(self.recent_from).and_then(|index| self.recent.get(usize::try_from(index).ok()?));
        let (passed, key) = match recent {
            Some(key) => (offset, Some(key.to_vec())),
            None => {
                let nearest = self.sparse.iter().rev().find(|(cookie, _)| *cookie <= offset && offset > DOTS);
                let (passed, key) = nearest.map_or((DOTS, None), |(cookie, key)| (*cookie, Some(key.clone())));
                if !(self.recent_from..=self.recent_from + self.recent.len() as u64).contains(&(passed + 1)) {
                    self.forget_recent();
                    self.recent_from = passed + 1;
                }
                (passed, key)
            }
        };
        (self.passed, self.fetched, self.ended) = (passed.max(DOTS), key, false);
        self.show(Page::default());
    }

    fn show(&mut self, page: Page) {
        (self.page, self.at) = (page, 0);
    }

    /// The entries after what was fetched are next; fewer than a page are the last ones.
    pub fn go_on_with(&mut self, page: Page) {
        self.ended = page.entries.len() < PAGE;
        self.begun = self.fetched.clone();
        if let Some(last) = page.entries.last() {
            self.fetched = Some(last.cursor.to_vec());
        }
        self.show(page);
    }

    /// Gives back the entries that are next: they are fetched again, from here on.
    pub fn give_back(&mut self) {
        if self.next().is_none() {
            return;
        }
        let passed = self.at.checked_sub(1).and_then(|last| self.page.entries.get(last));
        self.fetched = passed.map_or_else(|| self.begun.take(), |last| Some(last.cursor.to_vec()));
        self.ended = false;
        self.show(Page::default());
    }

    /// Bytes of the entries that it keeps, about.
    pub fn held(&self) -> usize {
        self.page.held
    }

    /// The next of the entries that were fetched.
    pub fn next(&self) -> Option<Next<'_>> {
        let Page { entries, own, seen, .. } = &self.page;
        let own = own.get(self.at).copied().flatten();
        entries.get(self.at).map(|entry| Next { entry, own, seen: *seen, cookie: self.passed + 1 })
    }

    /// Leaves the next entry behind.
    pub fn pass(&mut self) {
        self.note_passed();
        if self.at == self.page.entries.len() {
            self.show(Page::default());
        }
    }

    fn note_passed(&mut self) {
        let Some(entry) = self.page.entries.get(self.at) else { return };
        (self.at, self.passed) = (self.at + 1, self.passed + 1);
        let is_new = self.sparse.last().is_none_or(|(cookie, _)| *cookie < self.passed);
        if is_new && self.passed.is_multiple_of(SPARSE_STEP) {
            if self.sparse.len() == SPARSE_MAX {
                let mut index = 0;
                self.sparse.retain(|_| {
                    index += 1;
                    index % 2 == 0
                });
            }
            self.sparse.push((self.passed, entry.cursor.to_vec()));
        }
        let index = usize::try_from(self.passed - self.recent_from).unwrap_or(usize::MAX);
        if index < self.recent.len() {
            // Read again after a seek backwards: later entries keep their cookies.
            return self.recent.set(index, entry.cursor);
        }
        self.recent.push(entry.cursor);
        if self.recent.len().is_multiple_of(TOGETHER) {
            self.forget_oldest();
        }
    }

    /// Keeps no more than a handle may.
    fn forget_oldest(&mut self) {
        let kept = KEPT.fetch_add(TOGETHER, Ordering::Relaxed) + TOGETHER;
        let most = if kept <= REPLAY_SUM { REPLAY } else { REPLAY_FEW };
        while self.recent.len() > most {
            self.recent.forget_first();
            self.recent_from += TOGETHER as u64;
            KEPT.fetch_sub(TOGETHER, Ordering::Relaxed);
        }
    }

    fn forget_recent(&mut self) {
        KEPT.fetch_sub(self.recent.len() / TOGETHER * TOGETHER, Ordering::Relaxed);
        self.recent = Passed::default();
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.forget_recent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::list::listing::{Entries, Entry};

    fn pass(cursor: &mut Cursor, number: u64) {
        let entries = Entries::Each(vec![Entry::below(None, number.to_be_bytes().to_vec())]);
        cursor.show(Page { entries, ..Page::default() });
        cursor.pass();
    }

    /// Where the listing goes on after a seek.
    fn seek(cursor: &mut Cursor, offset: u64) -> Option<u64> {
        cursor.seek(offset);
        cursor.fetched.as_ref().map(|key| u64::from_be_bytes(key.as_slice().try_into().unwrap()))
    }

    #[test]
    fn a_seek_is_exact_forwards_and_backwards_for_the_last_entries() {
        let mut cursor = Cursor::default();
        let all = REPLAY as u64 + 200_000;
        for number in DOTS + 1..=all {
            pass(&mut cursor, number);
        }
        for offset in [all - 100, all - REPLAY as u64 + 1, all - 50, all - 1, all - 30_000] {
            assert_eq!(seek(&mut cursor, offset), Some(offset));
        }
        pass(&mut cursor, all - 30_000 + 1);
        assert_eq!(seek(&mut cursor, all - 7), Some(all - 7), "what was read again is not forgotten");
        assert_eq!(seek(&mut cursor, SPARSE_STEP + 5), Some(SPARSE_STEP), "from the nearest key before");
        assert_eq!(cursor.passed, SPARSE_STEP);
        assert_eq!(seek(&mut cursor, 0), None);
        assert_eq!(cursor.passed, DOTS);
        assert!(cursor.recent.len() <= REPLAY + TOGETHER);
    }

    #[test]
    fn what_is_given_back_is_fetched_again_from_there() {
        let page = |from: u64, len: usize| {
            let entries = (from..).take(len).map(|n| Entry::below(None, n.to_be_bytes().to_vec())).collect();
            Page { entries: Entries::Each(entries), ..Page::default() }
        };
        let after =
            |cursor: &Cursor| cursor.fetched.as_ref().map(|key| u64::from_be_bytes(key.as_slice().try_into().unwrap()));
        let mut cursor = Cursor::default();
        cursor.go_on_with(page(3, PAGE));
        cursor.give_back();
        assert_eq!((after(&cursor), cursor.passed, cursor.next().is_none()), (None, DOTS, true));
        cursor.go_on_with(page(3, PAGE));
        (0..7).for_each(|_| cursor.pass());
        cursor.give_back();
        assert_eq!((after(&cursor), cursor.passed, cursor.ended), (Some(9), 9, false));
        cursor.go_on_with(page(10, 5));
        assert!(cursor.ended);
        cursor.give_back();
        assert_eq!((after(&cursor), cursor.passed, cursor.ended), (Some(9), 9, false));
        cursor.go_on_with(page(10, 5));
        (0..5).for_each(|_| cursor.pass());
        cursor.give_back();
        assert!(cursor.ended && cursor.next().is_none(), "there is nothing to give back");
        assert_eq!((seek(&mut cursor, 11), seek(&mut cursor, 5)), (Some(11), Some(5)));
    }

    #[test]
    fn a_rewound_listing_keeps_the_cookies_of_a_small_directory() {
        let mut cursor = Cursor::default();
        (3..=3000).for_each(|number| pass(&mut cursor, number));
        for offset in [2900, 10, 2000, 2, 2999] {
            assert_eq!(seek(&mut cursor, offset), Some(offset).filter(|offset| *offset > DOTS));
        }
    }
}
