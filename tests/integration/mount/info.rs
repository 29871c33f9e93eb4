//! `TABLE/.info/`: what is said about a table, and `describe --columns`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::fixture::{Fixture, names};

#[test]
fn mount_info_tells_what_is_stored_of_a_table() {
    let fixture = Fixture::new();
    for row in ["a", "b"] {
        fs::write(fixture.family(row).join("two words"), "12345").unwrap();
    }
    fixture.backend().flush(None).unwrap();
    fs::write(fixture.family("b").join("two words"), "123").unwrap();
    let info = fixture.path("t/.info");
    assert_eq!(names(&info), ["complete", "describe", "families", "qualifiers", "regions", "rows", "size", "stats"]);
    assert!(!names(&fixture.path("t")).contains(&".info".to_owned()), "reachable, not listed");
    for name in names(&info) {
        let file = info.join(&name);
        let meta = fs::metadata(&file).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o444, "{name}");
        assert_eq!(meta.len() as usize, fs::read(&file).unwrap().len(), "{name}");
        assert_eq!(super::fixture::errno(fs::write(&file, "x")), libc::EROFS, "{name}");
    }
    let read = |name: &str| fs::read_to_string(info.join(name)).unwrap();
    assert_eq!(read("rows"), "2\texact\n");
    let describe = read("describe");
    assert!(describe.starts_with("Table t is ENABLED\nt, {TABLE_ATTRIBUTES"), "{describe}");
    assert!(describe.contains("{NAME => 'f'"), "{describe}");
    let qualifiers = read("qualifiers");
    let lines: Vec<Vec<&str>> = qualifiers.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["column", "cells", "bytes", "oldest", "newest"]);
    assert_eq!(lines[1][..3], ["f:two words", "3", "13"]);
    assert!(lines[1][3].parse::<u64>().unwrap() <= lines[1][4].parse::<u64>().unwrap());
    let size: u64 = read("size").trim().parse().unwrap();
    assert!(size > 13);
    let families = read("families");
    assert_eq!(families.lines().nth(1).unwrap(), format!("f\t3\t1\t{size}\t1"));
    assert!(read("stats").contains(&format!("cells\t3\nunflushed\t1\nbytes\t{size}\nlayers\t1\n")));
    assert!(fs::metadata(info.join("nonsense")).is_err());
    assert!(fs::metadata(fixture.path("absent/.info/rows")).is_err());
}

#[test]
fn mount_info_names_all_qualifiers_however_many() {
    let fixture = Fixture::new();
    let many = 10_003;
    let mut text = "HBASE_ROW_KEY".to_owned();
    text.extend((0..many).map(|n| format!(",f:q{n:05}")));
    text.push_str("\nr");
    text.extend((0..many).map(|_| ",v"));
    let file = fixture.directory.path().join("wide.csv");
    fs::write(&file, text + "\n").unwrap();
    fs::create_dir_all(fixture.path("t/.schema/few")).unwrap();
    fs::create_dir_all(fixture.path("t/r/few")).unwrap();
    fs::write(fixture.path("t/r/few/q"), "12345").unwrap();
    let store = fixture.store();
    let output = fixture.cellfs(&["import", store.to_str().unwrap(), "t", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = fs::read_to_string(fixture.path("t/.info/qualifiers")).unwrap();
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("column\tcells\tbytes\toldest\tnewest"));
    for n in 0..many {
        assert!(lines.next().unwrap().starts_with(&format!("f:q{n:05}\t1\t1\t")), "{n}");
    }
    assert!(lines.next().unwrap().starts_with("few:q\t1\t5\t"));
    assert_eq!(lines.next(), None);
}

#[test]
fn mount_describe_columns_counts_the_same_mounted_or_not() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("a").join("q"), "12345").unwrap();
    let store = fixture.store();
    let run = |fixture: &Fixture, args: &[&str]| {
        let args = [&["describe", store.to_str().unwrap(), "t", "--columns"], args].concat();
        let output = fixture.cellfs(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let mounted = (run(&fixture, &[]), run(&fixture, &["--json"]));
    let words: Vec<&str> = mounted.0.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(words[..3], ["f:q", "1", "5"], "{}", mounted.0);
    let json: serde_json::Value = serde_json::from_str(&mounted.1).unwrap();
    assert_eq!(
        (json["qualifier"].as_str(), json["cells"].as_u64(), json["bytes"].as_u64()),
        (Some("q"), Some(1), Some(5))
    );
    fixture.unmount();
    assert_eq!((run(&fixture, &[]), run(&fixture, &["--json"])), mounted);
}

#[test]
fn mount_status_counts_a_renamed_value_once() {
    let fixture = Fixture::new();
    let family = fixture.family("a");
    fs::write(family.join("old"), (0..1_000_000).map(|_| rand::random()).collect::<Vec<u8>>()).unwrap();
    fs::rename(family.join("old"), family.join("new")).unwrap();
    let status = || {
        let output = fixture.cellfs(&["status", "--json", fixture.store().to_str().unwrap()]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |name: &str| json[name].as_u64().unwrap();
        assert_eq!(number("live_bytes") + number("dead_bytes"), number("segment_bytes"));
        number("live_bytes")
    };
    assert!((1_000_000..1_020_000).contains(&status()), "{}", status());
    fixture.backend().flush(None).unwrap();
    assert!((1_000_000..1_020_000).contains(&status()), "{}", status());
    fs::remove_file(family.join("new")).unwrap();
    let table = cellfs::model::TableName::parse("t").unwrap();
    let output = fixture.cellfs(&["status", fixture.store().to_str().unwrap()]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(" live, "));
    fs::write(fixture.path("t/.schema/f/PURGE_DELETED_AFTER"), "0").unwrap();
    fixture.backend().flush(None).unwrap();
    fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    // Filesystems give room back in pages.
    assert!(status() < 20_000, "{}", status());
}
