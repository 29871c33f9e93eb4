//! Where cells come from.

use crate::Result;
use crate::model::StoredCell;

/// The stored cells of one row of one family, in HBase's order, pulled as they are needed.
///
/// A source only moves forward: seeking to a place that was passed changes nothing.
pub trait CellSource {
    /// The next cell; `None` at the end of the row and family.
    fn next(&mut self) -> Result<Option<StoredCell>>;
    /// Moves to the first cell whose qualifier is greater than this one.
    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()>;
    /// Moves to the first cell whose qualifier is this one or greater.
    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()>;
}

impl<S: CellSource + ?Sized> CellSource for Box<S> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        (**self).next()
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        (**self).skip_column(qualifier)
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        (**self).seek_column(qualifier)
    }
}

impl<S: CellSource + ?Sized> CellSource for &mut S {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        (**self).next()
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        (**self).skip_column(qualifier)
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        (**self).seek_column(qualifier)
    }
}

/// Cells that are in memory already, sorted.
#[derive(Clone, Debug)]
pub struct SliceSource<'a> {
    rest: &'a [StoredCell],
}

impl<'a> SliceSource<'a> {
    /// `cells` of one row and family in HBase's order.
    pub fn new(cells: &'a [StoredCell]) -> Self {
        Self { rest: cells }
    }

    fn skip_while(&mut self, passed: impl Fn(&StoredCell) -> bool) {
        self.rest = &self.rest[self.rest.partition_point(passed)..];
    }
}

impl CellSource for SliceSource<'_> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        let Some((first, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        Ok(Some(first.clone()))
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.skip_while(|c| c.qualifier.as_slice() <= qualifier);
        Ok(())
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.skip_while(|c| c.qualifier.as_slice() < qualifier);
        Ok(())
    }
}
