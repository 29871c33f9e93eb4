//! Tables that take no writes: refused early, and copied whole.

use std::fs;
use std::path::Path;

use super::server::Cluster;
use super::tree::{Mounted, cellfs};
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
