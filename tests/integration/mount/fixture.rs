//! A mounted store in a temporary directory; unmounted and ended when dropped, also when a test fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellfs::backend::Backend;
use cellfs::daemon::{Absent, open_backend};

pub const CELLFS: &str = env!("CARGO_BIN_EXE_cellfs");

pub struct Fixture {
    pub directory: tempfile::TempDir,
    daemon: Option<Child>,
}

impl Fixture {
    /// A new store, mounted, with the table `t` and its family `f`.
    pub fn new() -> Self {
        Self::with_options("")
    }

    /// As [`Fixture::new`], for a test that [`is_alone`].
    pub fn alone() -> Option<Self> {
        is_alone().then(Self::new)
    }

    /// A new store without tables, mounted.
    pub fn empty() -> Self {
        Self::mounted("")
    }

    fn mounted(options: &str) -> Self {
        Self::on(tempfile::tempdir().unwrap(), options)
    }

    /// A store in `store` of a directory, mounted at its `mnt`.
    pub fn on(directory: tempfile::TempDir, options: &str) -> Self {
        fs::create_dir(directory.path().join("mnt")).unwrap();
        let mut fixture = Self { directory, daemon: None };
        fixture.mount(options);
        fixture
    }

    pub fn with_options(options: &str) -> Self {
        let fixture = Self::mounted(options);
        fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
        fixture
    }

    /// As [`Fixture::new`], of a store whose values have at most so many bytes.
    pub fn with_limit(bytes: u64) -> Self {
        let fixture = Self::new();
        let set = fixture.cellfs(&["config", fixture.store().to_str().unwrap(), "value_limit", &bytes.to_string()]);
        assert!(set.status.success(), "{set:?}");
        fixture
    }

    /// Mounts the store (again); returns when the mount answers.
    pub fn mount(&mut self, options: &str) {
        let mut command = Command::new(CELLFS);
        command.args(["mount", "-f", "-o", options]).arg(self.store()).arg(self.mnt());
        if std::env::var_os("RUST_LOG").is_none() {
            command.env("RUST_LOG", "info,cellfs::store=debug");
        }
        self.mount_by(command);
    }

