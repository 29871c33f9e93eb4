//! Rows of a scan that are read by a look at each column's first cell: as they are, or as their cells are judged.

use super::judged::JudgedRow;
use super::plain::PlainRow;
use crate::Result;
use crate::model::{FamilySchema, RowKey};
use crate::query::{RowQuery, Step, Taker};
use crate::store::cursor::row_cells::SharedCursor;
use crate::store::cursor::row_place::RowPlace;

/// The row that is read.
pub struct LeanRow {
    place: RowPlace,
    way: Way,
}

enum Way {
    Plain(Box<PlainRow>),
    Judged(JudgedRow),
}

impl LeanRow {
    /// For the rows of a scan; `None`: it asks for more than columns' newest versions.
    pub fn of(query: &RowQuery) -> Option<Self> {
        let way = if query.is_plain() {
            Way::Plain(Box::default())
        } else if query.takes_lent() {
            Way::Judged(JudgedRow::default())
        } else {
            return None;
        };
        Some(Self { place: RowPlace::default(), way })
    }

    /// Enters the least row at which one of the cursors stands; whether there is one.
    pub fn enter<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        self.place.enter_least(cursors)
    }

    /// Enters a row.
    pub fn enter_row(&mut self, prefix: &[u8]) {
        self.place.enter(|take| take(prefix));
    }

    /// The row that was entered last.
    pub fn row(&self) -> Option<RowKey> {
        self.place.row()
    }

    /// Reads what the row has in the families of the query, whose cursors are at it or behind it, and end up behind it.
    pub fn read<'l>(
        &mut self,
        query: &mut RowQuery,
        lanes: impl Iterator<Item = (&'l FamilySchema, Option<&'l SharedCursor>)>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Step> {
        let Self { place, way } = self;
        match way {
            Way::Plain(row) => {
                row.enter();
                for (at, (family, cursor)) in lanes.enumerate() {
                    let Some(cursor) = cursor else { continue };
                    row.read(place, (family, query.lent_rules(at, family)), &mut cursor.lock(), taker)?;
                }
                Ok(if row.finish(taker.emit)? { query.count_row() } else { Step::Continue })
            }
            Way::Judged(row) => row.read(place, query, lanes, taker),
        }
    }
}
