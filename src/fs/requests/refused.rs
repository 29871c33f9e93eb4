//! What a request was refused, and where: for `.info/errors`, which names its path.

use crate::error::RENAMED;
use crate::fs::base::Fs;
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::counts::subject::is_named;
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::Place;
use crate::tree::view::View;
use crate::{Error, ErrorKind};

impl Fs {
    /// Remembers a refusal for `.info/errors`.
    pub fn record_refusal(&self, caller: Caller, what: &str, error: &Error) {
        if subject::was_early() {
            return;
        }
        let caller = if caller.pid == 0 { subject::caller() } else { caller };
        let what = self.path_of_subject().map_or_else(|| what.to_owned(), |path| format!("{path} {what}"));
        let source = self.path_of_source().map(|path| format!("{RENAMED}{path})")).unwrap_or_default();
        self.refusals.record(self.tree.backend.now(), caller, &what, &format!("{}{source}", error.message));
    }

    /// Remembers a sentence that is no refusal.
    pub(in crate::fs) fn record_sentence(&self, caller: Caller, what: &str, sentence: &str) {
        self.record_refusal(caller, what, &Error::new(ErrorKind::Refused, sentence));
    }

    /// Refuses to make something under a name: what the tree does not have.
    pub fn refuse_to_make(&self, parent: u64, name: &[u8], why: &str) -> crate::Error {
        // It is only named in the refusal.
        drop(self.node(parent));
        is_named(name);
        crate::fs::base::not_permitted(why)
    }

    /// The path below the mount point of what this thread's request is about.
    pub(in crate::fs) fn path_of_subject(&self) -> Option<String> {
        let (ino, name) = subject::place();
        self.path_below(ino, name)
    }

    /// The path of what was to be renamed.
    fn path_of_source(&self) -> Option<String> {
        let (ino, name) = subject::source()?;
        self.path_below(ino, name)
    }

    fn path_below(&self, ino: u64, name: Vec<u8>) -> Option<String> {
        let node = self.nodes.get(ino)?;
        let mut names = if name.is_empty() { Vec::new() } else { vec![name] };
        let mut key = node.key();
        // Few paths have more levels.
        for _ in 0..64 {
            let Some(parent) = parent_of(&key) else { break };
            names.push(match (&parent.place, key.view) {
                (Place::Times(_), View::At(time)) => time.to_string().into_bytes(),
                _ => name_of(&self.tree, &key),
            });
            key = parent;
        }
        names.retain(|name| !name.is_empty());
        let path: Vec<String> = names.iter().rev().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Some(format!("/{}", path.join("/")))
    }
}
