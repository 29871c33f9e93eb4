//! Rows of a scan that are read by a look at each column's first cell: as they are, or as their cells are judged.

use super::cursor::SharedCursor;
use super::judged::JudgedRow;
use super::plain::PlainRow;
use crate::Result;
use crate::model::{FamilySchema, RowKey};
use crate::query::{RowQuery, Step, Taker};

/// The row that is read.
pub(super) enum LeanRow {
    Plain(Box<PlainRow>),
    Judged(JudgedRow),
}

impl LeanRow {
    /// For the rows of a scan; `None`: it asks for more than columns' newest versions.
    pub(super) fn of(query: &RowQuery) -> Option<Self> {
        if query.is_plain() {
            return Some(Self::Plain(Box::default()));
        }
        query.takes_lent().then(|| Self::Judged(JudgedRow::default()))
    }

    /// Enters the least row at which one of the cursors stands; whether there is one.
    pub(super) fn enter<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        match self {
            Self::Plain(row) => row.enter(cursors),
            Self::Judged(row) => row.enter(cursors),
        }
    }

    /// Enters a row.
    pub(super) fn enter_row(&mut self, prefix: &[u8]) {
        match self {
            Self::Plain(row) => row.enter_row(prefix),
            Self::Judged(row) => row.enter_row(prefix),
        }
    }

    /// The row that was entered last.
    pub(super) fn row(&self) -> Option<RowKey> {
        match self {
            Self::Plain(row) => row.row(),
            Self::Judged(row) => row.row(),
        }
    }

    /// Reads what the row has in the families of the query, whose cursors are at it or behind it, and end up behind it.
    pub(super) fn read<'l>(
        &mut self,
        query: &mut RowQuery,
        lanes: impl Iterator<Item = (&'l FamilySchema, Option<&'l SharedCursor>)>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Step> {
        match self {
            Self::Plain(row) => {
                for (family, cursor) in lanes {
                    let Some(cursor) = cursor else { continue };
                    row.read((family, query.now()), &mut cursor.lock(), taker)?;
                }
                Ok(if row.finish(taker.emit)? { query.count_row() } else { Step::Continue })
            }
            Self::Judged(row) => row.read(query, lanes, taker),
        }
    }
}
