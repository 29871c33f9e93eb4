//! Processors that wait awake while requests are close: the daemon has a thread meanwhile, and the kernel its word.

use std::fs::{self, File};
use std::io::Read;
use std::time::{Duration, Instant};

use super::fixture::Fixture;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Whether the daemon keeps processors awake.
fn keeps_awake(fixture: &Fixture) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", fixture.daemon_pid())).unwrap().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok())
        .any(|name| name == "cellfs-idling\n")
}

/// What is the longest that a processor may take to wake, us.
fn may_take() -> i32 {
    let mut micros = [0; 4];
    File::open(DEVICE).unwrap().read_exact(&mut micros).unwrap();
    i32::from_ne_bytes(micros)
}

/// Requests that are close to each other.
fn ask(fixture: &Fixture) {
    (0..100).for_each(|_| drop(fs::read_to_string(fixture.path("t/r/f/q")).unwrap()));
}

/// Tries for some seconds, with requests close to each other if wanted.
fn soon(fixture: &Fixture, requests: bool, is_so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if requests {
            ask(fixture);
        } else {
            std::thread::sleep(Duration::from_millis(10));
        }
        if is_so() {
            return true;
        }
    }
    false
}

#[test]
fn mount_keeps_idle_processors_awake_while_requests_are_close() {
    if File::options().write(true).open(DEVICE).is_err() {
        return println!("skipped: {DEVICE} cannot be opened");
    }
    let mut fixture = Fixture::with_options("idle=poll");
    fs::create_dir_all(fixture.path("t/r/f")).unwrap();
    fs::write(fixture.path("t/r/f/q"), "value").unwrap();
    assert!(soon(&fixture, true, || keeps_awake(&fixture) && may_take() == 0), "while they are close");
    assert!(soon(&fixture, false, || !keeps_awake(&fixture)), "once they are rare");

    fixture.unmount();
    fixture.mount("idle=halt");
    for _ in 0..20 {
        ask(&fixture);
        assert!(!keeps_awake(&fixture), "never");
    }
}
