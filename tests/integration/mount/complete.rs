//! `.at/TIME` where versions were dropped since, and where timestamps ran ahead of the clock.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::fixture::{Fixture, names};

/// What was said of versions that lack.
fn errors(fixture: &Fixture) -> String {
    let all = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    all.lines().filter(|line| line.contains("not all may be shown")).collect::<Vec<_>>().join("\n")
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

fn line(file: &Path, family: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(fs::metadata(file).unwrap().len() as usize, text.len());
    let line = text.lines().find(|line| line.split('\t').next() == Some(family)).unwrap();
    line.split('\t').map(str::to_owned).collect()
}

#[test]
fn mount_at_tells_what_versions_has_dropped() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema"));
    fs::create_dir(schema.join("g")).unwrap();
    fs::write(schema.join("f/VERSIONS"), "3").unwrap();
    fs::write(schema.join("f/PURGE_DELETED_AFTER"), "FOREVER").unwrap();
    fs::write(schema.join("g/PURGE_DELETED_AFTER"), "FOREVER").unwrap();
    let complete = [schema.join("f/.info/complete"), fixture.path("t/.info/complete")];
    fs::write(family.join("other@500"), "x").unwrap();
    for time in [1000, 2000, 3000] {
        fs::write(family.join(format!("q@{time}")), time.to_string()).unwrap();
    }
    assert_eq!(names(&fixture.mnt().join(".at/1500/default/t/r/f")), ["other", "q"]);
    assert_eq!(errors(&fixture), "");
    fs::write(family.join("q@4000"), "4000").unwrap();
    for file in &complete {
        assert_eq!(line(file, "f")[1..3], ["2000", "1970-01-01T00:00:02.000Z"], "{file:?}");
        assert!(line(file, "f")[3].contains("VERSIONS 3") && line(file, "f")[3].contains("r/f/q"));
    }
    assert_eq!(
        line(&complete[1], "g")[1..],
        ["0", "1970-01-01T00:00:00.000Z", "no rule or purge has dropped anything"]
    );
    // It is said where something lacks, and not where all is there.
    assert_eq!(names(&fixture.mnt().join(".at/2500/default/t/r/f")), ["other", "q"]);
    assert_eq!(errors(&fixture), "");
    assert_eq!(names(&fixture.mnt().join(".at/1500/default/t/r/f")), ["other"]);
    let said = errors(&fixture);
    assert!(said.contains("/default/t/.at/1500/r/f opendir: ") && said.contains("VERSIONS 3"), "{said}");
    assert!(said.contains("from 1970-01-01T00:00:02.000Z on"), "{said}");
    assert!(fs::metadata(fixture.path("t/.at/1600/r/f/q")).is_err());
    assert!(errors(&fixture).contains("/default/t/.at/1600/r/f/q lookup: "), "{}", errors(&fixture));
    // A compaction has dropped it: what is known is the same.
    fixture.backend().flush(None).unwrap();
    let table = cellfs::model::TableName::parse("t").unwrap();
    fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    assert_eq!(line(&complete[0], "f")[1], "2000");
    // The directory is unlisted, and takes no name from cells.
    assert_eq!(names(&schema.join("f/.info")), ["complete", "errors"]);
    assert!(!names(&schema.join("f")).contains(&".info".to_owned()));
    fs::write(family.join(".info"), "a cell").unwrap();
    assert_eq!(names(&family), [".info", "other", "q"]);
    assert!(fs::metadata(schema.join("none/.info")).is_err());
    fs::write(schema.join("g/TTL"), "100").unwrap();
    assert!(line(&complete[1], "g")[3].starts_with("TTL"));
}

/// What stood in a file at moments that have passed.
fn check_moments(fixture: &Fixture, moments: &[(u128, String)]) {
    for (at, content) in moments {
        let past = fixture.mnt().join(format!(".at/{at}/default/t/r/f/q"));
        assert_eq!(&fs::read_to_string(&past).unwrap_or_else(|e| format!("{e} at {at}")), content);
    }
}

