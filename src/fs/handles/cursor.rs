//! Where a directory handle is: its cookies stay exact for the entries it passed last.

use crate::fs::cache::changes::Moment;
use crate::fs::handles::ahead::{PAGE, Page};
use crate::fs::handles::cookies::Cookies;
use crate::fs::handles::held::Turn;
use crate::tree::list::listing::Listed;

/// Every so many entries a key is remembered for longer.
const SPARSE_STEP: u64 = 65_536;
/// Most of those; past it every other one is dropped.
const SPARSE_MAX: usize = 1024;
/// Cookies of `.` and `..`; entries follow.
pub const DOTS: u64 = 2;

/// Where a directory handle is.
#[derive(Debug)]
pub struct Cursor {
    /// Entries fetched; those before `at` are passed.
    page: Page,
    at: usize,
    /// Cookie of the one there.
    next: u64,
    /// Cookie of the last entry that was passed.
    pub passed: u64,
    /// Key after which the next page starts, and that after which the present one does.
    pub fetched: Option<Vec<u8>>,
    begun: Option<Vec<u8>>,
    pub ended: bool,
    /// Whether it keeps entries.
    pub turn: Turn,
    /// Of entries that were passed last.
    recent: Cookies,
    /// Some older cookies with their keys, as long as both have one order.
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
            next: DOTS + 1,
            passed: DOTS,
            fetched: None,
            begun: None,
            ended: false,
            turn: Turn::default(),
            recent: Cookies::beginning_with(DOTS + 1),
            sparse: Vec::new(),
        }
    }
}

impl Cursor {
    /// Moves to the entries after cookie `offset`: exactly for recent ones, else from the nearest key before.
    pub fn seek(&mut self, offset: u64) {
        // From the beginning what there is now is listed (rewinddir(3)), also where there was nothing.
        if offset == self.passed && offset > DOTS {
            return;
        }
        if self.go_back(offset) {
            return;
        }
        let (passed, key) = match self.recent.key(offset) {
            Some(key) => (offset, Some(key.to_vec())),
            None => self.seek_before(offset),
        };
        (self.passed, self.fetched, self.ended) = (passed.max(DOTS), key, false);
        self.show(Page::default());
    }

    /// Goes back to the entries after cookie `offset`, if they are among those that were fetched: whoever reads less at a time
    /// than it is given goes on in the middle of each answer. Not to the beginning, and not where none is left.
    fn go_back(&mut self, offset: u64) -> bool {
        let back = self.passed.checked_sub(offset).and_then(|back| usize::try_from(back).ok());
        let Some(at) = back.and_then(|back| self.at.checked_sub(back)).filter(|_| offset > DOTS) else { return false };
        // Only where both have one order do so many entries have as many cookies.
        let is_known = self.recent.are_in_order() && self.recent.key(offset + 1).is_some();
        if self.next().is_none() || !is_known {
            return false;
        }
        (self.at, self.passed) = (at, offset);
        self.mark_next();
        true
    }

    /// The nearest place before a cookie that is not remembered; cookies are given anew from there on.
    fn seek_before(&mut self, offset: u64) -> (u64, Option<Vec<u8>>) {
        if !self.recent.are_in_order() && offset > DOTS {
            // Those that were given go on to be what they are: what comes again gets them, or others.
            return (self.recent.end() - 1, None);
        }
        let nearest = self.sparse.iter().rev().find(|(cookie, _)| *cookie <= offset && offset > DOTS);
        let (passed, key) = nearest.map_or((DOTS, None), |(cookie, key)| (*cookie, Some(key.clone())));
        if passed + 1 != self.recent.end() && self.recent.key(passed + 1).is_none() {
            if !self.recent.are_in_order() {
                self.sparse.clear();
            }
            self.recent = Cookies::beginning_with(passed + 1);
        }
        (passed, key)
    }

    fn show(&mut self, page: Page) {
        (self.page, self.at) = (page, 0);
        self.mark_next();
    }

    fn mark_next(&mut self) {
        if let Some(entry) = self.page.entries.get(self.at) {
            self.next = self.recent.cookie_of(self.passed, entry.cursor);
        }
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
        entries.get(self.at).map(|entry| Next { entry, own, seen: *seen, cookie: self.next })
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
        (self.at, self.passed) = (self.at + 1, self.next);
        if self.passed == self.recent.end() {
            let is_new = self.sparse.last().is_none_or(|(cookie, _)| *cookie < self.passed);
            if is_new && self.passed.is_multiple_of(SPARSE_STEP) && self.recent.are_in_order() {
                make_room(&mut self.sparse);
                self.sparse.push((self.passed, entry.cursor.to_vec()));
            }
            self.recent.push(entry.cursor);
        }
        self.mark_next();
    }
}

