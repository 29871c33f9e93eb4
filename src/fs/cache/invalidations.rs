//! The queue of what the kernel is to be told: those who commit put it in, and one notifier thread, which holds no
//! lock, takes it out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    /// A name may be kept for less long than it was told of; it is there.
    Expiry { parent: u64, name: Vec<u8> },
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
    attributes: Arc<Attributes>,
}

/// Inodes of which the attributes alone are old, with those who wait until the kernel has dropped them: it takes no lock of
/// a directory for that, so that who holds one may wait. Bounded by the requests under way.
struct Attributes {
    sender: Sender<(u64, Sender<()>)>,
    receiver: Receiver<(u64, Sender<()>)>,
    /// Somebody takes them.
    are_taken: AtomicBool,
}

impl Default for Attributes {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver, are_taken: AtomicBool::default() }
    }
}

/// Messages that are many: some MiB.
const MANY: usize = 20_000;
/// How long somebody waits until the kernel has dropped attributes.
const ATTRIBUTES_PATIENCE: Duration = Duration::from_millis(200);

impl Default for Invalidations {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver, pending: Arc::default(), attributes: Arc::default() }
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

    /// Takes inodes of which the kernel is to drop the attributes, and who is told when it has; blocks until there is one.
    pub fn attributes(&self) -> impl Iterator<Item = (u64, Sender<()>)> {
        self.attributes.are_taken.store(true, Ordering::Release);
        self.attributes.receiver.iter()
    }

    /// Has the kernel drop the attributes of an inode before this returns.
    pub(in crate::fs) fn drop_attributes(&self, ino: u64) {
        if !self.attributes.are_taken.load(Ordering::Acquire) {
            return;
        }
        let (done, waiter) = crossbeam_channel::bounded(1);
        // The receiver lives in `self` as well, so the channel is never closed.
        let _ = self.attributes.sender.send((ino, done));
        if waiter.recv_timeout(ATTRIBUTES_PATIENCE).is_err() {
            log::debug!("the kernel has not dropped attributes within {ATTRIBUTES_PATIENCE:?}");
        }
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
