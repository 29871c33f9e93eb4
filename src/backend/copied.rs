//! What ends a move by copying.

use crate::model::{ColumnKey, Condition, DeleteKind, DeleteMarker, Mutation, Origin, RowMutations, SeqNo, Time};

/// Erases a column unless something was put into it after `last`.
pub fn erasure(column: &ColumnKey, last: SeqNo) -> (RowMutations, Condition) {
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let condition = Condition::NoneAfter { family: family.clone(), qualifier: qualifier.clone(), seq: last };
    let kind = DeleteKind::Column { family, qualifier };
    let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: true };
    let mutations = RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![Mutation::Delete(vec![marker])],
        durability: None,
        origin: Origin::default(),
    };
    (mutations, condition)
}