#[test]
fn mount_keeps_every_version_of_an_hour_of_editing() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema/f"));
    let (file, mut moments) = (family.join("q"), Vec::new());
    for n in 0..60 {
        let content = format!("saved {n}");
        // As editors do: in place, by a rename over it, and anew.
        if n % 3 == 0 {
            fs::write(&file, &content).unwrap();
        } else {
            fs::write(family.join("q~"), &content).unwrap();
            if n % 3 == 2 {
                fs::remove_file(&file).unwrap();
            }
            fs::rename(family.join("q~"), &file).unwrap();
        }
        let wait = || std::thread::sleep(std::time::Duration::from_millis(3));
        wait();
        moments.push((now(), content));
        wait();
    }
    check_moments(&fixture, &moments);
    assert_eq!(errors(&fixture), "");
    fixture.backend().flush(None).unwrap();
    let table = cellfs::model::TableName::parse("t").unwrap();
    let compact = || fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    compact();
    check_moments(&fixture, &moments);
    // Removed by mistake at the end of it, too.
    fs::remove_file(&file).unwrap();
    compact();
    check_moments(&fixture, &moments);
    // Beside VERSIONS, which says what is kept after that.
    assert_eq!(fs::read_to_string(schema.join("VERSIONS")).unwrap(), "10\n");
    assert_eq!(fs::read_to_string(schema.join("KEEP_VERSIONS_FOR")).unwrap(), "3600\n");
    // More than those is no reason to keep less.
    fs::write(schema.join("VERSIONS"), "20").unwrap();
    assert_eq!(fs::read_to_string(schema.join("KEEP_VERSIONS_FOR")).unwrap(), "3600\n");
    check_moments(&fixture, &moments);
    assert_eq!(errors(&fixture), "");
    fs::write(schema.join("VERSIONS"), "10").unwrap();
    assert!(fs::read_to_string(schema.join("KEEP_VERSIONS_FOR")).is_err());
    let said = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(said.contains("KEEP_VERSIONS_FOR (3600 s) is gone"), "{said}");
    compact();
    assert_eq!(super::fixture::history(&file).len(), 10);
    fs::write(schema.join("KEEP_VERSIONS_FOR"), "FOREVER").unwrap();
    assert!(fs::write(schema.join("KEEP_VERSIONS_FOR"), "soon\n").is_err());
    // What was asked for stays beside fewer versions.
    fs::write(schema.join("KEEP_VERSIONS_FOR"), "7200").unwrap();
    fs::write(schema.join("VERSIONS"), "5").unwrap();
    assert_eq!(fs::read_to_string(schema.join("KEEP_VERSIONS_FOR")).unwrap(), "7200\n");
}

#[test]
fn mount_at_now_lacks_nothing_that_was_written_in_haste() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    // What is stored has run ahead of the clock by some seconds, as it does after many writes at once.
    fs::write(family.join(format!("q@{}", now() + 5000)), "haste").unwrap();
    fs::write(family.join("q"), "last").unwrap();
    let present = now();
    let at = fixture.path(&format!("t/.at/{present}/r/f"));
    assert_eq!(fs::read_to_string(at.join("q")).unwrap(), "last");
    while now() <= present {
        std::hint::spin_loop();
    }
    fs::write(family.join("q"), "later").unwrap();
    fs::write(family.join("beside"), "later").unwrap();
    assert_eq!(fs::read_to_string(at.join("q")).unwrap(), "last");
    assert!(fs::metadata(at.join("beside")).is_err(), "what ran ahead is another column's");
    assert_eq!(fs::read_to_string(fixture.path("t/.at/-0s/r/f/q")).unwrap(), "later");
}

