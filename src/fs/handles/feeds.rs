//! What the readers of `.changes` share: a line a change of a table, from the first one's opening on.
//!
//! Memory: the last lines of each table that is followed, [`FOLLOWED`] tables at the most.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::backend::{Backend, ChangesQuery};
use crate::bulk::change_lines;
use crate::env::sync::Mutex;
use crate::fs::counts::lines::{Follower, Lines};
use crate::fs::handles::table::Streamed;
use crate::model::{SeqNo, TableName};
use crate::{Error, ErrorKind, Result};

/// Tables that are followed at once.
const FOLLOWED: usize = 64;

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
pub(in crate::fs) struct Reader {
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
    /// How much was told to those who follow a table, with what has come since their last look.
    pub(in crate::fs) fn told(&self, table: &TableName) -> Result<u64> {
        let feed = self.0.lock().get(table).and_then(Weak::upgrade);
        let Some(feed) = feed else { return Ok(0) };
        let mut state = feed.state.lock();
        feed.look(&mut state)?;
        Ok(state.lines.end())
    }

    /// One more who follows a table.
    pub(in crate::fs) fn follow(&self, backend: &Arc<dyn Backend>, table: &TableName) -> Result<Reader> {
        let feed = self.open(backend, table)?;
        let follower = feed.state.lock().lines.follower();
        Ok(Reader { feed, follower })
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
