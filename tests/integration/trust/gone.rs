//! What is taken away below a mounted store, and commands that its end must not cut off.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::mount::fixture::{CELLFS, Fixture};

#[test]
fn gone_a_store_that_was_removed_acknowledges_nothing_more() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let synced = |name: &str| {
        let mut file = File::create(family.join(name))?;
        file.write_all(b"v")?;
        file.sync_all()
    };
    synced("before").unwrap();
    fs::remove_dir_all(fixture.store()).unwrap();
    assert!(synced("after").is_err(), "a sync to a file that nobody can open again");
    assert!(synced("later").is_err());
    assert!(fixture.log().contains("it was removed"), "{}", fixture.log());
}

#[test]
fn gone_a_clean_end_waits_for_the_answer_of_a_restore() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let family = fixture.family("r");
    for n in 0..300 {
        fs::write(family.join(format!("q{n}")), vec![7; 128 << 10]).unwrap();
    }
    assert!(fixture.cellfs(&["snapshot", "create", store, "s"]).status.success());
    for round in 0..3 {
        let restore = Command::new(CELLFS)
            .args(["snapshot", "restore", store, "s"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It has begun when what it writes is staged, or has ended by now.
        let began = || fixture.backend().status().is_ok_and(|status| !status.activity.is_empty());
        for _ in 0..(round + 1) * 20 {
            if began() {
                break;
            }
        }
        fixture.unmount();
        let output = restore.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "round {round}: {words}");
        fixture.mount("");
        assert_eq!(fs::read(family.join("q299")).unwrap().len(), 128 << 10);
    }
}

/// As somebody copies a store in use: what was flushed meanwhile is in files that the journal of before does not name.
#[test]
fn gone_a_journal_that_is_older_than_the_log_is_told_and_no_file_of_the_store_is_removed() {
    for is_synced in [false, true] {
        let fixture = Fixture::new();
        let mut file = File::create(fixture.family("r").join("q")).unwrap();
        file.write_all(b"v").unwrap();
        if is_synced {
            file.sync_all().unwrap();
        }
        drop(file);
        let (store, copy) = (fixture.store(), fixture.directory.path().join("copy"));
        fs::create_dir(&copy).unwrap();
        let take = |names: &[&str]| {
            let from = names.iter().map(|name| store.join(name));
            assert!(Command::new("cp").arg("-a").args(from).arg(&copy).status().unwrap().success());
        };
        take(&["progress", "edits"]);
        assert!(fixture.cellfs(&["flush", store.to_str().unwrap()]).status.success());
        take(&["format", "format.copy", "boot", "log", "segments", "blobs", "LOCK"]);
        let segments = || fs::read_dir(copy.join("segments")).unwrap().count();
        assert_eq!(segments(), 1);
        let checked = fixture.cellfs(&["check", copy.to_str().unwrap()]);
        let told = String::from_utf8_lossy(&checked.stdout).into_owned();
        let is_told = checked.status.code() == Some(1) && told.contains("older than the rest of the store");
        assert!(is_told, "synced: {is_synced}, {checked:?}");
        let put = fixture.cellfs(&["put", copy.to_str().unwrap(), "t", "r", "f:q", "w"]);
        let told = String::from_utf8_lossy(&put.stderr).into_owned();
        assert!(put.status.code() == Some(2) && told.contains("lost its end"), "synced: {is_synced}, {told}");
        assert_eq!(segments(), 1);
    }
}
