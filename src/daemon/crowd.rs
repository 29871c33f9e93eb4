//! Who is connected to the control socket: a bounded number, of whom one that asks nothing gives way to a new one.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

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

/// A connection's place; free again when it is dropped.
pub struct Place {
    crowd: Arc<Mutex<Crowd>>,
    number: u64,
}

impl Crowd {
    /// A place for a new connection; `None` while all are taken and at work.
    pub fn enter(crowd: &Arc<Mutex<Self>>, stream: &UnixStream) -> std::io::Result<Option<Place>> {
        let stream = stream.try_clone()?;
        let mut inner = crowd.lock();
        if inner.members.len() >= CONNECTIONS_MAX && !inner.send_one_away() {
            return Ok(None);
        }
        let number = inner.next;
        inner.next += 1;
        inner.members.insert(number, Member { stream, idle_since: Some(Instant::now()) });
        Ok(Some(Place { crowd: Arc::clone(crowd), number }))
    }

    /// Hangs up on the one that has been idle longest.
    fn send_one_away(&mut self) -> bool {
        let idle = self.members.iter().filter_map(|(number, member)| Some((member.idle_since?, *number)));
        match idle.min() {
            Some((since, number)) if since.elapsed() >= IDLE => {
                if let Some(member) = self.members.remove(&number) {
                    // It has gone by itself otherwise.
                    let _ = member.stream.shutdown(Shutdown::Both);
                }
                true
            }
            _ => false,
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
