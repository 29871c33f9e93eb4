//! SQLite doing the same: rows of a csv into a table in one transaction, as its shell's `.import` does, and out again, as
//! `.dump` and `.mode csv` do; an index.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use rusqlite::{Connection, params};

use crate::cellfs_side::micros;
use crate::run::timed;
use crate::{Data, QUESTIONS, tell};

const COLUMNS: [&str; 6] = ["key", "age", "city", "mail", "name", "note"];

pub fn measure(dir: &Path, data: Data) {
    let mut db = Connection::open(dir.join("sqlite.db")).expect("a database");
    db.pragma_update(None, "journal_mode", "wal").expect("a journal");
    db.execute_batch(
        "create table t (key text primary key, age text, city text, mail text, name text, note text) without rowid",
    )
    .expect("a table");
    let ((), seconds) = timed(|| import(&mut db, &dir.join("in.csv")));
    tell("sqlite import csv", seconds, data.cells(), None);
    let ((), seconds) = timed(|| export(&db, &dir.join("sqlite.csv")));
    tell("sqlite export csv", seconds, data.cells(), None);
    let ((), seconds) = timed(|| dump(&db, &dir.join("sqlite.sql")));
    tell("sqlite dump", seconds, data.cells(), None);
    let (rows, seconds) =
        timed(|| db.query_row("select count(*) from t", [], |row| row.get::<_, i64>(0)).expect("a count"));
    println!("sqlite count: {rows} rows, {seconds:.2} s");
    let city = data.city(7);
    let by_scan = timed(|| found(&db, &city));
    println!("sqlite without an index: {} rows, {:.0} us", by_scan.0, by_scan.1 * 1e6);
    let ((), seconds) = timed(|| db.execute_batch("create index city on t (city)").expect("an index"));
    tell("sqlite builds an index", seconds, data.rows, None);
    let (rows, seconds) = timed(|| (0..QUESTIONS).map(|n| found(&db, &data.city(n * 7))).sum::<u64>());
    println!("sqlite by the index: {} rows, {:.0} us a question", rows / QUESTIONS, micros(seconds));
}

/// The fields of a line that this benchmark has written: quotes without quotes in them.
fn fields(line: &str) -> Vec<&str> {
    let (before, rest) = line.split_once('"').expect("a quote");
    let (quoted, after) = rest.split_once('"').expect("its end");
    let before = before.trim_end_matches(',').split(',');
    before.chain([quoted]).chain(after.trim_start_matches(',').split(',')).collect()
}

fn import(db: &mut Connection, csv: &Path) {
    let transaction = db.transaction().expect("a transaction");
    {
        let mut insert = transaction.prepare("insert into t values (?,?,?,?,?,?)").expect("a statement");
        let lines = BufReader::new(File::open(csv).expect("the rows")).lines().skip(1);
        for line in lines {
            let line = line.expect("a line");
            let of = fields(&line);
            insert.execute(params![of[0], of[1], of[2], of[3], of[4], of[5]]).expect("a row");
        }
    }
    transaction.commit().expect("a commit");
    db.execute_batch("pragma wal_checkpoint(full)").expect("a checkpoint");
}

fn export(db: &Connection, to: &Path) {
    each(db, to, |out, values| {
        let quoted = values.iter().map(|value| match value.contains(',') {
            true => format!("\"{value}\""),
            false => (*value).to_owned(),
        });
        writeln!(out, "{}", quoted.collect::<Vec<_>>().join(","))
    });
}

fn dump(db: &Connection, to: &Path) {
    each(db, to, |out, values| writeln!(out, "INSERT INTO t VALUES('{}');", values.join("','")));
}

fn each(db: &Connection, to: &Path, write: impl Fn(&mut BufWriter<File>, &[&str]) -> std::io::Result<()>) {
    let mut out = BufWriter::new(File::create(to).expect("a file"));
    let mut select = db.prepare("select * from t order by key").expect("a question");
    let mut rows = select.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let values: Vec<&str> = (0..COLUMNS.len()).map(|at| row.get_ref_unwrap(at).as_str().expect("text")).collect();
        write(&mut out, &values).expect("room");
    }
    out.flush().expect("room");
}

fn found(db: &Connection, city: &str) -> u64 {
    let mut select = db.prepare_cached("select * from t where city = ?").expect("a question");
    let mut rows = select.query([city]).expect("rows");
    let mut count = 0;
    while let Some(row) = rows.next().expect("a row") {
        assert!(!row.get_ref_unwrap(5).as_str().expect("a note").is_empty());
        count += 1;
    }
    count
}
