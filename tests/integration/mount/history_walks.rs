//! What a walk through `.history` costs, and that what the kernel keeps of it follows the changes; an interrupted restore.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::fixture::{CELLFS, Fixture, errno, names};

/// Requests so far.
fn requests(mount: &Path) -> u64 {
    let text = fs::read_to_string(mount.join(".info/requests")).unwrap();
    text.lines().filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum()
}

/// Requests that an rsync makes, and seconds.
fn rsync(fixture: &Fixture, from: &Path) -> (u64, f64) {
    let to = tempfile::tempdir_in(fixture.directory.path()).unwrap();
    let (before, began) = (requests(&fixture.mnt()), Instant::now());
    let output = Command::new("rsync").arg("-aX").arg(from.join("")).arg(to.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (requests(&fixture.mnt()) - before, began.elapsed().as_secs_f64())
}

#[test]
fn mount_a_walk_through_the_history_costs_little_more_than_through_the_plain_tree() {
    let mut fixture = Fixture::new();
    for row in 0..4 {
        let family = fixture.family(&format!("row {row}"));
        (0..500).for_each(|n| fs::write(family.join(format!("q{n}")), format!("{row} {n}")).unwrap());
    }
    fixture.remount();
    let (plain, seconds) = rsync(&fixture, &fixture.path(""));
    let (history, longer) = rsync(&fixture, &fixture.mnt().join(".history/default"));
    println!("rsync of 2,000 cells: {plain} requests, {seconds:.2} s; of their history {history}, {longer:.2} s");
    assert!(history * 2 < plain * 3, "{plain} {history}");
}

#[test]
fn mount_versions_of_the_far_future_are_copied_once() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let store = fixture.store();
    for (cell, timestamp) in [("far", "99999999999999"), ("farther", "9000000000000000000")] {
        let put = fixture.cellfs(&["put", store.to_str().unwrap(), "t", "r", &format!("f:{cell}"), "v", timestamp]);
        assert!(put.status.success());
    }
    fs::write(family.join("touched"), "v").unwrap();
    assert!(Command::new("touch").args(["-d", "2500-01-01"]).arg(family.join("touched")).status().unwrap().success());
    let to = tempfile::tempdir_in(fixture.directory.path()).unwrap();
    let copied = || {
        let from = fixture.mnt().join(".history").join("");
        let output = Command::new("rsync").arg("-aXi").arg(from).arg(to.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().filter(|line| line.starts_with('>')).count()
    };
    assert!(copied() > 3);
    assert_eq!(copied(), 0);
}

#[test]
fn mount_disabled_tables_are_in_the_history() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let (mnt, name) = (fixture.mnt(), "n".repeat(300));
    let store = fixture.store();
    assert!(fixture.cellfs(&["put", store.to_str().unwrap(), "t", &name, &format!("f:{name}"), "v"]).status.success());
    assert!(fixture.cellfs(&["shell", mnt.to_str().unwrap(), "-e", "disable 't'"]).status.success());
    rsync(&fixture, &mnt.join(".history"));
    let version = version(&fixture, "q");
    assert_eq!(fs::read_to_string(&version).unwrap(), "v");
    assert_eq!(errno(fs::write(&version, "other")), libc::EACCES);
    assert_eq!(errno(fs::read(fixture.path("t/r/f/q"))), libc::EACCES);
}

