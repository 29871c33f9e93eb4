//! What expires vanishes from every look at the mount, though the kernel keeps names, attributes and pages.

use std::fs;
use std::path::Path;

use super::fixture::{Fixture, names};

/// A cell that lives for so many milliseconds, as the command line puts it.
fn put_for(fixture: &Fixture, row: &str, qualifier: &str, value: &str, ttl: &str) {
    let store = fixture.store();
    let column = format!("f:{qualifier}");
    let output = fixture.cellfs(&["put", store.to_str().unwrap(), "t", row, &column, value, "--ttl", ttl]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Looks again and again until it is so.
fn becomes(mut so: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        so()
    })
}

fn is_absent(path: &Path) -> bool {
    let error = fs::metadata(path).err();
    error.is_some_and(|e| e.raw_os_error() == Some(libc::ENOENT))
}

#[test]
fn mount_a_cell_vanishes_with_its_row_when_its_ttl_is_over() {
    let fixture = Fixture::new();
    let (table, row) = (fixture.path("t"), fixture.path("t/row"));
    let cell = row.join("f/q");
    assert!(is_absent(&cell), "the kernel knows that it is absent");
    put_for(&fixture, "row", "q", "short-lived", "700");
    // Everything is looked at, so that all of it is in the kernel's caches.
    assert_eq!(fs::read_to_string(&cell).unwrap(), "short-lived");
    assert_eq!(
        (names(&table), names(&row), names(&row.join("f"))),
        (vec!["row".into()], vec!["f".into()], vec!["q".into()])
    );
    assert!(fs::metadata(&row).unwrap().is_dir() && fs::metadata(row.join("f")).unwrap().is_dir());
    assert!(becomes(|| is_absent(&cell)));
    assert!(fs::read(&cell).is_err());
    assert!(is_absent(&row.join("f")) && is_absent(&row), "directories end with their last cell");
    assert!(names(&table).is_empty());
    put_for(&fixture, "row", "q", "again", "100000");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "again");
    assert_eq!(names(&row.join("f")), ["q"]);
}

#[test]
fn mount_the_version_before_shows_again_when_a_newer_one_expires() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    let cell = family.join("q");
    fs::write(&cell, "older").unwrap();
    put_for(&fixture, "row", "q", "newer", "500");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "newer");
    let held = fs::File::open(&cell).unwrap();
    assert!(becomes(|| fs::read_to_string(&cell).unwrap() == "older"), "pages of the expired version are kept");
    assert_eq!(names(&family), ["q"]);
    drop(held);
}

#[test]
fn mount_the_version_before_is_read_though_it_has_the_length_and_the_mtime_of_the_expired_one() {
    let fixture = Fixture::new();
    let (family, store) = (fixture.family("row"), fixture.store());
    let shell = |script: &str| {
        let output = std::process::Command::new("sh").args(["-c", script]).current_dir(&family).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("echo old > q; touch -d @1000000 q; sleep 0.05; echo new > q; touch -d @1000000 q");
    assert_eq!(shell("setfattr -n user.cellfs.ttl -v 1500 q; cat q"), "new\n");
    let held = fs::File::open(family.join("q")).unwrap();
    let stored = || fixture.cellfs(&["get", "--value", store.to_str().unwrap(), "t", "row", "f:q"]).stdout;
    assert!(becomes(|| stored().starts_with(b"old")));
    assert_eq!(shell("cat q; cp q copy; cat copy"), "old\nold\n");
    let mut text = [0; 4];
    assert!(becomes(|| std::os::unix::fs::FileExt::read_at(&held, &mut text, 0).unwrap() == 4 && text == *b"old\n"));
}

#[test]
fn mount_directories_of_a_family_that_gets_a_ttl_vanish_too() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let put = fixture.cellfs(&["put", store.to_str().unwrap(), "t", "row", "f:q", "v"]);
    assert!(put.status.success());
    let row = fixture.path("t/row");
    assert!(fs::metadata(row.join("f/q")).unwrap().is_file() && fs::metadata(&row).unwrap().is_dir());
    fs::write(fixture.path("t/.schema/f/TTL"), "1").unwrap();
    assert!(becomes(|| is_absent(&row.join("f/q"))));
    assert!(becomes(|| is_absent(&row)));
}

#[test]
fn mount_shows_what_a_compaction_uncovers_in_a_classic_family() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let shell = |statement: &str| {
        let output = fixture.cellfs(&["shell", store.to_str().unwrap(), "-n", "-e", statement]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    };
    shell("create 'c', 'f'");
    shell("put 'c', 'r', 'f:q', 'covered', 1000");
    shell("deleteall 'c', 'r', 'f:q', 2000");
    shell("flush 'c'");
    let cell = fixture.path("c/r/f/q");
    assert!(is_absent(&cell));
    shell("put 'c', 'r', 'f:q', 'hidden by what was deleted before', 1500");
    assert!(is_absent(&cell));
    shell("major_compact 'c'");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "hidden by what was deleted before");
}
