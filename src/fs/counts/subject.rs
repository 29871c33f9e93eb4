//! What the request that a thread is about to answer is about: for `.info/errors`, which names its path.

use std::cell::RefCell;

use crate::fs::caller::Caller;
use crate::fs::nodes::node::Node;

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

/// The number of the node that it is about, and the name in that, if it is about one.
pub(in crate::fs) fn place() -> (u64, Vec<u8>) {
    SUBJECT.with_borrow(|subject| (subject.ino, subject.name.clone()))
}

/// The same of what is to be renamed.
pub(in crate::fs) fn source() -> Option<(u64, Vec<u8>)> {
    SUBJECT.with_borrow(|subject| subject.source.clone())
}
