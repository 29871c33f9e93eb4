//! The lines of `.info/access`, for those who follow it. A load of a number is what it costs while nobody does.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::env::sync::Mutex;
use crate::fs::counts::lines::{Follower, Lines};

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Accesses {
    readers: AtomicUsize,
    lines: Mutex<Lines>,
}

impl Accesses {
    pub(in crate::fs) fn is_followed(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    pub(in crate::fs) fn open(&self) -> Follower {
        let mut lines = self.lines.lock();
        if self.readers.fetch_add(1, Ordering::Relaxed) == 0 {
            *lines = Lines::default();
        }
        lines.follower()
    }

    pub(in crate::fs) fn close(&self) {
        let mut lines = self.lines.lock();
        if self.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *lines = Lines::default();
        }
    }

    /// A line of a request, its end included.
    pub(in crate::fs) fn push(&self, line: &str) {
        self.lines.lock().push(line);
    }

    /// The offset behind the last line.
    pub(in crate::fs) fn end(&self) -> u64 {
        self.lines.lock().end()
    }

    /// Bytes at an offset; what was forgotten before it was read is told in a line.
    pub(in crate::fs) fn read(&self, follower: &Follower, offset: u64, len: usize) -> Vec<u8> {
        let told = |lost| format!("# {lost} bytes of requests were not read in time\n");
        self.lines.lock().read(follower, offset, len, &told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::counts::lines::KEPT;

    #[test]
    fn a_reader_gets_each_line_once_and_is_told_of_those_it_was_too_slow_for() {
        let accesses = Accesses::default();
        assert!(!accesses.is_followed());
        let follower = accesses.open();
        let push = |line: &str| accesses.lines.lock().push(line);
        push("one\n");
        push("two\n");
        assert_eq!(accesses.read(&follower, 0, 6), b"one\ntw");
        assert_eq!(accesses.read(&follower, 6, 100), b"o\n");
        assert_eq!(accesses.read(&follower, 8, 100), b"");
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..2 * KEPT / line.len() {
            push(&line);
        }
        assert!(accesses.lines.lock().bytes.len() <= KEPT);
        let mut read = Vec::new();
        loop {
            let piece = accesses.read(&follower, 8 + read.len() as u64, 5000);
            if piece.is_empty() {
                break;
            }
            read.extend_from_slice(&piece);
        }
        let text = String::from_utf8(read).unwrap();
        let (told, rest) = text.split_once('\n').unwrap();
        let lost: usize = told.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(told.starts_with("# ") && lost + rest.len() == 2 * KEPT / line.len() * line.len(), "{told}");
        assert!(rest.lines().all(|found| found.len() == 99));
        // Who comes later begins with what there is.
        let later = accesses.open();
        assert!(accesses.read(&later, 0, 200).starts_with(line.as_bytes()));
        accesses.close();
        accesses.close();
        assert_eq!(accesses.lines.lock().end(), 0);
    }
}
