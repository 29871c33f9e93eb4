//! Writers that count what was acknowledged, and the comparison of that with what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use cellfs::hbase::client::proto::data::{ColumnValue, Get, MutationProto, QualifierValue, Scan};
use cellfs::hbase::client::proto::schema::{BytesBytesPair, ColumnFamilySchema, TableName, TableSchema};
use cellfs::hbase::client::{Address, Cluster, Config, Scanner};

const APPEND: i32 = 0;
const INCREMENT: i32 = 1;
pub const PUT: i32 = 2;

/// A client of an address.
pub fn client(address: &str) -> Cluster {
    Cluster::new(Config { address: Address::parse(address).unwrap(), user: "tests".into() })
}

pub fn named(table: &str) -> TableName {
    TableName { namespace: b"default".to_vec(), qualifier: table.into() }
}

/// Makes a table of the family `f`, split at these rows.
pub fn make(cluster: &Cluster, table: &str, splits: &[&str]) {
    let family = ColumnFamilySchema {
        name: b"f".to_vec(),
        attributes: vec![BytesBytesPair { first: b"VERSIONS".to_vec(), second: b"5".to_vec() }],
        configuration: Vec::new(),
    };
    let schema = TableSchema { table_name: Some(named(table)), column_families: vec![family], ..Default::default() };
    cluster.create_table(schema, splits.iter().map(|key| key.as_bytes().to_vec()).collect()).unwrap();
}

/// A mutation of the family `f`; what adds to a value has no time.
pub fn mutation(kind: i32, row: &str, qualifier: &str, value: &[u8]) -> MutationProto {
    let value = QualifierValue {
        qualifier: Some(qualifier.into()),
        value: Some(value.to_vec()),
        timestamp: (kind == PUT).then_some(1000),
        delete_type: None,
    };
    MutationProto {
        row: Some(row.into()),
        mutate_type: Some(kind),
        column_value: vec![ColumnValue { family: b"f".to_vec(), qualifier_value: vec![value] }],
        ..MutationProto::default()
    }
}

/// See the module: each makes rounds of a put of a row of its own, an increment and an append.
pub struct Writers {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    threads: Vec<JoinHandle<u64>>,
    cluster: Arc<Cluster>,
    table: TableName,
}

impl Writers {
    pub fn start(count: usize, cluster: &Arc<Cluster>, table: &str) -> Self {
        let (stop, rounds): (Arc<AtomicBool>, Arc<AtomicU64>) = Default::default();
        let name = named(table);
        let writer = |at: usize| {
            let (stop, rounds, cluster, name) =
                (Arc::clone(&stop), Arc::clone(&rounds), Arc::clone(cluster), name.clone());
            std::thread::spawn(move || {
                let mut done = 0;
                while !stop.load(Ordering::Relaxed) {
                    for one in round(at, done) {
                        // With the time that they are given here all of them are to be made.
                        cluster.mutate(&name, one, None).unwrap_or_else(|e| panic!("writer {at}, round {done}: {e}"));
                    }
                    done += 1;
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
                done
            })
        };
        let threads = (0..count).map(writer).collect();
        Self { stop, rounds, threads, cluster: Arc::clone(cluster), table: name }
    }

    /// Waits until so many more rounds are made.
    pub fn go_on(&self, more: u64) {
        let (before, started) = (self.rounds.load(Ordering::Relaxed), std::time::Instant::now());
        while self.rounds.load(Ordering::Relaxed) < before + more {
            assert!(!self.threads.iter().any(JoinHandle::is_finished), "a writer has failed");
            assert!(started.elapsed().as_secs() < 150, "the writers do not go on");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Ends them and looks for each change that was acknowledged: none is lost, none is made twice. The rounds.
    pub fn check(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let rounds: Vec<u64> = self.threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let value = |row: &str, qualifier: &str| {
            let get = Get { row: row.into(), ..Get::default() };
            let cells = self.cluster.get(&self.table, get).unwrap();
            cells.into_iter().find(|cell| cell.qualifier == qualifier.as_bytes()).map(|cell| cell.value)
        };
        let mut expected = Vec::new();
        for (at, rounds) in rounds.iter().enumerate() {
            let (sum, log) = (value(&counter(at), "n"), value(&counter(at), "log"));
            assert_eq!(sum.map(|sum| i64::from_be_bytes(sum.try_into().unwrap())), Some(rounds.cast_signed()), "{at}");
            let all: String = (0..*rounds).map(|round| format!(",{round}")).collect();
            assert!(log == Some(all.into_bytes()), "appends of writer {at} were lost or made twice");
            expected.extend((0..*rounds).map(|round| key(at, round).into_bytes()));
        }
        expected.extend((0..rounds.len()).map(|at| counter(at).into_bytes()));
        expected.sort();
        let mut scanner = Scanner::new(&self.cluster, self.table.clone(), Scan::default(), None);
        let mut found = Vec::new();
        while let Some(part) = scanner.next().unwrap() {
            if part.is_end {
                found.push(part.row);
            }
        }
        assert!(found == expected, "{} rows are stored, {} were acknowledged", found.len(), expected.len());
        rounds.iter().sum()
    }
}

/// Rows of each writer are everywhere in the table.
fn key(writer: usize, round: u64) -> String {
    format!("{}{writer}-{round:07}", char::from(b'a' + (round % 26) as u8))
}

fn counter(writer: usize) -> String {
    format!("{}-counter-{writer}", char::from(b'a' + (writer * 3 % 26) as u8))
}

fn round(writer: usize, round: u64) -> [MutationProto; 3] {
    let row = counter(writer);
    [
        mutation(PUT, &key(writer, round), "q", &[b'x'; 100]),
        mutation(INCREMENT, &row, "n", &1_i64.to_be_bytes()),
        mutation(APPEND, &row, "log", format!(",{round}").as_bytes()),
    ]
}
