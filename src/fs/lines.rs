//! Lines for those who follow a file as it grows: the last ones, with bounded memory.

use std::collections::VecDeque;

use crate::env::sync::Mutex;

/// Bytes of lines that wait for slow readers.
pub(super) const KEPT: usize = 4 << 20;

/// Whole lines; those before `start` are forgotten. Offsets count from the first reader's opening.
#[derive(Default)]
pub(super) struct Lines {
    start: u64,
    pub(super) bytes: VecDeque<u8>,
}

impl Lines {
    /// The offset behind the last one.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Adds a line, its end included.
    pub fn push(&mut self, line: &str) {
        self.bytes.extend(line.as_bytes());
        if self.bytes.len() > KEPT {
            // A quarter at once.
            let least = KEPT / 4;
            let end = self.bytes.iter().skip(least).position(|byte| *byte == b'\n').map_or(least, |at| least + at + 1);
            self.bytes.drain(..end);
            self.start += end as u64;
        }
    }

    /// Bytes at an offset; of what was forgotten before it was read there is a line that tells it.
    pub fn read(&self, follower: &Follower, offset: u64, len: usize, told: &dyn Fn(i64) -> String) -> Vec<u8> {
        let mut shift = follower.0.lock();
        let (start, at) = (self.start.cast_signed(), offset.cast_signed().saturating_add(*shift));
        let mut found = Vec::new();
        if at < start {
            let lost = told(start - at);
            if offset > 0 && lost.len() <= len {
                found.extend_from_slice(lost.as_bytes());
            }
            *shift = start - offset.cast_signed() - found.len() as i64;
        }
        let from = usize::try_from(at.max(start) - start).unwrap_or(usize::MAX).min(self.bytes.len());
        found.extend(self.bytes.range(from..).take(len - found.len()));
        found
    }
}

/// What a reader takes for which place: its offset plus this is the line's.
#[derive(Debug, Default)]
pub struct Follower(Mutex<i64>);
