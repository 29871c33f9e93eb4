//! A cursor gives the cells of its lanes as one sorted sequence, and tells truly what neighbours share.

use std::sync::Arc;

use proptest::prelude::*;

use super::lane::Copied;
use super::row_place::RowPlace;
use super::view::ReadView;
use super::walk::Cursor;
use crate::format::key::{self, common};
use crate::model::{CellKind, FamilyId, SeqNo, Tags, Timestamp, ValueBytes};
use crate::store::layout::far::FAR;
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::{Frozen, MemCell, Memtable, Memtables};

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

fn view(cells: &[(usize, Vec<u8>)]) -> ReadView {
    let tables: Vec<Arc<Memtable>> = (0..4).map(|_| Arc::default()).collect();
    for (table, key) in cells {
        let put_key = |out: &mut Vec<u8>| out.extend_from_slice(key);
        tables[*table].insert(FAMILY, MemCell::new(put_key, &Tags::default(), ValueBytes::Bytes(key)));
    }
    let frozen = tables[1..].iter().map(|table| Frozen { table: Arc::clone(table), last: SeqNo(0) }).collect();
    let tables = Arc::new(Memtables { active: Arc::clone(&tables[0]), frozen });
    let layout = Arc::new(Layout::default());
    ReadView { read_point: SeqNo(u64::MAX), tables, layout, doubt: None, looks: Arc::default() }
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Step,
    /// In the row or past it, to what does not begin with so many bytes of the key.
    Jump(usize),
    Row,
}

fn some_moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![3 => Just(Move::Step), 2 => (1..9_usize).prop_map(Move::Jump), 1 => Just(Move::Row)];
    prop::collection::vec(one, 0..80)
}

proptest! {
    #[test]
    fn lanes_are_merged_in_order(cells in some_keys(), moves in some_moves(), by_rows: bool) {
        let copied = if by_rows { Copied::FirstOfRow } else { Copied::All };
        let view = view(&cells);
        let mut sorted: Vec<Vec<u8>> = cells.into_iter().map(|(_, key)| key).collect();
        sorted.sort();
        let mut cursor = Cursor::copying(&view, (FAMILY, copied), b"", FAR, 3).unwrap();
        let mut rest = sorted.as_slice();
        let mut row = RowPlace::default();
        for one in moves {
            prop_assert_eq!(cursor.key(), rest.first().map(Vec::as_slice));
            let Some(at) = rest.first() else { break };
            prop_assert_eq!(cursor.bare_value(), Some(at.as_slice()));
            let target = match one {
                Move::Step => [at, [0].as_slice()].concat(),
                Move::Jump(len) => key::prefix_end(&at[..at.len().min(len)]),
                Move::Row => key::prefix_end(&at[..key::row_prefix_len(at).unwrap()]),
            };
            rest = &rest[rest.partition_point(|key| *key < target)..];
            match one {
                Move::Step => cursor.advance().unwrap(),
                Move::Jump(_) => cursor.seek(&target).unwrap(),
                Move::Row => {
                    row.enter(|take| take(at));
                    cursor.pass_row(&row).unwrap();
                }
            }
            if matches!(one, Move::Step) {
                let shared = rest.first().map_or(0, |next| common(at, next));
                prop_assert!(cursor.shared == 0 || cursor.shared == shared, "{} of {}", cursor.shared, shared);
            }
        }
    }
}
