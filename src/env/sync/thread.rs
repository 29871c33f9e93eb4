//! Threads: of the system, or of the schedule that the starting thread belongs to.

use std::io;
use std::thread::JoinHandle;

use super::schedule;

/// A thread that was started.
pub struct Handle<T> {
    thread: JoinHandle<T>,
    scheduled: Option<schedule::ThreadId>,
}

/// Starts a thread.
pub fn spawn<T: Send + 'static>(name: &str, body: impl FnOnce() -> T + Send + 'static) -> io::Result<Handle<T>> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    match schedule::enrol(name) {
        Some(place) => {
            let scheduled = Some(place.id());
            Ok(Handle { thread: builder.spawn(move || place.run(body))?, scheduled })
        }
        None => Ok(Handle { thread: builder.spawn(body)?, scheduled: None }),
    }
}

impl<T> Handle<T> {
    /// Waits until the thread has ended; an error is its panic.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(id) = self.scheduled {
            schedule::await_end(id);
        }
        self.thread.join()
    }
}
