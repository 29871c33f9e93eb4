//! Keeps a millisecond between changes of a row, as HBase's shell, whose statements take ten, does without knowing: what
//! is put in the millisecond of a tombstone is hidden by it, and of two puts of one millisecond the last stays.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use crate::env::sync::{Instant, sleep};
use crate::model::{RowKey, TableName};

/// The clock of timestamps goes on within it.
const TICK: Duration = Duration::from_millis(1);

/// The rows that a session changed within the last tick: no more than fit into one.
#[derive(Default)]
pub struct Pace(RefCell<VecDeque<Change>>);

struct Change {
    /// When it was acknowledged.
    at: Instant,
    /// `None`: of any row.
    of: Option<(TableName, RowKey)>,
}

impl Pace {
    /// Waits until the clock has gone on since the row was changed last.
    pub fn wait(&self, table: &TableName, row: &RowKey) {
        let is_of_row = |change: &&Change| change.of.as_ref().is_none_or(|of| (&of.0, &of.1) == (table, row));
        let last = self.0.borrow().iter().rev().find(is_of_row).map(|change| change.at);
        if let Some(left) = last.and_then(|at| TICK.checked_sub(at.elapsed())) {
            sleep(left);
        }
    }

    /// A row was changed now, or may have been.
    pub fn changed(&self, table: TableName, row: RowKey) {
        self.note(Some((table, row)));
    }

    /// Any number of rows were.
    pub fn changed_many(&self) {
        self.note(None);
    }

    fn note(&self, of: Option<(TableName, RowKey)>) {
        let mut changes = self.0.borrow_mut();
        let at = Instant::now();
        while changes.front().is_some_and(|change| at.saturating_since(change.at) >= TICK) {
            changes.pop_front();
        }
        changes.push_back(Change { at, of });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_waits_for_its_own_change_and_the_others_are_forgotten() {
        let (pace, table) = (Pace::default(), TableName::parse("t").unwrap());
        let row = |n: u32| n.to_be_bytes().to_vec();
        let began = Instant::now();
        pace.changed(table.clone(), row(0));
        pace.wait(&table, &row(0));
        assert!(began.elapsed() >= TICK);
        for n in 0..200_000 {
            pace.changed(table.clone(), row(n));
        }
        assert!(pace.0.borrow().len() < 200_000);
        sleep(TICK);
        let began = Instant::now();
        pace.changed_many();
        assert_eq!(pace.0.borrow().len(), 1);
        pace.wait(&table, &row(7));
        assert!(began.elapsed() >= TICK);
    }
}
