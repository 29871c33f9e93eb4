//! An import that is killed goes on where it was: nothing is missing, nothing is there twice.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Stored;

const ROWS: usize = 300_000;

fn rows_of(stored: &Stored) -> usize {
    stored.done(&["count", "STORE", "t"]).trim().parse().unwrap()
}

#[test]
fn bulk_an_import_that_was_killed_goes_on_and_nothing_is_twice_or_missing() {
    let stored = Stored::new();
    // Every version would stay.
    stored.done(&["alter", "STORE", "t", "f,VERSIONS=100"]);
    let mut text = "HBASE_ROW_KEY,f:a,f:b\n".to_owned();
    for row in 0..ROWS {
        writeln!(text, "r{row:07},{row},\"v,{row}\"").unwrap();
        if row % 50_000 == 7 {
            writeln!(text, ",bad,{row}").unwrap();
        }
    }
    stored.write("big.csv", &text);
    let kept = stored.path("big.csv.default.t.cellfs-import");
    let first = ["import", "STORE", "t", "big.csv", "--on-error", "bad.csv"];
    let mut runs = 0;
    loop {
        let mut args = first.to_vec();
        if runs > 0 {
            args.insert(1, "--resume");
        }
        let mut child = stored.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        runs += 1;
        // Killed once it has kept some progress, at another moment each time; at last it is left alone.
        let before = std::fs::read(&kept).ok();
        let began = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            let has_kept = std::fs::read(&kept).ok().is_some_and(|now| before.as_ref() != Some(&now));
            if runs < 4 && (has_kept && began.elapsed() > Duration::from_millis(300 * runs)) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(1), "bad lines were left out");
            break;
        }
    }
    println!("{runs} runs");
    assert!(!kept.exists());
    assert_eq!(rows_of(&stored), ROWS);
    let versions = stored.done(&["scan", "STORE", "t", "--versions", "100"]);
    assert_eq!(versions.lines().count(), 2 * ROWS, "no cell has two versions");
    assert_eq!(super::lines_of(&stored.path("bad.csv")).len(), ROWS / 50_000, "no bad line is there twice");
    let back = stored.done(&["export", "STORE", "t", "--format", "csv"]);
    let wanted: Vec<&str> = text.lines().filter(|line| !line.starts_with(',')).collect();
    assert!(back.lines().eq(wanted), "the table is not what the file says");
    assert!(stored.done(&["check", "STORE"]).contains("0"), "the store is sound");
}
