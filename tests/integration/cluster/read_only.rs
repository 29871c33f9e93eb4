//! Tables that take no writes: refused early, and copied whole.

use std::fs;
use std::path::Path;

use super::server::Cluster;
use super::tree::{Mounted, MountedAt, cellfs};
use crate::mount::fixture::errno;

fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}{out}");
    out
}

#[test]
fn a_read_only_table_refuses_each_change_as_such() {
    let mounted = Mounted::new(Cluster::shared(), "locked", "cache=0");
    let path = |below: &str| mounted.path(below);
    fs::write(path("r/f/q"), "v").unwrap();
    fs::write(path(".schema/.table/READONLY"), "true").unwrap();
    for (what, refused) in [
        ("write", errno(fs::write(path("r/f/q"), "x"))),
        ("a new cell", errno(fs::write(path("r/f/p"), "x"))),
        ("rm", errno(fs::remove_file(path("r/f/q")))),
        ("mkdir", errno(fs::create_dir(path("r2")))),
        ("mv", errno(fs::rename(path("r/f/q"), path("r/f/p")))),
        (
            "a counter",
            errno(fs::OpenOptions::new().create(true).truncate(true).write(true).open(path("r/f/n@counter")).map(drop)),
        ),
        (".json", errno(fs::OpenOptions::new().write(true).open(path("r/.json")).map(drop))),
    ] {
        assert_eq!(refused, libc::EROFS, "{what}: {}", mounted.errors());
    }
    assert_eq!(fs::read_to_string(path("r/f/q")).unwrap(), "v");
    fs::write(path(".schema/.table/READONLY"), "false").unwrap();
    fs::write(path("r/f/q"), "again").unwrap();
}

#[test]
fn read_only_tables_are_copied_and_are_read_only_then() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (ours, back) = (path("ours"), path("back"));
    cellfs(&["drop", at, "copy_locked"]);
    well(&["create", "--make", &ours, "copy_locked", "f"]);
    well(&["put", &ours, "copy_locked", "r", "f:q", "v"]);
    well(&["alter", &ours, "copy_locked", "--set", "READONLY=true"]);
    // Copying again changes nothing.
    for _ in 0..2 {
        well(&["copy", "--table", "copy_locked", &ours, at]);
        well(&["copy", "--make", "--table", "copy_locked", at, &back]);
    }
    assert!(!Path::new(&path("state")).exists());
    for store in [at, &back] {
        assert!(well(&["get", store, "copy_locked", "r"]).contains('v'));
        let (_, said, done) = cellfs(&["put", store, "copy_locked", "r", "f:q", "w"]);
        assert!(!done && said.contains("copy_locked"), "{said}");
    }
    well(&["drop", at, "copy_locked"]);
}

/// Each changes something through a mount.
fn refused(mnt: &str, at: &str, directory: &Path, sentence: &str) {
    let (lines, other) = (directory.join("lines.jsonl"), directory.join("other"));
    fs::write(&lines, "{\"row\":\"r\",\"f:q\":\"x\"}\n").unwrap();
    let (lines, other) = (lines.to_str().unwrap(), other.to_str().unwrap());
    cellfs(&["create", "--make", other, "kept_still", "f"]);
    cellfs(&["put", other, "kept_still", "r", "f:q", "x"]);
    let path = |below: &str| format!("{mnt}/default/kept_still/{below}");
    let scripts = ["put 'kept_still','r','f:q','x'", "alter 'kept_still', NAME => 'g'", "split 'kept_still', 'm'"];
    for script in scripts {
        let file = directory.join("script");
        fs::write(&file, format!("{script}\n")).unwrap();
        let (out, said, _) = cellfs(&["shell", mnt, file.to_str().unwrap()]);
        assert!(out.contains(sentence) || said.contains(sentence), "{script}: {out}{said}");
    }
    let (cell, moved, table) = (path("r/f/q"), path("r/f/p"), path(""));
    for args in [
        &["put", mnt, "kept_still", "r", "f:q", "x"][..],
        &["deleteall", &cell],
        &["incr", mnt, "kept_still", "r", "f:n", "1"],
        &["import", mnt, "kept_still", lines],
        &["alter", mnt, "kept_still", "g"],
        &["create", mnt, "kept_never", "f"],
        &["drop", mnt, "kept_still"],
        &["purge", &table],
        &["mv", &cell, &moved],
        &["copy", other, mnt],
        &["copy", "--table", "kept_still", "--as", "kept_never", at, mnt],
        &["snapshot", "clone", mnt, "kept_snapshot", "kept_still", "kept_never"],
    ] {
        let (out, said, done) = cellfs(args);
        assert!(!done && said.contains(sentence), "{args:?}: {out}{said}");
    }
}

#[test]
fn commands_change_nothing_through_a_read_only_mount() {
    let mounted = Mounted::new(Cluster::shared(), "kept_still", "cache=0");
    let at = mounted.cluster.address.as_str();
    fs::write(mounted.path("r/f/q"), "v").unwrap();
    cellfs(&["snapshot", "delete", at, "kept_snapshot"]);
    well(&["snapshot", "create", at, "kept_snapshot", "--table", "kept_still"]);
    let locked = MountedAt::new(at, "ro");
    let (mnt, directory) = (locked.mnt(), tempfile::tempdir().unwrap());
    let mnt = mnt.to_str().unwrap();
    let before = well(&["scan", mnt, "kept_still"]);
    refused(mnt, at, directory.path(), &format!("{mnt} is mounted read-only; mount it without ro first"));
    // From a mount that takes changes into one that takes none.
    let (from, to) = (mounted.path("r/f/q"), format!("{mnt}/default/kept_still/r/f/p"));
    let (_, said, done) = cellfs(&["mv", from.to_str().unwrap(), &to]);
    assert!(!done && said.contains("read-only"), "{said}");
    let open = mounted.mnt();
    let open = open.to_str().unwrap();
    well(&["put", at, "kept_still", "r", "f:q", "v"]);
    well(&["put", open, "kept_still", "r", "f:q", "v"]);
    let remount = |word: &str| cellfs(&["mount", at, open, "-o", &format!("remount,{word}")]);
    let (_, made, is_done) = remount("ro");
    if is_done {
        refused(open, at, directory.path(), &format!("{open} was remounted read-only"));
        assert!(remount("rw").2);
        well(&["put", open, "kept_still", "r", "f:q", "v"]);
    } else {
        println!("skipped: only root may remount ({made})");
    }
    let after = well(&["scan", at, "kept_still"]);
    assert_eq!((before.lines().count(), after.lines().count()), (1, 1), "{before}{after}");
    well(&["snapshot", "delete", at, "kept_snapshot"]);
}
