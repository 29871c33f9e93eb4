//! One writer: the store's lock, and who has it.
//!
//! The kernel takes a lock from a process that is killed only after everything else it had, which lasts as long as its
//! memory is large. Who finds the lock of a dying process waits for it; who finds that of a living one is told at once.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::env::{Env, LockGuard, is_stopped, lives};
use crate::{Error, ErrorKind, Result};

/// How long the lock of a process that is no more, or that has not written its number down yet, is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long between two looks.
const INTERVAL: Duration = Duration::from_millis(5);
/// Looks that must find the holder alive: one may fall between its death and what the kernel shows of it.
const LOOKS: u32 = 2;

/// The store's lock, or who has it; holds the directory as long as the lock.
pub fn take(env: &dyn Env, dir: &Path) -> Result<Box<dyn LockGuard>> {
    let path = dir.join("LOCK");
    // Order: before anything of it is looked at.
    env.claim_dir(dir).map_err(|e| Error::io(format!("use the store in {}", dir.display()), &e))?;
    let own = format!("pid {}\n", std::process::id());
    match wait(PATIENCE, || env.lock(&path, &own), || holder(env, &path)) {
        Ok(guard) => Ok(guard),
        Err(Refusal::Held(pid)) => Err(Error::new(
            ErrorKind::Locked,
            format!("{} is in use by process {pid}; {}", dir.display(), advice(&pid)),
        )),
        Err(Refusal::Failed(e)) => Err(Error::io(format!("lock {}", path.display()), &e)),
    }
}

/// What to do about who has it.
fn advice(pid: &str) -> String {
    match is_stopped(pid) {
        true => format!(
            "that is stopped by a signal: let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`"
        ),
        false => "unmount it or stop that process".to_owned(),
    }
}

/// Why there is no lock.
#[derive(Debug)]
enum Refusal {
    /// The number of the process that has it, as far as it is known.
    Held(String),
    Failed(io::Error),
}

/// Who has written its number into the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    Alive(String),
    /// It ends, or it is nobody's number in this namespace of processes.
    Gone(String),
    /// Taken a moment ago, or given up: there is no number.
    Unnamed,
}

/// Tries until the lock is had, a living holder is found, or `patience` is at its end.
fn wait<G>(
    patience: Duration,
    mut lock: impl FnMut() -> io::Result<G>,
    mut holder: impl FnMut() -> Holder,
) -> Result<G, Refusal> {
    let started = Instant::now();
    let mut alive = 0;
    loop {
        match lock() {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            taken => return taken.map_err(Refusal::Failed),
        }
        let found = holder();
        alive = if matches!(found, Holder::Alive(_)) { alive + 1 } else { 0 };
        match found {
            Holder::Alive(pid) if alive >= LOOKS => return Err(Refusal::Held(pid)),
            Holder::Gone(pid) if started.elapsed() >= patience => return Err(Refusal::Held(pid)),
            Holder::Unnamed if started.elapsed() >= patience => return Err(Refusal::Held("unknown".to_owned())),
            _ => std::thread::sleep(INTERVAL),
        }
    }
}

fn holder(env: &dyn Env, path: &Path) -> Holder {
    let text = env.read_file(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    match text.lines().find_map(|line| line.strip_prefix("pid ")) {
        None => Holder::Unnamed,
        Some(pid) if lives(pid) => Holder::Alive(pid.to_owned()),
        Some(pid) => Holder::Gone(pid.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::RealEnv;

    fn blocked<G>() -> io::Result<G> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    #[test]
    fn the_lock_of_a_dying_process_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOCK");
        // Nobody has waited for it: it has ended and is still in the table of processes.
        let mut zombie = std::process::Command::new("true").spawn().unwrap();
        let pid = zombie.id().to_string();
        std::fs::write(&path, format!("pid {pid}\nboot x\n")).unwrap();
        while lives(&pid) {
            std::thread::yield_now();
        }
        assert_eq!(holder(&RealEnv::default(), &path), Holder::Gone(pid.clone()));
        let mut tries = 0;
        let mut lock = || {
            tries += 1;
            if tries < 10 { blocked() } else { Ok("taken") }
        };
        assert_eq!(wait(PATIENCE, &mut lock, || holder(&RealEnv::default(), &path)).unwrap(), "taken");
        let unnamed = wait(Duration::ZERO, blocked::<()>, || Holder::Unnamed);
        assert!(matches!(unnamed, Err(Refusal::Held(pid)) if pid == "unknown"));
        let gone = wait(Duration::ZERO, blocked::<()>, || holder(&RealEnv::default(), &path));
        assert!(matches!(gone, Err(Refusal::Held(named)) if named == pid));
        zombie.wait().unwrap();
        assert_eq!(holder(&RealEnv::default(), &path), Holder::Gone(pid));
    }

    #[test]
    fn a_living_holder_is_named_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let _held = take(&RealEnv::default(), directory.path()).unwrap();
        let me = Holder::Alive(std::process::id().to_string());
        assert_eq!(holder(&RealEnv::default(), &directory.path().join("LOCK")), me);
        let Err(refused) = take(&RealEnv::default(), directory.path()) else { panic!() };
        assert_eq!(refused.kind, ErrorKind::Locked);
        assert!(refused.message.contains(&format!("process {};", std::process::id())), "{}", refused.message);
        let mut tries = 0;
        let lock = || {
            tries += 1;
            blocked::<()>()
        };
        assert!(wait(PATIENCE, lock, || Holder::Alive("1".to_owned())).is_err());
        assert_eq!(tries, LOOKS);
    }
}
