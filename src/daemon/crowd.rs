//! Who is connected to the control socket: a bounded number, of whom one that asks nothing gives way to a new one.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::sync::Mutex;

/// Most connections at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection must have asked nothing before it gives way.
const IDLE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub struct Crowd {
    next: u64,
    members: BTreeMap<u64, Member>,
}

struct Member {
    stream: UnixStream,
    /// `None` while a request is under way.
    idle_since: Option<Instant>,
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
        self.set(None)
    }

    /// The request was answered.
    pub fn rest(&self) -> bool {
        self.set(Some(Instant::now()))
    }

    fn set(&self, idle_since: Option<Instant>) -> bool {
        let mut crowd = self.crowd.lock();
        crowd.members.get_mut(&self.number).map(|member| member.idle_since = idle_since).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.lock().members.remove(&self.number);
    }
}
