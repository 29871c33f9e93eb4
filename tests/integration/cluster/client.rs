//! The client against a server: rows, batches, scans over regions that split, tables, snapshots.

use std::sync::Arc;

use cellfs::hbase::client::proto::data::{ColumnValue, Condition, Get, MutationProto, QualifierValue, Scan};
use cellfs::hbase::client::proto::filter;
use cellfs::hbase::client::proto::schema::{BytesBytesPair, ColumnFamilySchema, TableName, TableSchema};
use cellfs::hbase::client::{Address, Cluster, Config, Kind, Scanner};

use super::server;

/// A table of a test, dropped with it.
struct Table {
    cluster: Cluster,
    name: TableName,
    _server: Arc<server::Cluster>,
}

impl Table {
    fn new(name: &str, splits: &[&str]) -> Self {
        let server = server::Cluster::shared();
        let address = Address::parse(&server.address).unwrap();
        let cluster = Cluster::new(Config { address, user: "tests".into() });
        let name = TableName { namespace: b"default".to_vec(), qualifier: name.into() };
        let family = ColumnFamilySchema {
            name: b"f".to_vec(),
            attributes: vec![BytesBytesPair { first: b"VERSIONS".to_vec(), second: b"5".to_vec() }],
            configuration: Vec::new(),
        };
        let schema =
            TableSchema { table_name: Some(name.clone()), column_families: vec![family], ..Default::default() };
        let table = Self { cluster, name, _server: server };
        table.drop_it();
        table.cluster.create_table(schema, splits.iter().map(|key| key.as_bytes().to_vec()).collect()).unwrap();
        table
    }

    fn drop_it(&self) {
        // There may be none.
        let _ = self.cluster.disable_table(&self.name);
        let _ = self.cluster.delete_table(&self.name);
    }

    fn rows(&self, scan: Scan, limit: Option<u64>) -> Vec<Vec<u8>> {
        let mut scanner = Scanner::new(&self.cluster, self.name.clone(), scan, limit);
        let mut rows = Vec::new();
        while let Some(part) = scanner.next().unwrap() {
            if part.is_end {
                rows.push(part.row);
            }
        }
        rows
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.drop_it();
    }
}

fn put(row: &str, qualifier: &str, timestamp: u64, value: &[u8]) -> MutationProto {
    let value = QualifierValue {
        qualifier: Some(qualifier.into()),
        value: Some(value.to_vec()),
        timestamp: Some(timestamp),
        delete_type: None,
    };
    MutationProto {
        row: Some(row.into()),
        mutate_type: Some(2),
        column_value: vec![ColumnValue { family: b"f".to_vec(), qualifier_value: vec![value] }],
        ..MutationProto::default()
    }
}

fn get(row: &str) -> Get {
    Get { row: row.into(), max_versions: Some(10), ..Get::default() }
}

#[test]
fn rows_are_written_and_read_with_their_versions() {
    let table = Table::new("client_rows", &[]);
    let (cluster, name) = (&table.cluster, &table.name);
    for timestamp in [5, 7] {
        cluster.mutate(name, put("r", "q", timestamp, &timestamp.to_be_bytes()), None).unwrap();
    }
    let cells = cluster.get(name, get("r")).unwrap();
    assert_eq!(cells.iter().map(|cell| cell.timestamp).collect::<Vec<_>>(), [7, 5]);
    let lengths = Get { filter: Some(filter::lengths_only()), ..get("r") };
    assert_eq!(cluster.get(name, lengths).unwrap()[0].value, 8_u32.to_be_bytes());
    let add = MutationProto { mutate_type: Some(1), ..put("n", "n", 1, &5_i64.to_be_bytes()) };
    let sum = |cells: &[cellfs::hbase::client::Cell]| cells[0].value.clone();
    assert_eq!(sum(&cluster.mutate(name, add.clone(), None).unwrap().cells), 5_i64.to_be_bytes());
    let both = cluster.mutate_row(name, b"n", vec![add, put("n", "o", 9, b"x")], None).unwrap();
    assert_eq!(sum(&both.cells), 10_i64.to_be_bytes());
    let large = cluster.mutate(name, put("r", "large", 7, &vec![0; 11 << 20]), None).unwrap_err();
    assert_eq!(large.kind, Kind::TooLarge, "{large}");
    let gone = TableName { qualifier: b"client_nowhere".to_vec(), ..name.clone() };
    assert_eq!(cluster.get(&gone, get("r")).unwrap_err().kind, Kind::NoTable);
}

