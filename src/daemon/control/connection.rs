//! Connections of a client to whoever has a store open: a daemon, or a command, whose place another takes when it leaves.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::line::Line;
use super::process::{LOCK_INTERVAL, Process, wait_for_lock};
use super::protocol::Hello;
use super::served::Served;
use crate::daemon::mounts::held;
use crate::env::is_ending;
use crate::env::sync::{Mutex, MutexGuard};
use crate::{Error, ErrorKind, Result};

/// How long a store that is locked and does not listen is asked again, and how often.
pub const PATIENCE: Duration = Duration::from_secs(5);
pub const INTERVAL: Duration = Duration::from_millis(100);

/// See the module.
pub struct Connection {
    store: PathBuf,
    line: Mutex<Line>,
    hello: Hello,
    process: Option<Process>,
    /// The store, opened here because the command that had it has left.
    inherited: Mutex<Option<Served>>,
}

impl Connection {
    /// Connects to whoever has the store in the directory open; `None` when nobody listens.
    pub fn open(store: &Path) -> Result<Option<Self>> {
        // What mounts a cluster listens to no commands: they ask the cluster.
        let line = if crate::daemon::mounts::locate::is_cluster(store) { None } else { Line::to(store)? };
        let Some(mut line) = line else { return Ok(None) };
        if let Some((pid, _)) = line.peer().filter(|(pid, _)| is_ending(&pid.to_string())) {
            // Order: while it is held nobody else can have the store, and so no mount of it.
            held::cut_off(pid, store);
            return Ok(None);
        }
        // Order: held before it answers, so that the number is still that of the process which does.
        let process = line.peer().and_then(|(pid, user)| Process::hold(pid, user));
        let hello = line.greet()?;
        Ok(Some(Self { store: store.to_owned(), line: line.into(), hello, process, inherited: Mutex::default() }))
    }

    /// What the other end said of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The process at the other end, if it could be held.
    pub fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// The connection. One that was idle may have given way to another client: then a new one.
    pub fn line(&self) -> Result<MutexGuard<'_, Line>> {
        let mut line = self.line.lock();
        if line.is_closed() {
            *line = self.dial_again()?;
        }
        Ok(line)
    }

    /// A connection for one answer that comes in pieces: if who asked has enough, nothing is left over on the other.
    pub fn another_line(&self) -> Result<Line> {
        if !self.hello.is_mount() {
            return self.successor();
        }
        Line::to(&self.store)?.ok_or_else(|| Error::new(ErrorKind::Disconnected, "the daemon is gone"))
    }

    /// Says something; once more to who has the store now, where a command has left without having heard it.
    pub fn say(&self, line: &mut Line, say: impl Fn(&mut Line) -> Result<()>) -> Result<()> {
        match say(line) {
            // Order: who leaves answers what it has heard to its end, and hears nothing after that.
            Err(e) if e.kind == ErrorKind::Disconnected && !self.hello.is_mount() => {
                *line = self.successor()?;
                say(line)
            }
            said => said,
        }
    }

    /// Another connection to the same daemon.
    fn dial_again(&self) -> Result<Line> {
        let mut line = self.another_line()?;
        if self.hello.is_mount() && line.greet()?.pid != self.hello.pid {
            return Err(Error::new(ErrorKind::Disconnected, "the daemon has been started anew; run the command again"));
        }
        Ok(line)
    }

    /// A connection to who has the store open now; nobody else: this process.
    fn successor(&self) -> Result<Line> {
        let started = Instant::now();
        loop {
            let greeted = Line::to(&self.store).and_then(|line| {
                let greeted = line.map(|mut line| line.greet().map(|_| line));
                greeted.transpose()
            });
            let refused = match greeted {
                Ok(Some(line)) => return Ok(line),
                Ok(None) => match Served::at_once(&self.store) {
                    Ok(served) => {
                        *self.inherited.lock() = Some(served);
                        continue;
                    }
                    Err(e) => e,
                },
                Err(e) => e,
            };
            let passes = matches!(refused.kind, ErrorKind::Disconnected | ErrorKind::Locked);
            if !passes || started.elapsed() >= PATIENCE {
                return Err(refused);
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Returns when the daemon has ended, or after `timeout`; true when it has.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        loop {
            // Order: nothing is asked, so the only thing that can arrive is the end of the stream.
            let left = until.saturating_duration_since(Instant::now()).max(LOCK_INTERVAL);
            if !self.line.lock().ends_within(left) {
                return false;
            }
            // It may only have given way to another client.
            match self.dial_again() {
                Ok(line) => *self.line.lock() = line,
                Err(_) => break,
            }
        }
        wait_for_lock(&self.store);
        true
    }
}
