//! A store that an earlier build of this format has written is read as it was written: `tests/golden/format-5`.
//!
//! It was made on a mount: two rows with versions, a deleted cell, a large value, a mode, an mtime; a snapshot, an index,
//! a setting, a segment for each flush, and a cell that is in the log alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::mount::fixture::CELLFS;

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn run(store: &Path, before: &[&str], after: &[&str]) -> Output {
    let output = Command::new(CELLFS).args(before).arg(store).args(after).output().unwrap();
    assert!(output.status.success(), "{before:?} {after:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn a_store_of_an_earlier_build_is_read_as_it_was_written() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    copy(&golden.join("format-5"), &store);
    run(&store, &["check"], &[]);
    let lines = run(&store, &["export", "--history"], &["t"]).stdout;
    assert_eq!(lines, fs::read(golden.join("format-5.jsonl")).unwrap());
    let found = run(&store, &["scan"], &["t", "f:city", "--by", "city=Bonn"]).stdout;
    assert_eq!(found, b"r1\tf:city\t5000\tBonn\nr2\tf:city\t5000\tBonn\n");
    assert_eq!(run(&store, &["config"], &["default.VERSIONS"]).stdout, b"7\n");
    run(&store, &["snapshot", "clone"], &["before", "t", "then"]);
    let row = run(&store, &["get"], &["then", "r2"]).stdout;
    assert!(!row.windows(4).any(|word| word == b"late"), "it came after the snapshot");
    // It takes changes.
    run(&store, &["put"], &["t", "r3", "f:city", "Bonn"]);
    run(&store, &["flush"], &[]);
    run(&store, &["compact", "--major"], &["t"]);
    let found = run(&store, &["scan"], &["t", "f:city", "--by", "city=Bonn"]).stdout;
    assert_eq!(found.iter().filter(|byte| **byte == b'\n').count(), 3);
    run(&store, &["check"], &[]);
}
