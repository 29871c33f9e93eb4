//! What befalls a cluster of many servers: kills, moves, merges, splits, under writers and under readers of a mount.
//!
//! `CELLFS_CLUSTER_ROUNDS` is how often all of it happens, once unless it is given.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cellfs::hbase::client::proto::data::Scan;
use cellfs::hbase::client::{Cluster, Region, Scanner};

use super::server::LEASE_MS;
use super::servers::{MASTER, SERVERS, Servers, ZOOKEEPER};
use super::tree::{MountedAt, cellfs};
use super::writers::{PUT, Writers, client, make, mutation, named};

const TABLE: &str = "faults";
const READ: &str = "faults_read";
const SLOW: &str = "faults_slow";
const ROWS: usize = 60;

/// A server that a busy machine keeps from ZooKeeper for longer ends, and nobody opens its regions while no master is there.
const SESSION: &str = "zookeeper.session.timeout 30000\n";

/// Runs commands of HBase's shell, each of which may take its time.
fn run(address: &str, script: &str) -> (String, String, bool) {
    cellfs(&["shell", "-q", "-n", &format!("{address}?timeout=90"), "-e", script])
}

fn shell(address: &str, script: &str) {
    let (out, said, done) = run(address, script);
    assert!(done, "{script}: {said}{out}");
}

/// Whether a merge or a split was made; false where HBase says that it cannot be yet.
fn changed(address: &str, script: &str) -> bool {
    let (out, said, done) = run(address, script);
    let is_early = ["NOT splittable", "not mergeable", "has merge qualifier"].iter().any(|text| said.contains(text));
    assert!(done || is_early, "{script}: {said}{out}");
    done
}

fn regions(cluster: &Cluster, table: &str) -> Vec<Region> {
    cluster.regions(&named(table)).unwrap()
}

/// The name of a server (`localhost,PORT,START CODE`), as its regions tell it.
fn server_name(cluster: &Cluster, port: u16) -> String {
    let status = cluster.status().unwrap();
    let server = status.live_servers.iter().find(|one| one.server.port == Some(u32::from(port))).expect("it is alive");
    format!("localhost,{port},{}", server.server.start_code.unwrap())
}

/// Reads the table of a mount with tar again and again; every time all of it has to be there.
fn read_on(table: &Path, stop: &AtomicBool) -> usize {
    let mut times = 0;
    while !stop.load(Ordering::Relaxed) {
        let script = "set -o pipefail; tar cf - . | tar xOf - --wildcards '*/f/q' | sort | uniq -c";
        let output = Command::new("bash").args(["-c", script]).current_dir(table).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if stop.load(Ordering::Relaxed) {
            // The mount may have ended meanwhile.
            break;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.trim(), format!("{ROWS} the same in each"), "tar has read something else");
        times += 1;
    }
    times
}

/// Ends the reader before the mount ends, so that of a test that fails the first reason is told.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Regions go to and fro, come together and come apart again, by the shell's commands.
fn move_merge_and_split(servers: &Servers, cluster: &Cluster, (address, is_first): (&str, bool)) {
    for table in [TABLE, READ] {
        for (at, region) in regions(cluster, table).iter().enumerate() {
            let to = server_name(cluster, servers.port(at % 2));
            shell(address, &format!("move '{}', '{to}'", region.encoded()));
        }
        let places = regions(cluster, table).iter().map(|region| region.server.port).collect::<Vec<_>>();
        assert_eq!(places[..2], [servers.port(0), servers.port(1)]);
        // HBase neither splits nor merges what has just come of that, until it was compacted.
        let before = regions(cluster, table);
        let [one, other] = [0, 1].map(|at: usize| before[at].encoded());
        let merged = changed(address, &format!("merge_region '{one}', '{other}'"));
        let at = [before.last().unwrap().start(), b"5"].concat();
        let split = changed(address, &format!("split '{table}', '{}'", String::from_utf8(at).unwrap()));
        assert!(merged && split || !is_first, "{table} is neither merged nor split");
        assert_eq!(regions(cluster, table).len(), before.len() - usize::from(merged) + usize::from(split));
        shell(address, &format!("flush '{table}'; major_compact '{table}'"));
    }
}

fn read_whole(cluster: &Cluster, table: &str) {
    let mut scanner = Scanner::new(cluster, named(table), Scan::default(), None);
    while scanner.next().unwrap().is_some() {}
}

