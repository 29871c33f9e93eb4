//! What the request that a thread is about to answer is about: for `.info/errors`, which names its path.

use std::cell::RefCell;

use crate::fs::nodes::node::Node;
use crate::fs::{Caller, Fs};
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::Place;
use crate::tree::view::View;

#[derive(Default)]
struct Subject {
    caller: Caller,
    ino: u64,
    name: Vec<u8>,
    /// What is to be renamed: the directory, and the name in it.
    source: Option<(u64, Vec<u8>)>,
    /// What is refused is no refusal yet.
    is_early: bool,
}

thread_local! {
    static SUBJECT: RefCell<Subject> = RefCell::default();
}

/// A request of somebody begins.
pub(in crate::fs) fn begin(caller: Caller) {
    SUBJECT.with_borrow_mut(|subject| {
        subject.caller = caller;
        subject.ino = 0;
        subject.name.clear();
        subject.source = None;
        subject.is_early = false;
    });
}

/// It is done for who has opened the file: the kernel does not say for whom it releases one.
pub(in crate::fs) fn is_for(opener: Caller) {
    SUBJECT.with_borrow_mut(|subject| {
        if subject.caller.pid == 0 {
            subject.caller = opener;
        }
    });
}

/// What it is refused is told again if it stays so.
pub(in crate::fs) fn is_early() {
    SUBJECT.with_borrow_mut(|subject| subject.is_early = true);
}

/// Whether what is refused now will be told again if it stays so.
pub(in crate::fs) fn was_early() -> bool {
    SUBJECT.with_borrow(|subject| subject.is_early)
}

/// Who asked for it.
pub(in crate::fs) fn caller() -> Caller {
    SUBJECT.with_borrow(|subject| subject.caller)
}

/// It is about this node.
pub(in crate::fs) fn is(node: &Node) {
    SUBJECT.with_borrow_mut(|subject| subject.ino = node.ino);
}

/// It is about a name in the directory that it was about.
pub(in crate::fs) fn is_named(name: &[u8]) {
    SUBJECT.with_borrow_mut(|subject| {
        subject.name.clear();
        subject.name.extend_from_slice(name);
    });
}

/// What it was about until now is to be renamed to what it is about from now on.
pub(in crate::fs) fn has_source() {
    SUBJECT.with_borrow_mut(|subject| subject.source = Some((subject.ino, subject.name.clone())));
}

impl Fs {
    /// Refuses to make something under a name: what the tree does not have.
    pub fn refuse_to_make(&self, parent: u64, name: &[u8], why: &str) -> crate::Error {
        // It is only named in the refusal.
        drop(self.node(parent));
        is_named(name);
        crate::fs::not_permitted(why)
    }

    /// The path below the mount point of what this thread's request is about.
    pub(in crate::fs) fn path_of_subject(&self) -> Option<String> {
        let (ino, name) = SUBJECT.with_borrow(|subject| (subject.ino, subject.name.clone()));
        self.path_below(ino, name)
    }

    /// The path of what was to be renamed.
    pub(in crate::fs) fn path_of_source(&self) -> Option<String> {
        let (ino, name) = SUBJECT.with_borrow(|subject| subject.source.clone())?;
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
