//! Tables that take no writes: refused early, and copied whole.

use std::fs;

use super::server::Cluster;
use super::tree::Mounted;
use crate::mount::fixture::errno;

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
