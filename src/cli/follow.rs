//! `.info/access` of a mount, followed: what `profile` and `top` count by it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::mounts::locate::MountEntry;
use crate::{Error, ErrorKind, Result};

/// Paths, or processes, that are counted each for themselves; with more, the others together.
const EACH: usize = 100_000;
const OTHERS: &str = "(others)";
/// How often what has come is read.
const INTERVAL: Duration = Duration::from_millis(200);
/// Latencies, ns, to one part in a hundred.
const LONGEST: u64 = 100_000_000_000;

/// The mount that a path, or a mounted store, is of, and what is left of the path below it. Kind `TimedOut` where its daemon
/// does not answer.
pub fn mount_of(path: &Path) -> Result<(MountEntry, PathBuf)> {
    let path = locate::in_whole_tree(path)?;
    let mounts = locate::mounts()?;
    let inside = mounts.into_iter().filter(|mount| path.starts_with(&mount.mount_point) || path == mount.source);
    let mount = inside.max_by_key(|mount| mount.mount_point.as_os_str().len()).ok_or_else(|| {
        let text = format!("{} is in no mount of cellfs, and is no mounted store", path.display());
        Error::new(ErrorKind::NotFound, text)
    })?;
    // The kernel waits for a daemon that is stopped for ever; who asks its socket is told.
    match sockets::daemon_of(&mount) {
        Err(e) if e.kind == ErrorKind::TimedOut => return Err(e),
        // It may be another user's, or have ended: then the mount itself tells.
        _ => {}
    }
    let below = path.strip_prefix(&mount.mount_point).unwrap_or(Path::new("")).to_owned();
    Ok((mount, below))
}

/// What requests came to.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    pub count: u64,
    pub failed: u64,
    pub nanos: u64,
    latencies: Option<Histogram<u64>>,
}

impl Spent {
    fn add(&mut self, nanos: u64, failed: bool) {
        self.count += 1;
        self.failed += u64::from(failed);
        self.nanos += nanos;
    }

    fn measure(&mut self, nanos: u64) {
        if self.latencies.is_none() {
            self.latencies = Histogram::new_with_bounds(1, LONGEST, 2).ok();
        }
        if let Some(latencies) = self.latencies.as_mut() {
            latencies.saturating_record(nanos);
        }
    }

    /// Latency that so many of them did not exceed, ns.
    pub fn quantile(&self, quantile: f64) -> u64 {
        self.latencies.as_ref().map_or(0, |latencies| latencies.value_at_quantile(quantile))
    }

    /// Mean time of one, ns.
    pub fn mean(&self) -> u64 {
        self.nanos.checked_div(self.count).unwrap_or(0)
    }
}

/// What has come since the last look, or the beginning.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub all: Spent,
    /// Lines that said that requests went by unread.
    pub lost: u64,
    pub requests: HashMap<String, Spent>,
    pub paths: HashMap<String, Spent>,
    pub processes: HashMap<String, Spent>,
}

fn add(to: &mut HashMap<String, Spent>, name: &str, nanos: u64, failed: bool) {
    if let Some(spent) = to.get_mut(name) {
        return spent.add(nanos, failed);
    }
    let name = if to.len() < EACH { name } else { OTHERS };
    to.entry(name.to_owned()).or_default().add(nanos, failed);
}

impl Tally {
    /// A line of `.info/access`: time, uid, pid, request, microseconds, result, path.
    fn add(&mut self, line: &str, below: &str) {
        let mut parts = line.splitn(7, '\t');
        let (Some(start), Some(_uid), Some(pid), Some(request)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            self.lost += u64::from(line.starts_with('#'));
            return;
        };
        let micros = parts.next().and_then(|micros| micros.parse::<f64>().ok());
        let (Some(micros), Some(result), Some(path)) = (micros, parts.next(), parts.next()) else { return };
        debug_assert!(start.ends_with('Z'));
        let inside = path.trim_start_matches('/').strip_prefix(below);
        if !inside.is_some_and(|rest| below.is_empty() || rest.is_empty() || rest.starts_with('/')) {
            return;
        }
        let (nanos, failed) = ((micros * 1e3) as u64, result != "ok");
        self.all.add(nanos, failed);
        self.all.measure(nanos);
        add(&mut self.requests, request, nanos, failed);
        if let Some(spent) = self.requests.get_mut(request) {
            spent.measure(nanos);
        }
        add(&mut self.paths, path, nanos, failed);
        add(&mut self.processes, pid, nanos, failed);
    }
}

