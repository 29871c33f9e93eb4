//! The history of a row that has more columns and versions than are looked at in one step.

use std::fmt::Write as _;

use super::Stored;

#[test]
fn bulk_the_log_of_a_wide_row_is_that_of_its_columns() {
    let stored = Stored::new();
    stored.done(&["create", "STORE", "wide", "f,VERSIONS=5000"]);
    let mut text = String::new();
    for column in 0..4500 {
        writeln!(text, "{{\"row\":\"r\",\"f:c{column:04}'\":\"v\",\"timestamp\":2}}").unwrap();
    }
    for timestamp in 1..=2500 {
        writeln!(text, "{{\"row\":\"r\",\"f:c1000''\":\"v\",\"timestamp\":{timestamp}}}").unwrap();
    }
    stored.write("wide.jsonl", text);
    stored.done(&["import", "STORE", "wide", "wide.jsonl"]);
    stored.fed(&["shell", "STORE"], b"put 'wide','r','f:','v',3\ndeleteall 'wide','r','f:c0007\\'',9\n");
    let all = stored.done(&["log", "-n", "3000", "STORE", "wide/r"]);
    assert_eq!(all.lines().count(), 4500 + 2500 + 1 + 1);
    let of = |column: &str| all.lines().filter_map(|line| line.strip_prefix(column)).collect::<Vec<_>>();
    for (column, count) in
        [("c0000'", 1), ("c0007'", 2), ("c1000'", 1), ("c1000''", 2500), ("c1001'", 1), ("c4499'", 1)]
    {
        let own = stored.done(&["log", "-n", "3000", "STORE", &format!("wide/r/f/{column}")]);
        assert_eq!(own.lines().count(), count, "{column}");
        assert_eq!(own.lines().collect::<Vec<_>>(), of(&format!("f:{column}\t")), "{column}");
    }
    assert!(all.starts_with("f:\t3\t"), "{}", all.lines().next().unwrap_or_default());
}

/// Nobody takes the newest thousand for all there are.
#[test]
fn bulk_a_log_that_is_cut_says_so() {
    let stored = Stored::new();
    stored.done(&["create", "STORE", "long", "f,VERSIONS=5000"]);
    for (count, is_cut) in [(1000, false), (1001, true)] {
        let lines = (1..=count).map(|at| format!("{{\"row\":\"r\",\"f:c\":\"v\",\"timestamp\":{at}}}\n"));
        stored.write("long.jsonl", lines.collect::<String>());
        stored.done(&["import", "STORE", "long", "long.jsonl"]);
        for place in ["long/r", "long/r/f", "long/r/f/c"] {
            let output = stored.run(&["log", "STORE", place]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said.contains("f:c has more than these 1000"), is_cut, "{count} {place}: {said}");
            assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1000, "{count} {place}");
        }
    }
    let output = stored.run(&["log", "-n", "10", "STORE", "long/r"]);
    assert!(output.stderr.is_empty() && output.stdout.iter().filter(|byte| **byte == b'\n').count() == 10);
}
