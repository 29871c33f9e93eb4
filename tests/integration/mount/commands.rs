//! Commands that change a mounted store, and what the mount shows of it.

use std::fs;

use super::fixture::{Fixture, names};

/// Runs a command on the store, or on paths; what it printed.
fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn mount_alter_incr_append_and_truncate() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    run(&fixture, &["alter", store, "t", "f,VERSIONS=3", "g,TTL=100", "--set", "READONLY=true"]);
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/f/VERSIONS")).unwrap(), "3\n");
    assert_eq!(names(&fixture.path("t/.schema")), [".table", "f", "g"]);
    assert!(!fixture.cellfs(&["incr", store, "t", "r", "f:n"]).status.success(), "READONLY");
    run(&fixture, &["alter", store, "t", "--unset", "READONLY", "--delete", "g"]);
    assert_eq!(run(&fixture, &["incr", store, "t", "r", "f:n", "5"]), "5\n");
    assert_eq!(run(&fixture, &["incr", store, "t", "r", "f:n", "-2"]), "3\n");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/n@counter")).unwrap(), "3\n");
    run(&fixture, &["append", store, "t", "r", "f:q", "one"]);
    run(&fixture, &["append", store, "t", "r", "f:q", "two"]);
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "onetwo");
    assert!(!fixture.cellfs(&["alter", store, "t", "f,VERSIONS=0"]).status.success());
    run(&fixture, &["truncate", store, "t"]);
    assert!(names(&fixture.path("t")).is_empty());
}
