//! Scan paths: whoever walks below one sees one moment of the store, and everybody else the present.
//!
//! A walk begins when the directory of a question is listed. It is told by its process group and the first step of its
//! path, as programs look the whole path up again and again. It ends when it pauses, when the directory is listed anew, and
//! when its own process group changes the table: a script reads what it has written. A process that walks goes on with its
//! walk even then, unless it has written itself: a copy stays whole beside a writer in the background of its script.

use crate::backend::Event;
use crate::fs::base::Fs;
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::programs::walks::{Fresh, Who};
use crate::tree::asking::question::Question;
use crate::tree::place::NodeKey;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Gives the first step of a question of the present its moment; what is below has it from there.
pub fn of_walk(fs: &Fs, key: NodeKey, caller: Caller) -> Result<NodeKey> {
    let Some(asked) = key.asked.as_ref().filter(|asked| asked.moment.is_none()) else { return Ok(key) };
    let (Some(table), None, View::Plain) = (key.place.table(), &key.snapshot, key.view) else { return Ok(key) };
    let Some(first) = asked.rows.first().or(asked.cells.first()) else { return Ok(key) };
    let is_open = |moment| {
        let is_of = |key: &NodeKey| key.asked.as_ref().is_some_and(|asked| asked.moment == Some(moment));
        fs.handles.any(|handle| is_of(&handle.node().key()))
    };
    let backend = &fs.tree.backend;
    let who = Who::of(caller, backend.now());
    let fresh = || Ok(Fresh { moment: backend.moment(table)?, is_told: !backend.is_shared() });
    let moment = fs.walks.moment((table, first), who, is_open, fresh)?;
    let question = Question { moment: Some(moment), ..asked.as_ref().clone() };
    Ok(key.asked(question, key.place.clone()))
}

/// A directory is opened. `NotFound`: it was listed before, and whoever looks its path up again finds the present.
pub fn begin_walk(fs: &Fs, key: &NodeKey, caller: Caller) -> Result<()> {
    let (Some(asked), Some(table)) = (&key.asked, key.place.table()) else { return Ok(()) };
    let who = Who::of(caller, fs.tree.backend.now());
    if !key.is_question() || fs.walks.list(table, asked, who) {
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
