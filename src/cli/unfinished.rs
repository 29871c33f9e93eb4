//! A file that goes with a command which a signal ends before it is whole.

use std::path::PathBuf;

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// What a terminal, a supervisor, a timer or a limit sends; SIGXFSZ becomes an error of whoever writes.
const ENDING: [i32; 6] = [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];

/// Signals that end this process, from now on not before what it has made is taken away.
pub struct Ends(Option<Signals>);

impl Ends {
    pub fn caught() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ending = ENDING.into_iter().filter(|signal| !is_ignored(&status, *signal));
        let signals = Signals::new(ending.collect::<Vec<i32>>());
        Self(signals.inspect_err(|e| log::debug!("signals leave what is not whole: {e}")).ok())
    }

    /// Removes a file at the first of them, which then ends the process as it would have.
    pub fn remove(self, path: PathBuf) {
        let Some(mut signals) = self.0 else { return };
        let wait = move || {
            let Some(signal) = signals.forever().next() else { return };
            // It is gone where it has taken its name already.
            if let Err(e) = std::fs::remove_file(&path) {
                log::debug!("remove {}: {e}", path.display());
            }
            if let Err(e) = emulate_default_handler(signal) {
                log::error!("signal {signal} does not end this process: {e}");
            }
        };
        if let Err(e) = std::thread::Builder::new().name("signals".into()).spawn(wait) {
            log::error!("no thread waits for signals, end this process with SIGKILL: {e}");
        }
    }
}

/// Whether a process, as the kernel describes it, was started with a signal ignored, as by nohup: it stays so.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    (mask >> (signal - 1)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ignored_from_the_beginning_is_known() {
        let status = "Name:\tcellfs\nSigBlk:\t0000000000004000\nSigIgn:\t0000000000000003\n";
        assert_eq!([SIGHUP, SIGINT, SIGTERM].map(|signal| is_ignored(status, signal)), [true, true, false]);
        assert!(!is_ignored("", SIGINT));
    }
}
