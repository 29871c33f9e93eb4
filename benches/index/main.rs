//! What secondary indexes cost and bring, in a store on the real disk below target/.
//!
//! `cargo bench --bench index`; CELLFS_BENCH_CELLS (1,000,000) says how many rows, each with a cell that is indexed and one
//! that is not.
#![allow(clippy::disallowed_types, reason = "a benchmark is not simulated")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says where")]

use std::path::Path;
use std::time::Instant;

use cellfs::backend::{Backend, CompactionKind};
use cellfs::model::{
    By, CatalogueChange, ColumnSlice, FamilySchema, IndexSchema, Mutation, Origin, PutCell, RowMutations, Scan,
    TableName, TableSchema, Time, file_family_attributes,
};
use cellfs::store::{Store, StoreOptions};

/// Rows that share a value.
const SHARE: u64 = 100;

fn table(name: &str) -> TableName {
    TableName::parse(name).expect("a name")
}

fn index(name: &str, column: &str, unique: bool) -> IndexSchema {
    let mut index = IndexSchema { unique, ..IndexSchema::new(name) };
    index.set_attribute("columns", Some(column)).expect("a column");
    index
}

fn create(store: &Store, name: &str, indexes: &[IndexSchema]) {
    let mut schema = TableSchema::new(table(name), [FamilySchema::new("f", file_family_attributes())]);
    schema.indexes = indexes.iter().map(|index| (index.name.clone(), index.clone())).collect();
    store.alter(CatalogueChange::CreateTable(schema), Origin::default()).expect("a table");
}

fn value(n: u64, rows: u64) -> Vec<u8> {
    // Neighbours have other values.
    format!("value-{:010}", n.wrapping_mul(0x9E37_79B9) % (rows / SHARE).max(1)).into_bytes()
}

fn put(store: &Store, name: &str, n: u64, rows: u64) {
    let cells = vec![
        PutCell::new("f", b"q".to_vec(), Time::AfterNewest, value(n, rows)),
        PutCell::new("f", b"unique".to_vec(), Time::AfterNewest, format!("{n:016}").into_bytes()),
        PutCell::new("f", b"rest".to_vec(), Time::AfterNewest, vec![b'r'; 100]),
    ];
    let (row, mutations) = (format!("row-{n:012}").into_bytes(), vec![Mutation::Put(cells)]);
    let mutations = RowMutations { table: table(name), row, mutations, durability: None, origin: Origin::default() };
    store.mutate(mutations, None).expect("a put");
}

fn count(store: &Store, scan: &Scan) -> usize {
    let rows = store.scan(scan).expect("a scan");
    rows.inspect(|row| assert!(row.is_ok(), "{row:?}")).count()
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    let bytes = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        _ => entry.metadata().map_or(0, |facts| facts.len()),
    };
    entries.map(bytes).sum()
}

/// Seconds of what is done.
fn timed<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let done = what();
    (done, began.elapsed().as_secs_f64())
}

fn puts(dir: &Path, rows: u64) {
    let sets: [(&str, Vec<IndexSchema>); 4] = [
        ("no index", vec![]),
        ("1 index", vec![index("a", "f:q", false)]),
        ("1 unique index", vec![index("a", "f:unique", true)]),
        ("3 indexes", vec![index("a", "f:q", false), index("b", "f:unique", false), index("c", "f:rest", false)]),
    ];
    for (name, indexes) in sets {
        let path = dir.join(name.replace(' ', "-"));
        let store = Store::open(StoreOptions::new(&path)).expect("a store");
        create(&store, "t", &indexes);
        let ((), seconds) = timed(|| {
            (0..rows).for_each(|n| put(&store, "t", n, rows));
            store.flush(None).expect("a flush");
        });
        store.close().expect("it closes");
        let (each, mib) = (seconds * 1e6 / rows as f64, bytes_below(&path) >> 20);
        println!("puts of 3 cells a row, {name:<16} {each:>8.2} us a row, {mib} MiB");
    }
}

fn build(store: &Store) {
    let ((), seconds) = timed(|| {
        let mut schema = store.catalogue().expect("a catalogue").tables[&table("t")].clone();
        schema.indexes.insert("a".to_owned(), index("a", "f:q", false));
        store.alter(CatalogueChange::AlterTable(schema), Origin::default()).expect("an index");
        while !store.catalogue().expect("a catalogue").tables[&table("t")].indexes["a"].is_complete() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    });
    println!("an index is built in {seconds:.1} s");
}

fn ask(store: &Store, rows: u64) {
    let by = |equals: Vec<Vec<u8>>, within: ColumnSlice| {
        let by = By { index: "a".to_owned(), equals, within };
        Scan { by: Some(by), ..Scan::all(table("t")) }
    };
    let wanted: Vec<Vec<u8>> = (0..200).map(|n| value(n * 7, rows)).collect();
    let (found, seconds) = timed(|| {
        let each = wanted.iter().map(|value| count(store, &by(vec![value.clone()], ColumnSlice::default())));
        each.sum::<usize>()
    });
    let each = seconds * 1e6 / wanted.len() as f64;
    println!("by a value: {} rows, {each:.0} us a question", found / wanted.len());
    let filter = [b"SingleColumnValueFilter('f','q',=,'binary:", wanted[1].as_slice(), b"',true,true)"].concat();
    let mut scan = Scan::all(table("t"));
    scan.read.filter = Some(filter);
    let (found, seconds) = timed(|| count(store, &scan));
    println!("by a filter: {found} rows, {:.0} us", seconds * 1e6);
    let within = ColumnSlice { from: b"value-0000000100".to_vec(), before: b"value-0000000200".to_vec() };
    let (found, seconds) = timed(|| count(store, &by(Vec::new(), within)));
    println!("by a range of values: {found} rows, {:.1} ms", seconds * 1e3);
    let (found, seconds) = timed(|| count(store, &by(Vec::new(), ColumnSlice::default())));
    println!("by all values, in the order of rows: {found} rows, {seconds:.2} s");
    let (found, seconds) = timed(|| count(store, &Scan::all(table("t"))));
    println!("all rows without an index: {found} rows, {seconds:.2} s");
}

fn main() {
    let rows = std::env::var("CELLFS_BENCH_CELLS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    puts(dir.path(), rows);
    let store = Store::open(StoreOptions::new(dir.path().join("no-index"))).expect("a store");
    build(&store);
    ask(&store, rows);
    let ((), seconds) = timed(|| {
        store.flush(None).expect("a flush");
        store.compact(&table("t"), None, CompactionKind::Major).expect("a compaction");
    });
    println!("major compaction of the table and its index: {seconds:.1} s");
    ask(&store, rows);
}