/// Those that took the most time together, first.
pub fn most(of: &HashMap<String, Spent>, count: usize) -> Vec<(&String, &Spent)> {
    let mut all: Vec<_> = of.iter().collect();
    all.sort_by(|(one, a), (other, b)| b.nanos.cmp(&a.nanos).then_with(|| one.cmp(other)));
    all.truncate(count);
    all
}

/// What runs under a number, or ran.
pub fn command_of(pid: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.is_empty() { pid.to_owned() } else { format!("{pid} {}", name.trim_end()) }
}

/// An open `.info/access`.
pub struct Follow {
    file: File,
    path: PathBuf,
    below: String,
    rest: Vec<u8>,
    tally: Tally,
    since: Instant,
}

impl Follow {
    /// Of a mount; only what is about a path below it.
    pub fn open(mount: &MountEntry, below: &Path) -> Result<Self> {
        let path = mount.mount_point.join(".info/access");
        let file = File::open(&path).map_err(|e| Error::io(format!("follow {}", path.display()), &e))?;
        let below = below.to_string_lossy().into_owned();
        Ok(Self { file, path, below, rest: Vec::new(), tally: Tally::default(), since: Instant::now() })
    }

    /// Counts what has come.
    fn read(&mut self) -> Result<()> {
        let mut piece = vec![0; 1 << 20];
        loop {
            let read = self.file.read(&mut piece);
            let read = read.map_err(|e| Error::io(format!("read {}", self.path.display()), &e))?;
            if read == 0 {
                return Ok(());
            }
            self.rest.extend_from_slice(&piece[..read]);
            let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines: Vec<u8> = self.rest.drain(..end).collect();
            String::from_utf8_lossy(&lines).lines().for_each(|line| self.tally.add(line, &self.below));
        }
    }

    /// Follows for some time, or until `stop`; what has come, and how long that was.
    pub fn during(&mut self, time: Duration, stop: &AtomicBool) -> Result<(Tally, Duration)> {
        let end = Instant::now() + time;
        loop {
            self.read()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                let lasted = self.since.elapsed();
                self.since = Instant::now();
                return Ok((std::mem::take(&mut self.tally), lasted));
            }
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}

/// Becomes true at the first Ctrl-C; the second ends the process.
pub fn stopped() -> Arc<AtomicBool> {
    let stop: Arc<AtomicBool> = Arc::default();
    let signal = signal_hook::consts::SIGINT;
    let second = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
    if let Err(e) = second.and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop))) {
        log::debug!("Ctrl-C ends this at once: {e}");
    }
    stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_request_path_and_process() {
        let mut tally = Tally::default();
        for (request, micros, result, path) in [
            ("read", "10.0", "ok", "/default/t/r/f/q"),
            ("read", "30.0", "ok", "/default/t/r/f/q"),
            ("create", "5.5", "EPERM", "/default/t/file"),
            ("read", "7.0", "ok", "/default/table/r/f/q"),
        ] {
            tally.add(&format!("2026-11-23T00:00:00.000Z\t0\t7\t{request}\t{micros}\t{result}\t{path}"), "default/t");
        }
        tally.add("# 17 bytes of requests were not read in time", "default/t");
        tally.add("nonsense", "default/t");
        assert_eq!((tally.all.count, tally.all.failed, tally.all.nanos, tally.lost), (3, 1, 45_500, 1));
        let most = most(&tally.paths, 1);
        assert_eq!((most[0].0.as_str(), most[0].1.mean()), ("/default/t/r/f/q", 20_000));
        assert!((9_900..=10_100).contains(&tally.requests["read"].quantile(0.5)));
        assert_eq!(tally.processes["7"].count, 3);
    }
}
