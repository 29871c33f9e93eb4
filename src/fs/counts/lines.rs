//! Lines for those who follow a file as it grows: the last ones, with bounded memory.

use std::collections::VecDeque;

use crate::env::sync::Mutex;

/// Bytes of lines that wait for slow readers.
pub(in crate::fs) const KEPT: usize = 4 << 20;

/// Whole lines; those before `start` are forgotten. Offsets count from the first reader's opening.
#[derive(Default)]
pub(in crate::fs) struct Lines {
    start: u64,
    pub(in crate::fs) bytes: VecDeque<u8>,
}

impl Lines {
    /// The offset behind the last one.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// A reader that comes now.
    pub fn follower(&self) -> Follower {
        Follower { shift: Mutex::default(), since: self.start }
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
        let mut shift = follower.shift.lock();
        let (start, at) = (self.start.cast_signed(), offset.cast_signed().saturating_add(*shift));
        let mut found = Vec::new();
        if at < start {
            let lost = told(start - at);
            let is_told = offset > 0 || self.start > follower.since;
            if is_told && lost.len() <= len {
                found.extend_from_slice(lost.as_bytes());
            }
            *shift = start - offset.cast_signed() - found.len() as i64;
        }
        let from = usize::try_from(at.max(start) - start).unwrap_or(usize::MAX).min(self.bytes.len());
        found.extend(self.bytes.range(from..).take(len - found.len()));
        found
    }
}

/// What a reader takes for which place.
#[derive(Debug, Default)]
pub struct Follower {
    /// A reader's offset plus this is the line's.
    shift: Mutex<i64>,
    /// Lines before this one were forgotten when the reader came: it is not told of them.
    since: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_late_is_told_of_what_is_lost_and_who_comes_late_is_not() {
        let mut lines = Lines::default();
        let early = lines.follower();
        let line = format!("{}\n", "x".repeat(999));
        (0..KEPT / 500).for_each(|_| lines.push(&line));
        let late = lines.follower();
        let read = |follower: &Follower| {
            String::from_utf8(lines.read(follower, 0, 1500, &|lost| format!("{lost}\n"))).unwrap()
        };
        let (told, untold) = (read(&early), read(&late));
        assert_eq!(told.lines().next().unwrap().parse::<u64>().unwrap(), lines.start);
        assert!(told.lines().nth(1).unwrap().len() == 999 && untold.starts_with(&line), "whole lines follow");
    }
}
