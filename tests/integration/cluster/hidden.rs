//! Tombstones of classic deletes, and cells that others remove: what is acknowledged behind them is there.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::server::Cluster;
use super::tree::{Mounted, MountedAt, cellfs};
use crate::mount::fixture::errno;

/// Timestamps in a future that a tombstone of the mount is as late as.
const AHEAD_MS: u128 = 3_600_000;

fn well(args: &[&str]) -> String {
    let (stdout, stderr, is_well) = cellfs(args);
    assert!(is_well, "{args:?}: {stderr}");
    stdout.trim().to_owned()
}

fn append(path: &Path, text: &str) {
    fs::File::options().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// A table of classic deletes, dropped at the end.
struct Classic<'c>(&'c Cluster, &'static str);

impl<'c> Classic<'c> {
    fn new(cluster: &'c Cluster, table: &'static str) -> Self {
        cellfs(&["drop", &cluster.address, table]);
        well(&["create", &cluster.address, table, "f,VERSIONS=5,KEEP_DELETED_CELLS=FALSE,NEW_VERSION_BEHAVIOR=false"]);
        Self(cluster, table)
    }

    fn get(&self, column: &str) -> String {
        well(&["get", "--value", &self.0.address, self.1, "r", column])
    }

    /// A version of the future, in the place of what is there.
    fn put_ahead(&self, column: &str) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        well(&["put", &self.0.address, self.1, "r", column, "future", &(now + AHEAD_MS).to_string()]);
    }
}

impl Drop for Classic<'_> {
    fn drop(&mut self) {
        cellfs(&["drop", &self.0.address, self.1]);
    }
}

#[test]
fn what_is_added_behind_a_tombstone_is_there() {
    let cluster = Cluster::shared();
    let table = Classic::new(&cluster, "hidden_added");
    let mounted = MountedAt::new(&cluster.address, "cache=0");
    let family = mounted.mnt().join("default/hidden_added/r/f");
    table.put_ahead("f:text");
    table.put_ahead("f:n");
    fs::remove_file(family.join("text")).unwrap();
    append(&family.join("text"), "one");
    append(&family.join("text"), "two");
    assert_eq!(fs::read_to_string(family.join("text")).unwrap(), "onetwo");
    assert_eq!(table.get("f:text"), "onetwo");
    fs::remove_file(family.join("n")).unwrap();
    for sum in ["2", "4"] {
        assert_eq!(well(&["incr", &cluster.address, "hidden_added", "r", "f:n", "2"]), sum);
    }
    assert_eq!(fs::read_to_string(family.join("n@counter")).unwrap().trim(), "4");
    // A tombstone of the millisecond in which more is added, again and again; those of the whole family too.
    for round in 0..40 {
        let log = family.join("log");
        fs::write(&log, "old").unwrap();
        if round % 2 == 0 {
            fs::remove_file(&log).unwrap();
        } else {
            well(&["deleteall", &cluster.address, "hidden_added", "r", "f"]);
        }
        append(&log, "new");
        assert_eq!(fs::read_to_string(&log).unwrap(), "new", "round {round}");
    }
}

/// Of several that add what is absent, behind a tombstone of the future, one does.
#[test]
fn what_is_added_where_nothing_is_is_added_once() {
    let cluster = Cluster::shared();
    let table = Classic::new(&cluster, "hidden_once");
    let address = cluster.address.as_str();
    for column in ["f:a", "f:b", "f:c"] {
        table.put_ahead(column);
        well(&["deleteall", address, "hidden_once", "r", column]);
        let adds = || cellfs(&["append", "--if-absent", address, "hidden_once", "r", column, "x"]).2;
        let added = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(adds)).collect();
            all.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>()
        });
        assert_eq!((added, table.get(column).as_str()), (1, "x"), "{column}");
    }
}

#[test]
fn a_tombstone_of_the_last_time_is_told() {
    let cluster = Cluster::shared();
    let table = Classic::new(&cluster, "hidden_last");
    let mounted = MountedAt::new(&cluster.address, "cache=0");
    let cell = mounted.mnt().join("default/hidden_last/r/f/q");
    let last = (i64::MAX - 1).to_string();
    well(&["put", &cluster.address, "hidden_last", "r", "f:q", "last", &last]);
    fs::remove_file(&cell).unwrap();
    let written = fs::File::create(&cell).and_then(|mut file| {
        file.write_all(b"hidden")?;
        nix::unistd::close(file).map_err(Into::into)
    });
    assert_eq!(errno(written), libc::EINVAL);
    let (_, said, is_well) = cellfs(&["put", &cluster.address, "hidden_last", "r", "f:q", "hidden"]);
    assert!(!is_well && said.contains("tombstone of the last time"), "{said}");
    drop(table);
    // It hides nothing that is put later where that counts.
    let mounted = Mounted::new(cluster, "hidden_last", "cache=0");
    let address = &mounted.cluster.address;
    well(&["put", address, "hidden_last", "r", "f:q", "last", &last]);
    fs::remove_file(mounted.path("r/f/q")).unwrap();
    fs::write(mounted.path("r/f/q"), "shown").unwrap();
    assert_eq!(well(&["get", "--value", address, "hidden_last", "r", "f:q"]), "shown");
}

#[test]
fn what_is_written_by_the_name_of_an_open_file_that_others_have_removed_is_stored() {
    let mounted = Mounted::new(Cluster::shared(), "hidden_named", "cache=20");
    let (cell, address) = (mounted.path("r/f/q"), &mounted.cluster.address);
    // Mostly the kernel is asked before it has heard that the name is gone.
    for round in 0..12 {
        fs::write(&cell, "first").unwrap();
        let held = fs::File::open(&cell).unwrap();
        well(&["deleteall", address, "hidden_named", "r", "f:q"]);
        let started = std::time::Instant::now();
        while held.metadata().unwrap().nlink() > 0 && started.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        match round % 3 {
            0 => fs::write(&cell, "second").unwrap(),
            1 => append(&cell, "second"),
            _ => assert_eq!(errno(nix::unistd::truncate(&cell, 0).map_err(Into::into)), libc::ENOENT),
        }
        if round % 3 < 2 {
            assert_eq!(well(&["get", "--value", address, "hidden_named", "r", "f:q"]), "second", "round {round}");
        }
    }
}

#[test]
fn scan_paths_show_what_tombstones_hide_and_count_versions_alone() {
    let mounted = Mounted::new(Cluster::shared(), "hidden_raw", "");
    let statements = "put 'hidden_raw','r','f:a','v1',100; deleteall 'hidden_raw','r','f:a',100
put 'hidden_raw','r','f:b','v1',100; deleteall 'hidden_raw','r','f:b',200
put 'hidden_raw','r','f:c','v1',100; put 'hidden_raw','r','f:c','v2',200; delete 'hidden_raw','r','f:c',150";
    well(&["shell", "-q", &mounted.cluster.address, "-e", statements]);
    let named = |path: &str| {
        let mut names: Vec<String> = fs::read_dir(mounted.path(path))
            .unwrap()
            .map(|of| of.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names.join(" ")
    };
    let of_two = "a@100 a@100.deleted.100 b@100 b@200.deleted.200";
    assert_eq!(named(".raw/r/f"), format!("{of_two} c@150.deleted.150 c@200"));
    assert_eq!(named(".raw/.versions/2/r/f"), format!("{of_two} c@100 c@150.deleted.150 c@200"));
    assert_eq!(fs::read_to_string(mounted.path(".raw/r/f/a@100")).unwrap(), "v1");
}