/// Waits until a path shows what is wanted.
fn shows<T: PartialEq + std::fmt::Debug>(what: &str, wanted: &T, look: impl Fn() -> T) {
    let patience = Instant::now() + Duration::from_secs(2);
    while look() != *wanted {
        assert!(Instant::now() < patience, "{what}: {:?} and not {wanted:?}", look());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The only version of a cell in the history.
fn version(fixture: &Fixture, cell: &str) -> PathBuf {
    let family = fixture.mnt().join(".history/default/t/r/f");
    let all = names(&family);
    let mut found = all.iter().filter(|name| name.strip_prefix(cell).is_some_and(|rest| rest.starts_with('@')));
    let (one, more) = (found.next(), found.next());
    assert!(more.is_none(), "{all:?}");
    family.join(one.unwrap())
}

#[test]
fn mount_what_the_kernel_keeps_of_the_history_follows_every_change() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let store = fixture.store();
    let run = |args: &[&str]| {
        let output = fixture.cellfs(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let store = store.to_str().unwrap();
    for (n, cell) in ["unlinked", "deleted", "renamed", "row", "dated", "kept", "rewritten"].iter().enumerate() {
        let row = if *cell == "row" { fixture.family("other") } else { family.clone() };
        fs::write(row.join(cell), format!("value {n}")).unwrap();
    }
    let of_row = fixture.mnt().join(".history/default/t/other/f");
    let of_row = of_row.join(&names(&of_row)[0]);
    let versions = ["unlinked", "deleted", "renamed", "dated", "kept", "rewritten"].map(|cell| version(&fixture, cell));
    let [unlinked, deleted, renamed, dated, kept, rewritten] = &versions;
    versions.iter().chain([&of_row]).for_each(|version| assert!(version.metadata().is_ok()));
    let is_there = |path: &Path| errno(fs::metadata(path));

    fs::remove_file(family.join("unlinked")).unwrap();
    shows("an unlinked cell", &libc::ENOENT, || is_there(unlinked));
    run(&["delete", store, "t", "r", "f:deleted"]);
    assert_eq!(is_there(deleted), libc::ENOENT, "a command is answered when the kernel knows");
    fs::rename(family.join("renamed"), family.join("new name")).unwrap();
    shows("a renamed cell", &libc::ENOENT, || is_there(renamed));
    run(&["deleteall", store, "t", "other"]);
    assert_eq!(is_there(&of_row), libc::ENOENT);

    let seconds = |path: &Path| fs::metadata(path).map(|meta| std::os::unix::fs::MetadataExt::mtime(&meta)).ok();
    let touch = |path: &Path, seconds: &str| {
        assert!(Command::new("touch").args(["-d", seconds]).arg(path).status().unwrap().success());
    };
    touch(&family.join("dated"), "@1000");
    shows("a time set on the cell", &Some(1000), || seconds(dated));
    touch(dated, "@2000");
    assert_eq!(seconds(dated), Some(2000));
    shows("a time set on the version", &Some(2000), || seconds(&family.join("dated")));
    let timestamp = rewritten.to_str().unwrap().rsplit('@').next().unwrap();
    run(&["put", store, "t", "r", "f:rewritten", "longer than before", timestamp]);
    assert_eq!(fs::metadata(rewritten).unwrap().len(), 18);
    assert_eq!(fs::read_to_string(rewritten).unwrap(), "longer than before");
    // No more versions than VERSIONS says.
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "1").unwrap();
    assert!(kept.metadata().is_ok());
    fs::write(fixture.path("t/.schema/f/KEEP_DELETED_CELLS"), "FALSE").unwrap();
    fs::write(family.join("kept"), "newer").unwrap();
    shows("a version beyond VERSIONS", &libc::ENOENT, || is_there(kept));
    fs::remove_dir_all(&family).unwrap();
    shows("all of a family", &libc::ENOENT, || is_there(dated));
}

/// Processes that have a text in their command line.
fn processes(text: &str) -> Vec<i32> {
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let pid: i32 = path.file_name()?.to_str()?.parse().ok()?;
        let line = fs::read(path.join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(text).then_some(pid)
    };
    fs::read_dir("/proc").unwrap().filter_map(of).collect()
}

#[test]
fn a_restore_that_a_signal_ends_leaves_no_mount_and_no_daemon() {
    use nix::sys::signal::{Signal, kill};
    let fixture = Fixture::new();
    for row in 0..4 {
        let family = fixture.family(&format!("row {row}"));
        (0..500).for_each(|n| fs::write(family.join(format!("q{n}")), vec![b'v'; 2000]).unwrap());
    }
    let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts").join(name);
    let backup = fixture.directory.path().join("backup");
    let made = Command::new(script("backup.sh")).env("CELLFS", CELLFS).arg(fixture.store()).arg(&backup).output();
    assert!(made.unwrap().status.success());
    for (n, signal) in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().enumerate() {
        let target = fixture.directory.path().join(format!("restored by {n}"));
        // What the tests were started with may ignore signals, which a shell cannot take back.
        let mut restore = Command::new("env");
        restore.arg("--default-signal=HUP,INT,TERM").arg(script("restore.sh"));
        restore.env("CELLFS", CELLFS).env("TMPDIR", fixture.directory.path()).env("RSYNC_OPTIONS", "--bwlimit=200");
        let mut restore = restore.arg(&backup).arg(&target).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the middle of the copy.
        let has_cells = || {
            let output = fixture.cellfs(&["count", target.to_str().unwrap(), "t"]);
            output.status.success() && !output.stdout.starts_with(b"0")
        };
        let patience = Instant::now() + Duration::from_secs(60);
        while !target.join("format").exists() || !has_cells() {
            assert!(Instant::now() < patience && restore.try_wait().unwrap().is_none(), "nothing is restored");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = nix::unistd::Pid::from_raw(restore.id().cast_signed());
        kill(pid, signal).unwrap();
        // Who is impatient sends another while it cleans up.
        std::thread::sleep(Duration::from_millis(20));
        kill(pid, signal).unwrap();
        let status = restore.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{signal}: {status}");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let ours = format!("restored\\040by\\040{n}");
        assert!(!mounts.contains(&ours), "{signal}: {mounts}");
        let text = target.to_str().unwrap();
        let patience = Instant::now() + Duration::from_secs(20);
        while !processes(text).is_empty() {
            assert!(Instant::now() < patience, "{signal}: {:?} are left", processes(text));
            std::thread::sleep(Duration::from_millis(20));
        }
        let left: Vec<_> =
            names(fixture.directory.path()).into_iter().filter(|n| n.contains("cellfs-restore")).collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        // Another run brings the rest.
        if n == 2 {
            let again = Command::new(script("restore.sh")).env("CELLFS", CELLFS).arg(&backup).arg(&target).output();
            assert!(again.unwrap().status.success());
            let counted = fixture.cellfs(&["get", text, "t", "row 3", "f:q499"]);
            assert!(counted.status.success(), "{counted:?}");
        }
    }
}
