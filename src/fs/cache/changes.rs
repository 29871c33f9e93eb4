//! Whether something changed since a moment: what was read from the store may be old by the time that it is
//! remembered, and the kernel would keep it.
//!
//! Columns share a fixed number of slots by hash: memory is bounded, and a collision only costs a second look.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHasher;

use crate::backend::Event;
use crate::model::ColumnKey;
use crate::tree::place::NodeKey;

const SLOTS: usize = 4096;

/// A moment; see [`Changes::now`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// See the module.
pub struct Changes {
    count: AtomicU64,
    /// The last change of many columns.
    wide: AtomicU64,
    columns: Box<[AtomicU64]>,
}

impl Moment {
    /// After every change.
    pub const LAST: Self = Self(u64::MAX);
}

impl Default for Changes {
    fn default() -> Self {
        let columns = (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
        Self { count: AtomicU64::new(0), wide: AtomicU64::new(0), columns }
    }
}

impl Changes {
    /// Order: asked for before the store is read.
    pub fn now(&self) -> Moment {
        Moment(self.count.load(Ordering::SeqCst))
    }

    /// Notes that a directory is gone of which the store knows nothing any more.
    pub fn note_gone(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes a committed change.
    pub fn note(&self, event: &Event) {
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let slot = match event {
            Event::Column { column, .. } => self.slot(column),
            Event::Row { .. }
            | Event::Table { .. }
            | Event::Namespace { .. }
            | Event::Snapshot { .. }
            | Event::Noted { .. }
            | Event::Replaced { .. } => &self.wide,
        };
        slot.fetch_max(number, Ordering::SeqCst);
    }

    /// Whether what a name shows may have changed after `moment`.
    pub fn since(&self, moment: Moment, key: &NodeKey) -> bool {
        let column = key.place.column().map_or(0, |column| self.slot(column).load(Ordering::SeqCst));
        column.max(self.wide.load(Ordering::SeqCst)) > moment.0
    }

    fn slot(&self, column: &ColumnKey) -> &AtomicU64 {
        let mut hasher = FxHasher::default();
        column.hash(&mut hasher);
        &self.columns[hasher.finish() as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Origin, TableName};
    use crate::tree::place::Place;

    #[test]
    fn a_change_is_seen_by_those_who_looked_before() {
        let changes = Changes::default();
        let table = TableName::parse("t").unwrap();
        let column =
            ColumnKey { table: table.clone(), row: b"r".to_vec(), family: "f".into(), qualifier: b"q".to_vec() };
        let key = NodeKey::plain(Place::Cell(Arc::new(column.clone())));
        let before = changes.now();
        assert!(!changes.since(before, &key));
        changes.note(&Event::Column { column: column.into(), origin: Origin(0) });
        assert!(changes.since(before, &key) && !changes.since(changes.now(), &key));
        let between = changes.now();
        changes.note(&Event::Table { table, origin: Origin(0) });
        assert!(changes.since(between, &key));
    }
}
