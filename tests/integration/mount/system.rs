//! hbase:meta and hbase:namespace: read as any table, by every way, and changed by none.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use super::fixture::{Fixture, errno, names};

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a command of the shell; its output without the first lines.
fn shell(fixture: &Fixture, command: &str) -> String {
    printed(&fixture.cellfs(&["shell", "-n", fixture.store().to_str().unwrap(), "-e", command]))
}

/// Waits until the kernel has heard that a name is gone.
fn goes(path: &Path) {
    let started = Instant::now();
    while fs::metadata(path).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(10), "{} is still there", path.display());
        std::thread::yield_now();
    }
}

#[test]
fn mount_system_tables_tell_of_tables_and_namespaces_as_they_come_and_go() {
    let fixture = Fixture::new();
    let hbase = fixture.mnt().join("hbase");
    assert_eq!(names(&hbase), ["meta", "namespace"]);
    assert_eq!(fs::read(hbase.join("namespace/default/info/d")).unwrap(), b"\x0a\x07default");
    assert_eq!(names(&hbase.join("namespace")), ["default", "hbase"]);
    assert_eq!(fs::read(hbase.join("meta/t/table/state")).unwrap(), [8, 0]);
    let rows = names(&hbase.join("meta"));
    assert_eq!((rows.len(), rows[2].as_str()), (4, "t"), "{rows:?}");
    let region = hbase.join("meta").join(&rows[3]).join("info");
    assert!(rows[3].starts_with("t,,") && rows[3].ends_with('.'), "{rows:?}");
    assert_eq!(names(&region), ["regioninfo", "server", "sn", "state"]);
    assert_eq!(fs::read(region.join("state")).unwrap(), b"OPEN");
    assert!(fs::read(region.join("regioninfo")).unwrap().starts_with(b"PBUF"));
    let listed = shell(&fixture, "list_regions 't'");
    assert!(listed.contains(&rows[3]), "the shell names another region: {listed}");

    // What the kernel holds of them goes with each change.
    assert_eq!(errno(fs::metadata(hbase.join("namespace/n1"))), libc::ENOENT);
    fs::create_dir_all(fixture.mnt().join("n1/u/.schema/f")).unwrap();
    shell(&fixture, "disable 't'");
    assert_eq!(fs::read(hbase.join("namespace/n1/info/d")).unwrap(), b"\x0a\x02n1");
    assert_eq!(fs::read(hbase.join("meta/n1:u/table/state")).unwrap(), [8, 0]);
    assert_eq!(fs::read(hbase.join("meta/t/table/state")).unwrap(), [8, 1]);
    assert_eq!(fs::read(region.join("state")).unwrap(), b"CLOSED");
    fs::remove_dir_all(fixture.mnt().join("n1/u")).unwrap();
    goes(&hbase.join("meta/n1:u"));
    assert_eq!(names(&fixture.mnt()), ["default", "n1"], "the namespace itself is not listed");
}

#[test]
fn mount_system_tables_answer_scan_paths_filters_and_commands() {
    let fixture = Fixture::new();
    let (hbase, store) = (fixture.mnt().join("hbase"), fixture.store());
    let store = store.to_str().unwrap();
    let by = "meta/.filter/SingleColumnValueFilter('info','state',=,'binary:OPEN',true,true)";
    let found = names(&hbase.join(by));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|name| name.ends_with('.')), "{found:?}");
    assert_eq!(fs::read(hbase.join("meta/.prefix/t/.count")).unwrap(), b"2\n");
    assert_eq!(names(&hbase.join("meta/.last/1")).len(), 1);
    assert!(names(&fixture.mnt().join(".at/1000/hbase/meta")).iter().all(|row| !row.starts_with('t')));
    let lines = fs::read_to_string(hbase.join("namespace/.export/jsonl")).unwrap();
    assert!(lines.starts_with(r#"{"row":"default","info:d":"\n\u0007default","timestamp":0}"#), "{lines}");

    assert_eq!(printed(&fixture.cellfs(&["count", store, "hbase:meta"])).trim(), "4");
    assert_eq!(printed(&fixture.cellfs(&["list", store])), "t\n");
    let got = printed(&fixture.cellfs(&["get", store, "hbase:meta", "t"]));
    assert!(got.contains("table:state") && got.contains(r"\x08\x00"), "{got}");
    assert_eq!(printed(&fixture.cellfs(&["scan", store, "hbase:namespace"])).matches("info:d").count(), 2);

    assert_eq!(
        shell(&fixture, "list_namespace_tables 'hbase'").lines().collect::<Vec<_>>()[1..3],
        ["meta", "namespace"]
    );
    assert!(!shell(&fixture, "list").contains("meta"));
    assert!(shell(&fixture, "exists 'hbase:meta'").contains("does exist"));
    let described = shell(&fixture, "describe 'hbase:meta'");
    assert!(described.contains("Table hbase:meta is ENABLED") && described.contains("NAME => 'table'"), "{described}");
    let scanned = shell(&fixture, "scan 'hbase:meta', {COLUMNS => 'info:regioninfo'}");
    assert!(scanned.contains("NAME => 't,,") && scanned.contains("STARTKEY => ''"), "{scanned}");
}

#[test]
fn mount_system_tables_refuse_changes_with_a_sentence() {
    let fixture = Fixture::new();
    let (hbase, store) = (fixture.mnt().join("hbase"), fixture.store());
    let store = store.to_str().unwrap();
    let state = hbase.join("meta/t/table/state");
    assert_eq!(errno(fs::write(&state, "x")), libc::EROFS);
    assert_eq!(errno(fs::remove_file(&state)), libc::EROFS);
    assert_eq!(errno(fs::create_dir(hbase.join("namespace/n2"))), libc::EROFS);
    assert_eq!(errno(fs::remove_dir(hbase.join("namespace/default"))), libc::EROFS);
    assert_eq!(errno(fs::remove_dir(hbase.join("meta"))), libc::EROFS);
    assert_eq!(errno(fs::rename(&state, fixture.family("r").join("q"))), libc::EROFS);
    assert_eq!(errno(fs::rename(hbase.join("meta"), fixture.path("meta"))), libc::EROFS);
    assert_eq!(errno(fs::write(hbase.join("meta/.schema/info/VERSIONS"), "5\n")), libc::EROFS);
    assert_eq!(errno(fs::create_dir(hbase.join("meta/.schema/more"))), libc::EROFS);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("table hbase:meta tells what the store has"), "{errors}");
    for command in [
        &["put", store, "hbase:meta", "r", "info:q", "v"][..],
        &["deleteall", store, "hbase:namespace", "default"],
        &["drop", store, "hbase:meta"],
        &["truncate", store, "hbase:namespace"],
        &["alter", store, "hbase:meta", "info,VERSIONS=5"],
        &["import", store, "hbase:meta", "/dev/null", "--format", "csv"],
    ] {
        let refused = fixture.cellfs(command);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("hbase:"), "{command:?}: {said}");
    }
    // A table of users has no place there.
    assert_eq!(errno(fs::create_dir(hbase.join("own"))), libc::EPERM);
    assert!(fixture.cellfs(&["check", store]).status.success());
}
