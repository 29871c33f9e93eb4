//! What the kernel says of other processes: whether one is there to stay, and whose a thread is.

use std::path::Path;

/// A process that has begun to end, in the flags of /proc/PID/stat.
const PF_EXITING: u64 = 4;

/// Whether a process is there to stay: not gone, no zombie, not ending, no SIGKILL on its way to it.
pub fn lives(pid: &str) -> bool {
    let killed = read(pid, "status").lines().any(|line| {
        let pending = line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:"));
        pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 << 8 != 0)
    });
    !killed && stat_of_the_living(&read(pid, "stat"))
}

/// Whether a process is there and is not to stay.
pub fn is_ending(pid: &str) -> bool {
    !read(pid, "stat").is_empty() && !lives(pid)
}

/// Whether a process is held by a signal, as by SIGSTOP or a terminal's ^Z: it does nothing before it is continued.
pub fn is_stopped(pid: &str) -> bool {
    let stat = read(pid, "stat");
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

/// The process of a thread; its own number where that is not known.
pub fn process_of(thread: u32) -> u32 {
    let status = read(&thread.to_string(), "status");
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|process| process.trim().parse().ok()).unwrap_or(thread)
}

fn read(pid: &str, name: &str) -> String {
    std::fs::read_to_string(Path::new("/proc").join(pid).join(name)).unwrap_or_default()
}

/// `PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS ...` (proc_pid_stat(5)); the name may have anything in it.
fn stat_of_the_living(stat: &str) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_ascii_whitespace();
    let ended = fields.next().is_none_or(|state| matches!(state, "Z" | "X" | "x"));
    let flags: u64 = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    !ended && flags & PF_EXITING == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_is_told_from_one_that_is_gone() {
        let own = std::process::id().to_string();
        assert!(lives(&own) && !is_ending(&own));
        // Nobody has waited for it.
        let mut zombie = std::process::Command::new("true").spawn().unwrap();
        let pid = zombie.id().to_string();
        while lives(&pid) {
            std::thread::yield_now();
        }
        assert!(is_ending(&pid));
        zombie.wait().unwrap();
        assert!(!is_ending("0"));
    }

    #[test]
    fn threads_of_one_process_are_told() {
        let own = std::process::id();
        let of_this = || process_of(nix::unistd::gettid().as_raw().cast_unsigned());
        assert_eq!((of_this(), std::thread::spawn(of_this).join().unwrap(), process_of(own)), (own, own, own));
        let parent = nix::unistd::getppid().as_raw().cast_unsigned();
        assert_eq!((process_of(parent), process_of(u32::MAX)), (parent, u32::MAX));
    }

    #[test]
    fn a_process_that_is_stopped_is_told() {
        let mut asleep = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = asleep.id().to_string();
        let signal =
            |name| nix::sys::signal::kill(nix::unistd::Pid::from_raw(asleep.id().cast_signed()), name).unwrap();
        assert!(!is_stopped(&pid));
        signal(nix::sys::signal::Signal::SIGSTOP);
        while !is_stopped(&pid) {
            std::thread::yield_now();
        }
        signal(nix::sys::signal::Signal::SIGCONT);
        while is_stopped(&pid) {
            std::thread::yield_now();
        }
        asleep.kill().unwrap();
        asleep.wait().unwrap();
    }

    #[test]
    fn reads_what_the_kernel_says_of_a_process() {
        let stat = |state: &str, flags: u64| format!("7 (a) b) {state} 1 7 7 0 -1 {flags} 0 0");
        assert!(stat_of_the_living(&stat("S", 0x0040_0040)));
        assert!(stat_of_the_living(&stat("D", 0)));
        assert!(!stat_of_the_living(&stat("R", 0x0040_0044)), "it is ending");
        assert!(!stat_of_the_living(&stat("Z", 0)));
        assert!(!stat_of_the_living(""));
    }
}
