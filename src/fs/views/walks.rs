//! Scan paths: whoever walks below one sees one moment of the store, and everybody else the present.
//!
//! When a walk begins and ends is in [`crate::fs::programs::walks`].

use crate::backend::Event;
use crate::fs::base::Fs;
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::programs::walks::{AskedDir, Fresh, Who};
use crate::tree::asking::question::Question;
use crate::tree::place::NodeKey;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Gives the directory of a question the moment of the caller's walk, if it belongs to one; what is asked below another has
/// the moment of that, and the first step of a path the present one.
pub fn of_walk(fs: &Fs, key: NodeKey, caller: Caller) -> Result<NodeKey> {
    let (Some(asked), Some(dir)) = (&key.asked, AskedDir::of(&key)) else { return Ok(key) };
    let (Some(table), None, View::Plain) = (key.place.table(), &key.snapshot, key.view) else { return Ok(key) };
    let is_open = |moment| {
        let is_of = |key: &NodeKey| key.asked.as_ref().is_some_and(|asked| asked.moment == Some(moment));
        fs.handles.any(|handle| is_of(&handle.node().key()))
    };
    let backend = &fs.tree.backend;
    let who = Who::of(caller, backend.now());
    let fresh = || Ok(Fresh { moment: backend.moment(table)?, is_told: !backend.is_shared() });
    let moment = fs.walks.moment((&dir, asked.moment), who, is_open, fresh)?;
    let question = Question { moment: Some(moment), ..asked.as_ref().clone() };
    Ok(key.asked(question, key.place.clone()))
}

/// A directory is opened. `NotFound`: it was listed before, and whoever looks its path up again finds the present.
pub fn begin_walk(fs: &Fs, key: &NodeKey, caller: Caller) -> Result<()> {
    let moment = key.asked.as_ref().and_then(|asked| asked.moment);
    let Some((dir, moment)) = AskedDir::of(key).zip(moment) else { return Ok(()) };
    if fs.walks.list((&dir, moment), Who::of(caller, fs.tree.backend.now())) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NotFound, "it was listed by this walk before"))
}

/// Something was committed.
pub fn end_walks(fs: &Fs, event: &Event) {
    let table = match event {
        Event::Column { column, .. } => &column.table,
        Event::Row { table, .. } | Event::Table { table, .. } | Event::Replaced { table } => table,
        Event::Namespace { .. } | Event::Snapshot { .. } | Event::Noted { .. } => return,
    };
    if fs.walks.are_any() {
        let caller = subject::caller();
        fs.walks.changed(table, (caller.pid > 0).then(|| Who::of(caller, fs.tree.backend.now())));
    }
}
