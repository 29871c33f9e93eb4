//! A disk whose syncs take long: whoever asks for one waits, and nobody else.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::mount::fixture::{CELLFS, Fixture, errno, names};

/// Holds every sync of a process for so long; ends with the value.
struct Slow(Child);

impl Slow {
    fn syncs(pid: u32, delay: Duration) -> Option<Self> {
        let inject = format!("inject=fdatasync,fsync:delay_enter={}", delay.as_micros());
        let (pid, log) = (pid.to_string(), "/dev/null");
        let args = ["-f", "-qq", "-o", log, "-p", &pid, "-e", "trace=fdatasync,fsync", "-e", &inject];
        let strace = Command::new("strace").args(args).stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let slow = Self(strace);
        let started = Instant::now();
        // Twice: a thread that was just taken has yet to stop for it.
        let mut looks = 0;
        while looks < 2 {
            assert!(started.elapsed() < Duration::from_secs(30), "strace does not begin");
            std::thread::sleep(Duration::from_millis(50));
            looks = if is_traced(&pid) { looks + 1 } else { 0 };
        }
        Some(slow)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        // SIGTERM lets the process go on; a SIGKILL would leave it stopped.
        let pid = nix::unistd::Pid::from_raw(self.0.id().cast_signed());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        // Of a process that is ended it may wait for the first thread for ever, and that one for the others.
        let asked = Instant::now();
        while self.0.try_wait().is_ok_and(|status| status.is_none()) {
            if asked.elapsed() > Duration::from_secs(10) {
                let _ = self.0.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a tracer has all threads of a process, which it takes one by one, and lets them run.
fn is_traced(pid: &str) -> bool {
    let mut tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.all(|task| {
        let status = fs::read_to_string(task.unwrap().path().join("status"));
        status.is_ok_and(|status| !status.contains("TracerPid:\t0\n") && !status.contains("State:\tt"))
    })
}

/// Threads of a process that a tracer holds.
fn held(pid: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let state = |task: &Path| fs::read_to_string(task.join("stat")).unwrap_or_default();
    tasks.filter(|task| state(&task.as_ref().unwrap().path()).contains(") t ")).count()
}

#[test]
fn slow_syncs_hold_up_nobody_but_those_who_wait_for_them() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("old"), "v").unwrap();
    let syncing: Vec<File> = (0..4).map(|n| File::create(family.join(format!("synced{n}"))).unwrap()).collect();
    let Some(slow) = Slow::syncs(fixture.daemon_pid(), Duration::from_secs(100)) else {
        println!("skipped: strace is not installed");
        return;
    };
    let ended = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for mut file in syncing {
            let ended = &ended;
            scope.spawn(move || {
                file.write_all(b"synced").unwrap();
                let done = file.sync_all();
                ended.fetch_add(1, Ordering::AcqRel);
                done.unwrap();
            });
        }
        while held(fixture.daemon_pid()) == 0 {
            std::thread::yield_now();
        }
        for n in 0..100 {
            assert_eq!(errno(fs::metadata(family.join(format!("absent{n}")))), libc::ENOENT);
            let new = family.join(format!("new{n}"));
            fs::write(&new, "v").unwrap();
            assert_eq!(fs::read(&new).unwrap(), b"v");
            fs::rename(&new, family.join("renamed")).unwrap();
            assert_eq!(fs::read(family.join("old")).unwrap(), b"v");
            assert_eq!(names(&family).len(), 6);
            fs::remove_file(family.join("renamed")).unwrap();
        }
        assert_eq!(ended.load(Ordering::Acquire), 0, "the others have waited for a sync");
        drop(slow);
    });
    assert_eq!(ended.load(Ordering::Acquire), 4);
}

/// Whether the kernel holds the thread that tells it of changes.
fn waits_to_tell(pid: u32) -> bool {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().any(|task| {
        let task = task.unwrap().path();
        fs::read_to_string(task.join("stat")).is_ok_and(|stat| stat.contains("(notifier) D "))
    })
}

/// Ends a mount's connection when a test fails, so that nobody waits for it for ever.
struct Forced(u64);

impl Forced {
    fn of(fixture: &Fixture) -> Self {
        Self(nix::sys::stat::minor(fs::metadata(fixture.mnt()).unwrap().dev()))
    }
}

impl Drop for Forced {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        // The mount may be gone.
        let connections = tempfile::tempdir().unwrap();
        let _ = Command::new("mount").args(["-t", "fusectl", "fusectl"]).arg(connections.path()).status();
        let _ = fs::write(connections.path().join(format!("{}/abort", self.0)), "1");
        let _ = Command::new("umount").arg(connections.path()).status();
    }
}

