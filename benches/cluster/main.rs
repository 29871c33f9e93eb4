//! The client of HBase beside HBase's own Java client, on one cluster and in one run.
//!
//! `CELLFS_CLUSTER=hbase://127.0.0.1:PORT/hbase CELLFS_HBASE_DIR=DIR cargo bench --bench cluster`: DIR is where the tests
//! have put HBase (the class path and the compiled programs of tests/hbase, in DIR/differential; without CELLFS_HBASE_DIR
//! they put it in ~/.cache/cellfs-hbase). Without DIR ours runs alone.
//!
//! `tests/hbase/server.sh DATA 17000 17001 DIR/differential/classpath` starts a server on one machine.

#![expect(clippy::expect_used, reason = "a measurement that cannot be made ends")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cellfs::hbase::client::proto::data::{ColumnValue, Get, MutationProto, QualifierValue, Scan};
use cellfs::hbase::client::proto::schema::{ColumnFamilySchema, TableName, TableSchema};
use cellfs::hbase::client::{Address, Cluster, Config, Scanner};

const TABLE: &str = "cellfs_bench";
const ROWS: usize = 5000;
/// Each is measured so often, in turns.
const ROUNDS: usize = 3;

/// What was measured in each round, by what it is.
type Figures = BTreeMap<String, Vec<f64>>;

fn row(n: usize) -> Vec<u8> {
    format!("row{n:08}").into_bytes()
}

fn put(n: usize) -> MutationProto {
    let value = QualifierValue {
        qualifier: Some(b"q".to_vec()),
        value: Some(vec![0; 100]),
        timestamp: Some(1),
        delete_type: None,
    };
    MutationProto {
        row: Some(row(n)),
        mutate_type: Some(2),
        column_value: vec![ColumnValue { family: b"f".to_vec(), qualifier_value: vec![value] }],
        ..MutationProto::default()
    }
}

fn name() -> TableName {
    TableName { namespace: b"default".to_vec(), qualifier: TABLE.into() }
}

/// Operations a second of so many threads.
fn timed(threads: usize, rows: usize, work: impl Fn(std::ops::Range<usize>) + Sync) -> f64 {
    let started = Instant::now();
    let part = rows / threads;
    std::thread::scope(|scope| {
        for at in 0..threads {
            let work = &work;
            scope.spawn(move || work(part * at..part * (at + 1)));
        }
    });
    rows as f64 / started.elapsed().as_secs_f64()
}

fn ours(cluster: &Cluster) -> Vec<(&'static str, f64)> {
    let table = name();
    let puts = |rows: std::ops::Range<usize>| {
        rows.for_each(|n| drop(cluster.mutate(&table, put(n), None).expect("a put")));
    };
    let gets = |rows: std::ops::Range<usize>| {
        for n in rows {
            let cells = cluster.get(&table, Get { row: row(n), ..Get::default() }).expect("a get");
            assert!(!cells.is_empty(), "row {n} is missing");
        }
    };
    let multi = |rows: std::ops::Range<usize>| {
        let all: Vec<usize> = rows.collect();
        for part in all.chunks(1000) {
            let rows: Vec<_> = part.iter().map(|n| vec![put(*n)]).collect();
            cluster.batch(&table, &rows).expect("a batch");
        }
    };
    let scan = |rows: std::ops::Range<usize>| {
        let mut scanner = Scanner::new(cluster, table.clone(), Scan::default(), None);
        let mut found = 0;
        while let Some(part) = scanner.next().expect("a scan") {
            found += usize::from(part.is_end);
        }
        assert_eq!(found, rows.end);
    };
    vec![
        ("multi-put", timed(1, ROWS * 10, multi)),
        ("put 1", timed(1, ROWS, puts)),
        ("put 8", timed(8, ROWS * 4, puts)),
        ("get 1", timed(1, ROWS, gets)),
        ("get 8", timed(8, ROWS * 4, gets)),
        ("scan", timed(1, ROWS * 10, scan)),
    ]
}

fn median(speeds: &[f64]) -> f64 {
    let mut speeds = speeds.to_vec();
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}

fn theirs(directory: &Path, port: &str) -> Vec<(String, f64)> {
    let jars = std::fs::read_to_string(directory.join("classpath")).expect("the class path of HBase");
    let classes = directory.join("target/classes");
    let output = Command::new("java")
        .args(["--add-opens", "java.base/java.nio=ALL-UNNAMED", "--add-opens", "java.base/java.lang=ALL-UNNAMED"])
        .args(["-Dio.netty.tryReflectionSetAccessible=true", "-cp"])
        .arg(format!("{}:{jars}", classes.display()))
        .args(["cellfs.bench.ClientBench", port, TABLE, &ROWS.to_string()])
        .output()
        .expect("java runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(k, v)| Some((k.into(), v.parse().ok()?)))
        .collect()
}

fn main() {
    let Ok(address) = std::env::var("CELLFS_CLUSTER") else {
        println!("CELLFS_CLUSTER=hbase://127.0.0.1:PORT/hbase names the cluster; there is none to measure");
        return;
    };
    let cluster = Cluster::new(Config { address: Address::parse(&address).expect("an address"), user: "bench".into() });
    let fresh = || {
        // There may be none.
        let _ = cluster.disable_table(&name());
        let _ = cluster.delete_table(&name());
        let family = ColumnFamilySchema { name: b"f".to_vec(), ..ColumnFamilySchema::default() };
        let schema = TableSchema { table_name: Some(name()), column_families: vec![family], ..Default::default() };
        cluster.create_table(schema, Vec::new()).expect("a table");
    };
    let port = address.split([':', '/']).find(|part| part.parse::<u16>().is_ok()).unwrap_or("2181");
    let directory = std::env::var_os("CELLFS_HBASE_DIR").map(|directory| Path::new(&directory).join("differential"));
    // The server's virtual machine compiles what is often called: both are to meet it warm.
    fresh();
    ours(&cluster);
    let (mut own, mut java): (Figures, Figures) = Default::default();
    for _ in 0..ROUNDS {
        if let Some(directory) = &directory {
            fresh();
            theirs(directory, port).into_iter().for_each(|(what, speed)| java.entry(what).or_default().push(speed));
        }
        fresh();
        ours(&cluster).into_iter().for_each(|(what, speed)| own.entry(what.to_owned()).or_default().push(speed));
    }
    println!("{:<12}{:>12}{:>12}{:>8}   medians of {ROUNDS} rounds", "a second", "ours", "Java", "ratio");
    for (what, ours) in &own {
        let ours = median(ours);
        match java.get(what).map(|theirs| median(theirs)) {
            Some(theirs) => println!("{what:<12}{ours:>12.0}{theirs:>12.0}{:>8.2}", ours / theirs),
            None => println!("{what:<12}{ours:>12.0}"),
        }
    }
    let _ = cluster.disable_table(&name());
    let _ = cluster.delete_table(&name());
}