#[test]
fn the_newest_version_is_checked_by_its_time() {
    let table = Table::new("client_newest", &[]);
    let (cluster, name) = (&table.cluster, &table.name);
    cluster.mutate(name, put("r", "a", 9, b"another column"), None).unwrap();
    for timestamp in [5, 7] {
        cluster.mutate(name, put("r", "q", timestamp, b"v"), None).unwrap();
    }
    let condition = |timestamp: i64| Condition {
        row: b"r".to_vec(),
        filter: Some(filter::list(
            filter::Join::All,
            vec![
                filter::compared("FamilyFilter", 2, filter::binary(b"f")),
                filter::compared("QualifierFilter", 2, filter::binary(b"q")),
                filter::first_key_only(),
                filter::named(
                    "TimestampsFilter",
                    &filter::TimestampsFilter { timestamps: vec![timestamp], can_hint: None },
                ),
            ],
        )),
        ..Condition::default()
    };
    for (timestamp, holds) in [(5, false), (7, true), (9, false)] {
        let done = cluster.mutate(name, put("r", "w", 1, b"x"), Some(condition(timestamp))).unwrap();
        assert_eq!(done.processed, holds, "{timestamp}");
    }
}

#[test]
fn batches_and_scans_go_over_all_regions_while_they_split() {
    let table = Table::new("client_regions", &["g", "p"]);
    let (cluster, name) = (&table.cluster, &table.name);
    let key = |n: usize| format!("{}{n:05}", char::from(b'a' + (n % 26) as u8));
    let rows: Vec<_> = (0..5000).map(|n| vec![put(&key(n), "q", 7, &[b'x'; 100])]).collect();
    cluster.batch(name, &rows).unwrap();
    let mut keys: Vec<Vec<u8>> = (0..5000).map(|n| key(n).into_bytes()).collect();
    keys.sort();
    assert_eq!(table.rows(Scan::default(), None), keys);
    assert_eq!(table.rows(Scan::default(), Some(3000)), keys[..3000]);
    let within = Scan { start_row: Some(keys[100].clone()), stop_row: Some(keys[4000].clone()), ..Scan::default() };
    assert_eq!(table.rows(within, None), keys[100..4000]);
    // A region splits while a scan is in it.
    let mut scanner = Scanner::new(cluster, name.clone(), Scan { caching: Some(10), ..Scan::default() }, None);
    let mut seen = Vec::new();
    while let Some(part) = scanner.next().unwrap() {
        seen.push(part.row);
        if seen.len() == 10 {
            cluster.split(name, b"c").unwrap();
        }
    }
    assert_eq!(seen, keys);
    assert_eq!(cluster.regions(name).unwrap().len(), 4);
    keys.reverse();
    assert_eq!(table.rows(Scan { reversed: Some(true), ..Scan::default() }, None), keys);
    cluster.batch(name, &rows[..100]).unwrap();
}

#[test]
fn a_row_that_is_wide_comes_in_parts() {
    let table = Table::new("client_wide", &[]);
    let (cluster, name) = (&table.cluster, &table.name);
    for part in 0..6 {
        let cells = (0..50).map(|n| put("wide", &format!("{:05}", part * 50 + n), 7, &[b'y'; 20_000]));
        cluster.mutate_row(name, b"wide", cells.collect(), None).unwrap();
    }
    let mut scanner = Scanner::new(cluster, name.clone(), Scan::default(), None);
    let (mut parts, mut cells) = (Vec::new(), Vec::new());
    while let Some(part) = scanner.next().unwrap() {
        parts.push((part.cells.len(), part.is_end));
        cells.extend(part.cells.into_iter().map(|cell| cell.qualifier));
    }
    assert!(parts.len() >= 3 && parts.iter().filter(|(_, is_end)| *is_end).count() == 1, "{parts:?}");
    assert_eq!(cells, (0..300).map(|n| format!("{n:05}").into_bytes()).collect::<Vec<_>>());
}

#[test]
fn tables_are_disabled_flushed_snapshotted_and_cloned() {
    let table = Table::new("client_admin", &[]);
    let (cluster, name) = (&table.cluster, &table.name);
    cluster.mutate(name, put("r", "q", 7, b"before"), None).unwrap();
    cluster.flush(name).unwrap();
    cluster.compact(name, None, true).unwrap();
    let _ = cluster.delete_snapshot("client_snapshot");
    cluster.snapshot("client_snapshot", name).unwrap();
    cluster.mutate(name, put("r", "q", 8, b"after"), None).unwrap();
    assert!(cluster.snapshots().unwrap().iter().any(|snapshot| snapshot.name == "client_snapshot"));
    let clone = TableName { qualifier: b"client_clone".to_vec(), ..name.clone() };
    cluster.restore_snapshot("client_snapshot", &clone).unwrap();
    assert_eq!(cluster.get(&clone, get("r")).unwrap()[0].value, b"before");
    cluster.disable_table(&clone).unwrap();
    let disabled = cluster.get(&clone, get("r")).unwrap_err();
    assert_eq!(disabled.kind, Kind::TableDisabled, "{disabled}");
    cluster.truncate_table(&clone, true).unwrap();
    assert_eq!(cluster.get(&clone, get("r")).unwrap(), []);
    cluster.disable_table(&clone).unwrap();
    cluster.delete_table(&clone).unwrap();
    cluster.delete_snapshot("client_snapshot").unwrap();
    assert_eq!(cluster.delete_snapshot("client_snapshot").unwrap_err().kind, Kind::NoSnapshot);
}