/// Waits for a process that was killed; not for ever.
fn wait_for(mut dying: Child) {
    let killed = Instant::now();
    while dying.try_wait().unwrap().is_none() {
        assert!(killed.elapsed() < Duration::from_secs(30), "the kernel holds the daemon");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills the process that stands beside a daemon.
fn kill_guard_of(pid: u32) {
    let guard = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let guard = nix::unistd::Pid::from_raw(guard.trim().parse().unwrap());
    nix::sys::signal::kill(guard, nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// Has the thread that tells the kernel of changes wait for a directory, whose holder waits for an answer of the daemon:
/// then the kernel ends neither by itself. Whoever was at work; they end with an error.
fn have_it_wait(fixture: &Fixture) -> Vec<std::thread::JoinHandle<()>> {
    let (pid, store) = (fixture.daemon_pid(), fixture.store());
    let makes = |n: usize| {
        let directory = fixture.path("");
        move || {
            let all_made = (0..).all(|at| fs::create_dir(directory.join(format!("made{n}-{at}"))).is_ok());
            assert!(!all_made, "who makes directories is told of the end");
        }
    };
    let mut working: Vec<_> = (0..4).map(|n| std::thread::spawn(makes(n))).collect();
    working.push(std::thread::spawn(move || {
        let create = |at: usize| Command::new(CELLFS).arg("create").arg(&store).arg(format!("a{at}")).arg("f").output();
        (0..200).find(|at| !create(*at).is_ok_and(|output| output.status.success()));
    }));
    let started = Instant::now();
    while !waits_to_tell(pid) {
        assert!(started.elapsed() < Duration::from_secs(100), "the kernel takes what it is told at once");
        std::thread::yield_now();
    }
    working
}

/// A mount whose daemon waits so. What is dropped first stands first.
struct Waiting {
    working: Vec<std::thread::JoinHandle<()>>,
    _slow: Slow,
    _forced: Forced,
    fixture: Fixture,
}

impl Waiting {
    /// `None`: it cannot be had here.
    fn new() -> Option<Self> {
        let fixture = Fixture::new();
        fs::write(fixture.family("r").join("q"), "v").unwrap();
        let forced = Forced::of(&fixture);
        let Some(slow) = Slow::syncs(fixture.daemon_pid(), Duration::from_millis(300)) else {
            println!("skipped: strace is not installed");
            return None;
        };
        Some(Self { working: have_it_wait(&fixture), _slow: slow, _forced: forced, fixture })
    }

    /// Takes the mount away of a daemon that was just killed.
    fn take_away(&self) {
        nix::mount::umount2(&self.fixture.mnt(), nix::mount::MntFlags::MNT_DETACH).unwrap();
    }

    fn all_are_let_go(&mut self) {
        self.working.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_daemon_that_is_killed_while_it_tells_the_kernel_of_a_change_lets_all_go() {
    let Some(mut waiting) = Waiting::new() else { return };
    let mut dying = waiting.fixture.kill_unwaited();
    // The guard of the mount sees to it, and leaves a mount that says that it is dead.
    dying.wait().unwrap();
    waiting.all_are_let_go();
    assert_eq!(errno(fs::read_dir(waiting.fixture.path("t"))), libc::ENOTCONN);
    waiting.fixture.mount("");
    waiting.fixture.unmount();
}

#[test]
fn a_daemon_that_is_killed_lets_all_go_whose_mount_is_taken_away() {
    let Some(mut waiting) = Waiting::new() else { return };
    let dying = waiting.fixture.kill_unwaited();
    // Before the guard knows that it does not end.
    waiting.take_away();
    wait_for(dying);
    waiting.all_are_let_go();
    waiting.fixture.mount("");
    waiting.fixture.unmount();
}

#[test]
fn a_daemon_that_was_killed_with_its_guard_lets_the_store_go_without_its_mount() {
    for again in ["mount", "umount"] {
        let Some(mut waiting) = Waiting::new() else { return };
        kill_guard_of(waiting.fixture.daemon_pid());
        let dying = waiting.fixture.kill_unwaited();
        waiting.take_away();
        if again == "umount" {
            let output = waiting.fixture.cellfs(&["umount", waiting.fixture.store().to_str().unwrap()]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.contains("was killed, and the kernel holds it"), "{said}");
            wait_for(dying);
            waiting.fixture.mount("");
        } else {
            waiting.fixture.mount("");
            wait_for(dying);
        }
        waiting.all_are_let_go();
        waiting.fixture.unmount();
    }
}

#[test]
fn a_daemon_that_was_killed_with_its_guard_is_in_nobodys_way() {
    let Some(mut waiting) = Waiting::new() else { return };
    kill_guard_of(waiting.fixture.daemon_pid());
    let mut dying = waiting.fixture.kill_unwaited();
    waiting.fixture.mount("");
    dying.wait().unwrap();
    waiting.all_are_let_go();
    waiting.fixture.unmount();
}
