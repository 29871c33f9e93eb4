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

/// Remembers a refusal for `.info/errors`.
pub fn record_refusal(fs: &Fs, caller: Caller, what: &str, error: &Error) {
    if subject::was_early() {
        return;
    }
    let caller = if caller.pid == 0 { subject::caller() } else { caller };
    let what = path_of_subject(fs).map_or_else(|| what.to_owned(), |path| format!("{path} {what}"));
    let source = path_of_source(fs).map(|path| format!("{RENAMED}{path})")).unwrap_or_default();
    fs.refusals.record(fs.tree.backend.now(), caller, &what, &format!("{}{source}", error.message));
}

/// Remembers a sentence that is no refusal.
pub fn record_sentence(fs: &Fs, caller: Caller, what: &str, sentence: &str) {
    record_refusal(fs, caller, what, &Error::new(ErrorKind::Refused, sentence));
}

/// Refuses to make something under a name: what the tree does not have.
pub fn refuse_to_make(fs: &Fs, parent: u64, name: &[u8], why: &str) -> crate::Error {
    // It is only named in the refusal.
    drop(fs.node(parent));
    is_named(name);
    crate::fs::base::not_permitted(why)
}

/// The path below the mount point of what this thread's request is about.
pub fn path_of_subject(fs: &Fs) -> Option<String> {
    let (ino, name) = subject::place();
    path_below(fs, ino, name)
}

/// The path of what was to be renamed.
fn path_of_source(fs: &Fs) -> Option<String> {
    let (ino, name) = subject::source()?;
    path_below(fs, ino, name)
}

fn path_below(fs: &Fs, ino: u64, name: Vec<u8>) -> Option<String> {
    let node = fs.nodes.get(ino)?;
    let mut names = if name.is_empty() { Vec::new() } else { vec![name] };
    let mut key = node.key();
    // Few paths have more levels.
    for _ in 0..64 {
        let Some(parent) = parent_of(&key) else { break };
        names.push(match (&parent.place, key.view) {
            (Place::Times(_), View::At(time)) => time.to_string().into_bytes(),
            _ => name_of(&fs.tree, &key),
        });
        key = parent;
    }
    names.retain(|name| !name.is_empty());
    let path: Vec<String> = names.iter().rev().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Some(format!("/{}", path.join("/")))
}
