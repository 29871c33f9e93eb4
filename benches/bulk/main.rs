//! Import, export, questions and the change feed, beside SQLite and PostgreSQL doing the same in the same run.
//!
//! `cargo bench --bench bulk`; CELLFS_BENCH_CELLS (1,000,000) says how many cells, five a row. Files lie below target/.
//! SQLite is the one that is linked; PostgreSQL is asked where `initdb`, `postgres` and `psql` are installed.
#![allow(clippy::disallowed_types, reason = "a benchmark is not simulated")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says where")]

mod cellfs_side;
mod feed;
mod postgres;
mod run;
mod sqlite;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Cells of a row.
pub const COLUMNS: u64 = 5;
/// Rows that share a city.
pub const SHARE: u64 = 100;
/// Questions of each kind.
pub const QUESTIONS: u64 = 200;

/// What is imported everywhere.
#[derive(Clone, Copy)]
pub struct Data {
    pub rows: u64,
}

impl Data {
    pub fn cells(self) -> u64 {
        self.rows * COLUMNS
    }

    pub fn key(n: u64) -> String {
        format!("row-{n:012}")
    }

    /// Neighbours live in other cities.
    pub fn city(self, n: u64) -> String {
        format!("city-{:09}", n.wrapping_mul(0x9E37_79B9) % (self.rows / SHARE).max(1))
    }

    fn write_csv(self, path: &Path) -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "HBASE_ROW_KEY,f:age,f:city,f:mail,f:name,f:note")?;
        for n in 0..self.rows {
            let (key, city) = (Self::key(n), self.city(n));
            writeln!(out, "{key},{},{city},user{n}@example.org,\"Name, {n}\",note {n:040}", n % 90)?;
        }
        out.flush()
    }
}

/// A line of the report.
pub fn tell(what: &str, seconds: f64, cells: u64, peak: Option<u64>) {
    let rate = cells as f64 / seconds;
    let peak = peak.map_or_else(String::new, |bytes| format!(", {} MiB at the most", bytes >> 20));
    println!("{what:<46} {seconds:>8.2} s {rate:>12.0} cells/s{peak}");
}

fn main() {
    let cells: u64 = std::env::var("CELLFS_BENCH_CELLS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let data = Data { rows: (cells / COLUMNS).max(SHARE) };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let csv = dir.path().join("in.csv");
    data.write_csv(&csv).expect("a file of rows");
    println!(
        "{} rows of {COLUMNS} cells, {} MiB of csv",
        data.rows,
        std::fs::metadata(&csv).map_or(0, |m| m.len()) >> 20
    );
    cellfs_side::measure(dir.path(), data);
    sqlite::measure(dir.path(), data);
    match postgres::Server::start(dir.path()) {
        Ok(server) => server.measure(data),
        Err(why) => println!("PostgreSQL is left out: {why}"),
    }
    feed::measure(dir.path());
}
