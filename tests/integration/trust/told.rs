//! Damage of what is not stored any more is told no more.

use std::fs;

use crate::mount::fixture::{Fixture, damage, errno};

fn run(fixture: &Fixture, args: &[&str]) -> (Option<i32>, String) {
    let store = fixture.store();
    let mut all = vec![args[0], store.to_str().unwrap()];
    all.extend(&args[1..]);
    let output = fixture.cellfs(&all);
    let words = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), words.concat())
}

/// A mounted store with two large values, of which one is damaged, and that has been met and checked.
fn damaged() -> Fixture {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    for name in ["bad", "good"] {
        let lines: String = (0..20_000).map(|n| format!("{name} line {n:07}\n")).collect();
        fs::write(family.join(name), lines).unwrap();
    }
    assert_eq!(run(&fixture, &["flush"]).0, Some(0));
    fixture.unmount();
    damage(&fixture.store(), "bad line 0010000");
    fixture.mount("");
    assert_eq!(errno(fs::read(fixture.path("t/r/f/bad"))), libc::EIO);
    assert_eq!(run(&fixture, &["check"]).0, Some(1));
    assert!(last_error(&fixture).is_some());
    fixture
}

fn last_error(fixture: &Fixture) -> Option<String> {
    let (_, json) = run(fixture, &["status", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["last_error"].as_str().map(str::to_owned)
}

/// Neither the daemon tells of it nor a check, with a daemon or without.
fn assert_forgotten(fixture: &mut Fixture) {
    for _ in 0..2 {
        let (status, said) = run(fixture, &["check"]);
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(last_error(fixture), None);
        if fixture.is_mounted() {
            fixture.unmount();
        }
    }
}

#[test]
fn told_damage_of_a_truncated_table_is_told_no_more() {
    let mut fixture = damaged();
    // What can be brought back is stored still.
    assert_eq!(run(&fixture, &["truncate", "t"]).0, Some(0));
    assert_eq!(run(&fixture, &["check"]).0, Some(1));
    assert!(last_error(&fixture).is_some());
    assert_eq!(run(&fixture, &["drop", "--now", "t"]).0, Some(0));
    assert_forgotten(&mut fixture);
    let mut fixture = damaged();
    assert_eq!(run(&fixture, &["truncate", "t"]).0, Some(0));
    assert_eq!(run(&fixture, &["truncate", "--now", "t"]).0, Some(0), "with what was dropped before");
    assert_forgotten(&mut fixture);
}

#[test]
fn told_damage_of_a_purged_cell_is_told_no_more() {
    let mut fixture = damaged();
    fs::remove_file(fixture.path("t/r/f/bad")).unwrap();
    assert_eq!(run(&fixture, &["check"]).0, Some(1), "it is kept for some days");
    assert!(last_error(&fixture).is_some());
    assert_eq!(run(&fixture, &["purge", "t"]).0, Some(0));
    assert!(fs::read(fixture.path("t/r/f/good")).is_ok());
    assert_forgotten(&mut fixture);
}
