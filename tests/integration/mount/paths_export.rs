//! `.export`: what a table, an answer, a row has, in each format, made while it is read.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use super::fixture::{Fixture, errno, names, suffixed};
use super::paths_oracle::put_many;

fn table() -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    let cell = fixture.family("r1").join("a");
    fs::write(suffixed(&cell, "@10"), "old").unwrap();
    fs::write(suffixed(&cell, "@20"), "say \"hi\"\n").unwrap();
    fs::write(suffixed(&fixture.family("r1").join("b,c"), "@30"), [0xFF, 0]).unwrap();
    fs::create_dir(fixture.path("t/r2")).unwrap();
    fs::create_dir(fixture.path("t/r2/g")).unwrap();
    fs::write(suffixed(&fixture.path("t/r2/g/z"), "@40"), "zed").unwrap();
    fixture
}

fn export(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.path("t").join(path)).unwrap()
}

#[test]
fn mount_export_jsonl_has_a_line_a_cell_with_all_that_is_known() {
    let fixture = table();
    let lines = [
        r#"{"row":"r1","f:a":"say \"hi\"\n","timestamp":20}"#,
        r#"{"row":"r1","f:b,c":{"base64":"/wA="},"timestamp":30}"#,
        r#"{"row":"r2","g:z":"zed","timestamp":40}"#,
    ];
    let parsed = |text: &str| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let expected = parsed(&lines.join("\n"));
    assert_eq!(parsed(&export(&fixture, ".export/jsonl")), expected);
    assert_eq!(parsed(&export(&fixture, ".prefix/r1/.export/jsonl")), expected[..2]);
    assert_eq!(parsed(&export(&fixture, "r2/.export/jsonl")), expected[2..]);
    assert_eq!(parsed(&export(&fixture, ".last/1/.export/jsonl")), expected[2..]);
    assert_eq!(parsed(&export(&fixture, ".first/1/.export/jsonl")), expected[..2]);
    assert_eq!(parsed(&export(&fixture, ".sample/9/.export/jsonl")), expected);
    assert_eq!(parsed(&export(&fixture, "r1/f/.prefix/b/.export/jsonl")), expected[1..2]);
    assert_eq!(parsed(&export(&fixture, ".first/1/r1/f/.last/1/.export/jsonl")), expected[1..2]);
    assert_eq!(export(&fixture, ".versions/9/.columns/f:a/.export/jsonl").lines().count(), 2);
    fs::remove_file(fixture.path("t/r2/g/z")).unwrap();
    let raw = parsed(&export(&fixture, ".raw/.from/r2/.export/jsonl"));
    assert_eq!((raw[0]["type"].as_str(), &raw[0]["g:z"]), (Some("DeleteColumn"), &serde_json::Value::Null));
    assert!(export(&fixture, ".from/r2/.export/jsonl").is_empty());
}

#[test]
fn mount_export_json_csv_and_tsv_have_a_row_each() {
    let fixture = table();
    let rows: serde_json::Value = serde_json::from_str(&export(&fixture, ".versions/2/.export/json")).unwrap();
    let expected = serde_json::json!([
        {"row": "r1", "f:a": "say \"hi\"\n", "f:b,c": {"base64": "/wA="}},
        {"row": "r2", "g:z": "zed"},
    ]);
    assert_eq!(rows, expected);
    let none: serde_json::Value = serde_json::from_str(&export(&fixture, ".prefix/x/.export/json")).unwrap();
    assert_eq!(none, serde_json::json!([]));
    let csv = fs::read(fixture.path("t/.export/csv")).unwrap();
    let wanted = b"HBASE_ROW_KEY,f:a,\"f:b,c\",g:z\nr1,\"say \"\"hi\"\"\n\",\xFF\0,\nr2,,,zed\n";
    assert_eq!(csv.escape_ascii().to_string(), wanted.escape_ascii().to_string());
    let tsv = "HBASE_ROW_KEY\tf:a\tg:z\nr1\tsay \"hi\"\\n\t\nr2\t\tzed\n";
    assert_eq!(export(&fixture, ".columns/f:a,g/.export/tsv"), tsv);
    // Of rows that are picked those columns that they have, and that are asked for.
    assert_eq!(export(&fixture, ".last/1/.export/csv"), "HBASE_ROW_KEY,g:z\nr2,zed\n");
    assert_eq!(export(&fixture, ".columns/f:a,g/.last/1/.export/csv"), "HBASE_ROW_KEY,f:a,g:z\nr2,,zed\n");
    assert_eq!(export(&fixture, ".sample/9/.prefix/r2/.export/tsv"), "HBASE_ROW_KEY\tg:z\nr2\tzed\n");
    assert!(fs::read(fixture.path("t/.first/1/.export/csv")).unwrap().starts_with(b"HBASE_ROW_KEY,f:a,\"f:b,c\"\nr1"));
    assert_eq!(export(&fixture, "r2/.export/tsv"), "HBASE_ROW_KEY\tf:a\tf:b,c\tg:z\nr2\t\t\tzed\n");
}

