//! The store: its commands, its indexes, its paths.

use std::path::Path;
use std::process::{Command, Stdio};

use cellfs::backend::Backend;
use cellfs::model::{
    By, CatalogueChange, ColumnSlice, FamilySchema, IndexSchema, Mutation, Origin, PutCell, RowMutations, Scan,
    TableName, TableSchema, Time, file_family_attributes,
};
use cellfs::store::{Store, StoreOptions};

use crate::run::{Run, run, timed};
use crate::{Data, QUESTIONS, tell};

const CELLFS: &str = env!("CARGO_BIN_EXE_cellfs");

fn cellfs(dir: &Path, args: &[&str]) -> Run {
    run(Command::new(CELLFS).args(args).current_dir(dir).stdout(Stdio::null()))
}

fn table() -> TableName {
    TableName::parse("t").expect("a name")
}

pub fn measure(dir: &Path, data: Data) {
    bulk(dir, data);
    let store = Store::open(StoreOptions::new(dir.join("s"))).expect("a store");
    index(&store, data);
    store.close().expect("it closes");
    paths(dir, data);
    puts(dir, data);
}

fn bulk(dir: &Path, data: Data) {
    cellfs(dir, &["create", "--make", "s", "t", "f"]);
    let told = |what: &str, run: &Run| tell(&format!("cellfs {what}"), run.seconds, data.cells(), Some(run.peak));
    told("import csv", &cellfs(dir, &["import", "s", "t", "in.csv"]));
    for format in ["csv", "jsonl", "parquet"] {
        told(&format!("export {format}"), &cellfs(dir, &["export", "s", "t", "-o", &format!("out.{format}")]));
    }
    for format in ["jsonl", "parquet"] {
        cellfs(dir, &["create", "s", format, "f"]);
        told(&format!("import {format}"), &cellfs(dir, &["import", "s", format, &format!("out.{format}")]));
        cellfs(dir, &["drop", "--now", "s", format]);
    }
    told("count", &cellfs(dir, &["count", "s", "t"]));
}

fn count(store: &Store, scan: &Scan) -> usize {
    store.scan(scan).expect("a scan").inspect(|row| assert!(row.is_ok(), "{row:?}")).count()
}

fn city_index(name: &str, column: &str) -> IndexSchema {
    let mut index = IndexSchema::new(name);
    index.set_attribute("columns", Some(column)).expect("a column");
    index
}

fn index(store: &Store, data: Data) {
    let schema = || store.catalogue().expect("a catalogue").tables[&table()].clone();
    let ((), seconds) = timed(|| {
        let mut schema = schema();
        schema.indexes.insert("city".to_owned(), city_index("city", "f:city"));
        store.alter(CatalogueChange::AlterTable(schema), Origin::default()).expect("an index");
        while !is_complete(store) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    tell("cellfs builds an index", seconds, data.rows, None);
    let by = |city: String| {
        let by = By { index: "city".to_owned(), equals: vec![city.into_bytes()], within: ColumnSlice::default() };
        Scan { by: Some(by), ..Scan::all(table()) }
    };
    let (found, seconds) = timed(|| (0..QUESTIONS).map(|n| count(store, &by(data.city(n * 7)))).sum::<usize>());
    println!("cellfs by the index: {} rows, {:.0} us a question", found as u64 / QUESTIONS, micros(seconds));
    let mut scan = Scan::all(table());
    let filter = format!("SingleColumnValueFilter('f','city',=,'binary:{}',true,true)", data.city(7));
    scan.read.filter = Some(filter.into_bytes());
    let (found, seconds) = timed(|| count(store, &scan));
    println!("cellfs by a filter: {found} rows, {:.0} us", seconds * 1e6);
}

fn is_complete(store: &Store) -> bool {
    store.catalogue().expect("a catalogue").tables[&table()].indexes["city"].is_complete()
}

/// Of each question.
pub fn micros(seconds: f64) -> f64 {
    seconds * 1e6 / QUESTIONS as f64
}

/// The first row of a chain of steps, and a count, in a mount.
fn paths(dir: &Path, data: Data) {
    let mount = dir.join("mnt");
    std::fs::create_dir(&mount).expect("a mount point");
    cellfs(dir, &["mount", "s", "mnt"]);
    let middle = Data::key(data.rows / 2);
    let chain = format!("default/t/.from/{middle}/.filter/ValueFilter(!=,'binary:x')/.columns/f:city");
    let (first, seconds) = timed(|| std::fs::read_dir(mount.join(chain)).expect("a directory").next());
    let name = first.expect("a row").expect("its name").file_name();
    println!("cellfs first row of a chain of three steps: {}, {:.1} ms", name.display(), seconds * 1e3);
    let (text, seconds) = timed(|| std::fs::read_to_string(mount.join("default/t/.count")).expect("a number"));
    println!("cellfs .count: {} rows, {seconds:.2} s", text.trim());
    let wide = "default/t/.by/city/.from/city-0/.to/city-9";
    let (listed, seconds) = timed(|| std::fs::read_dir(mount.join(wide)).expect("a directory").count());
    println!("cellfs ls of a range of the index: {listed} rows, {seconds:.2} s");
    cellfs(dir, &["umount", "mnt"]);
}

/// What a put of a row costs with indexes on some of its columns.
fn puts(dir: &Path, data: Data) {
    let rows = (data.rows / 2).min(200_000);
    for indexes in [&[][..], &["f:city"], &["f:city", "f:mail", "f:age"]] {
        let path = dir.join(format!("puts-{}", indexes.len()));
        let store = Store::open(StoreOptions::new(&path)).expect("a store");
        let mut schema = TableSchema::new(table(), [FamilySchema::new("f", file_family_attributes())]);
        schema.indexes =
            indexes.iter().map(|column| (column[2..].to_owned(), city_index(&column[2..], column))).collect();
        store.alter(CatalogueChange::CreateTable(schema), Origin::default()).expect("a table");
        let ((), seconds) = timed(|| (0..rows).for_each(|n| put(&store, n, data)));
        store.close().expect("it closes");
        let each = seconds * 1e6 / rows as f64;
        println!("cellfs put of a row of 5 cells, {} indexes: {each:.1} us", indexes.len());
    }
}

pub fn put(store: &Store, n: u64, data: Data) {
    let cell =
        |name: &str, value: String| PutCell::new("f", name.as_bytes().to_vec(), Time::AfterNewest, value.into_bytes());
    let cells = vec![
        cell("age", (n % 90).to_string()),
        cell("city", data.city(n)),
        cell("mail", format!("user{n}@example.org")),
        cell("name", format!("Name, {n}")),
        cell("note", format!("note {n:040}")),
    ];
    let mutations = vec![Mutation::Put(cells)];
    let row = RowMutations {
        table: table(),
        row: Data::key(n).into_bytes(),
        mutations,
        durability: None,
        origin: Origin::default(),
    };
    store.mutate(row, None).expect("a put");
}
