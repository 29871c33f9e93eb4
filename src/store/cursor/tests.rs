//! A cursor gives the cells of its lanes as one sorted sequence, and tells truly what neighbours share.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Cursor, FAR, Snapshot};
use crate::format::key::{self, common};
use crate::model::{CellKind, FamilyId, SeqNo, Tags, Timestamp, ValueBytes};
use crate::store::layout::Layout;
use crate::store::memtable::{Frozen, MemCell, Memtable, Memtables};

const FAMILY: FamilyId = FamilyId(1);

/// Rows and columns of few bytes, so that keys share much; each cell in one of four memtables.
fn some_keys() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    let name = || prop::collection::vec(prop::sample::select(b"\0ab\xFF".as_slice()), 1..4);
    let one =
        (0..4_usize, name(), name(), 0..3_i64).prop_map(|(table, row, column, time)| (table, (row, column, time)));
    prop::collection::vec(one, 0..60).prop_map(|cells| {
        let numbered = (1..).map(SeqNo).zip(cells);
        let key = |(seq, (row, column, time)): (_, (Vec<u8>, Vec<u8>, _))| {
            key::cell_key(&row, &column, Timestamp(time), CellKind::Put, seq)
        };
        numbered.map(|(seq, (table, parts))| (table, key((seq, parts)))).collect()
    })
}

fn snapshot(cells: &[(usize, Vec<u8>)]) -> Snapshot {
    let tables: Vec<Arc<Memtable>> = (0..4).map(|_| Arc::default()).collect();
    for (table, key) in cells {
        tables[*table].insert(FAMILY, MemCell::new(key.clone(), &Tags::default(), ValueBytes::Bytes(key)));
    }
    let frozen = tables[1..].iter().map(|table| Frozen { table: Arc::clone(table), last: SeqNo(0) }).collect();
    let tables = Arc::new(Memtables { active: Arc::clone(&tables[0]), frozen });
    let layout = Arc::new(Layout::default());
    Snapshot { read_point: SeqNo(u64::MAX), tables, layout, doubt: None, looks: Arc::default() }
}

proptest! {
    #[test]
    fn lanes_are_merged_in_order(cells in some_keys(), steps in prop::collection::vec(any::<Option<u8>>(), 0..80)) {
        let snapshot = snapshot(&cells);
        let mut sorted: Vec<Vec<u8>> = cells.into_iter().map(|(_, key)| key).collect();
        sorted.sort();
        let mut cursor = Cursor::new(&snapshot, FAMILY, b"", FAR, 3).unwrap();
        let mut rest = sorted.as_slice();
        for step in steps {
            prop_assert_eq!(cursor.key(), rest.first().map(Vec::as_slice));
            let Some((at, behind)) = rest.split_first() else { break };
            prop_assert_eq!(cursor.bare_value(), Some(at.as_slice()));
            if let Some(far) = step {
                // A jump, in the row or past it.
                let target = key::prefix_end(&at[..at.len().min(1 + usize::from(far) % 8)]);
                rest = &rest[rest.partition_point(|key| *key < target)..];
                cursor.seek(&target).unwrap();
            } else {
                rest = behind;
                cursor.advance().unwrap();
                let shared = rest.first().map_or(0, |next| common(at, next));
                prop_assert!(cursor.shared == 0 || cursor.shared == shared, "{} of {}", cursor.shared, shared);
            }
        }
    }
}
