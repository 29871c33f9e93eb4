//! `.info/access`: every request while somebody follows them. A load of a number is what it costs while nobody does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::error::printable;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::counts::counters::Operation;
use crate::fs::errno::errno;
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
        self.accesses.push(&line);
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
            (None, None) => Ok(crate::fs::kinds::text::slice(&text.read, offset, len).to_vec()),
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
        Facts::Scratch { len: self.accesses.end(), mtime: self.tree.backend.now().into(), file }
    }
}