/// Drops every other one of too many.
fn make_room(sparse: &mut Vec<(u64, Vec<u8>)>) {
    if sparse.len() == SPARSE_MAX {
        let mut index = 0;
        sparse.retain(|_| {
            index += 1;
            index % 2 == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fs::handles::cookies::REPLAY;
    use crate::fs::handles::passed::TOGETHER;
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
        assert!(cursor.recent.key(all - (REPLAY + TOGETHER) as u64).is_none(), "they are bounded");
        for offset in [all - 100, all - REPLAY as u64 + 1, all - 50, all - 1, all - 30_000] {
            assert_eq!(seek(&mut cursor, offset), Some(offset));
        }
        pass(&mut cursor, all - 30_000 + 1);
        assert_eq!(seek(&mut cursor, all - 7), Some(all - 7), "what was read again is not forgotten");
        assert_eq!(seek(&mut cursor, SPARSE_STEP + 5), Some(SPARSE_STEP), "from the nearest key before");
        assert_eq!(cursor.passed, SPARSE_STEP);
        assert_eq!(seek(&mut cursor, 0), None);
        assert_eq!(cursor.passed, DOTS);
    }

    /// Lists what comes behind a cookie, at most `most`; keys with their cookies.
    fn list(cursor: &mut Cursor, names: &BTreeSet<u64>, offset: u64, most: usize) -> Vec<(u64, u64)> {
        // Not from what was fetched before names came and went.
        cursor.seek(DOTS);
        cursor.seek(offset);
        let mut listed = Vec::new();
        while listed.len() < most {
            if let Some(Next { entry, cookie, .. }) = cursor.next() {
                listed.push((u64::from_be_bytes(entry.cursor.try_into().unwrap()), cookie));
                cursor.pass();
            } else if cursor.ended {
                break;
            } else {
                let after =
                    cursor.fetched.as_ref().map_or(0, |key| u64::from_be_bytes(key.as_slice().try_into().unwrap()));
                let entries = names.range(after + 1..).take(PAGE).map(|n| Entry::below(None, n.to_be_bytes().to_vec()));
                cursor.go_on_with(Page { entries: Entries::Each(entries.collect()), ..Page::default() });
            }
        }
        listed
    }

    #[test]
    fn a_name_keeps_its_cookie_when_others_before_it_are_removed_or_made() {
        let (mut names, mut cursor) = ((1..=40).map(|n| n * 1000).collect::<BTreeSet<u64>>(), Cursor::default());
        let mut cookies = list(&mut cursor, &names, DOTS, usize::MAX);
        let mut random = 1_u64;
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for round in 0..3000 {
            match below(3) {
                0 => names.insert(1 + below(50_000)),
                1 => names.remove(&cookies[below(cookies.len() as u64) as usize].0),
                _ => true,
            };
            let (key, cookie) = cookies[below(cookies.len() as u64) as usize];
            let most = 1 + below(60) as usize;
            let listed = list(&mut cursor, &names, cookie, most);
            let expected: Vec<u64> = names.range(key + 1..).take(most).copied().collect();
            assert_eq!(listed.iter().map(|(key, _)| *key).collect::<Vec<_>>(), expected, "{round}");
            cookies.extend(listed);
        }
    }

    #[test]
    fn a_rewound_listing_shows_what_has_come_where_there_was_nothing() {
        let (mut names, mut cursor) = (BTreeSet::new(), Cursor::default());
        assert_eq!(list(&mut cursor, &names, DOTS, usize::MAX), []);
        names.insert(7);
        assert_eq!(list(&mut cursor, &names, DOTS, usize::MAX), [(7, DOTS + 1)]);
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

    /// A program with a small buffer goes on in the middle of each answer.
    #[test]
    fn a_seek_among_the_entries_at_hand_needs_no_other_page() {
        let mut cursor = Cursor::default();
        let page = |from: u64, len: usize| {
            let entries = (from..).take(len).map(|n| Entry::below(None, n.to_be_bytes().to_vec())).collect();
            Page { entries: Entries::Each(entries), ..Page::default() }
        };
        let next = |cursor: &Cursor| cursor.next().map(|next| (next.entry.cursor.to_vec(), next.cookie));
        cursor.go_on_with(page(3, PAGE));
        (0..100).for_each(|_| cursor.pass());
        for offset in [102, 60, 30, 3] {
            cursor.seek(offset);
            assert_eq!(next(&cursor), Some(((offset + 1).to_be_bytes().to_vec(), offset + 1)));
            (0..5).for_each(|_| cursor.pass());
            assert_eq!(cursor.passed, offset + 5);
        }
        cursor.seek(DOTS);
        assert_eq!(
            (next(&cursor), cursor.fetched.clone()),
            (None, None),
            "from the beginning there is what is there now"
        );
        // What was removed since has kept its cookie, and what has come gets one: the order of both is not one any more.
        cursor.go_on_with(page(4, 10));
        (0..8).for_each(|_| cursor.pass());
        cursor.seek(9);
        assert_eq!((next(&cursor), cursor.fetched.clone()), (None, Some(9_u64.to_be_bytes().to_vec())));
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
