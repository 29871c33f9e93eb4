//! A daemon that is there and does not answer, clients that say nothing, and more of them than are let in.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::fixture::{CELLFS, Fixture};

/// A bound on liveness: whoever takes longer waits for ever.
const FOREVER: Duration = Duration::from_secs(90);

fn spawn(args: &[&str]) -> Child {
    Command::new(CELLFS).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a command has said, which is killed if it does not end.
fn finished(mut child: Child) -> Output {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > FOREVER {
            child.kill().unwrap();
            panic!("{child:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A stopped daemon; goes on when dropped, so that the fixture can end it.
struct Stopped(nix::unistd::Pid);

impl Stopped {
    fn new(fixture: &Fixture) -> Self {
        let pid = nix::unistd::Pid::from_raw(fixture.daemon_pid().cast_signed());
        nix::sys::signal::kill(pid, Signal::SIGSTOP).unwrap();
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !stat().rsplit_once(')').unwrap().1.trim_start().starts_with('T') {
            std::thread::yield_now();
        }
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been ended meanwhile.
        let _ = nix::sys::signal::kill(self.0, Signal::SIGCONT);
    }
}

fn is_mounted(fixture: &Fixture) -> bool {
    fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&format!(" {} ", fixture.mnt().display()))
}

#[test]
fn mount_a_stopped_daemon_is_named_by_whoever_asks_and_can_be_unmounted() {
    let mut fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let (store, mnt) = (fixture.store(), fixture.mnt());
    let (store, mnt, other) = (store.to_str().unwrap(), mnt.to_str().unwrap(), other.path().to_str().unwrap());
    let stopped = Stopped::new(&fixture);
    let commands: [&[&str]; 9] = [
        &["status", store],
        &["status", mnt],
        &["put", store, "t", "r", "f:q", "w"],
        &["scan", mnt, "t"],
        &["why", mnt],
        &["profile", store, "--seconds", "0.1"],
        &["--json", "top", mnt],
        &["mount", store, mnt],
        &["mount", "-o", "remount,ro", store, mnt],
    ];
    let asked: Vec<Child> = commands.iter().map(|args| spawn(args)).collect();
    let second = spawn(&["mount", store, other]);
    for (child, args) in asked.into_iter().zip(commands) {
        let output = finished(child);
        let text = words(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains("is stopped") && text.contains(&format!("kill -CONT {}", stopped.0)), "{args:?}: {text}");
    }
    let refused = words(&finished(second));
    assert!(refused.contains(&format!("in use by process {}", stopped.0)), "{refused}");
    let output = finished(spawn(&["umount", mnt]));
    assert!(words(&output).contains("unmounted, but: the daemon"), "{}", words(&output));
    assert!(!is_mounted(&fixture));
    drop(stopped);
    fixture.wait();
    fixture.mount("");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_silent_clients_hold_nothing_up_and_are_let_go() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let dial = || UnixStream::connect(store.join("control.sock")).unwrap();
    let status = || finished(spawn(&["status", store.to_str().unwrap()]));
    let mut silent: Vec<UnixStream> = (0..60).map(|_| dial()).collect();
    // One has begun a message.
    silent[0].write_all(&[9, 0]).unwrap();
    assert!(status().status.success());
    // Who has asked nothing gives way, and so does who has begun to ask.
    for _ in 0..4 {
        silent.extend((0..64).map(|_| {
            let mut stream = dial();
            // It may have been sent away already.
            let _ = stream.write_all(&[9, 0]);
            stream
        }));
        let let_in = status();
        assert!(let_in.status.success(), "{}", words(&let_in));
    }
    for stream in &mut silent {
        stream.set_read_timeout(Some(FOREVER)).unwrap();
        let mut said = Vec::new();
        // The end of the stream, whether or not a refusal came before it.
        match stream.read_to_end(&mut said) {
            Ok(_) => {}
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::ECONNRESET), "{e}"),
        }
    }
    assert!(status().status.success());
}

/// A tree or a part of one bound elsewhere, unbound when dropped.
struct Bound(PathBuf);

impl Bound {
    fn new(bound: &Path, at: PathBuf) -> Self {
        let none: Option<&str> = None;
        if bound.is_dir() { fs::create_dir(&at) } else { fs::write(&at, "") }.unwrap();
        nix::mount::mount(Some(bound), &at, none, nix::mount::MsFlags::MS_BIND, none).unwrap();
        Self(at)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH);
    }
}

#[test]
fn mount_the_daemon_outlives_the_unmount_of_a_mount_that_is_not_its_own() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root binds mounts");
        return;
    }
    let fixture = Fixture::new();
    let Bound(copy) = &Bound::new(&fixture.mnt(), fixture.directory.path().join("copy"));
    let output = finished(spawn(&["umount", copy.to_str().unwrap()]));
    assert!(output.status.success(), "{}", words(&output));
    assert!(fixture.path("t").is_dir() && !copy.join("default").exists());
    let pid = fixture.daemon_pid().to_string();
    let status = finished(spawn(&["status", fixture.store().to_str().unwrap()]));
    assert!(String::from_utf8_lossy(&status.stdout).contains(&format!("by pid {pid}")));
}

/// And of nothing else whose names are the same from the root of the tree on.
#[test]
fn mount_a_path_where_a_part_of_the_tree_is_bound_is_of_that_part() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root binds mounts");
        return;
    }
    let fixture = Fixture::new();
    let rows = ["default/a/x", "a/x/r"].map(|row| fixture.mnt().join(row).join("f"));
    for family in &rows {
        fs::create_dir_all(family).unwrap();
        fs::write(family.join("q"), family.to_str().unwrap()).unwrap();
        fs::write(family.join("gone"), "").unwrap();
        fs::remove_file(family.join("gone")).unwrap();
    }
    let said = |args: &[&str]| {
        let output = finished(spawn(args));
        assert!(output.status.success(), "{args:?}: {}", words(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let bound = Bound::new(&fixture.mnt().join("default"), fixture.directory.path().join("bound"));
    let path = |below: &str| bound.0.join(below).to_str().unwrap().to_owned();
    assert_eq!(said(&["get", "--value", &path("a/x/f/q")]), rows[0].to_str().unwrap());
    said(&["mv", &path("a/x"), &path("a/y")]);
    assert!(bound.0.join("a/y/f/q").exists() && rows[1].join("q").exists());
    said(&["purge", &path("a/y")]);
    assert!(said(&["undelete", "--list", rows[1].to_str().unwrap()]).contains("gone"));
    let file = Bound::new(&bound.0.join("a/y/f/q"), fixture.directory.path().join("file"));
    assert_eq!(said(&["get", "--value", file.0.to_str().unwrap()]), rows[0].to_str().unwrap());
    // Nothing is taken for what was removed.
    fs::remove_dir_all(bound.0.join("a/y")).unwrap();
    let output = finished(spawn(&["log", file.0.to_str().unwrap()]));
    assert!(!output.status.success() && words(&output).contains("bound"), "{}", words(&output));
}
