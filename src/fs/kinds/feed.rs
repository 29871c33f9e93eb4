//! `.changes` of a table: a line a change, from the first reader's opening on, as `tail -f` follows it.
//!
//! Memory: the last lines of each table that is followed, [`FOLLOWED`] tables at the most.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::lines::{Follower, Lines};
use crate::backend::{Backend, ChangesQuery};
use crate::bulk::change_lines;
use crate::env::sync::Mutex;
use crate::fs::Fs;
use crate::fs::handles::table::{Opened, Streamed};
use crate::fs::nodes::node::Node;
use crate::model::{FileAttributes, FileChange, SeqNo, TableName};
use crate::tree::found::Facts;
use crate::{Error, ErrorKind, Result};

/// Tables that are followed at once.
const FOLLOWED: usize = 64;
/// Its owner's alone: values that others may not see stand in it.
const MODE: u16 = 0o400;

/// The tables that somebody follows.
#[derive(Default)]
pub(in crate::fs) struct Feeds(Mutex<HashMap<TableName, Weak<TableFeed>>>);

struct State {
    query: ChangesQuery,
    lines: Lines,
}

/// A table that somebody follows.
struct TableFeed {
    backend: Arc<dyn Backend>,
    state: Mutex<State>,
}

/// One who does.
struct Reader {
    feed: Arc<TableFeed>,
    follower: Follower,
}

impl TableFeed {
    /// What has come since the last look.
    fn look(&self, state: &mut State) -> Result<()> {
        loop {
            let page = self.backend.changes(&state.query)?;
            if page.gone > state.query.after {
                state.lines.push(&format!("{{\"gone\":{}}}\n", page.gone.0));
            }
            for committed in &page.committed {
                change_lines(committed).for_each(|line| state.lines.push(&format!("{line}\n")));
            }
            state.query.after = page.upto;
            if page.is_last {
                return Ok(());
            }
        }
    }
}

impl Streamed for Reader {
    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut state = self.feed.state.lock();
        self.feed.look(&mut state)?;
        Ok(state.lines.read(&self.follower, offset, len, &|lost| format!("{{\"lost_bytes\":{lost}}}\n")))
    }
}

impl Feeds {
    fn of(&self, table: &TableName) -> Option<Arc<TableFeed>> {
        self.0.lock().get(table).and_then(Weak::upgrade)
    }

    /// The feed of a table that begins now, or began with another reader.
    fn open(&self, backend: &Arc<dyn Backend>, table: &TableName) -> Result<Arc<TableFeed>> {
        // Order: asked without the lock; what comes between is told from the first look on.
        let after = SeqNo(backend.status()?.last_seq);
        let mut feeds = self.0.lock();
        feeds.retain(|_, feed| feed.strong_count() > 0);
        if let Some(feed) = feeds.get(table).and_then(Weak::upgrade) {
            return Ok(feed);
        }
        if feeds.len() >= FOLLOWED {
            return Err(Error::new(ErrorKind::TooMany, format!("{FOLLOWED} tables are followed at once; close some")));
        }
        let query = ChangesQuery { after, table: Some(table.clone()), ..ChangesQuery::default() };
        let state = Mutex::new(State { query, lines: Lines::default() });
        let feed = Arc::new(TableFeed { backend: Arc::clone(backend), state });
        feeds.insert(table.clone(), Arc::downgrade(&feed));
        Ok(feed)
    }
}

impl Fs {
    pub(in crate::fs) fn open_feed(&self, node: Arc<Node>, table: &TableName) -> Result<Opened> {
        let feed = self.feeds.open(&self.tree.backend, table)?;
        let follower = feed.state.lock().lines.follower();
        self.add_stream(node, Box::new(Reader { feed, follower }))
    }

    /// As long as what was told to those who follow; always changed, so that they look.
    pub(in crate::fs) fn facts_of_feed(&self, table: &TableName) -> Result<Facts> {
        let file: FileAttributes = FileChange { mode: Some(MODE), ..FileChange::default() }.into();
        let len = match self.feeds.of(table) {
            Some(feed) => {
                let mut state = feed.state.lock();
                feed.look(&mut state)?;
                state.lines.end()
            }
            None => 0,
        };
        Ok(Facts::Scratch { len, mtime: self.tree.backend.now().into(), file })
    }
}