    /// As [`Fixture::mount`], by a command that serves in the foreground.
    pub fn mount_by(&mut self, mut command: Command) {
        let log = fs::File::options().append(true).create(true).open(self.directory.path().join("log")).unwrap();
        self.daemon = Some(command.stdin(Stdio::null()).stderr(log).spawn().unwrap());
        let started = Instant::now();
        while !self.answers() {
            assert!(started.elapsed() < Duration::from_secs(30), "the mount does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Names of a dead mount may still be cached, the filesystem's numbers are not.
    fn answers(&self) -> bool {
        nix::sys::statfs::statfs(&self.mnt()).is_ok_and(|s| s.filesystem_type() == nix::sys::statfs::FUSE_SUPER_MAGIC)
    }

    pub fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    pub fn mnt(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// A path below the namespace `default`.
    pub fn path(&self, below: &str) -> PathBuf {
        self.mnt().join("default").join(below)
    }

    /// The directory of family `f` of a row, made if it is absent.
    pub fn family(&self, row: &str) -> PathBuf {
        let path = self.path("t").join(row).join("f");
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// The same store through the daemon's control socket.
    pub fn backend(&self) -> Arc<dyn Backend> {
        open_backend(&self.store(), Absent::Refuse).unwrap()
    }

    /// Runs the command line.
    pub fn cellfs(&self, args: &[&str]) -> Output {
        Command::new(CELLFS).args(args).stdin(Stdio::null()).output().unwrap()
    }

    pub fn daemon_pid(&self) -> u32 {
        self.daemon.as_ref().unwrap().id()
    }

    /// Ends the daemon as a crash would; the mount is left dead.
    pub fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        // A thread that tells the kernel of a change may wait for a directory whose holder waits for the daemon: the
        // kernel ends neither before somebody ends the connection.
        let patience = Instant::now() + Duration::from_secs(5);
        while daemon.try_wait().unwrap().is_none() {
            if Instant::now() > patience {
                println!("the connection of {} is ended by force", self.mnt().display());
                let _ = nix::mount::umount2(&self.mnt(), nix::mount::MntFlags::MNT_FORCE);
                daemon.wait().unwrap();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// As [`Fixture::kill`], without waiting until the kernel has taken back what the daemon had.
    pub fn kill_unwaited(&mut self) -> Child {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon
    }

    /// As [`Fixture::kill`], where the daemon is a child of the command that was started.
    pub fn kill_daemon_of_mount(&mut self) {
        let pid = format!("/proc/{0}/task/{0}/children", self.daemon_pid());
        let children = fs::read_to_string(pid).unwrap();
        for child in children.split_whitespace() {
            let child = nix::unistd::Pid::from_raw(child.parse().unwrap());
            nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        // It ends with its child.
        self.daemon.take().unwrap().wait().unwrap();
    }

    /// Unmounts and waits for the daemon.
    pub fn unmount(&mut self) {
        let status = self.end();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// Unmounts; how the daemon ended.
    pub fn end(&mut self) -> ExitStatus {
        let output = self.cellfs(&["umount", self.mnt().to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.daemon.take().unwrap().wait().unwrap()
    }

    /// Waits for the daemon, which was told to end.
    pub fn wait(&mut self) {
        let status = self.daemon.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }

    pub fn is_mounted(&self) -> bool {
        self.daemon.is_some()
    }

    pub fn remount(&mut self) {
        self.unmount();
        self.mount("");
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = cellfs::fuse::unmount(&self.mnt(), cellfs::fuse::Detach::Now);
        if let Some(mut daemon) = self.daemon.take() {
            let ended = (0..1000).any(|_| {
                std::thread::sleep(Duration::from_millis(5));
                daemon.try_wait().is_ok_and(|status| status.is_some())
            });
            if !ended {
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
        }
    }
}

/// The file of a store, log or segment, in which a text stands, and where.
pub fn holding(store: &Path, text: &[u8]) -> (PathBuf, usize) {
    for directory in ["log", "segments", "blobs"] {
        for entry in fs::read_dir(store.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            if let Some(at) = bytes.windows(text.len()).position(|window| window == text) {
                return (path, at);
            }
        }
    }
    panic!("{} is in no file of {}", text.escape_ascii(), store.display());
}

/// Changes a bit inside the only place where a text stands; which file that is.
pub fn damage(store: &Path, text: &str) -> PathBuf {
    let (path, at) = holding(store, text.as_bytes());
    let mut bytes = fs::read(&path).unwrap();
    bytes[at + 2] ^= 4;
    fs::write(&path, bytes).unwrap();
    path
}

/// Names in a directory, in the order of the listing.
pub fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// Values of all versions of a cell, oldest first.
pub fn history(cell: &Path) -> Vec<String> {
    let mut directory = cell.as_os_str().to_owned();
    directory.push("@");
    let mut versions: Vec<u64> = names(Path::new(&directory)).iter().map(|name| name.parse().unwrap()).collect();
    versions.sort_unstable();
    let read = |ts: &u64| fs::read_to_string(Path::new(&directory).join(ts.to_string())).unwrap();
    versions.iter().map(read).collect()
}

/// The path with something appended to its last name.
pub fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether the test goes on here; else it has run in a process of its own. A program that another test starts holds
/// copies of all files that are open in this process for a moment, and closing them commits what was written.
pub fn is_alone() -> bool {
    const ALONE: &str = "CELLFS_TEST_ALONE";
    let thread = std::thread::current();
    // The harness names the thread of a test by the test, unless it runs one at a time.
    let Some(test) = thread.name().filter(|name| *name != "main" && std::env::var_os(ALONE).is_none()) else {
        return true;
    };
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("");
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Whether system calls of a process can be made to fail here; else it is said.
pub fn can_fail_calls() -> bool {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stdin(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        println!("skipped: strace, which makes a system call fail, is missing or not allowed here");
    }
    works
}

/// errno of a failure.
pub fn errno<T>(result: std::io::Result<T>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(e) => e.raw_os_error().unwrap_or(-1),
    }
}
