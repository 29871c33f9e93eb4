//! Copies of a schema: `cp -r` makes the directory of a family, and insists that the files which it makes there are new.
//!
//! A family that `mkdir` made has its defaults as attribute files. They are not there yet for the thread that made it,
//! while it has the file of that attribute of another family open: it is about to make this one's. Likewise the
//! directories in it, once that thread has listed another family: until it makes them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use lru::LruCache;

use super::handles::TextHandle;
use crate::env::sync::Mutex;
use crate::model::TableName;
use crate::tree::place::{Place, SchemaPlace};

/// Threads that are remembered, and the latest families that each has made.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
const FAMILIES: usize = 16;

/// See the module.
pub(super) struct Copies {
    threads: Mutex<LruCache<u32, Thread>>,
}

#[derive(Default)]
struct Thread {
    made: Vec<(TableName, String)>,
    /// Whether it has listed another family since it made the last one.
    has_listed: bool,
    /// Directories in that one which it has made, too.
    within: Vec<Place>,
    reads: Weak<TextHandle>,
}

impl Default for Copies {
    fn default() -> Self {
        Self { threads: Mutex::new(LruCache::new(THREADS)) }
    }
}

impl Copies {
    /// A thread has made the directory of a family.
    pub(super) fn made(&self, thread: u32, table: &TableName, family: &str) {
        let mut threads = self.threads.lock();
        let known = threads.get_or_insert_mut(thread, Thread::default);
        (known.has_listed, known.within) = (false, Vec::new());
        let made = &mut known.made;
        made.retain(|(of, name)| (of, name.as_str()) != (table, family));
        made.push((table.clone(), family.to_owned()));
        made.drain(..made.len().saturating_sub(FAMILIES));
    }

    /// A thread has made a directory in a family that it has made.
    pub(super) fn made_within(&self, thread: u32, place: &Place) {
        if let Some(known) = self.threads.lock().get_mut(&thread) {
            known.within.push(place.clone());
        }
    }

    /// A thread lists a directory.
    pub(super) fn lists(&self, thread: u32, place: &Place) {
        let Place::Schema(place) = place else { return };
        let SchemaPlace::Family(table, family) = place.as_ref() else { return };
        if let Some(known) = self.threads.lock().get_mut(&thread) {
            let is_other = known.made.last().is_some_and(|(of, made)| (of, made) != (table, family));
            known.has_listed |= is_other;
        }
    }

    /// A thread reads a file; it matters once it has made a family.
    pub(super) fn reads(&self, thread: u32, text: &Arc<TextHandle>) {
        if let Some(known) = self.threads.lock().get_mut(&thread) {
            known.reads = Arc::downgrade(text);
        }
    }

    /// Whether a thread is about to make an attribute, or a directory, of a family that it has made.
    pub(super) fn is_next(&self, thread: u32, place: &Place) -> bool {
        if let Some((table, family)) = directory(place) {
            return self.threads.lock().get(&thread).is_some_and(|known| {
                let is_last = known.made.last().is_some_and(|(of, made)| (of, made.as_str()) == (table, family));
                is_last && known.has_listed && !known.within.contains(place)
            });
        }
        let Some((table, family, name)) = attribute(place) else { return false };
        let reads = match self.threads.lock().get(&thread) {
            Some(known) if known.made.iter().any(|(of, made)| (of, made.as_str()) == (table, family)) => {
                known.reads.upgrade()
            }
            _ => return false,
        };
        // Order: it may be the last to hold the file, whose end is nobody's business under the lock.
        let read = reads.map(|text| text.node.key().place);
        read.as_ref()
            .and_then(attribute)
            .is_some_and(|(of, other, same)| same == name && (of, other) != (table, family))
    }
}

fn directory(place: &Place) -> Option<(&TableName, &str)> {
    let Place::Schema(place) = place else { return None };
    match place.as_ref() {
        SchemaPlace::Free { table, family: Some(family), .. } | SchemaPlace::Constraints(table, family) => {
            Some((table, family))
        }
        _ => None,
    }
}

fn attribute(place: &Place) -> Option<(&TableName, &str, &str)> {
    let Place::Schema(place) = place else { return None };
    match place.as_ref() {
        SchemaPlace::Attribute { table, family: Some(family), name } => Some((table, family, name)),
        _ => None,
    }
}
