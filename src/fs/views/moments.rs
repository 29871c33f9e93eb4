//! `.at/-1h`: a relative time means one moment to whoever walks below it.
//!
//! A walk is told by its process group (`cp -r`, `find | xargs cat`) and goes on while it looks again and again.

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::caller::Caller;
use crate::fs::views::walks;
use crate::tree::asking::argument;
use crate::tree::asking::question::Kind;
use crate::tree::asking::steps::argument;
use crate::tree::names::times;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// The place of a name, where a relative time is the one of the caller's walk.
pub fn at_moment(fs: &Fs, dir: &NodeKey, name: &[u8], caller: Caller, key: NodeKey) -> Result<NodeKey> {
    // The clock of a snapshot stands still: its relative times are always the same.
    if dir.snapshot.is_some() {
        return walks::of_walk(fs, key, caller);
    }
    Ok(match (&dir.place, key.view) {
        (Place::Times(_), View::At(fresh)) if times::is_relative(name) => {
            let moment = fs.moments.of(name, caller, fs.tree.backend.now(), fresh);
            NodeKey { view: View::At(moment), ..key }
        }
        (Place::Asking(_, Kind::Times), _) if argument::is_relative(name) => {
            let now = fs.tree.backend.now();
            let clock = fs.moments.of(name, caller, now, now);
            walks::of_walk(fs, argument(&fs.tree, dir, name, clock)?, caller)?
        }
        _ => walks::of_walk(fs, key, caller)?,
    })
}
