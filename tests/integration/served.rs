//! Commands on an unmounted store that one of them has open for longer than a moment.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CELLFS: &str = env!("CARGO_BIN_EXE_cellfs");
/// Rows whose scan is more than a pipe holds.
const ROWS: usize = 3000;

struct Stored(tempfile::TempDir);

impl Stored {
    /// A store with a table `b` of many rows, and an empty one `t`.
    fn new() -> Self {
        let stored = Self(tempfile::tempdir().unwrap());
        stored.done(&["create", "STORE", "--make", "b", "f"]);
        stored.done(&["create", "STORE", "t", "f"]);
        let lines: String = (0..ROWS).map(|n| format!("{{\"row\":\"r{n:06}\",\"f:q\":\"{n:0100}\"}}\n")).collect();
        let file = stored.0.path().join("rows.jsonl");
        fs::write(&file, lines).unwrap();
        stored.done(&["import", "STORE", "b", file.to_str().unwrap()]);
        stored
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(CELLFS);
        for arg in args {
            match *arg {
                "STORE" => command.arg(self.store()),
                arg => command.arg(arg),
            };
        }
        command
    }

    fn done(&self, args: &[&str]) -> String {
        done(&self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// A scan of all rows that nobody reads: it has the store open until somebody does.
    fn waiting_scan(&self) -> Child {
        self.command(&["scan", "STORE", "b"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn sh(&self, script: &str) -> String {
        let mut sh = Command::new("sh");
        sh.args(["-c", script, CELLFS]).arg(self.store()).stdin(Stdio::null());
        done(&sh.output().unwrap())
    }
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What was left to read, and the end.
fn finish(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    text
}

#[test]
fn served_a_scan_goes_into_a_put_and_an_import() {
    let stored = Stored::new();
    let scanned = stored.done(&["scan", "STORE", "b"]);
    assert!(scanned.len() > 256 << 10);
    stored.sh("$0 scan $1 b | $0 put $1 t big f:scan -");
    assert!(stored.done(&["get", "STORE", "t", "big", "--value"]) == scanned, "the value is not what was scanned");
    stored.sh("$0 scan --json $1 b | $0 put --json $1 t -");
    assert_eq!(stored.done(&["count", "STORE", "t"]).trim(), (ROWS + 1).to_string());
    stored.sh("$0 export $1 b | $0 import $1 b -");
    let first = stored.sh("$0 scan $1 b | (sleep 1; $0 get $1 b r000000 --value; cat >/dev/null)");
    assert_eq!(first, "0".repeat(100));
    let both = stored.sh("{ $0 scan $1 b; } 3>&1 | { $0 scan $1 b | wc -l; wc -l; }");
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn served_commands_go_on_by_themselves_when_the_first_has_ended() {
    let stored = Stored::new();
    let scan = stored.waiting_scan();
    let mut puts = stored.command(&["put", "--json", "STORE", "t", "-"]);
    let mut puts = puts.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = puts.stdin.take().unwrap();
    let mut write = |from: usize, to: usize| {
        for n in from..to {
            let line = format!("{{\"row\":\"n{n:05}\",\"family\":\"f\",\"qualifier\":\"q\",\"value\":\"v\"}}\n");
            input.write_all(line.as_bytes()).unwrap();
        }
    };
    write(0, 500);
    let began = Instant::now();
    while stored.done(&["count", "STORE", "t"]).trim() == "0" {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is put while the scan waits");
    }
    assert_eq!(finish(scan).lines().count(), ROWS);
    write(500, 1000);
    drop(input);
    assert!(puts.wait().unwrap().success());
    assert_eq!(stored.done(&["count", "STORE", "t"]).trim(), "1000");
    assert!(!stored.store().join("control.sock").exists(), "nobody listens any more");
}

#[test]
fn served_is_who_asks_to_the_end_of_the_answer() {
    let stored = Stored::new();
    let (first, mut second) = (stored.waiting_scan(), stored.waiting_scan());
    let mut begun = [0; 10_000];
    second.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    // Its output ends although it serves the other.
    assert_eq!(finish_output(first).lines().count(), ROWS);
    let rest = finish(second);
    assert_eq!(begun.iter().filter(|byte| **byte == b'\n').count() + rest.lines().count(), ROWS);
    assert_eq!(stored.done(&["count", "STORE", "b"]).trim(), ROWS.to_string());
}

/// What was left to read, without the end.
fn finish_output(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    std::thread::spawn(move || child.wait());
    text
}

#[test]
fn served_is_everybody_while_a_script_waits_for_its_next_line() {
    let stored = Stored::new();
    let mut shell = stored.command(&["shell", "-q", "STORE"]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut script = shell.stdin.take().unwrap();
    script.write_all(b"put 't', 'one', 'f:q', 'v'\n").unwrap();
    stored.done(&["put", "STORE", "t", "two", "f:q", "v"]);
    let mnt = stored.0.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    stored.done(&["mount", "STORE", mnt.to_str().unwrap()]);
    fs::create_dir_all(mnt.join("default/t/three/f")).unwrap();
    fs::write(mnt.join("default/t/three/f/q"), "v").unwrap();
    script.write_all(b"put 't', 'four', 'f:q', 'v'\ncount 't'\n").unwrap();
    drop(script);
    finish(shell);
    stored.done(&["umount", mnt.to_str().unwrap()]);
    assert_eq!(stored.done(&["count", "STORE", "t"]).trim(), "4");
    assert_eq!(stored.done(&["count", "STORE", "t", "--prefix", "t"]).trim(), "2");
}
