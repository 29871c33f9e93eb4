//! Tables in another store, cell for cell.

use super::Stored;

fn raw(stored: &Stored, store: &str) -> String {
    stored.done(&["--json", "scan", store, "t", "--raw", "--versions", "9"])
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
