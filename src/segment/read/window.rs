//! The bytes of a segment that a walk has read ahead; the buffer is used again.
//!
//! Must not know what is in them.

use std::ops::Range;

use super::source::Source;
use crate::Result;

/// Bytes that a walk reads at once: what is asked for, then this, then twice as much each time, and at most.
const FIRST: usize = 32 << 10;
pub(in crate::segment) const MOST: usize = 256 << 10;
/// What a walk may pass over and still goes on in order.
const GAP: u64 = 64 << 10;

/// See the module.
#[derive(Default)]
pub(in crate::segment) struct Window {
    bytes: Vec<u8>,
    /// Where they are in the file, and how many are filled.
    at: u64,
    filled: usize,
    ahead: usize,
}

impl Window {
    /// Where `len` bytes from `at` on are in [`Self::bytes`], if they are there.
    pub(in crate::segment) fn range(&self, at: u64, len: usize) -> Option<Range<usize>> {
        let from = usize::try_from(at.checked_sub(self.at)?).ok()?;
        let end = from.checked_add(len)?;
        (end <= self.filled).then_some(from..end)
    }

    pub(in crate::segment) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads `len` bytes from `at` on, and more behind them up to `end`, if a walk goes on there.
    pub(in crate::segment) fn fill(
        &mut self,
        source: &Source,
        at: u64,
        len: usize,
        end: u64,
        ahead: bool,
    ) -> Result<Range<usize>> {
        let more = if !ahead {
            0
        } else if self.filled > 0 && at >= self.at && at <= self.at + self.filled as u64 + GAP {
            self.ahead = (self.ahead * 2).clamp(FIRST, MOST);
            self.ahead
        } else {
            self.ahead = 0;
            0
        };
        let rest = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let size = len.max(more.min(rest));
        self.filled = 0;
        if at.checked_add(size as u64).is_none_or(|behind| behind > source.len) {
            return Err(source.damaged(at, "the file ends before"));
        }
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        let buffer = self.bytes.get_mut(..size).unwrap_or_default();
        source.read(at, buffer)?;
        self.at = at;
        self.filled = size;
        Ok(0..len)
    }
}
