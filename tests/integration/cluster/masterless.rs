//! A cluster without a master: rows go on, for mounts that run and for who comes then.

use std::fs;
use std::time::{Duration, Instant};

use super::servers::{MASTER, Servers};
use super::tree::{MountedAt, cellfs};

/// No request may wait longer for a master that it does not need.
const MOST: Duration = Duration::from_secs(5);

/// Without a master nobody opens the regions of a server again that a slow machine has kept from ZooKeeper for longer.
const SESSION: &str = "zookeeper.session.timeout 40000\n";

fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}{out}");
    out
}

#[test]
fn rows_are_read_and_written_while_no_master_is_there() {
    let servers = Servers::start(SESSION);
    let address = servers.address();
    well(&["create", &address, "rows", "f,VERSIONS=3", "g,TTL=86400"]);
    well(&[
        "shell",
        "-q",
        "-n",
        &address,
        "-e",
        "create 'locked', 'f', READONLY => true; create 'off', 'f'; disable 'off'",
    ]);
    let mounted = MountedAt::new(&address, "cache=0");
    let cell = mounted.mnt().join("default/rows/r/f/q");
    fs::create_dir_all(cell.parent().unwrap()).unwrap();
    let write = |text: &str| {
        let failed = |e| panic!("write {text}: {e}: {}{}", mounted.log(), servers.last_said());
        fs::write(&cell, text).unwrap_or_else(failed);
    };
    write("before");
    let before = servers.said(MASTER, "Master has completed initialization");
    servers.kill(MASTER);
    // The mount says once that it goes on with what it knows, and nothing waits meanwhile.
    let errors = mounted.mnt().join(".info/errors");
    let told = || fs::read_to_string(&errors).unwrap().matches("master cannot be asked").count();
    let (started, mut written) = (Instant::now(), 0);
    while told() == 0 || started.elapsed() < Duration::from_secs(20) {
        let now = Instant::now();
        written += 1;
        write(&format!("{written}"));
        assert_eq!(fs::read_to_string(&cell).unwrap(), format!("{written}"));
        assert!(now.elapsed() < MOST, "{:?}", now.elapsed());
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is told: {}", mounted.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(told(), 1);
    // Who comes now learns of tables from hbase:meta, and of families from the servers of their regions.
    assert_eq!(well(&["list", &address]).lines().collect::<Vec<_>>(), ["locked", "off", "rows"]);
    well(&["put", &address, "rows", "r2", "g:q", "without a master"]);
    assert!(well(&["get", &address, "rows", "r2"]).contains("without a master"));
    assert!(well(&["describe", &address, "rows"]).contains("TTL=86400"));
    let (_, said, done) = cellfs(&["put", &address, "locked", "r", "f:q", "v"]);
    assert!(!done && said.contains("locked"), "{said}");
    let (_, said, done) = cellfs(&["put", &address, "rows", "r", "h:q", "v"]);
    assert!(!done && said.contains("h does not exist"), "{said}");
    let other = MountedAt::new(&address, "");
    assert_eq!(fs::read_to_string(other.mnt().join("default/rows/r2/g/q")).unwrap(), "without a master");
    fs::write(other.mnt().join("default/rows/r2/g/p"), "by a new mount").unwrap();
    assert!(fs::read_to_string(other.mnt().join(".info/errors")).unwrap().contains("master cannot be asked"));
    // What needs it says so.
    let (_, said, done) = cellfs(&["create", &format!("{address}?timeout=3"), "more", "f"]);
    assert!(!done && said.contains("schemas are changed by the cluster's master"), "{said}");
    servers.start_again(MASTER);
    servers.wait_for(MASTER, "Master has completed initialization", before + 1);
    well(&["create", &address, "more", "f"]);
    let started = Instant::now();
    while !mounted.mnt().join("default/more").exists() || !other.mnt().join("default/more").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "the mounts do not hear of the master: {}", mounted.log());
        std::thread::sleep(Duration::from_millis(100));
    }
}
