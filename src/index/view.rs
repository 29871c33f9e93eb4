//! One moment of the index, for a long look at all of it while others write.

use rusqlite::Connection;

use super::db::{Direction, Index, read_page, sql};
use super::state::read_meta;
use super::{IndexRow, Meta};
use crate::Result;
use crate::model::SegmentId;

/// See the module. While it lives, SQLite's own log grows by what is written.
pub struct IndexView<'i> {
    index: &'i Index,
    /// Its read transaction is open.
    connection: Connection,
    meta: Meta,
}

impl Index {
    /// What is committed now.
    pub fn view(&self) -> Result<IndexView<'_>> {
        let connection = self.own_reader()?;
        // Order: SQLite takes its snapshot at the first read, not at BEGIN.
        connection.execute_batch("BEGIN").map_err(sql("read"))?;
        let meta = self.condemn_if_damaged(read_meta(&connection))?;
        Ok(IndexView { index: self, connection, meta })
    }
}

impl IndexView<'_> {
    /// The state as of that moment.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// As [`Index::page`].
    pub fn page(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
        row: &mut dyn FnMut(&[u8], IndexRow) -> Result<()>,
    ) -> Result<usize> {
        let mut unpack = |key: &[u8], packed: &[u8]| row(key, self.index.unpack(key, packed)?);
        let read = read_page(&self.connection, from, to, limit, Direction::Ascending, &mut unpack);
        self.index.condemn_if_damaged(read)
    }

    /// Calls `each` for every value that is shared: segment, offset, by how many.
    pub fn walk_shares(&self, each: &mut dyn FnMut(SegmentId, u64, u64)) -> Result<()> {
        let text = "SELECT segment, offset, shares FROM shares";
        let mut statement = self.connection.prepare(text).map_err(sql("read"))?;
        let mut rows = statement.query([]).map_err(sql("read"))?;
        while let Some(row) = rows.next().map_err(sql("read"))? {
            let number = |at| row.get::<_, i64>(at).map_err(sql("read"));
            let segment = u32::try_from(number(0)?).unwrap_or(u32::MAX);
            each(SegmentId(segment), number(1)?.cast_unsigned(), number(2)?.cast_unsigned());
        }
        Ok(())
    }
}
