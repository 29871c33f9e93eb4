use super::*;
use crate::model::{Timestamp, Value};

const TERMS: Terms = Terms { time: Timestamp(77), mtime: None, value_limit: 1000 };

fn columns(names: &str) -> Result<Columns> {
    Columns::parse(&names.split(',').map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>())
}

fn lines(dialect: Dialect, names: &str) -> Lines {
    Lines::new(dialect, Empty::default(), Some(columns(names).unwrap()))
}

/// Row, then `family:qualifier@timestamp=value` of each cell.
fn read(lines: &mut Lines, line: &str) -> std::result::Result<Vec<String>, Fault> {
    let Changes { row, changes } = lines.read((2, line.as_bytes()), &TERMS)?.unwrap();
    let mut shown = vec![String::from_utf8(row).unwrap()];
    for change in changes {
        let Change::Put(put) = change else { panic!("{change:?}") };
        let (Value::Bytes(value), Time::At(at)) = (&put.value, put.time) else { panic!("{put:?}") };
        let ttl = put.ttl_ms.map_or(String::new(), |ttl| format!("/{ttl}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        shown.push(format!("{}:{}@{at}{ttl}={}", put.family, text(&put.qualifier), text(value)));
    }
    Ok(shown)
}

#[test]
fn columns_are_those_of_import_tsv() {
    for (names, wrong) in [
        ("f:a,f:b", "HBASE_ROW_KEY"),
        ("HBASE_ROW_KEY,f:a,HBASE_ROW_KEY", "only one"),
        ("HBASE_ROW_KEY,f:a,f:b,f:a", "f:a is named twice"),
        ("HBASE_ROW_KEY", "no column"),
        ("HBASE_ROW_KEY,HBASE_TS_KEY", "no column"),
        ("HBASE_ROW_KEY,HBASE_TS_KEY,HBASE_TS_KEY,f:a", "once at most"),
        ("HBASE_ROW_KEY,:a", "FAMILY:QUALIFIER"),
        ("HBASE_ROW_KEY,f:a,HBASE_CELL_VISIBILITY", "not kept"),
    ] {
        let refused = columns(names).unwrap_err().message;
        assert!(refused.contains(wrong), "{names}: {refused}");
    }
    let families: Vec<String> = columns("f:a,g,HBASE_ROW_KEY").unwrap().families().map(str::to_owned).collect();
    assert_eq!(families, ["f", "g"]);
}

#[test]
fn marks_of_utf_8_and_returns_within_a_stream_are_bytes_like_others() {
    let mut csv = lines(Dialect::Csv, "HBASE_ROW_KEY,f:a,f:b");
    for _ in 0..2 {
        assert_eq!(read(&mut csv, "\u{FEFF}r,1").unwrap(), ["\u{FEFF}r", "f:a@77=1"]);
        assert_eq!(read(&mut csv, "r,1\r2,3").unwrap(), ["r", "f:a@77=1\r2", "f:b@77=3"]);
    }
}

#[test]
fn fields_go_where_the_columns_say() {
    let mut csv = lines(Dialect::Csv, "f:a,HBASE_ROW_KEY,HBASE_TS_KEY,g,HBASE_CELL_TTL");
    assert_eq!(read(&mut csv, "1,r,5,2,60").unwrap(), ["r", "f:a@5/60=1", "g:@5/60=2"]);
    assert_eq!(read(&mut csv, "\"a,\"\"b\"\"\n\",r, 5 ,,").unwrap(), ["r", "f:a@5=a,\"b\"\n"]);
    let mut tsv = lines(Dialect::Tsv, "HBASE_ROW_KEY,f:a,f:b");
    assert_eq!(read(&mut tsv, "r\\\\\\t1\tC:\\x\\n\t\"q\"").unwrap(), ["r\\\t1", "f:a@77=C:\\x\n", "f:b@77=\"q\""]);
    // As ImportTsv has it, cells that the line does not reach are not there.
    assert_eq!(read(&mut tsv, "r\t1").unwrap(), ["r", "f:a@77=1"]);
    assert_eq!(read(&mut tsv, "r\t\t2").unwrap(), ["r", "f:b@77=2"]);
    let mut kept = Lines::new(Dialect::Tsv, Empty::Value, Some(columns("HBASE_ROW_KEY,f:a,f:b").unwrap()));
    assert_eq!(read(&mut kept, "r\t\t2").unwrap(), ["r", "f:a@77=", "f:b@77=2"]);
}

#[test]
fn lines_that_import_tsv_calls_bad_are_bad_and_say_where() {
    let mut csv = lines(Dialect::Csv, "HBASE_ROW_KEY,f:a,HBASE_TS_KEY");
    for (line, column, reason) in [
        ("r", 1, "no separator"),
        ("r,1", 3, "before the timestamp"),
        ("r,1,5,6", 4, "4 fields"),
        (",1,5", 1, "Row length 0"),
        ("r,1,x", 3, "`x` is no timestamp"),
        ("r,1,-5", 3, "no timestamp"),
        ("r,1,9223372036854775807", 3, "no timestamp"),
    ] {
        let fault = read(&mut csv, line).unwrap_err();
        assert_eq!(fault.column, Some(column), "{line}: {fault:?}");
        assert!(fault.reason.contains(reason), "{line}: {fault:?}");
    }
    let mut dated = lines(Dialect::Csv, "HBASE_ROW_KEY,f:a,HBASE_CELL_TTL");
    let fault = read(&mut dated, "r,1,0").unwrap_err();
    assert!(fault.column == Some(3) && fault.reason.contains("`0` is no TTL"), "{fault:?}");
    let long = format!("r,{},5", "v".repeat(1001));
    assert_eq!(read(&mut csv, &long).unwrap_err().column, Some(2));
    let mut last = lines(Dialect::Tsv, "f:a,HBASE_ROW_KEY");
    assert!(read(&mut last, "1").unwrap_err().reason.contains("no separator"));
}

#[test]
fn the_first_line_names_the_columns_where_nobody_else_does() {
    let mut csv = Lines::new(Dialect::Csv, Empty::default(), None);
    assert!(csv.read((1, b"HBASE_ROW_KEY,\"f:b,c\""), &TERMS).unwrap().is_none());
    assert_eq!(read(&mut csv, "r,1").unwrap(), ["r", "f:b,c@77=1"]);
    let mut given = lines(Dialect::Csv, "HBASE_ROW_KEY,f:a");
    assert!(given.read((1, b"HBASE_ROW_KEY,f:x"), &TERMS).unwrap().is_none(), "the line of names of an export");
    let mut none = Lines::new(Dialect::Csv, Empty::default(), None);
    assert!(none.read((1, b"r,1"), &TERMS).unwrap_err().reason.contains("--columns"));
}

#[test]
fn only_the_first_line_of_a_file_names_columns() {
    let row = ["HBASE_ROW_KEY", "f:a@77=x"];
    for dialect in [Dialect::Csv, Dialect::Tsv] {
        let line = if dialect == Dialect::Csv { "HBASE_ROW_KEY,x" } else { "HBASE_ROW_KEY\tx" };
        let mut given = lines(dialect, "HBASE_ROW_KEY,f:a");
        for _ in 0..2 {
            // Before its line feed has come, and with it.
            assert!(given.read((1, line.as_bytes()), &TERMS).unwrap().is_none());
        }
        assert_eq!(read(&mut given, line).unwrap(), row);
        // Another run has read what stands before.
        let mut resumed = lines(dialect, "HBASE_ROW_KEY,f:a");
        resumed.pass_head();
        assert_eq!(read(&mut resumed, line).unwrap(), row);
    }
    let mut first = lines(Dialect::Csv, "HBASE_ROW_KEY,f:a");
    assert!(first.read((1, b"r,1"), &TERMS).unwrap().is_some(), "a file without a line of names");
    assert_eq!(read(&mut first, "HBASE_ROW_KEY,x").unwrap(), row);
}
