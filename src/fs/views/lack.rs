//! `.at/TIME`: what VERSIONS or a TTL has dropped since cannot be shown, and that is said once a walk.

use crate::fs::base::Fs;
use crate::fs::counts::subject;
use crate::fs::requests::refused;
use crate::fs::shown::known;
use crate::tree::place::{NodeKey, Place};
use crate::tree::texts::complete;
use crate::tree::view::View;

/// Says in `.info/errors` that a directory below `.at`, or a name that is not there, may lack what there was.
pub fn tell_of_lack(fs: &Fs, key: &NodeKey, what: &str) {
    let concerns = matches!(key.place, Place::Table(_) | Place::Row(_) | Place::Family(_) | Place::Cell(_));
    if !matches!(key.view, View::At(_)) || key.asked.is_some() || !concerns || fs.told.has(key) {
        return;
    }
    match known::tree_of(fs, key).and_then(|tree| complete::lack(&tree, key)) {
        Ok(Some(sentence)) => {
            fs.told.add(key);
            refused::record_sentence(fs, subject::caller(), what, &sentence);
        }
        Ok(None) => {}
        Err(e) => log::debug!("what may lack: {e}"),
    }
}
