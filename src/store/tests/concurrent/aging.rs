//! Values of families with a TTL: when each may be gone, and when it must be.
//!
//! In a column times ascend, so that what a value has hidden is gone when it goes. The clock never steps back here.

use std::collections::{BTreeMap, BTreeSet};

use super::events::{EXISTS, Shown};

/// Up to when a value is alive, ms since 1970.
#[derive(Clone, Copy)]
struct Life {
    /// At least: later it may be gone.
    least: i64,
    /// At most: later it must be; `None` until that is known, `i64::MAX` where a copy may last longer.
    most: Option<i64>,
}

/// See the module.
#[derive(Default)]
pub struct Aging {
    ttl_ms: Option<i64>,
    lives: BTreeMap<u64, Life>,
    /// The latest that anybody has seen on the wall.
    clock: i64,
}

impl Aging {
    pub fn set_ttl(&mut self, ttl_ms: Option<i64>) {
        self.ttl_ms = ttl_ms;
    }

    pub fn note_clock(&mut self, now: i64) {
        self.clock = self.clock.max(now);
    }

    /// Values are about to be put; of those that were before these are copies.
    pub(super) fn begin(&mut self, values: &BTreeSet<Shown>) {
        if self.ttl_ms.is_none() {
            return;
        }
        for number in values.iter().flatten().filter(|number| **number != EXISTS) {
            self.lives.entry(*number).or_insert(Life { least: i64::MIN, most: None });
        }
    }

    /// The time of a value that was put.
    pub fn put(&mut self, number: u64, at: Option<i64>) {
        let (Some(ttl_ms), Some(at), Some(life)) = (self.ttl_ms, at, self.lives.get_mut(&number)) else { return };
        if life.least == i64::MIN {
            life.least = at + ttl_ms;
        }
        life.most.get_or_insert(at + ttl_ms);
    }

    /// Copies may have a later time.
    pub(super) fn note_copied(&mut self, values: &BTreeSet<Shown>) {
        for number in values.iter().flatten() {
            self.lives.entry(*number).and_modify(|life| life.most = Some(i64::MAX));
        }
    }

    /// What is shown by now of what was put: it, or nothing any more.
    pub(super) fn aged(&self, values: &BTreeSet<Shown>) -> BTreeSet<Shown> {
        let may_be_gone = |number: &u64| self.lives.get(number).is_some_and(|life| life.least < self.clock);
        let gone = values.iter().flatten().any(may_be_gone).then_some(None);
        values.iter().copied().chain(gone).collect()
    }

    pub(super) fn must_be_gone(&self, shown: Shown, now: i64) -> bool {
        let most = shown.and_then(|number| self.lives.get(&number)).and_then(|life| life.most);
        most.is_some_and(|most| most < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_be_gone_once_its_time_is_over_and_not_before() {
        let mut aging = Aging::default();
        let values = BTreeSet::from([Some(7)]);
        aging.set_ttl(Some(100));
        aging.begin(&values);
        assert!(aging.aged(&values).contains(&None), "its time is not known");
        aging.put(7, Some(1_000));
        aging.note_clock(1_100);
        assert_eq!(aging.aged(&values), values);
        assert!(!aging.must_be_gone(Some(7), 1_100) && aging.must_be_gone(Some(7), 1_101));
        aging.note_clock(1_101);
        assert_eq!(aging.aged(&values), BTreeSet::from([None, Some(7)]));
        aging.note_copied(&values);
        assert!(!aging.must_be_gone(Some(7), 1_000_000), "a copy may last longer");
    }
}
