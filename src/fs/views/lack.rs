//! `.at/TIME`: what VERSIONS or a TTL has dropped since cannot be shown, and that is said once a walk.

use std::collections::VecDeque;

use crate::env::sync::Mutex;
use crate::fs::Fs;
use crate::fs::counts::subject;
use crate::tree::place::{NodeKey, Place};
use crate::tree::texts::complete;
use crate::tree::view::View;

/// Directories of which it was said lately.
const TOLD: usize = 1000;

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Told(Mutex<VecDeque<NodeKey>>);

impl Told {
    fn has(&self, key: &NodeKey) -> bool {
        self.0.lock().contains(key)
    }

    fn add(&self, key: &NodeKey) {
        let mut told = self.0.lock();
        if told.len() == TOLD {
            told.pop_front();
        }
        told.push_back(key.clone());
    }
}

impl Fs {
    /// Says in `.info/errors` that a directory below `.at`, or a name that is not there, may lack what there was.
    pub(in crate::fs) fn tell_of_lack(&self, key: &NodeKey, what: &str) {
        let concerns = matches!(key.place, Place::Table(_) | Place::Row(_) | Place::Family(_) | Place::Cell(_));
        if !matches!(key.view, View::At(_)) || key.asked.is_some() || !concerns || self.told.has(key) {
            return;
        }
        match self.tree_of(key).and_then(|tree| complete::lack(&tree, key)) {
            Ok(Some(sentence)) => {
                self.told.add(key);
                self.record_sentence(subject::caller(), what, &sentence);
            }
            Ok(None) => {}
            Err(e) => log::debug!("what may lack: {e}"),
        }
    }
}
