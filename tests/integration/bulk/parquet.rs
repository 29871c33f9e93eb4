//! Parquet: what an export writes an import reads, with its types; files that are none are refused.

use std::fs;
use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::Stored;

/// Rows with text, bytes, a number, a counter, and holes.
fn filled() -> Stored {
    let stored = Stored::new();
    stored.done(&["create-check", "STORE", "t", "f", "age", "--columns", "age", "--type", "i64"]);
    stored.done(&["create-check", "STORE", "t", "f", "hits", "--columns", "hits", "--type", "u64"]);
    for (row, column, value) in [
        ("a", "f:age", "42"),
        ("a", "f:city", "K\\xC3\\xB6ln"),
        ("a", "f:hits", "\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x02"),
        ("b", "f:age", "-7"),
        ("b", "g:raw", "\\xFF\\x00"),
        ("c", "f:\\xFE", "odd"),
        ("c", "f:city", ""),
    ] {
        stored.done(&["put", "STORE", "t", row, column, value]);
    }
    stored
}

/// The cells of a table without their times.
fn cells(stored: &Stored, table: &str) -> Vec<String> {
    // Without rows its status says so.
    let lines = String::from_utf8(stored.run(&["scan", "--json", "STORE", table]).stdout).unwrap();
    let cell = |line: &str| {
        let mut cell: serde_json::Value = serde_json::from_str(line).unwrap();
        cell.as_object_mut().unwrap().remove("timestamp");
        cell.to_string()
    };
    lines.lines().map(cell).collect()
}

