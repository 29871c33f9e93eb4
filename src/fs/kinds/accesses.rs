//! `.info/access`: every request while somebody follows them. A load of a number is what it costs while nobody does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::lines::{Follower, Lines};
use crate::env::sync::Mutex;
use crate::error::printable;
use crate::fs::counts::counters::Operation;
use crate::fs::errno::errno;
use crate::fs::handles::held_text::HeldText;
use crate::fs::handles::table::{Handle, Opened, TextHandle};
use crate::fs::nodes::node::Node;
use crate::fs::{Caller, Fs};
use crate::model::{FileAttributes, FileChange};
use crate::tree::found::Facts;
use crate::{Error, Result};

/// Longest path that is shown, bytes.
const PATH_MAX: usize = 4096;
/// Whoever follows would otherwise follow that.
const OWN: &str = "/.info/access";
/// Its owner's alone: names of files that others may not see stand in it.
const MODE: u16 = 0o400;

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Accesses {
    readers: AtomicUsize,
    lines: Mutex<Lines>,
}

impl Accesses {
    fn is_followed(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    fn open(&self) -> Follower {
        let mut lines = self.lines.lock();
        if self.readers.fetch_add(1, Ordering::Relaxed) == 0 {
            *lines = Lines::default();
        }
        lines.follower()
    }

    fn close(&self) {
        let mut lines = self.lines.lock();
        if self.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *lines = Lines::default();
        }
    }

    /// Bytes at an offset; what was forgotten before it was read is told in a line.
    fn read(&self, follower: &Follower, offset: u64, len: usize) -> Vec<u8> {
        let told = |lost| format!("# {lost} bytes of requests were not read in time\n");
        self.lines.lock().read(follower, offset, len, &told)
    }
}

impl Fs {
    /// Keeps how long a request took and whether it was refused; a line of it for whoever follows.
    pub fn measure(&self, caller: Caller, operation: Operation, time: Duration, refused: Option<&Error>) {
        self.counters.measure(operation, time, refused.is_some());
        if self.accesses.is_followed() {
            self.note_access(caller, operation, time, refused);
        }
    }

    /// `TIME UID PID REQUEST MICROSECONDS RESULT PATH`, separated by tabs.
    fn note_access(&self, caller: Caller, operation: Operation, time: Duration, refused: Option<&Error>) {
        let Some(path) = self.path_unless_followed() else { return };
        let mut path = printable(&path);
        path.truncate((0..=PATH_MAX.min(path.len())).rev().find(|at| path.is_char_boundary(*at)).unwrap_or(0));
        let result = refused.map_or_else(|| "ok".to_owned(), |e| nix::errno::Errno::from_raw(errno(e)).to_string());
        let result = result.split(':').next().unwrap_or_default();
        let (now, name, micros) = (self.tree.backend.now().iso(), operation.name(), time.as_nanos() as f64 / 1e3);
        let mut line = String::with_capacity(80 + path.len());
        // Writing to a string cannot fail.
        let _ = writeln!(line, "{now}\t{}\t{}\t{name}\t{micros:.1}\t{result}\t{path}", caller.uid, caller.pid);
        self.accesses.lines.lock().push(&line);
    }

    /// Where this thread's request was; `None`: at the file of the requests, or it was about nothing.
    fn path_unless_followed(&self) -> Option<String> {
        let path = self.path_of_subject().unwrap_or_else(|| "/".to_owned());
        (path != OWN).then_some(path)
    }

    pub(in crate::fs) fn open_accesses(&self, node: Arc<Node>) -> Result<Opened> {
        let follows = Some(self.accesses.open());
        let text = TextHandle { follows, ..TextHandle::new(node, HeldText::default(), None) };
        let opened = self.handles.add(Handle::Text(Arc::new(text)));
        let handle = opened.inspect_err(|_| self.accesses.close())?;
        Ok(Opened { handle, keep_cache: false, no_flush: true, direct: true })
    }

    /// At most `len` bytes of a generated text.
    pub(in crate::fs) fn read_text(&self, text: &TextHandle, offset: u64, len: usize) -> Result<Vec<u8>> {
        match (&text.follows, &text.streams) {
            (Some(follower), _) => Ok(self.accesses.read(follower, offset, len)),
            (None, Some(stream)) => stream.read(offset, len),
            (None, None) => Ok(super::text::slice(&text.read, offset, len).to_vec()),
        }
    }

    /// The last use of a handle that followed.
    pub(in crate::fs) fn release_accesses(&self, text: &TextHandle) {
        if text.follows.is_some() {
            self.accesses.close();
        }
    }

    pub(in crate::fs) fn facts_of_accesses(&self) -> Facts {
        let file: FileAttributes = FileChange { mode: Some(MODE), ..FileChange::default() }.into();
        Facts::Scratch { len: self.accesses.lines.lock().end(), mtime: self.tree.backend.now().into(), file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::kinds::lines::KEPT;

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
