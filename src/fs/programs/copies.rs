//! Copies of a schema: `cp -r` makes the directory of a family, and insists that the files which it makes there are new.
//!
//! A family that `mkdir` made has its defaults as attribute files. A copy is told by what its thread does in a row: it
//! makes a family, and then it lists another one and what is in it, and nothing else. As long as it does, a file is not
//! there yet for it while it has that file of the other open, and a directory until it makes it. Everybody else sees them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use lru::LruCache;

use crate::env::sync::Mutex;
use crate::fs::handles::table::TextHandle;
use crate::model::TableName;
use crate::tree::place::{NodeKey, Place, SchemaPlace};

/// Threads that are remembered.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// See the module.
pub(in crate::fs) struct Copies {
    threads: Mutex<LruCache<u32, Copying>>,
}

/// A thread has made a family, and has listed nothing since but one other.
struct Copying {
    made: (TableName, String),
    /// The directory of the other.
    from: Option<NodeKey>,
    /// What it has made in its own.
    within: Vec<Place>,
    /// The file of an attribute that it opened last to read it.
    reads: Weak<TextHandle>,
}

impl Default for Copies {
    fn default() -> Self {
        Self { threads: Mutex::new(LruCache::new(THREADS)) }
    }
}

impl Copies {
    /// A thread has made the directory of a family.
    pub(in crate::fs) fn made(&self, thread: u32, table: &TableName, family: &str) {
        let made = (table.clone(), family.to_owned());
        self.threads.lock().push(thread, Copying { made, from: None, within: Vec::new(), reads: Weak::new() });
    }

    /// A thread has made what is in a family that it has made.
    pub(in crate::fs) fn made_within(&self, thread: u32, place: &Place) {
        if let Some(copying) = self.threads.lock().get_mut(&thread) {
            copying.within.push(place.clone());
        }
    }

    /// A thread lists a directory.
    pub(in crate::fs) fn lists(&self, thread: u32, key: &NodeKey) {
        let mut threads = self.threads.lock();
        let Some(copying) = threads.get_mut(&thread) else { return };
        let family = part_of_family(&key.place).map(|(table, family)| (table.clone(), family.to_owned()));
        let goes_on = family.is_some_and(|(table, family)| {
            let is_other = (&table, &family) != (&copying.made.0, &copying.made.1);
            let dir = key.sibling(Place::Schema(Arc::new(SchemaPlace::Family(table, family))));
            is_other && *copying.from.get_or_insert(dir.clone()) == dir
        });
        if !goes_on {
            threads.pop(&thread);
        }
    }

    /// A thread reads a file.
    pub(in crate::fs) fn reads(&self, thread: u32, text: &Arc<TextHandle>) {
        if let Some(copying) = self.threads.lock().get_mut(&thread) {
            copying.reads = Arc::downgrade(text);
        }
    }

    /// Whether a thread is about to make an attribute, or a directory, of a family that it has made.
    pub(in crate::fs) fn is_next(&self, thread: u32, key: &NodeKey) -> bool {
        let Some((table, family)) = part_of_family(&key.place).filter(|_| key.is_present()) else { return false };
        let (from, reads) = match self.threads.lock().get(&thread) {
            Some(copying)
                if (&copying.made.0, copying.made.1.as_str()) == (table, family)
                    && !copying.within.contains(&key.place) =>
            {
                (copying.from.clone(), copying.reads.upgrade())
            }
            _ => return false,
        };
        let Some(from) = from else { return false };
        let Some(name) = attribute(&key.place) else { return comes_with_family(&key.place) };
        // Order: it may be the last to hold the file, whose end is nobody's business under the lock.
        let Some(read) = reads.map(|text| text.node.key()) else { return false };
        let is_of = part_of_family(&read.place) == part_of_family(&from.place);
        is_of && read.snapshot == from.snapshot && read.view == from.view && attribute(&read.place) == Some(name)
    }
}

/// The family that a directory or an attribute below `.schema` is, or is of.
pub(in crate::fs) fn part_of_family(place: &Place) -> Option<(&TableName, &str)> {
    let Place::Schema(place) = place else { return None };
    match place.as_ref() {
        SchemaPlace::Family(table, family)
        | SchemaPlace::Constraints(table, family)
        | SchemaPlace::Constraint(table, family, _)
        | SchemaPlace::Free { table, family: Some(family), .. }
        | SchemaPlace::Attribute { table, family: Some(family), .. } => Some((table, family)),
        _ => None,
    }
}

/// Whether it is a directory that each family has from the start.
fn comes_with_family(place: &Place) -> bool {
    matches!(place, Place::Schema(place) if matches!(**place, SchemaPlace::Free { .. } | SchemaPlace::Constraints(..)))
}

/// The attribute of a family that a file is.
pub(in crate::fs) fn attribute(place: &Place) -> Option<&str> {
    let Place::Schema(place) = place else { return None };
    match place.as_ref() {
        SchemaPlace::Attribute { family: Some(_), name, .. } => Some(name),
        _ => None,
    }
}
