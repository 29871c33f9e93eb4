//! Moves on a cluster: what mv(1) is refused, and what `cellfs mv` takes along.

use std::fs;

use super::server::Cluster;
use super::tree::{Mounted, cellfs};
use crate::mount::fixture::errno;

fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}{out}");
    out
}

/// What is stored of a row, its own name and those of its tombstones' times aside.
fn raw(at: &str, table: &str, row: &str) -> Vec<String> {
    let all = well(&["scan", "--raw", "--versions", "1000", at, table]);
    all.lines().filter_map(|line| line.strip_prefix(row)?.strip_prefix('\t')).map(str::to_owned).collect()
}

fn shown(at: &str, table: &str, row: &str) -> Vec<String> {
    let all = well(&["scan", "--versions", "1000", at, table]);
    all.lines().filter_map(|line| line.strip_prefix(row)?.strip_prefix('\t')).map(str::to_owned).collect()
}

#[test]
fn deleted_versions_move_with_what_deletes_them() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    for behavior in ["true", "false"] {
        cellfs(&["drop", at, "moves"]);
        let family = format!("f,VERSIONS=9,KEEP_DELETED_CELLS=TRUE,NEW_VERSION_BEHAVIOR={behavior}");
        well(&["create", at, "moves", &family]);
        let mut script = String::new();
        for time in 1..6 {
            script += &format!(
                "put 'moves', 'old', 'f:a', 'a{time}', {time}\nput 'moves', 'old', 'f:b', 'b{time}', {time}\n"
            );
        }
        script +=
            "delete 'moves', 'old', 'f:a', 3\ndeleteall 'moves', 'old', 'f:a', 2\ndeleteall 'moves', 'old', 'f:b', 9\n";
        // Put after its tombstone: shown where versions are counted by when they were written.
        script += "put 'moves', 'old', 'f:b', 'late', 7\nput 'moves', 'old', 'f:c', 'only'\ndeleteall 'moves', 'old', 'f:c'\n";
        well(&["shell", "-q", "-n", at, "-e", &script]);
        let (before, stored) = (shown(at, "moves", "old"), raw(at, "moves", "old"));
        well(&["mv", at, "moves/old", "moves/new"]);
        assert_eq!(shown(at, "moves", "new"), before, "{behavior}");
        assert_eq!(raw(at, "moves", "new"), stored, "{behavior}");
        assert_eq!(shown(at, "moves", "old"), Vec::<String>::new());
        // Once more: what is there is there.
        well(&["mv", "--resume", at, "moves/old", "moves/new"]);
        assert_eq!(shown(at, "moves", "new"), before, "{behavior}, again");
        // A column alone.
        well(&["mv", at, "moves/new/f/a", "moves/new/f/z"]);
        let of = |name: &str| shown(at, "moves", "new").iter().filter(|line| line.starts_with(name)).count();
        assert_eq!((of("f:a"), of("f:z")), (0, 2), "{:?}", raw(at, "moves", "new"));
    }
    well(&["drop", at, "moves"]);
}

#[test]
fn a_refused_rename_of_a_family_leaves_nothing() {
    let mounted = Mounted::new(Cluster::shared(), "moves_family", "families=auto");
    fs::write(mounted.path("r/f/q"), "v").unwrap();
    assert_eq!(errno(fs::rename(mounted.path("r/f"), mounted.path("r/g"))), libc::EXDEV);
    assert!(!mounted.path(".schema/g").exists());
    assert_eq!(fs::read_to_string(mounted.path("r/f/q")).unwrap(), "v");
}