#[test]
fn mount_export_is_a_stream_of_its_owner_that_may_be_left() {
    let fixture = Fixture::new();
    let cells = (0..30_000).map(|n| (format!("r{n:05}"), "q".to_owned(), "v".repeat(100)));
    put_many(fixture.backend().as_ref(), "f", cells);
    let path = fixture.path("t/.export/jsonl");
    let meta = fs::metadata(&path).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o400));
    assert_eq!(names(&fixture.path("t/.export")), ["csv", "json", "jsonl", "parquet", "tsv"]);
    assert_eq!(errno(fs::write(&path, "x")), libc::EROFS);
    assert_eq!(errno(fs::metadata(fixture.path("t/.export/xml"))), libc::ENOENT);
    for _ in 0..100 {
        let mut part = [0; 1000];
        fs::File::open(&path).unwrap().read_exact(&mut part).unwrap();
        assert!(part.starts_with(b"{"));
    }
    assert_eq!(export(&fixture, ".export/jsonl").lines().count(), 30_000);
    let mut file = fs::File::open(&path).unwrap();
    let mut first = [0; 1000];
    file.read_exact(&mut first).unwrap();
    fs::write(fixture.path("t/r29999/f/q"), "later").unwrap();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with('\n') && !rest.contains("later"), "one moment");
    let dir = fixture.path("t/.filter/ValueFilter(=, 'substring:v')");
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o500, "it tells of values");
}

#[test]
fn mount_export_of_a_part_of_a_wide_row_has_the_columns_of_that_part() {
    let fixture = Fixture::new();
    let cells = (0..10_050).map(|n| ("wide".to_owned(), format!("q{n:06}"), n.to_string()));
    put_many(fixture.backend().as_ref(), "f", cells);
    for (part, wanted) in [
        (".columns/q000001,q000002", "HBASE_ROW_KEY,f:q000001,f:q000002\nwide,1,2\n"),
        (".columns/q000001,none", "HBASE_ROW_KEY,f:none,f:q000001\nwide,,1\n"),
        (".columns/q000001,q000012/.prefix/q00001", "HBASE_ROW_KEY,f:q000012\nwide,12\n"),
        (".prefix/q00001/.first/2", "HBASE_ROW_KEY,f:q000010,f:q000011\nwide,10,11\n"),
        (".from/q000010/.last/1", "HBASE_ROW_KEY,f:q010049\nwide,10049\n"),
    ] {
        assert_eq!(export(&fixture, &format!("wide/f/{part}/.export/csv")), wanted, "{part}");
    }
    assert!(export(&fixture, "wide/f/.prefix/q0000/.export/tsv").starts_with("HBASE_ROW_KEY\tf:q000000\tf:q000001\t"));
    let refused = fs::read(fixture.path("t/wide/f/.prefix/q/.export/csv"));
    assert_eq!(errno(refused), libc::EOPNOTSUPP, "a part that is as wide");
}
