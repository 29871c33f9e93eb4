//! What is done when the kernel has taken the notices of what was changed before, on a thread of its own: the kernel takes
//! that of a name once nobody changes its directory, and who does waits for an answer.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::threads::{Count, Waiting, Work};

/// See the module. Bounded by the requests under way.
#[derive(Clone)]
pub struct Behind {
    /// How long each waits at most.
    patience: Duration,
    count: Count,
    /// The thread, from the first that waits on; `None`: it could not be started.
    queue: Arc<OnceLock<Option<Sender<Next>>>>,
}

struct Next {
    taken: Receiver<()>,
    until: Instant,
    work: Work,
    _waiting: Waiting,
}

impl Behind {
    pub fn new(patience: Duration) -> Self {
        Self { patience, count: Count::default(), queue: Arc::default() }
    }

    /// Has `work` done once `taken` says so.
    pub fn run(&self, taken: Receiver<()>, work: Work) {
        let Some(queue) = self.queue.get_or_init(begin) else { return work() };
        let (until, _waiting) = (Instant::now() + self.patience, self.count.begin());
        // The thread ends after the last sender.
        if let Err(refused) = queue.send(Next { taken, until, work, _waiting }) {
            (refused.0.work)();
        }
    }

    /// Returns when nothing waits any more.
    pub fn finish(&self) {
        self.count.finish();
    }
}

fn begin() -> Option<Sender<Next>> {
    let (sender, receiver) = unbounded::<Next>();
    let run = move || {
        for next in receiver {
            if next.taken.recv_deadline(next.until).is_err() {
                log::debug!("the kernel does not take the notices of a change");
            }
            (next.work)();
        }
    };
    match std::thread::Builder::new().name("cellfs-behind".to_owned()).spawn(run) {
        Ok(_) => Some(sender),
        Err(e) => {
            log::error!("start the thread for what waits for the kernel: {e}");
            None
        }
    }
}
