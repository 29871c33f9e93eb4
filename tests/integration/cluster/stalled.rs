//! A cluster to which connections stay open while nothing comes through them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::Cluster;
use super::tree::{Mounted, MountedAt, cellfs};
use crate::mount::fixture::errno;

const TIMEOUT: Duration = Duration::from_secs(3);
/// What an operation may take beside the time that it was given: the tree may look at a name before it does something.
const AROUND: Duration = Duration::from_secs(5);

/// Does something that has to fail within the time.
fn fails(what: &str, act: impl FnOnce() -> std::io::Result<()>) {
    let started = Instant::now();
    let refused = errno(act());
    let took = started.elapsed();
    assert!([libc::ETIMEDOUT, libc::EIO].contains(&refused), "{what}: errno {refused} after {took:?}");
    assert!(took < TIMEOUT + AROUND, "{what}: {took:?}");
}

fn comes_back(cell: &Path) {
    let started = Instant::now();
    while fs::read(cell).is_err() {
        assert!(started.elapsed() < Duration::from_secs(30), "it does not come back");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn operations_end_in_time_while_a_cluster_is_silent() {
    let mut cluster = Cluster::start();
    let address = cluster.address.clone();
    cluster.address += "?timeout=3";
    let mounted = Mounted::new(Arc::new(cluster), "stalled", "cache=0");
    let other = MountedAt::new(&mounted.cluster.address, "");
    let cell = mounted.path("r/f/q");
    fs::write(&cell, "before").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "before");
    mounted.cluster.stall(true);
    fails("a read", || fs::read(&cell).map(drop));
    fails("a listing", || fs::read_dir(mounted.path("r/f")).and_then(|mut all| all.next().unwrap()).map(drop));
    fails("a write", || fs::write(mounted.path("r/f/lost"), "lost"));
    // All at once: none waits for another.
    let started = Instant::now();
    let threads: Vec<_> = (0..16)
        .map(|at| {
            let path = mounted.path(&format!("r{at}/f/q"));
            std::thread::spawn(move || fails("one of many", || fs::read(path).map(drop)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(started.elapsed() < TIMEOUT + AROUND * 2, "{:?}", started.elapsed());
    // A command that begins now, and the end of a mount.
    let started = Instant::now();
    let (_, said, done) = cellfs(&["get", &format!("{address}?timeout=3"), "stalled", "r"]);
    assert!(!done && started.elapsed() < TIMEOUT + AROUND, "{:?}: {said}", started.elapsed());
    // The daemon tells what it knows.
    let mnt = mounted.mnt().to_str().unwrap().to_owned();
    for (args, told, is_well) in [
        (vec!["status", &mnt], "last error", false),
        (vec!["stats", &mnt], "last error", true),
        (vec!["stats", "--prometheus", &mnt], "cellfs_cluster_answers{", true),
        (vec!["--json", "status", &mnt], "\"segments\":null", false),
    ] {
        let started = Instant::now();
        let (out, said, done) = cellfs(&args);
        assert!(done == is_well && out.contains(told), "{args:?}: {said}{out}");
        assert!(started.elapsed() < TIMEOUT + AROUND, "{args:?}: {:?}", started.elapsed());
    }
    let started = Instant::now();
    let (_, said, done) = cellfs(&["umount", other.mnt().to_str().unwrap()]);
    assert!(done && started.elapsed() < TIMEOUT + AROUND, "{:?}: {said}", started.elapsed());
    mounted.cluster.stall(false);
    comes_back(&cell);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "before");
    fs::write(&cell, "and on").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "and on");
}
