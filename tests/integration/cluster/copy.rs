//! `cellfs copy` from a store into a cluster and back: versions, tombstones, TTLs, wide rows, what was stopped.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::server::Cluster;
use super::tree::cellfs;
use crate::mount::fixture::CELLFS;

fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}{out}");
    out
}

fn shell(store: &str, script: &str) {
    well(&["shell", "-q", "-n", store, "-e", script]);
}

/// All versions that plain reads show of a table, or all that is stored.
fn content(store: &str, table: &str, more: &[&str]) -> String {
    well(&[&["scan", "--versions", "1000", store, table][..], more].concat())
}

/// A store with a table of everything: old versions, deletions of each kind, what came after them, a TTL, a wide row.
fn filled(store: &str, table: &str) {
    well(&["create", "--make", store, table, "f,VERSIONS=5,KEEP_DELETED_CELLS=TRUE", "g,VERSIONS=2"]);
    let mut script = String::new();
    for row in 0..50 {
        for time in 1..4 {
            script.push_str(&format!("put '{table}', 'row{row:02}', 'f:q', 'value {row} {time}', {time}\n"));
        }
        script.push_str(&format!("put '{table}', 'row{row:02}', 'g:\\x00\\xFF', '', 7\n"));
    }
    script.push_str(&format!("delete '{table}', 'row01', 'f:q', 2\ndeleteall '{table}', 'row02', 'f:q', 2\n"));
    script.push_str(&format!(
        "deleteall '{table}', 'row03'\nput '{table}', 'row04', 'f:t', 'soon', {{TTL => 86400000}}\n"
    ));
    shell(store, &script);
    let value = "w".repeat(60_000);
    let cells: String =
        (0..200).map(|n| format!("{{\"row\":\"wide\",\"f:c{n:03}\":\"{value}\",\"timestamp\":9}}\n")).collect();
    let file = Path::new(store).with_extension("jsonl");
    std::fs::write(&file, cells).unwrap();
    well(&["import", store, table, file.to_str().unwrap()]);
    shell(store, &format!("deleteall '{table}', 'wide', 'f:c007', 20\ndelete '{table}', 'wide', 'f:c100', 9\n"));
}

#[test]
fn tables_go_into_a_cluster_and_come_back_as_they_were() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (ours, back) = (path("ours"), path("back"));
    for table in ["copied", "copied_part"] {
        cellfs(&["drop", at, table]);
    }
    filled(&ours, "copied");
    let said = well(&["copy", "--table", "copied", &ours, at]);
    assert!(said.contains("copied: the same on both sides"), "{said}");
    assert_eq!(content(at, "copied", &[]), content(&ours, "copied", &[]));
    assert!(well(&["describe", at, "copied"]).contains("VERSIONS=5"));
    let said = well(&["copy", "--make", "--table", "copied", at, &back]);
    assert!(said.contains("copied: the same on both sides"), "{said}");
    assert_eq!(content(&back, "copied", &[]), content(&ours, "copied", &[]));
    // The tombstones came along.
    let raw = |store: &str| content(store, "copied", &["--raw"]).lines().filter(|line| line.contains("Delete")).count();
    assert!(raw(&ours) >= 5, "{}", raw(&ours));
    assert_eq!((raw(at), raw(&back)), (raw(&ours), raw(&ours)));
    // A range, under another name; once more changes nothing.
    for _ in 0..2 {
        well(&["copy", "--table", "copied", "--as", "copied_part", "--start", "row10", "--stop", "row20", &ours, at]);
    }
    assert_eq!(well(&["count", at, "copied_part"]).trim(), "10");
    // What differs is told with its rows.
    well(&["put", at, "copied", "row30", "f:q", "another"]);
    let (said, error, done) = cellfs(&["copy", "--verify", "--table", "copied", &ours, at]);
    assert!(!done && said.contains("copied: DIFFERS from the first row to the last row"), "{said}{error}");
    let (said, _, done) = cellfs(&["copy", "--verify", "--table", "copied", "--stop", "row30", &ours, at]);
    assert!(done, "{said}");
    for table in ["copied", "copied_part"] {
        well(&["drop", at, table]);
    }
}

