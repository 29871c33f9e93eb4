//! A cluster that is killed while it is mounted: errors within the time, then everything goes on.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::Cluster;
use super::tree::Mounted;
use crate::mount::fixture::errno;

#[test]
fn a_mount_outlives_its_cluster() {
    let mut cluster = Cluster::start();
    cluster.address += "?timeout=4";
    let mounted = Mounted::new(Arc::new(cluster), "killed", "cache=0");
    let cell = mounted.path("r/f/q");
    fs::write(&cell, "acknowledged").unwrap();
    mounted.cluster.kill();
    let started = Instant::now();
    let refused = errno(fs::read(&cell));
    assert!([libc::ETIMEDOUT, libc::EIO].contains(&refused), "{refused}");
    let refused = errno(fs::write(mounted.path("r/f/lost"), "lost"));
    assert!([libc::ETIMEDOUT, libc::EIO].contains(&refused), "{refused}");
    // Each may look more than once: a name, then what it stands for.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    mounted.cluster.start_again();
    let started = Instant::now();
    while fs::read(&cell).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "{}", mounted.log());
    }
    assert_eq!(fs::read_to_string(&cell).unwrap(), "acknowledged");
    fs::write(&cell, "and on").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "and on");
}
