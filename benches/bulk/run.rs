//! A program that is run: how long it took, and its most memory.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What a run took.
pub struct Run {
    pub seconds: f64,
    /// Bytes of its resident set at the most; looked at each [`LOOK`].
    pub peak: u64,
}

const LOOK: Duration = Duration::from_millis(5);

fn peak_of(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Run {
    let began = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_of(&child).unwrap_or_default());
        match child.try_wait().expect("its status") {
            Some(status) => break status,
            None => std::thread::sleep(LOOK),
        }
    };
    assert!(status.success(), "{command:?}: {status}");
    Run { seconds: began.elapsed().as_secs_f64(), peak }
}

/// Seconds of what is done.
pub fn timed<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let done = what();
    (done, began.elapsed().as_secs_f64())
}