#[test]
fn mount_complete_remembers_what_was_dropped_by_rules_that_kept_less() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema/f"));
    let complete = schema.join(".info/complete");
    let set = |name: &str, value: &str| fs::write(schema.join(name), value).unwrap();
    let table = cellfs::model::TableName::parse("t").unwrap();
    let compact = || fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    set("PURGE_DELETED_AFTER", "FOREVER");
    // Nothing was there to be dropped.
    set("VERSIONS", "3");
    assert_eq!(line(&complete, "f")[1..], ["0", "1970-01-01T00:00:00.000Z", "no rule or purge has dropped anything"]);
    for time in 1..=5 {
        fs::write(family.join(format!("q@{time}000")), time.to_string()).unwrap();
    }
    fixture.backend().flush(None).unwrap();
    compact();
    assert_eq!(line(&complete, "f")[1], "3000");
    let before = now();
    set("VERSIONS", "10");
    let said = line(&complete, "f");
    assert!(said[1].parse::<u128>().unwrap() >= before && said[3].starts_with("VERSIONS was 3 until "), "{said:?}");
    assert!(fs::metadata(fixture.path("t/.at/1500/r/f/q")).is_err());
    assert!(errors(&fixture).contains("VERSIONS was 3 until "), "{}", errors(&fixture));
    // A shorter TTL of a while ago, too; and what says less does not take its place.
    set("TTL", "100");
    set("TTL", "FOREVER");
    assert!(line(&complete, "f")[3].starts_with("VERSIONS was 3"));
    let before = now();
    fixture.backend().purge(&purge_of_table(&table)).unwrap();
    let said = line(&complete, "f");
    assert!(said[1].parse::<u128>().unwrap() >= before && said[3].contains("cellfs purge"), "{said:?}");
    // It follows the table: to another name, and out of a snapshot.
    fixture.backend().create_snapshot("s", None).unwrap();
    fs::rename(fixture.path("t"), fixture.path("u")).unwrap();
    assert_eq!(line(&fixture.path("u/.info/complete"), "f"), said);
    let restoration = cellfs::backend::Restoration {
        snapshot: "s".to_owned(),
        tables: vec![(table.clone(), table.clone())],
        existing: cellfs::backend::Existing::Refuse,
    };
    fixture.backend().restore(&restoration, cellfs::model::Origin(0)).unwrap();
    assert_eq!(line(&fixture.path("t/.info/complete"), "f"), said);
}

fn purge_of_table(table: &cellfs::model::TableName) -> cellfs::backend::PurgeScope {
    cellfs::backend::PurgeScope { table: table.clone(), family: None, row: None, qualifier: None }
}

#[test]
fn mount_at_tells_of_tables_and_rows_what_versions_has_dropped() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema"));
    fs::write(schema.join("f/VERSIONS"), "3").unwrap();
    fs::write(schema.join("f/PURGE_DELETED_AFTER"), "FOREVER").unwrap();
    fs::write(fixture.family("whole").join("q@500"), "x").unwrap();
    for time in [1000, 2000, 3000, 4000] {
        fs::write(family.join(format!("q@{time}")), time.to_string()).unwrap();
    }
    let at = |below: &str| fixture.mnt().join(".at").join(below);
    assert_eq!(names(&at("1500/default/t")), ["whole"]);
    assert!(errors(&fixture).contains("/default/t/.at/1500 opendir: "), "{}", errors(&fixture));
    fs::read_dir(fixture.path("t/.at/1600/r")).map(drop).unwrap_or_default();
    assert!(errors(&fixture).contains("/default/t/.at/1600/r "), "{}", errors(&fixture));
    let before = errors(&fixture);
    assert_eq!(names(&at("2500/default/t")), ["r", "whole"]);
    assert_eq!(names(&at("2500/default/t/r/f")), ["q"]);
    assert_eq!(names(&at("1700/default/t/whole/f")), ["q"]);
    assert_eq!(errors(&fixture), before, "nothing lacks there");
}

#[test]
fn mount_complete_remembers_that_less_was_kept_beside_versions() {
    let fixture = Fixture::new();
    let (family, schema) = (fixture.family("r"), fixture.path("t/.schema/f"));
    let set = |name: &str, value: &str| fs::write(schema.join(name), value).unwrap();
    set("VERSIONS", "1");
    set("KEEP_VERSIONS_FOR", "0");
    for value in ["one", "two"] {
        fs::write(family.join("q"), value).unwrap();
    }
    let table = cellfs::model::TableName::parse("t").unwrap();
    fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    let before = now();
    set("KEEP_VERSIONS_FOR", "3600");
    let said = line(&schema.join(".info/complete"), "f");
    assert!(said[1].parse::<u128>().unwrap() >= before && said[3].starts_with("KEEP_VERSIONS_FOR was 0 s"), "{said:?}");
}
