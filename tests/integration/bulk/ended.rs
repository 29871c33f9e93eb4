//! An export that a signal ends leaves nothing beside its file, which stays as it was.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Stored;

fn has_unfinished(stored: &Stored) -> bool {
    let mut names = fs::read_dir(stored.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().starts_with(".cellfs-export-"))
}

#[test]
fn bulk_an_export_that_a_signal_ends_leaves_what_was_there() {
    let stored = Stored::new();
    let (mut text, value) = ("HBASE_ROW_KEY\tf:a\n".to_owned(), "v".repeat(300));
    for row in 0..50_000 {
        writeln!(text, "r{row:06}\t{value}").unwrap();
    }
    stored.write("in.tsv", text);
    stored.done(&["import", "STORE", "t", "in.tsv"]);
    for signal in [Signal::SIGTERM, Signal::SIGXCPU] {
        // One may be done before the signal comes.
        assert!((0..50).any(|_| is_ended_by(&stored, signal)), "{signal}");
    }
    stored.done(&["export", "STORE", "t", "-o", "out.tsv"]);
    assert_eq!(super::lines_of(&stored.path("out.tsv")).len(), 50_001);
}

/// Whether an export was ended by a signal that it is sent, and not done before.
fn is_ended_by(stored: &Stored, signal: Signal) -> bool {
    let out = stored.write("out.tsv", "before");
    let mut command = stored.command(&["export", "STORE", "t", "-o", "out.tsv"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut runs = || child.try_wait().unwrap().is_none();
    while runs() && !has_unfinished(stored) {
        std::thread::sleep(Duration::from_millis(1));
    }
    if runs() {
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    }
    let status = child.wait().unwrap();
    assert!(!has_unfinished(stored), "{status}");
    status.signal() == Some(signal as i32) && fs::read_to_string(out).unwrap() == "before"
}
