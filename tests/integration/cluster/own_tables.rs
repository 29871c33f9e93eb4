//! The tables in which a cluster keeps what it knows of the others.

use std::fs;

use super::server::Cluster;
use super::tree::{MountedAt, cellfs};

#[test]
fn the_clusters_own_tables_are_read_and_never_changed() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "own_tables"]);
    assert!(cellfs(&["create", at, "own_tables", "f"]).2);
    let (out, said, done) = cellfs(&["scan", at, "hbase:meta", "--filter", "PrefixFilter('own_tables')"]);
    assert!(done && out.contains("info:regioninfo") && out.contains("table:state"), "{said}{out}");
    assert!(!cellfs(&["list", at]).0.contains("hbase:meta"));
    let mounted = MountedAt::new(at, "");
    let meta = mounted.mnt().join("hbase/meta");
    let is_told =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().starts_with("own_tables,");
    assert!(fs::read_dir(&meta).unwrap().any(is_told));
    assert!(fs::read_to_string(meta.join(".info/regions")).unwrap().contains("1588230740"));
    assert!(fs::create_dir(meta.join("row")).is_err());
    for args in [
        &["put", at, "hbase:meta", "r", "info:q", "v"][..],
        &["deleteall", at, "hbase:meta", "own_tables"][..],
        &["drop", at, "hbase:meta"][..],
        &["truncate", at, "hbase:meta"][..],
    ] {
        let (_, said, done) = cellfs(args);
        assert!(!done && said.contains("hbase:meta"), "{args:?}: {said}");
    }
    cellfs(&["drop", at, "own_tables"]);
}
