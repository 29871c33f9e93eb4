//! The daemon as a service: readiness, signs of life, signals, the log; and mount(8), umount(8), fstab.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fixture::{CELLFS, Fixture};

/// A manager's socket, and what arrives there.
struct Manager(UnixDatagram);

impl Manager {
    fn new(directory: &Path) -> Self {
        let socket = UnixDatagram::bind(directory.join("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(socket)
    }

    /// Reads until a message has this line; all lines until then.
    fn expect(&self, line: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.iter().any(|l: &String| l.starts_with(line)) {
            let mut message = [0; 4096];
            let len = self.0.recv(&mut message).unwrap_or_else(|e| panic!("no {line} in {lines:?}: {e}"));
            lines.extend(String::from_utf8_lossy(&message[..len]).lines().map(str::to_owned));
        }
        lines
    }
}

/// A daemon in the foreground; ended and unmounted when dropped.
struct Daemon<'a>(std::process::Child, &'a Path);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = self.0.kill().and_then(|()| self.0.wait());
        let _ = cellfs::fuse::unmount(self.1, cellfs::fuse::Detach::Now);
    }
}

fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

/// How often the mount was asked for its numbers.
fn statfs_count(mnt: &Path) -> u64 {
    let text = fs::read_to_string(mnt.join(".info/requests")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("statfs ")).map_or(0, |count| count.parse().unwrap())
}

#[test]
fn mount_tells_its_service_manager() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::new(directory.path());
    let (store, mnt) = (directory.path().join("store"), directory.path().join("mnt"));
    fs::create_dir(&mnt).unwrap();
    let daemon = Command::new(CELLFS)
        .args(["mount", "-f"])
        .args([&store, &mnt])
        .env("NOTIFY_SOCKET", directory.path().join("notify"))
        .env("WATCHDOG_USEC", "100000")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut daemon = Daemon(daemon, &mnt);
    let before = manager.expect("READY=1");
    assert!(!before.iter().any(|line| line.starts_with("WATCHDOG")), "{before:?}");
    assert!(mnt.join("default").is_dir(), "it answers when it is ready");
    manager.expect("WATCHDOG=1");
    let asked = statfs_count(&mnt);
    let alive = manager.expect("WATCHDOG=1");
    assert!(statfs_count(&mnt) > asked, "signs of life go through the mount");
    assert!(alive.iter().any(|line| line.starts_with("STATUS=Serving") && line.contains("0 cells")), "{alive:?}");
    signal(daemon.0.id(), nix::sys::signal::Signal::SIGTERM);
    manager.expect("STOPPING=1");
    assert!(daemon.0.wait().unwrap().success());
}

#[test]
fn mount_ends_when_told_to_though_a_program_stays() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    let mut file = fs::File::create(&cell).unwrap();
    file.write_all(b"never closed").unwrap();
    signal(fixture.daemon_pid(), nix::sys::signal::Signal::SIGINT);
    fixture.wait();
    assert_eq!(super::fixture::errno(file.write(b"more")), libc::ENOTCONN);
    fixture.mount("");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "never closed");
}

#[test]
fn mount_opens_its_log_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mnt, log) =
        (directory.path().join("store"), directory.path().join("mnt"), directory.path().join("my.log"));
    fs::create_dir(&mnt).unwrap();
    let option = format!("log={}", log.display());
    let mut mount = Command::new(CELLFS);
    mount.args(["mount", "-o", &option]).args([&store, &mnt]).env("RUST_LOG", "info");
    assert!(mount.status().unwrap().success());
    let lock = fs::read_to_string(store.join("LOCK")).unwrap();
    let pid = lock.lines().find_map(|line| line.strip_prefix("pid ")).unwrap().parse().unwrap();
    fs::rename(&log, directory.path().join("my.log.1")).unwrap();
    signal(pid, nix::sys::signal::Signal::SIGHUP);
    let goes_on = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        fs::read_to_string(&log).is_ok_and(|text| text.contains("goes on in a new file"))
    });
    let umount = Command::new(CELLFS).arg("umount").arg(&mnt).status().unwrap();
    assert!(goes_on && umount.success());
    assert!(!store.join("cellfs.log").exists());
}

#[test]
fn mount_logs_in_the_journals_form_to_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mnt) = (directory.path().join("store"), directory.path().join("mnt"));
    fs::create_dir(&mnt).unwrap();
    for (journal, first) in [(true, '<'), (false, '[')] {
        let path = directory.path().join("stderr");
        let stderr = fs::File::create(&path).unwrap();
        let meta = stderr.metadata().unwrap();
        let stream = if journal { format!("{}:{}", meta.dev(), meta.ino()) } else { "1:2".to_owned() };
        let mut command = Command::new(CELLFS);
        command.args(["mount", "-f"]).args([&store, &mnt]).stderr(stderr).stdin(Stdio::null());
        let daemon = command.env("JOURNAL_STREAM", stream).env("RUST_LOG", "info").spawn().unwrap();
        let mut daemon = Daemon(daemon, &mnt);
        let text = || fs::read_to_string(&path).unwrap();
        while !text().contains("serving") {
            assert!(daemon.0.try_wait().unwrap().is_none(), "{}", text());
            std::thread::sleep(Duration::from_millis(2));
        }
        signal(daemon.0.id(), nix::sys::signal::Signal::SIGTERM);
        assert!(daemon.0.wait().unwrap().success());
        assert!(text().lines().all(|line| line.starts_with(first)), "{}", text());
        assert_eq!(text().contains("<6>serving"), journal, "{}", text());
    }
}

#[test]
fn mount_by_mount8_umount8_and_fstab() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: mount(8) is root's");
        return;
    }
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private"])
        .arg(root.join("tests/mount8.sh"))
        .arg(CELLFS)
        .arg(root.join("mount-scripts"))
        .arg(directory.path())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || words.contains("unshare failed") {
        println!("skipped: no mount namespace or no overlay in it: {words}");
        return;
    }
    assert!(output.status.success(), "{words}");
}
