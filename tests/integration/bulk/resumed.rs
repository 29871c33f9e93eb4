//! An import that is killed goes on where it was: nothing is missing, nothing is there twice.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::Stored;

const ROWS: usize = 300_000;

fn rows_of(stored: &Stored) -> usize {
    stored.done(&["count", "STORE", "t"]).trim().parse().unwrap()
}

/// Runs an import, which is killed once it has kept some progress, at another moment each time; at last it is left alone.
fn killed_and_resumed(stored: &Stored, first: &[&str], kept: &Path) -> ExitStatus {
    let mut runs = 0;
    loop {
        let mut args = first.to_vec();
        if runs > 0 {
            args.insert(1, "--resume");
        }
        let mut child = stored.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        runs += 1;
        let before = std::fs::read(kept).ok();
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                println!("{runs} runs");
                assert!(runs > 1, "it was never killed");
                return status;
            }
            let has_kept = std::fs::read(kept).ok().is_some_and(|now| before.as_ref() != Some(&now));
            // The first time as soon as there is something to go on from.
            if runs < 4 && has_kept && began.elapsed() > Duration::from_millis(100 * (runs - 1)) {
                child.kill().unwrap();
                child.wait().unwrap();
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
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
    let status = killed_and_resumed(&stored, &["import", "STORE", "t", "big.csv", "--on-error", "bad.csv"], &kept);
    assert_eq!(status.code(), Some(1), "bad lines were left out");
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

#[test]
fn bulk_who_begins_an_import_anew_that_was_stopped_is_told() {
    let stored = Stored::new();
    stored.write("some.csv", "HBASE_ROW_KEY,f:a\nr1,1\nr2,2\n");
    let import = ["import", "STORE", "t", "some.csv"];
    let said = || String::from_utf8(stored.run(&import).stderr).unwrap();
    assert_eq!(said(), "");
    // As one that was killed has left it.
    stored.write("some.csv.default.t.cellfs-import", "{}");
    assert!(said().contains("begins anew") && !stored.path("some.csv.default.t.cellfs-import").exists());
    assert_eq!(said(), "");
}

/// A Parquet file of groups of rows: keys, a number that one row lacks, and a text.
fn parquet(stored: &Stored, rows: usize, lacks: usize) {
    stored.done(&["create", "STORE", "from", "f"]);
    let mut text = "HBASE_ROW_KEY,f:a,f:b\n".to_owned();
    for row in 0..rows {
        let number = if row == lacks { String::new() } else { format!("{row:07}") };
        writeln!(text, "r{row:07},{number},v{row}").unwrap();
    }
    stored.write("from.csv", text);
    stored.done(&["import", "STORE", "from", "from.csv"]);
    stored.done(&["export", "STORE", "from", "-o", "big.parquet"]);
}

#[test]
fn bulk_an_import_of_parquet_that_was_killed_goes_on_and_nothing_is_twice_or_missing() {
    let stored = Stored::new();
    stored.done(&["alter", "STORE", "t", "f,VERSIONS=100"]);
    parquet(&stored, ROWS, ROWS);
    let kept = stored.path("big.parquet.default.t.cellfs-import");
    let status = killed_and_resumed(&stored, &["import", "STORE", "t", "big.parquet"], &kept);
    assert_eq!(status.code(), Some(0));
    assert!(!kept.exists());
    let versions = stored.done(&["scan", "STORE", "t", "--versions", "100"]);
    assert_eq!(versions.lines().count(), 2 * ROWS, "no cell has two versions");
    stored.done(&["create", "STORE", "u", "f"]);
    stored.done(&["import", "STORE", "u", "big.parquet"]);
    let table = |name| stored.done(&["export", "STORE", name, "--format", "csv"]);
    assert!(table("t") == table("u"), "the table is not what a whole import gives");
}

#[test]
fn bulk_an_import_of_parquet_goes_on_behind_the_rows_that_are_there_and_in_the_same_file_alone() {
    let stored = Stored::new();
    // Behind a whole group of rows, and in the middle of one.
    let (rows, bad) = (140_000, 130_000);
    parquet(&stored, rows, bad);
    let columns = ["import", "STORE", "t", "big.parquet", "--columns", "f:key,HBASE_ROW_KEY,f:text"];
    let said = stored.refused(&columns, 2);
    assert!(said.contains(&format!("row {}", bad + 1)) && said.contains("go on with --resume"), "{said}");
    assert_eq!(rows_of(&stored), bad);

    let whole = std::fs::read(stored.path("big.parquet")).unwrap();
    let mut other = whole.clone();
    let at = other.len() - 100;
    other[at] ^= 1;
    let resume = ["import", "--resume", "STORE", "t", "big.parquet", "--on-error", "skip"];
    for changed in [&whole[..whole.len() - 1], &[b"more", &whole[..]].concat(), &other] {
        stored.write("big.parquet", changed);
        let said = stored.refused(&resume, 2);
        assert!(said.contains("has changed in the 130000 rows"), "{said}");
    }
    stored.write("big.parquet", &whole);
    stored.write("schema", "f:text u64\n");
    let said = stored.refused(&[&resume[..], &["--schema", "schema"]].concat(), 2);
    assert!(said.contains("another --schema"), "{said}");

    // The names of the columns are kept, and what was done is not done again.
    let output = stored.run(&resume);
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let wanted = format!("imported {} cells of {} rows; 1 lines", 2 * (rows - 1), rows - 1);
    assert!(output.status.code() == Some(1) && said.contains(&wanted), "{said}");
    assert_eq!(rows_of(&stored), rows - 1);
    assert!(!stored.path("big.parquet.default.t.cellfs-import").exists());
}

/// Lines `HBASE_ROW_KEY,f:k,f:n` of rows, one of which has the key of the first.
fn twice(rows: usize, again: usize) -> String {
    let line = |row: usize| format!("r{row:05},{},{row}\n", if row == again { 0 } else { row });
    "HBASE_ROW_KEY,f:k,f:n\n".to_owned() + &(0..rows).map(line).collect::<String>()
}

#[test]
fn bulk_what_comes_again_after_a_stop_is_counted_once() {
    let stored = Stored::new();
    stored.done(&["create-index", "STORE", "t", "one", "--columns", "f:k", "--unique"]);
    let rows = 5000;
    // In the middle of what is written in one step.
    stored.write("in.csv", twice(rows, 4500));
    let said = stored.refused(&["import", "STORE", "t", "in.csv"], 2);
    assert!(said.contains("in.csv: line 4502: ") && said.contains("go on with --resume"), "{said}");
    stored.write("in.csv", twice(rows, rows));
    let done = stored.done(&["import", "--resume", "STORE", "t", "in.csv"]);
    assert_eq!(done, format!("imported {} cells of {rows} rows\n", 2 * rows));
    assert_eq!(rows_of(&stored), rows);
}

#[test]
fn bulk_an_import_that_cannot_keep_how_far_it_came_says_where_another_goes_on() {
    if !crate::mount::fixture::can_fail_calls() {
        return;
    }
    let stored = Stored::new();
    let lines = (0..5000).map(|row| format!("r{row:05},{row},{row}\n")).collect::<String>();
    let text = format!("HBASE_ROW_KEY,f:k,f:n\n{lines},no row,1\nlast,1,1\n");
    stored.write("in.csv", &text);
    assert!(stored.refused(&["import", "STORE", "t", "in.csv"], 2).contains("go on with --resume"));
    // By whole paths: strace compares those.
    let (file, kept) = (stored.path("in.csv"), stored.path("in.csv.default.t.cellfs-import"));
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=rename,renameat,renameat2:error=EACCES", "-P"]);
    strace.arg(&kept).arg(crate::mount::fixture::CELLFS).current_dir(stored.0.path()).stdin(Stdio::null());
    let output = strace.args(["import", "--resume", "store", "t"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not kept any more: --resume will go on behind line 5001"), "{said}");
    assert!(
        said.ends_with("Mend what is wrong, and go on with --resume; --on-error skip leaves such lines out\n"),
        "{said}"
    );
    stored.write("in.csv", text.replace(",no row,1\n", ""));
    let done = stored.done(&["import", "--resume", "STORE", "t", "in.csv"]);
    assert_eq!(done, "imported 10002 cells of 5001 rows\n");
}
