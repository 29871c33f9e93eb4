//! Who is connected to the control socket: a bounded number, of whom one that is waited for gives way to a new one. Waited
//! for is who asks nothing, who has not said the whole of its request, and who does not take its answer.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::sync::{Condvar, Mutex};

/// Most connections at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection must have been waited for before it gives way.
const IDLE: Duration = Duration::from_secs(1);
/// A client that says so many bytes of a request is waited for anew.
const PROGRESS: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub struct Crowd {
    next: u64,
    members: BTreeMap<u64, Member>,
}

struct Member {
    stream: UnixStream,
    /// Since when it is waited for; `None` while a request is under way.
    idle_since: Option<Instant>,
}

/// A count of what is under way, and has to end before who serves it does.
#[derive(Default)]
pub struct Underway {
    count: Mutex<usize>,
    none: Condvar,
}

impl Underway {
    /// One more, until the answer is dropped.
    pub fn begin(self: &Arc<Self>) -> Begun {
        *self.count.lock() += 1;
        Begun(Arc::clone(self))
    }

    /// Returns when there are none.
    pub fn finish(&self) {
        let mut count = self.count.lock();
        while *count > 0 {
            self.none.wait(&mut count);
        }
    }
}

/// Counted while it lives.
pub struct Begun(Arc<Underway>);

impl Drop for Begun {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.none.notify_all();
    }
}

/// What becomes of a new connection.
pub enum Entry {
    In(Place),
    /// All places are taken, but someone is about to have been idle for long enough.
    Wait,
    /// All are at work.
    Full,
}

/// A connection's place; free again when it is dropped.
pub struct Place {
    crowd: Arc<Mutex<Crowd>>,
    number: u64,
}

impl Crowd {
    /// A place for a new connection, if there is one.
    pub fn enter(crowd: &Arc<Mutex<Self>>, stream: &UnixStream) -> std::io::Result<Entry> {
        let stream = stream.try_clone()?;
        let mut inner = crowd.lock();
        if inner.members.len() >= CONNECTIONS_MAX {
            match inner.idle_longest() {
                Some((since, number)) if since.elapsed() >= IDLE => inner.send_away(number),
                Some(_) => return Ok(Entry::Wait),
                None => return Ok(Entry::Full),
            }
        }
        let number = inner.next;
        inner.next += 1;
        inner.members.insert(number, Member { stream, idle_since: Some(Instant::now()) });
        Ok(Entry::In(Place { crowd: Arc::clone(crowd), number }))
    }

    fn idle_longest(&self) -> Option<(Instant, u64)> {
        self.members.iter().filter_map(|(number, member)| Some((member.idle_since?, *number))).min()
    }

    /// Hears nothing more: what a client has said is answered, what it says from now on reaches nobody.
    pub fn hang_up(&self) {
        for member in self.members.values() {
            // It has gone by itself otherwise.
            let _ = member.stream.shutdown(Shutdown::Read);
        }
    }

    /// Hangs up on a connection.
    fn send_away(&mut self, number: u64) {
        if let Some(member) = self.members.remove(&number) {
            // It has gone by itself otherwise.
            let _ = member.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Place {
    /// A request is under way from now on; false if the connection was sent away before.
    pub fn begin(&self) -> bool {
        self.set(|_| None)
    }

    /// The request was answered.
    pub fn rest(&self) -> bool {
        self.set(|_| Some(Instant::now()))
    }

    /// From now on the client is waited for, if it was not before.
    fn wait(&self) {
        self.set(|since| since.or_else(|| Some(Instant::now())));
    }

    fn set(&self, idle_since: impl FnOnce(Option<Instant>) -> Option<Instant>) -> bool {
        let mut crowd = self.crowd.lock();
        let member = crowd.members.get_mut(&self.number);
        member.map(|member| member.idle_since = idle_since(member.idle_since)).is_some()
    }
}

/// The stream of a connection, on whose client it is noted when it is waited for.
pub struct Watched<'p> {
    pub stream: UnixStream,
    pub place: &'p Place,
    /// Bytes that were read since it was last waited for anew.
    pub heard: usize,
}

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.place.wait();
        let count = self.stream.read(buf)?;
        self.heard += count;
        if self.heard >= PROGRESS {
            self.heard = 0;
            self.place.rest();
        }
        Ok(count)
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.place.wait();
        let count = self.stream.write(data);
        self.place.begin();
        count
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.lock().members.remove(&self.number);
    }
}
