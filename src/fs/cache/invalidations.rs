//! The queue of what the kernel is to be told: those who commit put it in, and one notifier thread, which holds no
//! lock, takes it out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::backend::Event;

/// What the kernel is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// Pages and attributes of an inode are old.
    Inode(u64),
    /// A name in a directory, there or not there, is old.
    Entry { parent: u64, name: Vec<u8> },
}

/// A message for the notifier thread.
pub enum Message {
    Changed(Event),
    Send(Invalidation),
    /// Answered when everything before it was sent.
    Barrier(Sender<()>),
}

/// The queue between those who commit and the notifier thread. Bounded by the requests under way: each
/// command of the control socket waits for its own invalidations.
#[derive(Clone)]
pub struct Invalidations {
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    /// Changes and invalidations that were queued and not taken by the kernel yet.
    pending: Arc<AtomicUsize>,
}

/// Messages that are many: some MiB.
const MANY: usize = 20_000;

impl Default for Invalidations {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver, pending: Arc::default() }
    }
}

impl Invalidations {
    /// The next messages; blocks until there is one. `None` at the end. Each but a barrier is [`Invalidations::taken`] at
    /// last.
    pub fn receive(&self) -> Option<Vec<Message>> {
        let first = self.receiver.recv().ok()?;
        Some(std::iter::once(first).chain(self.receiver.try_iter().take(1023)).collect())
    }

    /// The kernel has taken a message.
    pub fn taken(&self) {
        self.pending.fetch_sub(1, Ordering::Release);
    }

    /// Whether the kernel has not taken all that was queued.
    pub fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Tells when the kernel has taken what was queued before.
    pub fn taken_all(&self) -> Receiver<()> {
        let (done, waiter) = crossbeam_channel::bounded(1);
        self.send(Message::Barrier(done));
        waiter
    }

    /// As [`Invalidations::drain`], where so much is queued that whoever goes on and on would fill the memory.
    pub fn drain_many(&self, timeout: Duration) {
        if self.pending.load(Ordering::Acquire) > MANY && !self.drain(timeout) {
            log::debug!("the kernel has not taken the invalidations of a change within {timeout:?}");
        }
    }

    /// Waits until the kernel has taken what was queued before, at most `timeout`; false when it has not.
    pub fn drain(&self, timeout: Duration) -> bool {
        self.taken_all().recv_timeout(timeout).is_ok()
    }

    pub(in crate::fs) fn send(&self, message: Message) {
        // Who waits makes nobody wait.
        if !matches!(message, Message::Barrier(_)) {
            self.pending.fetch_add(1, Ordering::Release);
        }
        // The receiver lives in `self` as well, so the channel is never closed.
        let _ = self.sender.send(message);
    }
}