/// Waits until the master and both servers have been there for some seconds on end.
fn wait_for_all(servers: &Servers, address: &str) {
    let cluster = client(&format!("{address}?timeout=5"));
    let (started, mut there_since) = (Instant::now(), Instant::now());
    while there_since.elapsed() < Duration::from_secs(3) {
        servers.start_ended();
        if !cluster.status().is_ok_and(|status| status.live_servers.len() == SERVERS.len()) {
            there_since = Instant::now();
        }
        assert!(started.elapsed() < Duration::from_secs(300), "the cluster does not come back");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// All of it, once.
fn befall(servers: &Servers, cluster: &Cluster, (address, mnt): (&str, &Path), (writers, is_first): (&Writers, bool)) {
    writers.go_on(200);
    move_merge_and_split(servers, cluster, (address, is_first));
    writers.go_on(200);
    // A server that has regions of both tables is cut off in the middle of it all.
    let starts = |role: &str| servers.said(role, "Serving as localhost");
    let before = starts(SERVERS[0]);
    servers.kill(SERVERS[0]);
    writers.go_on(400);
    servers.start_again(SERVERS[0]);
    servers.wait_for(SERVERS[0], "Serving as localhost", before + 1);
    // Rows need no master, once it has had all regions opened.
    read_whole(cluster, READ);
    read_whole(cluster, SLOW);
    let before = servers.said(MASTER, "Master has completed initialization");
    servers.kill(MASTER);
    writers.go_on(300);
    let cell = mnt.join("default").join(SLOW).join("without a master/f/q");
    fs::create_dir_all(cell.parent().unwrap()).unwrap();
    fs::write(&cell, "written").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "written");
    servers.start_again(MASTER);
    servers.wait_for(MASTER, "Master has completed initialization", before + 1);
    // Nor, for a moment, ZooKeeper.
    servers.kill(ZOOKEEPER);
    writers.go_on(100);
    servers.start_again(ZOOKEEPER);
    writers.go_on(200);
    let started = Instant::now();
    while !cellfs(&["list", address]).2 {
        assert!(started.elapsed() < Duration::from_secs(60), "ZooKeeper does not come back");
    }
    wait_for_all(servers, address);
    cellfs(&["drop", address, "faults_made"]);
    shell(address, "create 'faults_made', 'f', {SPLITS => ['g', 'p']}");
    assert_eq!(regions(cluster, "faults_made").len(), 3);
}

/// Who reads more slowly than servers keep a scanner gets everything, once.
fn read_slowly(cluster: &Cluster) {
    let rows: Vec<_> = (0..40).map(|row| vec![mutation(PUT, &format!("row{row:02}"), "q", &[b'v'; 200_000])]).collect();
    make(cluster, SLOW, &["row20"]);
    cluster.batch(&named(SLOW), &rows).unwrap();
    let mut scanner = Scanner::new(cluster, named(SLOW), Scan::default(), None);
    let mut found = Vec::new();
    while let Some(part) = scanner.next().unwrap() {
        found.push(String::from_utf8(part.row).unwrap());
        // In the first region, and in the second.
        if [5, 25].contains(&found.len()) {
            std::thread::sleep(Duration::from_millis(LEASE_MS * 2));
        }
    }
    assert_eq!(found, (0..40).map(|row| format!("row{row:02}")).collect::<Vec<_>>());
}

#[test]
fn nothing_is_lost_or_doubled_by_what_befalls_a_cluster() {
    let servers = Servers::start(SESSION);
    let address = servers.address();
    let long = format!("{address}?timeout=150");
    let cluster = Arc::new(client(&long));
    read_slowly(&cluster);
    make(&cluster, TABLE, &["f", "m", "t"]);
    make(&cluster, READ, &["row20", "row40"]);
    let mounted = MountedAt::new(&long, "");
    let read = mounted.mnt().join("default").join(READ);
    for row in 0..ROWS {
        fs::create_dir_all(read.join(format!("row{row:02}/f"))).unwrap();
        fs::write(read.join(format!("row{row:02}/f/q")), "the same in each\n").unwrap();
    }
    let writers = Writers::start(8, &cluster, TABLE);
    let stop = Arc::new(AtomicBool::new(false));
    let _stop = Stop(Arc::clone(&stop));
    let reader = {
        let (stop, read) = (Arc::clone(&stop), read.clone());
        std::thread::spawn(move || read_on(&read, &stop))
    };
    let rounds = std::env::var("CELLFS_CLUSTER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    for round in 0..rounds {
        befall(&servers, &cluster, (&address, &mounted.mnt()), (&writers, round == 0));
        assert!(!reader.is_finished(), "the reader of the mount has failed: {}", mounted.log());
    }
    let made = writers.check();
    stop.store(true, Ordering::Relaxed);
    let times = reader.join().unwrap();
    println!("{made} rounds of writers are all there; tar has read the mount {times} times");
    assert!(times > 0);
}
