//! Handles that were closed but not released yet: the kernel sends the last message of a file after close(2)
//! has returned. Whoever looks at what was committed waits for them first, for a moment.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::env::sync::{Condvar, Instant, Mutex};
use crate::model::ColumnKey;

/// How long after its FLUSH a handle is waited for: it may as well stay open, through a duplicate.
const PATIENCE: Duration = Duration::from_millis(100);

/// See the module. Bounded by the number of open handles.
#[derive(Default)]
pub struct Closing {
    handles: Mutex<FxHashMap<u64, (Arc<ColumnKey>, Instant)>>,
    released: Condvar,
}

impl Closing {
    /// A FLUSH was answered and something is left to commit at release.
    pub fn flushed(&self, handle: u64, column: Arc<ColumnKey>) {
        self.handles.lock().insert(handle, (column, Instant::now()));
    }

    /// The handle was released, or goes on.
    pub fn ended(&self, handle: u64) {
        let mut handles = self.handles.lock();
        if handles.remove(&handle).is_some() {
            self.released.notify_all();
        }
    }

    /// Whether any column is being closed.
    pub fn are_any(&self) -> bool {
        self.handles.lock().values().any(|(_, at)| *at + PATIENCE > Instant::now())
    }

    /// Waits until no column is being closed that `concerns` the caller and was so before: what comes meanwhile does not
    /// make it wait longer.
    pub fn wait(&self, concerns: impl Fn(&ColumnKey) -> bool) {
        let mut handles = self.handles.lock();
        let begun = Instant::now();
        loop {
            let now = Instant::now();
            let before = handles.values().filter(|(column, at)| *at <= begun && concerns(column));
            let deadlines = before.map(|(_, at)| *at + PATIENCE);
            let Some(deadline) = deadlines.filter(|deadline| *deadline > now).max() else { return };
            self.released.wait_until(&mut handles, deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;

    #[test]
    fn waits_until_the_release_and_not_for_ever() {
        let closing = Arc::new(Closing::default());
        let table = TableName::parse("t").unwrap();
        let column = Arc::new(ColumnKey { table, row: b"r".to_vec(), family: "f".into(), qualifier: b"q".to_vec() });
        closing.flushed(1, Arc::clone(&column));
        closing.wait(|other| other.row == b"another");
        let releaser = Arc::clone(&closing);
        let thread = std::thread::spawn(move || releaser.ended(1));
        closing.wait(|_| true);
        thread.join().unwrap();
        assert!(closing.handles.lock().is_empty());
        closing.flushed(2, column);
        closing.wait(|_| true);
        assert_eq!(closing.handles.lock().len(), 1, "what stays open is waited for once");
    }

    #[test]
    fn what_is_closed_meanwhile_is_not_waited_for() {
        let closing = Arc::new(Closing::default());
        let table = TableName::parse("t").unwrap();
        let column = Arc::new(ColumnKey { table, row: b"r".to_vec(), family: "f".into(), qualifier: b"q".to_vec() });
        closing.flushed(0, Arc::clone(&column));
        let (others, done) = (Arc::clone(&closing), Arc::new(std::sync::atomic::AtomicBool::new(false)));
        let is_done = Arc::clone(&done);
        let busy = std::thread::spawn(move || {
            let until = Instant::now() + Duration::from_secs(20);
            while !is_done.load(std::sync::atomic::Ordering::SeqCst) && Instant::now() < until {
                others.flushed(1, Arc::clone(&column));
                others.ended(1);
                others.flushed(1, Arc::clone(&column));
            }
            Instant::now() < until
        });
        closing.wait(|_| true);
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(busy.join().unwrap(), "it waited as long as others came");
    }
}