#[test]
fn bulk_parquet_brings_back_each_cell_with_its_type() {
    let stored = filled();
    stored.done(&["export", "STORE", "t", "-o", "t.parquet"]);
    let bytes = fs::read(stored.path("t.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    stored.done(&["create", "STORE", "u", "f", "g"]);
    assert_eq!(stored.done(&["import", "STORE", "u", "t.parquet"]), "imported 7 cells of 3 rows\n");
    assert_eq!(cells(&stored, "u"), cells(&stored, "t"));

    // A part of it, with types and times that a schema names.
    stored.write("schema", "# what is wanted\nHBASE_ROW_KEY utf8\nHBASE_TS_KEY i64\nf:age utf8\nf:hits u64\n");
    stored.done(&["put", "STORE", "t", "d", "f:age", "5"]);
    stored.done(&["export", "STORE", "t", "--schema", "schema", "--format", "parquet", "-o", "part"]);
    stored.done(&["create", "STORE", "v", "f"]);
    stored.done(&["import", "STORE", "v", "part", "--format", "parquet"]);
    let wanted = |line: &&String| line.contains("\"age\"") || line.contains("\"hits\"");
    assert_eq!(cells(&stored, "v"), cells(&stored, "t").iter().filter(wanted).cloned().collect::<Vec<_>>());
    let time = |table: &str| {
        let line = stored.done(&["get", "--json", "STORE", table, "d", "f:age"]);
        serde_json::from_str::<serde_json::Value>(line.lines().next().unwrap()).unwrap()["timestamp"].clone()
    };
    assert_eq!(time("v"), time("t"));
}

#[test]
fn bulk_parquet_writes_groups_of_rows_and_reads_them_as_one() {
    let stored = Stored::new();
    let rows = 140_000;
    let lines: String = (0..rows).map(|n| format!("{n:06},v{n}\n")).collect();
    stored.write("in.csv", format!("HBASE_ROW_KEY,f:q\n{lines}"));
    stored.done(&["import", "STORE", "t", "in.csv"]);
    stored.done(&["export", "STORE", "t", "-o", "t.parquet"]);
    stored.done(&["create", "STORE", "u", "f"]);
    assert_eq!(stored.done(&["import", "STORE", "u", "t.parquet"]), format!("imported {rows} cells of {rows} rows\n"));
    stored.done(&["export", "STORE", "u", "-o", "out.csv"]);
    assert!(fs::read(stored.path("in.csv")).unwrap() == fs::read(stored.path("out.csv")).unwrap(), "rows differ");
}

#[test]
fn bulk_parquet_refuses_what_is_none_and_what_does_not_fit() {
    let stored = filled();
    stored.done(&["export", "STORE", "t", "-o", "t.parquet"]);
    let whole = fs::read(stored.path("t.parquet")).unwrap();
    stored.done(&["create", "STORE", "u", "f", "g"]);
    stored.write("text.parquet", "HBASE_ROW_KEY,f:q\nr,v\n");
    let said = stored.refused(&["import", "STORE", "u", "text.parquet"], 2);
    assert!(said.contains("text.parquet") && said.contains("it is no Parquet file"), "{said}");
    stored.write("cut.parquet", &whole[..whole.len() / 2]);
    let said = stored.refused(&["import", "STORE", "u", "cut.parquet"], 2);
    assert!(said.contains("its end is missing"), "{said}");
    assert_eq!(cells(&stored, "u"), Vec::<String>::new());
    // What stands in the middle is damaged: refused, and no panic, wherever it is.
    for at in (4..whole.len() - 8).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        stored.write("bad.parquet", &damaged);
        let output = stored.run(&["import", "STORE", "u", "bad.parquet"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 2)), "byte {at}: {said}");
        assert!(!said.contains("panicked"), "byte {at}: {said}");
    }
    for (args, sentence) in [
        (
            &["import", "STORE", "u", "t.parquet", "--columns", "HBASE_ROW_KEY,f:q"][..],
            "names 2 columns, and the file has",
        ),
        (&["import", "STORE", "u", "t.parquet", "--resume"], "--resume"),
        (&["import", "STORE", "u", "-", "--format", "parquet"], "no stream"),
        (&["export", "STORE", "t", "--format", "csv", "--schema", "s"], "goes with parquet"),
        (&["export", "STORE", "t", "--format", "parquet", "--schema", "s"], "line 2"),
    ] {
        stored.write("s", "f:age i64\nf:city float\n");
        let said = stored.refused(args, 2);
        assert!(said.contains(sentence), "{args:?}: {said}");
    }
    stored.write("s", "f:city i64\n");
    let said = stored.refused(&["export", "STORE", "t", "--format", "parquet", "--schema", "s", "-o", "o"], 2);
    assert!(said.contains("f:city has a value that is no i64") && !stored.path("o").exists(), "{said}");
    // A row that the table refuses, put aside as a line that jsonl reads.
    stored.done(&["truncate", "STORE", "u"]);
    stored.done(&["create-check", "STORE", "u", "f", "age", "--columns", "age", "--length", "3..9"]);
    stored.refused(&["import", "STORE", "u", "t.parquet", "--on-error", "aside"], 1);
    let aside = fs::read_to_string(stored.path("aside")).unwrap();
    assert!(aside.contains(r#""row":"a""#) && aside.contains(r#""f:age":"42""#), "{aside}");
    assert_eq!(cells(&stored, "u").len(), 2, "what is left of row c");
}

/// A file of one row as other programs write it: a column for each type, of which the library knows some as numbers.
fn of_others(stored: &Stored, columns: &[(&str, i64)]) {
    let names = columns.iter().map(|(column, _)| format!("required {column};")).collect::<String>();
    let schema = Arc::new(parse_message_type(&format!("message m {{ {names} }}")).unwrap());
    let file = fs::File::create(stored.path("in.parquet")).unwrap();
    let mut file = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (_, number) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match column.untyped() {
            ColumnWriter::Int32ColumnWriter(of) => of.write_batch(&[*number as i32], None, None).map(drop),
            ColumnWriter::Int64ColumnWriter(of) => of.write_batch(&[*number], None, None).map(drop),
            ColumnWriter::FixedLenByteArrayColumnWriter(of) => {
                let bytes = ByteArray::from(i128::from(*number).to_be_bytes().to_vec());
                of.write_batch(&[bytes.into()], None, None).map(drop)
            }
            _ => panic!("a type of the test"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn bulk_parquet_reads_times_and_decimals_whatever_their_unit() {
    let stored = Stored::new();
    of_others(
        &stored,
        &[
            ("fixed_len_byte_array(16) HBASE_ROW_KEY (DECIMAL(38,0))", 12),
            ("int64 HBASE_TS_KEY (TIMESTAMP(NANOS,true))", 1_700_000_000_123_456_789),
            ("int64 ns (TIMESTAMP(NANOS,false))", 1_700_000_000_123_456_789),
            ("int64 us (TIMESTAMP(MICROS,true))", 1_700_000_000_123_456),
            ("int32 at_ms (TIME(MILLIS,true))", 3_723_500),
            ("int64 at_us (TIME(MICROS,true))", 3_723_500_001),
            ("int64 at_ns (TIME(NANOS,true))", 3_723_500_000_001),
            ("int64 whole (DECIMAL(10,0))", -7),
            ("int32 part (DECIMAL(2,2))", 5),
            ("int64 plain", 1_700_000_000_123_456_789),
        ],
    );
    let columns = "HBASE_ROW_KEY,HBASE_TS_KEY,f:a,f:b,f:c,f:d,f:e,f:f,f:g,f:h";
    stored.done(&["import", "STORE", "t", "in.parquet", "--columns", columns]);
    let wanted = [
        "2023-11-14T22:13:20.123456789Z",
        "2023-11-14T22:13:20.123456Z",
        "01:02:03.5",
        "01:02:03.500001",
        "01:02:03.500000001",
        "-7",
        "0.05",
        "1700000000123456789",
    ];
    let line = |(name, value): (char, &str)| format!("12\tf:{name}\t1700000000123\t{value}\n");
    assert_eq!(stored.done(&["scan", "STORE", "t"]), ('a'..).zip(wanted).map(line).collect::<String>());
}
