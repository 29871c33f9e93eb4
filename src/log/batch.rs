//! What is appended as one record.

use super::cell::LogCell;
use crate::model::SeqNo;

/// Cells that are written together or not at all.
pub trait Batch {
    fn cells(&self) -> Vec<LogCell<'_>>;
    /// Makes them visible: their record is written and has this number.
    fn publish(&mut self, seq: SeqNo);
}

/// A number that is taken for what stands elsewhere.
pub struct NoCells<F: FnMut(SeqNo)>(pub F);

impl<F: FnMut(SeqNo)> Batch for NoCells<F> {
    fn cells(&self) -> Vec<LogCell<'_>> {
        Vec::new()
    }

    fn publish(&mut self, seq: SeqNo) {
        self.0(seq);
    }
}
