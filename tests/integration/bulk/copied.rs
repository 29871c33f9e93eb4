//! Tables in another store, cell for cell.

use super::Stored;

/// Without when versions were deleted: of those that a tombstone still hides a copy alone says it with the version.
fn raw(stored: &Stored, store: &str) -> String {
    let line = |line: &str| {
        let mut cell: serde_json::Value = serde_json::from_str(line).unwrap();
        cell.as_object_mut().unwrap().remove("deleted");
        format!("{cell}\n")
    };
    stored.done(&["--json", "scan", store, "t", "--raw", "--versions", "9"]).lines().map(line).collect()
}

/// Else a deleted cell comes back in the copy.
#[test]
fn bulk_a_copy_has_every_tombstone() {
    let stored = Stored::new();
    for value in ["1", "2"] {
        stored.done(&["put", "STORE", "t", "r", "f:a", value]);
        stored.done(&["delete", "STORE", "t", "r", "f:a"]);
        stored.done(&["put", "STORE", "t", "r", "g:b", value]);
        stored.done(&["deleteall", "STORE", "t", "r"]);
    }
    let said = stored.done(&["copy", "--make", "STORE", "copied"]);
    assert!(said.contains("t: the same on both sides: 0 versions"), "{said}");
    assert_eq!(raw(&stored, "copied"), raw(&stored, "STORE"));
}

/// What VERSIONS newer ones hid once stays hidden in the copy, whatever became of these; a row of each length.
#[test]
fn bulk_a_copy_shows_no_version_that_newer_ones_hid() {
    let stored = Stored::new();
    stored.done(&["create", "STORE", "new", "f,VERSIONS=2,NEW_VERSION_BEHAVIOR=true,KEEP_DELETED_CELLS=TRUE"]);
    let long = "v".repeat(3 << 20);
    let lines = (1..=4).map(|time| format!("{{\"row\":\"long\",\"f:a\":\"{time}{long}\",\"timestamp\":{time}}}\n"));
    let lines = stored.write("lines.jsonl", lines.collect::<String>());
    stored.done(&["import", "STORE", "new", lines.to_str().unwrap()]);
    for time in ["1", "2", "3", "4"] {
        stored.done(&["put", "STORE", "new", "short", "f:a", time, time]);
    }
    for row in ["short", "long"] {
        stored.done(&["delete", "STORE", "new", row, "f:a", "4"]);
        stored.done(&["put", "STORE", "new", row, "f:b", "1", "1"]);
    }
    let said = stored.done(&["copy", "--make", "--table", "new", "STORE", "copied"]);
    assert!(said.contains("new: the same on both sides: 4 versions"), "{said}");
    // What was deleted is there to be brought back.
    for row in ["short", "long"] {
        let said = stored.done(&["undelete", "--list", "copied", &format!("new/{row}")]);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn bulk_a_disabled_table_keeps_no_other_from_being_copied() {
    let stored = Stored::new();
    stored.done(&["create", "STORE", "u", "f"]);
    stored.done(&["put", "STORE", "u", "r", "f:a", "1"]);
    stored.done(&["shell", "STORE", "-e", "disable 't'"]);
    let copy = ["copy", "--make", "STORE", "copied"];
    let output = stored.run(&copy);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).join("");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("u: the same on both sides: 1 versions") && said.contains("table t is disabled"), "{said}");
    stored.done(&["shell", "STORE", "-e", "enable 't'"]);
    assert!(stored.done(&copy).contains("t: the same on both sides"));
}

#[test]
fn bulk_a_table_that_differs_keeps_no_other_from_being_copied() {
    let stored = Stored::new();
    stored.done(&["create", "STORE", "u", "f"]);
    ["t", "u"].iter().for_each(|table| drop(stored.done(&["put", "STORE", table, "r", "f:a", "1", "5"])));
    stored.done(&["create", "--make", "copied", "t", "f", "g"]);
    stored.done(&["put", "copied", "t", "other", "f:a", "1"]);
    let output = stored.run(&["copy", "STORE", "copied"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("t: DIFFERS") && said.contains("u: the same on both sides"), "{said}");
}

#[test]
fn bulk_a_copy_has_what_stands_before_a_row_that_is_refused() {
    let stored = Stored::new();
    for (row, value) in [("r1", "1"), ("r2", &*"v".repeat(2000)), ("r3", "3")] {
        stored.done(&["put", "STORE", "t", row, "f:a", value, "5"]);
    }
    stored.done(&["create", "--make", "copied", "t", "f", "g"]);
    stored.done(&["config", "copied", "value_limit", "1000"]);
    let said = stored.refused(&["copy", "STORE", "copied"], 2);
    assert!(said.contains("row r2: The value of f:a is 2000 bytes") && said.contains("before it is there"), "{said}");
    assert!(!said.contains("run it again"), "{said}");
    assert!(raw(&stored, "copied").contains("r1") && !raw(&stored, "copied").contains("r3"));
    stored.done(&["copy", "--table", "t", "--start", "r3", "STORE", "copied"]);
    assert!(raw(&stored, "copied").contains("r3"));
}

/// Of a column the newest version alone was judged when its check was declared, and a table may come before the one that it
/// refers to.
#[test]
fn bulk_a_copy_has_the_tables_that_have_checks() {
    let stored = Stored::new();
    for table in ["a", "b"] {
        stored.done(&["create", "STORE", table, "f"]);
    }
    stored.done(&["put", "STORE", "b", "key", "f:q", "v"]);
    for value in ["abc", "5"] {
        stored.done(&["put", "STORE", "t", "r", "f:age", value]);
    }
    stored.done(&["put", "STORE", "a", "r", "f:of", "key"]);
    stored.done(&["put", "STORE", "t", "gone", "f:age", "old"]);
    stored.done(&["delete", "STORE", "t", "gone", "f:age"]);
    stored.done(&["create-check", "STORE", "t", "f", "age", "--columns", "age", "--type", "i64"]);
    stored.done(&["create-check", "STORE", "a", "f", "of", "--references", "b"]);
    for _ in 0..2 {
        let said = stored.done(&["copy", "--make", "STORE", "copied"]);
        assert_eq!(said.matches("the same on both sides").count(), 3, "{said}");
    }
    assert!(raw(&stored, "copied").contains("abc"));
    let said = stored.refused(&["put", "copied", "t", "r", "f:age", "x"], 2);
    assert!(said.contains("check age"), "{said}");
    assert!(stored.refused(&["put", "copied", "a", "r", "f:of", "none"], 2).contains("check of"));
    // A check that the target alone has judges.
    stored.done(&["create", "--make", "other", "t", "f", "g"]);
    stored.done(&["create-check", "other", "t", "f", "length", "--length", "..2"]);
    let output = stored.run(&["copy", "--table", "t", "STORE", "other"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("check length") && said.contains("is there without check age"), "{said}");
}

#[test]
fn bulk_a_table_is_not_copied_onto_itself() {
    let stored = Stored::new();
    stored.done(&["put", "STORE", "t", "r", "f:a", "1"]);
    for rest in [&[][..], &["--table", "t"], &["--table", "t", "--as", "default:t"]] {
        let said = stored.refused(&[&["copy", "STORE", "STORE"][..], rest].concat(), 2);
        assert!(said.contains("not copied onto itself"), "{rest:?}: {said}");
    }
    assert!(stored.done(&["copy", "--table", "t", "--as", "u", "STORE", "STORE"]).contains("the same on both sides"));
}
