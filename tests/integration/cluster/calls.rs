//! How often a cluster is asked.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::server::Cluster;
use super::tree::{MountedAt, cellfs};

/// Calls of a kind that the log tells of.
fn calls(mounted: &MountedAt, method: &str) -> usize {
    mounted.log().matches(&format!("] {method} at ")).count()
}

#[test]
fn the_cells_of_a_row_that_was_listed_are_read_at_once() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "calls_row"]);
    assert!(cellfs(&["create", at, "calls_row", "f"]).2);
    let mounted = MountedAt::logging(at, "cache=60", "cellfs::hbase=trace");
    let family = mounted.mnt().join("default/calls_row/r/f");
    fs::create_dir_all(&family).unwrap();
    for n in 0..30 {
        let (_, said, done) = cellfs(&["put", at, "calls_row", "r", &format!("f:q{n:02}"), &format!("value {n}")]);
        assert!(done, "{said}");
    }
    let names: Vec<_> = fs::read_dir(&family).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 30);
    let before = calls(&mounted, "Get");
    for (n, path) in names.iter().enumerate() {
        let file = fs::File::open(path).unwrap();
        assert_eq!(std::io::read_to_string(&file).unwrap(), format!("value {n}"));
        // As tar(1) does: reading has changed the access time, and the kernel asks again for the attributes.
        assert_eq!(file.metadata().unwrap().size(), format!("value {n}").len() as u64);
    }
    // Reading ahead grows, and half of it may be read by the kernel beside us.
    let asked = calls(&mounted, "Get") - before;
    assert!(asked <= 3, "{asked} requests:\n{}", mounted.log());
    // What the mount itself changes is seen at once, whatever is believed.
    fs::write(&names[7], "longer than it was").unwrap();
    assert_eq!(fs::metadata(&names[7]).unwrap().size(), 18);
    assert_eq!(fs::read_to_string(&names[7]).unwrap(), "longer than it was");
    cellfs(&["drop", at, "calls_row"]);
}