#[test]
fn what_two_tombstones_of_a_family_hide_stays_hidden_in_a_cluster() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    let directory = tempfile::tempdir().unwrap();
    let ours = directory.path().join("ours").to_str().unwrap().to_owned();
    cellfs(&["drop", at, "twice"]);
    well(&["create", "--make", &ours, "twice", "f,VERSIONS=10,KEEP_DELETED_CELLS=TRUE,NEW_VERSION_BEHAVIOR=true"]);
    let script = "put 'twice','r','f:a','gone',8\ndeleteall 'twice','r','f',7\ndeleteall 'twice','r','f',10\n\
                  put 'twice','r','f:k','kept',20\nput 'twice','s','f:a','gone',1\ndeleteall 'twice','s','f',5\n\
                  put 'twice','s','f:a','gone',6\ndeleteall 'twice','s','f',9\n";
    shell(&ours, script);
    let said = well(&["copy", "--table", "twice", &ours, at]);
    assert!(said.contains("twice: the same on both sides"), "{said}");
    assert_eq!(content(at, "twice", &[]), content(&ours, "twice", &[]));
    assert!(content(at, "twice", &[]).contains("kept") && !content(at, "twice", &[]).contains("gone"));
    well(&["drop", at, "twice"]);
}

#[test]
fn a_value_that_a_cluster_does_not_take_is_named_and_what_stands_before_it_is_there() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let ours = path("ours");
    cellfs(&["drop", at, "huge"]);
    well(&["create", "--make", &ours, "huge", "f"]);
    let line = |row: &str, value: &str| format!("{{\"row\":\"{row}\",\"f:huge\":\"{value}\",\"timestamp\":9}}\n");
    let lines = [line("r1", "1"), line("r2", &"v".repeat(11 << 20)), line("r3", "3")].concat();
    std::fs::write(path("lines.jsonl"), lines).unwrap();
    well(&["import", &ours, "huge", &path("lines.jsonl")]);
    let (_, said, done) = cellfs(&["copy", "--table", "huge", &ours, at]);
    assert!(!done && said.contains("row r2: The value of f:huge is 11534336 bytes"), "{said}");
    assert!(said.contains("before it is there") && !said.contains("run it again"), "{said}");
    assert_eq!(well(&["count", at, "huge"]).trim(), "1");
    well(&["copy", "--table", "huge", "--start", "r3", &ours, at]);
    assert_eq!(well(&["count", at, "huge"]).trim(), "2");
    well(&["drop", at, "huge"]);
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (from, to, state) = (path("from"), path("to"), path("state"));
    well(&["create", "--make", &from, "many", "f"]);
    let lines: String = (0..60_000).map(|n| format!("row{n:06},{}\n", "v".repeat(200))).collect();
    std::fs::write(path("rows.csv"), lines).unwrap();
    well(&["import", &from, "many", &path("rows.csv"), "--columns", "HBASE_ROW_KEY,f:q"]);
    let args = ["copy", "--make", "--table", "many", "--state", &state, &from, &to];
    let mut first = Command::new(CELLFS).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    // It may be quicker than that: then there is nothing to go on with, and the second copies it again.
    while !Path::new(&state).exists() && first.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = first.kill();
    first.wait().unwrap();
    let other = ["copy", "--table", "many", "--stop", "row1", "--state", &state, &from, &to];
    if Path::new(&state).exists() {
        let (_, said, done) = cellfs(&other);
        assert!(!done && said.contains("is of another copy"), "{said}");
    }
    let said = well(&args);
    assert!(said.contains("60000 rows") && said.contains("the same on both sides"), "{said}");
    assert!(!Path::new(&state).exists());
    assert_eq!(well(&["count", &to, "many"]).trim(), "60000");
}
