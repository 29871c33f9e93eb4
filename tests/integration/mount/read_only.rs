//! A store on a filesystem that takes no changes: read by every way, changed by none, nothing written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fixture::{CELLFS, Fixture, errno, names};

/// A directory shown read-only, unmounted when dropped.
struct ReadOnly(PathBuf);

impl ReadOnly {
    /// `None`: this machine does not allow it, which is said.
    fn of(directory: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let run = |args: &[&str]| Command::new("mount").args(args).arg(at).output();
        let bound = Command::new("mount").arg("--bind").arg(directory).arg(at).output();
        if !bound.as_ref().is_ok_and(|output| output.status.success()) {
            println!("skipped: only root can bind a mount ({bound:?})");
            return None;
        }
        let made = Self(at.to_owned());
        assert!(run(&["-o", "remount,ro,bind"]).unwrap().status.success());
        Some(made)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// All files below a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(path) = open.pop() {
        match fs::symlink_metadata(&path).unwrap().is_dir() {
            true => open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
    found
}

/// What a store has that was not closed: values in the log alone, and in a blob that has no end yet.
fn killed_store(fixture: &mut Fixture) {
    let family = fixture.family("r");
    fs::write(family.join("flushed"), "early").unwrap();
    fixture.backend().flush(None).unwrap();
    fs::write(family.join("q"), "in the log").unwrap();
    fs::write(family.join("q"), "in the log, newer").unwrap();
    fs::write(family.join("large"), (0..3_000_000u32).map(|n| ((n * 31) >> 3) as u8).collect::<Vec<_>>()).unwrap();
    fixture.kill();
    let _ = cellfs::fuse::unmount(&fixture.mnt(), cellfs::fuse::Detach::Now);
}

#[test]
fn a_store_on_a_read_only_filesystem_is_read_and_takes_no_changes() {
    let mut fixture = Fixture::new();
    killed_store(&mut fixture);
    let shown = fixture.directory.path().join("read only");
    let Some(store) = ReadOnly::of(&fixture.store(), &shown) else { return };
    let before = files(&fixture.store());
    let path = store.0.to_str().unwrap();
    let run = |args: &[&str]| fixture.cellfs(args);
    let said = |args: &[&str]| {
        let output = run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // Commands, with nothing mounted.
    assert!(said(&["get", path, "t", "r", "f:q"]).contains("in the log, newer"));
    assert!(said(&["scan", path, "t"]).contains("early"));
    assert!(said(&["count", path, "t"]).starts_with('1'));
    assert!(said(&["list", path]).contains('t'));
    said(&["check", path]);
    assert!(said(&["status", path]).contains("read-only"));
    for change in [
        &["put", path, "t", "r", "f:q", "v"][..],
        &["create", path, "other", "f"],
        &["drop", path, "t"],
        &["compact", path, "t"],
        &["flush", path],
        &["snapshot", "create", path, "s"],
        &["check", "--repair", path],
        &["shell", "-n", path, "-e", "put 't', 'r', 'f:q', 'v'"],
    ] {
        let refused = run(change);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains("is read-only"), "{change:?}: {text}");
    }
    // A mount.
    let mnt = fixture.directory.path().join("ro mnt");
    fs::create_dir(&mnt).unwrap();
    let mounted = Command::new(CELLFS).arg("mount").arg(&store.0).arg(&mnt).output().unwrap();
    let text = String::from_utf8_lossy(&mounted.stderr).into_owned();
    assert!(mounted.status.success() && text.contains("read-only"), "{text}");
    let cells = mnt.join("default/t/r/f");
    let listed = names(&cells);
    let read = ["flushed", "q"].map(|name| fs::read_to_string(cells.join(name)));
    let large = fs::read(cells.join("large")).map(|bytes| bytes.len());
    let versions = names(&cells.join("q@")).len();
    let refusals = [
        errno(fs::write(cells.join("new"), "v")),
        errno(fs::OpenOptions::new().write(true).open(cells.join("q"))),
        errno(fs::remove_file(cells.join("q"))),
        errno(fs::rename(cells.join("q"), cells.join("w"))),
        errno(fs::create_dir(mnt.join("default/other"))),
        errno(fs::create_dir(mnt.join("default/t/.schema/g"))),
        errno(fs::write(mnt.join("default/t/.schema/f/VERSIONS"), "3")),
    ];
    let why = fs::read_to_string(mnt.join(".info/errors")).unwrap();
    // Beside the mount, and what a backup takes.
    let beside = run(&["get", path, "t", "r", "f:q"]);
    let backup = fixture.directory.path().join("backup");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts/backup.sh");
    let copied = Command::new(script).env("CELLFS", CELLFS).arg(&store.0).arg(&backup).output().unwrap();
    let unmounted = run(&["umount", mnt.to_str().unwrap()]);
    assert!(unmounted.status.success(), "{}", String::from_utf8_lossy(&unmounted.stderr));
    assert_eq!(listed, ["flushed", "large", "q"]);
    assert_eq!(read.map(Result::unwrap), ["early", "in the log, newer"]);
    assert_eq!((large.unwrap(), versions), (3_000_000, 2));
    assert_eq!(refusals, [libc::EROFS; 7]);
    assert!(
        why.contains("/default/t/r/f/new create: the filesystem of the store") && why.contains("writable"),
        "{why}"
    );
    assert!(beside.status.success(), "{}", String::from_utf8_lossy(&beside.stderr));
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(names(&backup.join("default/t/r/f")).len(), 4);
    assert!(files(&fixture.store()) == before, "something was written");
    // Writable again it has all of it.
    drop(store);
    fixture.mount("");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "in the log, newer");
    fixture.unmount();
}

/// Else whoever asks believes that nobody reads it, and takes its disk away.
#[test]
fn mounts_of_a_store_on_a_read_only_filesystem_are_told_though_they_have_no_socket() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let Some(store) = ReadOnly::of(&fixture.store(), &fixture.directory.path().join("read only")) else { return };
    let path = store.0.to_str().unwrap();
    let status = |flags: &[&str], of: &Path| {
        let output = fixture.cellfs(&[&["status"], flags, &[of.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(status(&[], &store.0).contains("(not mounted)"));
    let points = ["one", "two"].map(|name| fixture.directory.path().join(name));
    for point in &points {
        fs::create_dir(point).unwrap();
        let mounted = fixture.cellfs(&["mount", path, point.to_str().unwrap()]);
        assert!(mounted.status.success(), "{mounted:?}");
    }
    let read = points.each_ref().map(|point| fs::read_to_string(point.join("default/t/r/f/q")));
    let both = format!("(mounted at {} and at {})", points[0].display(), points[1].display());
    let said = [status(&[], &store.0), status(&[], &points[0])];
    let json = status(&["--json"], &store.0);
    for point in &points {
        let unmounted = fixture.cellfs(&["umount", point.to_str().unwrap()]);
        assert!(unmounted.status.success(), "{unmounted:?}");
    }
    assert_eq!(read.map(Result::unwrap), ["v", "v"], "they do not disturb each other");
    assert!(said.iter().all(|text| text.contains(&both)), "{said:?}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["mount_point"].as_str(), json["pid"].as_u64()), (points[1].to_str(), None));
    assert!(status(&[], &store.0).contains("(not mounted)"));
    drop(store);
    fixture.mount("");
}

#[test]
fn a_read_only_view_of_a_mounted_store_is_served_by_its_daemon() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let Some(store) = ReadOnly::of(&fixture.store(), &fixture.directory.path().join("view")) else { return };
    let path = store.0.to_str().unwrap();
    let got = fixture.cellfs(&["get", path, "t", "r"]);
    assert!(String::from_utf8_lossy(&got.stdout).contains("\tv"), "{got:?}");
    let mnt = fixture.directory.path().join("second");
    fs::create_dir(&mnt).unwrap();
    let refused = fixture.cellfs(&["mount", path, mnt.to_str().unwrap()]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("in use"), "{refused:?}");
}

#[test]
fn a_mount_that_is_remounted_read_only_takes_no_changes_of_commands() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let (store, mnt) = (fixture.store(), fixture.mnt());
    let (store, mnt) = (store.to_str().unwrap(), mnt.to_str().unwrap());
    let remount = |word: &str| fixture.cellfs(&["mount", store, mnt, "-o", &format!("remount,{word}")]);
    let made = remount("ro");
    if !made.status.success() {
        println!("skipped: only root may remount ({made:?})");
        return;
    }
    let put = ["put", store, "t", "r", "f:q", "w"];
    for args in [&put[..], &["mv", store, "t/r", "t/s"], &["drop", store, "t"], &["config", store, "value_limit", "1G"]]
    {
        let refused = fixture.cellfs(args);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("was remounted read-only"), "{args:?}: {said}");
    }
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
    assert!(fixture.cellfs(&["snapshot", "create", store, "s"]).status.success());
    assert!(remount("rw").status.success());
    assert!(fixture.cellfs(&put).status.success());
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "w");
}
