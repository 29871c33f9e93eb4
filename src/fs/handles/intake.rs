//! Files that take a stream: `.import/FORMAT` of a table. What is written goes to the store in batches, as it comes.
//!
//! A line that cannot be taken is refused by the write(2) that brings its end, what came before it is stored. The last
//! line need not end: it is stored at close.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bulk::{Import, refusal};
use crate::env::sync::{Mutex, MutexGuard};
use crate::model::TableName;
use crate::{Error, ErrorKind, Result};

/// Streams that are taken at once, and the longest line of each, which it holds.
const STREAMS: usize = 16;
pub const LINE_MAX: usize = 16 << 20;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// One open stream.
pub struct Intake(Mutex<State>);

struct State {
    import: Import,
    /// Bytes that were written.
    passed: u64,
    /// Something was written since the last close was answered.
    is_dirty: bool,
    /// Why a write was refused.
    failed: Option<Error>,
    /// It was when no write was under way: the next write or close tells.
    is_untold: bool,
}

/// A stream whose table moves: nothing of it is stored meanwhile.
pub struct Paused<'i>(MutexGuard<'i, State>);

impl Intake {
    pub fn new(import: impl FnOnce() -> Result<Import>) -> Result<Self> {
        if OPEN.fetch_add(1, Ordering::Relaxed) >= STREAMS {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            let text = format!("{STREAMS} streams are imported at once; wait for one to end");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        match import() {
            Ok(import) => Ok(Self(State { import, passed: 0, is_dirty: false, failed: None, is_untold: false }.into())),
            Err(e) => {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                Err(e)
            }
        }
    }

    /// The next bytes of the stream, if there is room. `IllegalArgument` for a line that cannot be taken, and elsewhere than
    /// where the last write has ended.
    pub fn write(&self, offset: Option<u64>, data: &[u8], room: Result<()>) -> Result<u32> {
        let mut state = self.0.lock();
        state.is_untold = false;
        if let Some(e) = &state.failed {
            // Who looks at the newest error alone is told of the first.
            let text = format!("{}; nothing behind it is taken: open it again", e.message);
            return Err(Error::new(e.kind, text));
        }
        if offset.is_some_and(|offset| offset != state.passed) {
            let text = "this file takes a stream: it is written from its beginning to its end, once an opening";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        state.is_dirty = true;
        let import = &mut state.import;
        let taken = match room {
            Ok(()) => import.feed(data, &mut |bad| Err(refusal(bad))),
            // What was taken before is stored where it still can be, so that how far it came is known.
            Err(e) => import.write(&mut |bad| Err(refusal(bad))).and_then(|()| Err(e.context(import.not_written()))),
        };
        state.failed = taken.as_ref().err().cloned();
        taken?;
        state.passed += data.len() as u64;
        Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
    }

    /// A close: all of it is stored, also a last line without an end. A copy of the open file may go on.
    pub fn close(&self) -> Result<()> {
        let mut state = self.0.lock();
        if let Some(e) = state.failed.clone().filter(|_| std::mem::take(&mut state.is_untold)) {
            return Err(e);
        }
        // The refusal of the write was the answer.
        if state.failed.is_some() || !std::mem::take(&mut state.is_dirty) {
            return Ok(());
        }
        let stored = state.import.write_all(&mut |bad| Err(refusal(bad)));
        // What is left out would lack in the midst of what goes on. A last line that is none yet may become one.
        state.failed = stored.as_ref().err().filter(|_| !state.import.is_stored()).cloned();
        stored
    }

    /// Stores what was taken, in the table where it belongs, before that moves.
    pub fn pause(&self) -> Paused<'_> {
        let mut state = self.0.lock();
        if state.failed.is_none()
            && let Err(e) = state.import.write(&mut |bad| Err(refusal(bad)))
        {
            (state.failed, state.is_untold) = (Some(e), true);
        }
        Paused(state)
    }

    /// After the last close: the last line of what was stored, if it may be cut off.
    pub fn unended(&self) -> Option<u64> {
        let state = self.0.lock();
        state.import.unended().filter(|_| state.failed.is_none())
    }
}

impl Paused<'_> {
    /// The stream goes on into its table, which has this name now; `None`: it has none, and takes no more.
    pub fn go_on(mut self, table: Option<&TableName>) {
        let Some(table) = table else {
            if self.0.failed.is_none() {
                let text = "another table was renamed over the one that this was written to; open it again";
                (self.0.failed, self.0.is_untold) = (Some(Error::new(ErrorKind::Stale, text)), self.0.is_dirty);
            }
            return;
        };
        self.0.import.follow(table);
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}
