//! Puts for what reads saw before: each by itself, with the condition that they still see it.

use crate::Result;
use crate::hbase::HBase;
use crate::model::{Condition, ManyRows, Mutated, Mutation, RowMutations, SeqNo, Time, Timestamp, overtaken};

/// What reads saw, of a change that has such puts.
enum Seen {
    Nothing,
    /// Of its only cell.
    Of(Condition),
    /// More than one condition, which no server judges.
    Many,
}

impl HBase {
    /// Applies the mutations of one row; see the module.
    pub(in crate::hbase) fn change_row_if(&self, change: RowMutations, asked: Option<Condition>) -> Result<Mutated> {
        match (seen(&change.mutations), &asked) {
            (Seen::Nothing, _) => self.change_row_shown(change, asked),
            (Seen::Of(condition), None) => {
                let done = self.change_row_shown(change, Some(condition))?;
                if done.applied { Ok(done) } else { Err(overtaken()) }
            }
            (Seen::Of(_) | Seen::Many, _) => Err(overtaken()),
        }
    }

    /// As [`HBase::change_rows`]; refused where rows have such puts, which go by themselves.
    pub(in crate::hbase) fn change_rows_if(&self, change: ManyRows) -> Result<()> {
        let is_free = |(_, mutations): &(Vec<u8>, Vec<Mutation>)| matches!(seen(mutations), Seen::Nothing);
        if change.rows.iter().all(is_free) { self.change_rows(change) } else { Err(overtaken()) }
    }
}

fn seen(mutations: &[Mutation]) -> Seen {
    let cells = mutations.iter().flat_map(|mutation| match mutation {
        Mutation::Put(cells) => cells.as_slice(),
        Mutation::Restore(cell) => std::slice::from_ref(&**cell),
        Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => &[],
    });
    let mut shown = cells.filter_map(|cell| match cell.time {
        Time::AfterShown(version) => Some(newest(&cell.family, &cell.qualifier, version)),
        _ => None,
    });
    match (shown.next(), mutations) {
        (None, _) => Seen::Nothing,
        (Some(condition), [one]) if one.cells() == 1 => Seen::Of(condition),
        _ => Seen::Many,
    }
}

fn newest(family: &str, qualifier: &[u8], version: Option<(Timestamp, SeqNo)>) -> Condition {
    Condition::Newest { family: family.to_owned(), qualifier: qualifier.to_vec(), version }
}
