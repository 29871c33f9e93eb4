//! A large import goes past the log; what it stores is what a table has that takes every put by itself.

use std::fmt::Write as _;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::Stored;

const CELLS: usize = 120_000;

/// Lines of JSON with columns said twice, rows in no order, and lines that cannot be taken; `plain`: puts alone.
fn text(rng: &mut SmallRng, plain: bool) -> String {
    let mut text = String::new();
    for n in 0..CELLS {
        let (row, q) = (rng.random_range(0..20_000), rng.random_range(0..4));
        let family = if rng.random_bool(0.3) { "g" } else { "f" };
        let column = format!("{{\"row\":\"row {row:05}\",\"{family}:q{q}\":");
        let special = n > CELLS * 2 / 3 && !plain && rng.random_bool(0.001);
        match rng.random_range(0..1000) {
            0 => writeln!(text, "{column}").unwrap(),
            1 => writeln!(text, "{column}\"v\",\"timestamp\":-5}}").unwrap(),
            2..200 => writeln!(text, "{column}\"old {n}\",\"timestamp\":{}}}", n % 7).unwrap(),
            _ if special => writeln!(text, "{column}\"brief {n}\",\"ttl_ms\":99000000}}").unwrap(),
            _ => writeln!(text, "{column}\"{n} {}\"}}", "-".repeat(rng.random_range(0..40))).unwrap(),
        }
    }
    text
}

#[test]
fn bulk_a_large_import_stores_what_puts_would() {
    let mut rng = SmallRng::seed_from_u64(7);
    for plain in [true, false] {
        let stored = Stored::new();
        stored.done(&["create", "STORE", "slow", "f", "g"]);
        // One that is followed, so to say: every put is judged.
        stored.done(&["create-check", "STORE", "slow", "f", "any", "--columns", "f:other", "--type", "utf8"]);
        let text = text(&mut rng, plain);
        assert!(text.len() > 6 << 20, "it is a large one");
        stored.write("big.jsonl", &text);
        let said = |table: &str| {
            let args = ["import", "STORE", table, "big.jsonl", "--timestamp", "1700000000000", "--on-error", "skip"];
            let output = stored.run(&args);
            assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
            (output.stdout, output.stderr)
        };
        assert_eq!(said("t"), said("slow"));
        let all = |table: &str| stored.done(&["export", "--history", "STORE", table]);
        let (fast, slow) = (all("t"), all("slow"));
        assert!(fast == slow && fast.lines().count() > CELLS / 3, "{plain}: the tables differ");
        assert!(stored.done(&["check", "STORE"]).contains("no damage"));
        let status = stored.done(&["status", "--json", "STORE"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        assert!(status["segments"].as_u64().unwrap() > 1, "{status}");
    }
}

#[test]
fn bulk_a_row_that_ends_a_load_is_counted() {
    let stored = Stored::new();
    let row = |n: usize| format!("r{n:06},{}\n", "x".repeat(if n == 40_000 { 70_000 } else { 50 }));
    let rows = 50_000;
    stored.write("long.csv", "HBASE_ROW_KEY,f:q\n".to_owned() + &(0..rows).map(row).collect::<String>());
    let said = stored.done(&["import", "STORE", "t", "long.csv"]);
    assert_eq!(said, format!("imported {rows} cells of {rows} rows\n"));
}
