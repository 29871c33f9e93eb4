//! What may wait for room on a full disk, apart from the threads that answer everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fuser::{Errno, FileHandle, ReplyWrite};

use super::answer::Adaptor;
use crate::fs::{Caller, Operation};

/// Requests that wait on threads of their own at most; with more, all others wait as well.
const MOST: usize = 256;

/// A request that may wait; counted while it lives.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// `None`: too many wait.
    fn begin(count: &Arc<AtomicUsize>) -> Option<Self> {
        let waiting = Self(Arc::clone(count));
        (count.fetch_add(1, Ordering::AcqRel) < MOST).then_some(waiting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Adaptor {
    /// Runs `action` at once, or on a thread of its own where it may wait for room.
    pub fn apart(&self, action: impl FnOnce(&Self) + Send + 'static) {
        if self.fs.backend().has_room() {
            return action(self);
        }
        let Some(waiting) = Waiting::begin(&self.waiting) else { return action(self) };
        let apart = self.clone();
        let run = move || {
            action(&apart);
            drop(waiting);
        };
        // A reply that is dropped answers EIO.
        if let Err(e) = std::thread::Builder::new().name("cellfs-waits".to_owned()).spawn(run) {
            log::error!("start a thread for a request that waits for room: {e}");
        }
    }

    /// As [`Adaptor::apart`], for bytes that are copied only if it waits.
    pub fn write_apart(
        &self,
        caller: Caller,
        (handle, offset, append): (FileHandle, u64, bool),
        data: &[u8],
        reply: ReplyWrite,
    ) {
        let write = move |adaptor: &Self, data: &[u8]| {
            adaptor.run(caller, Operation::Write, |fs| fs.write(handle.0, offset, data, append))
        };
        let answer = |written: Result<u32, Errno>, reply: ReplyWrite| match written {
            Ok(taken) => reply.written(taken),
            Err(errno) => reply.error(errno),
        };
        if self.fs.backend().has_room() {
            return answer(write(self, data), reply);
        }
        let data = data.to_vec();
        self.apart(move |adaptor| answer(write(adaptor, &data), reply));
    }
}
