//! What was deleted in many rows is found a page at a time, by few requests, and is all of it.

use std::collections::BTreeSet;
use std::fs;

use super::fixture::Fixture;

fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.code().is_some_and(|code| code < 2), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the daemon has been asked by commands.
fn asked(fixture: &Fixture, store: &str) -> u64 {
    let numbers: serde_json::Value = serde_json::from_str(&run(fixture, &["stats", "--json", store])).unwrap();
    numbers["daemon"]["commands"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum()
}

/// Rows and columns that a command lists.
fn listed(fixture: &Fixture, args: &[&str]) -> Vec<String> {
    let lines = run(fixture, &[&["undelete", "--list"], args].concat());
    lines.lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect()
}

#[test]
fn mount_undelete_looks_for_what_was_deleted_with_few_requests() {
    let mut fixture = Fixture::empty();
    let store = fixture.store().display().to_string();
    let file = fixture.directory.path().join("cells.csv");
    let mut text = String::from("HBASE_ROW_KEY,f:a,f:b,g:a\n");
    (0..2000).for_each(|row| text += &format!("r{row:04},1,2,3\n"));
    fs::write(&file, text).unwrap();
    run(&fixture, &["create", &store, "t", "f", "g"]);
    run(&fixture, &["import", &store, "t", file.to_str().unwrap()]);
    let before = asked(&fixture, &store);
    assert_eq!(listed(&fixture, &[&store, "t"]), [""; 0]);
    let took = asked(&fixture, &store) - before;
    println!("6,000 cells of 2,000 rows of which none is deleted: {took} requests");
    assert!(took < 30, "{took} requests");
    // A row of more columns than a page looks at, and cells of which there are more on either side of its end.
    let wide = |n| format!("{{\"row\":\"wide\",\"family\":\"g\",\"qualifier\":\"q{n:04}\",\"value\":\"v\"}}\n");
    let puts: String = (0..5000).map(wide).collect();
    let lines = fixture.directory.path().join("wide.jsonl");
    fs::write(&lines, puts).unwrap();
    run(&fixture, &["import", &store, "t", lines.to_str().unwrap()]);
    let mut wanted = BTreeSet::new();
    let mut commands = String::new();
    let mut delete = |row: &str, column: &str| {
        wanted.insert(format!("t {row} {column}"));
        commands += &format!("delete 't', '{row}', '{column}'\n");
    };
    for row in (0..2000).step_by(7) {
        let columns = [&["f:a"][..], &["f:b", "g:a"], &["f:a", "f:b", "g:a"]][row % 3];
        columns.iter().for_each(|column| delete(&format!("r{row:04}"), column));
    }
    (0..5000).step_by(3).for_each(|n| delete("wide", &format!("g:q{n:04}")));
    let script = fixture.directory.path().join("script");
    fs::write(&script, commands).unwrap();
    run(&fixture, &["shell", &store, script.to_str().unwrap()]);
    let all: Vec<String> = wanted.iter().cloned().collect();
    let of_row: Vec<String> = wanted.iter().filter(|cell| cell.starts_with("t wide ")).cloned().collect();
    let before = asked(&fixture, &store);
    assert_eq!(listed(&fixture, &[&store, "t"]), all);
    let took = asked(&fixture, &store) - before;
    assert!(took < 40, "{took} requests");
    assert_eq!(listed(&fixture, &[fixture.path("t/wide").to_str().unwrap()]), of_row);
    assert_eq!(listed(&fixture, &[fixture.path("t/wide/g").to_str().unwrap()]), of_row);
    assert_eq!(listed(&fixture, &[fixture.mnt().join("default").to_str().unwrap()]), all);
    // Without a daemon the same; and all of it comes back.
    fixture.unmount();
    assert_eq!(listed(&fixture, &[&store, "t"]), all);
    fixture.mount("");
    run(&fixture, &["undelete", &store, "t"]);
    assert_eq!(listed(&fixture, &[&store, "t"]), [""; 0]);
    assert_eq!(run(&fixture, &["get", &store, "t", "wide"]).lines().filter(|line| line.contains("g:q")).count(), 5000);
}
