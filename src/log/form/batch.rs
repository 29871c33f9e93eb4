//! What is appended as one record.

use super::cell::LogCell;
use crate::Result;
use crate::model::SeqNo;

/// Takes cells one by one.
pub type TakeCell<'a> = dyn FnMut(&LogCell<'_>) -> Result<()> + 'a;

/// Cells that are written together or not at all.
pub trait Batch {
    /// Gives all of them.
    fn each(&self, take: &mut TakeCell<'_>) -> Result<()>;
    /// Makes them visible: their record is written and has this number.
    fn publish(&mut self, seq: SeqNo);
}

/// A number that is taken for what stands elsewhere.
pub struct NoCells<F: FnMut(SeqNo)>(pub F);

impl<F: FnMut(SeqNo)> Batch for NoCells<F> {
    fn each(&self, _take: &mut TakeCell<'_>) -> Result<()> {
        Ok(())
    }

    fn publish(&mut self, seq: SeqNo) {
        self.0(seq);
    }
}
