//! Threads of their own for what may wait, apart from those that answer everything else.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::env::sync::{Condvar, Mutex};

/// Requests that wait on threads of their own at most; with more, all others wait as well.
const MOST: usize = 256;
/// How long a thread stays for the next request.
const IDLE: Duration = Duration::from_secs(5);

pub type Work = Box<dyn FnOnce() + Send>;

/// Counts requests that wait.
#[derive(Clone, Default)]
pub struct Count(Arc<(Mutex<usize>, Condvar)>);

/// A request that may wait; counted while it lives.
pub struct Waiting(Count);

impl Count {
    pub fn begin(&self) -> Waiting {
        *self.0.0.lock() += 1;
        Waiting(self.clone())
    }

    /// `None`: so many wait.
    fn begin_below(&self, most: usize) -> Option<Waiting> {
        let mut count = self.0.0.lock();
        (*count < most).then(|| {
            *count += 1;
            Waiting(self.clone())
        })
    }

    /// Returns when nothing waits any more.
    pub fn finish(&self) {
        let (count, none) = &*self.0;
        let mut count = count.lock();
        while *count > 0 {
            none.wait(&mut count);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (count, none) = &*self.0.0;
        let mut count = count.lock();
        *count -= 1;
        if *count == 0 {
            none.notify_all();
        }
    }
}

/// The threads for what may wait.
#[derive(Clone)]
pub struct Apart {
    waiting: Count,
    /// Holds nothing: work goes to a thread that is idle, or to a new one.
    idle: (Sender<Work>, Receiver<Work>),
    /// Processors that this process may use.
    processors: usize,
}

impl Default for Apart {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { waiting: Count::default(), idle: bounded(0), processors }
    }
}

impl Apart {
    /// `None`: too many wait.
    pub fn begin(&self) -> Option<Waiting> {
        self.waiting.begin_below(MOST)
    }

    /// Returns when nothing waits any more.
    pub fn finish(&self) {
        self.waiting.finish();
    }

    /// Whether what waits for nobody is done sooner beside something else.
    pub fn helps(&self) -> bool {
        self.processors > 1
    }

    pub fn run(&self, work: Work) {
        let Err(refused) = self.idle.0.try_send(work) else { return };
        // Whoever takes it does it: the thread, or who could not start one.
        let work = Arc::new(Mutex::new(Some(refused.into_inner())));
        let (own, next) = (Arc::clone(&work), self.idle.1.clone());
        let take = |work: &Mutex<Option<Work>>| work.lock().take();
        let run = move || {
            if let Some(work) = take(&own) {
                work();
            }
            while let Ok(work) = next.recv_timeout(IDLE) {
                work();
            }
        };
        if let Err(e) = std::thread::Builder::new().name("cellfs-waits".to_owned()).spawn(run) {
            log::error!("start a thread for a request that may wait: {e}");
            if let Some(work) = take(&work) {
                work();
            }
        }
    }
}
