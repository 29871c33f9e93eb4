//! What may wait for room on a full disk, apart from the threads that answer everything else.

use std::sync::Arc;

use crate::env::sync::{Condvar, Mutex};
use fuser::{Errno, FileHandle, ReplyEmpty, ReplyWrite};

use super::answer::{Adaptor, answer_empty};
use crate::Result;
use crate::fs::{Caller, Fs, Operation};

/// Requests that wait on threads of their own at most; with more, all others wait as well.
const MOST: usize = 256;

/// How many requests are on threads of their own.
#[derive(Default)]
pub struct Waiting {
    count: Mutex<usize>,
    none: Condvar,
}

impl Waiting {
    /// `None`: there are too many.
    fn begin(self: &Arc<Self>) -> Option<Place> {
        let mut count = self.count.lock();
        if *count >= MOST {
            return None;
        }
        *count += 1;
        Some(Place(Arc::clone(self)))
    }

    /// Returns when all were answered.
    pub fn end(&self) {
        let mut count = self.count.lock();
        while *count > 0 {
            self.none.wait(&mut count);
        }
    }
}

/// Counted while it lives.
struct Place(Arc<Waiting>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.none.notify_all();
    }
}

impl Adaptor {
    /// Runs `action` at once, or on a thread of its own where it may wait for room.
    pub fn apart(&self, action: impl FnOnce(&Self) + Send + 'static) {
        if self.fs.backend().has_room() {
            return action(self);
        }
        let Some(place) = self.waiting.begin() else { return action(self) };
        let apart = self.clone();
        let run = move || {
            action(&apart);
            drop(place);
        };
        // A reply that is dropped answers EIO.
        if let Err(e) = std::thread::Builder::new().name("cellfs-waits".to_owned()).spawn(run) {
            log::error!("start a thread for a request that waits for room: {e}");
        }
    }

    /// As [`Adaptor::apart`], for what is answered with nothing but its success.
    pub fn empty_apart(
        &self,
        caller: Caller,
        what: Operation,
        reply: ReplyEmpty,
        operation: impl FnOnce(&Fs) -> Result<()> + Send + 'static,
    ) {
        self.apart(move |adaptor| answer_empty(reply, adaptor.run(caller, what, operation)));
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
