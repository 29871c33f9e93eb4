//! Lines of every kind on the command line: good ones, bad ones, columns, and what is said of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Stored, lines_of};

fn scan(stored: &Stored) -> Vec<String> {
    let output = stored.run(&["scan", "STORE", "t"]);
    let cells = String::from_utf8(output.stdout).unwrap();
    let without_time = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        [fields[0], fields[1], fields[3]].join(" ")
    };
    cells.lines().map(without_time).collect()
}

#[test]
fn bulk_columns_are_mapped_as_import_tsv_does() {
    let stored = Stored::new();
    stored.write("named.csv", "HBASE_ROW_KEY,f:name,g:age\r\nr1,\"A, B\",\r\nr2,,7\r\n");
    assert_eq!(stored.done(&["import", "STORE", "t", "named.csv"]), "imported 2 cells of 2 rows\n");
    stored.write("data.tsv", "5\tr3\tx\\ty\n6\tr4\t\n");
    let columns = "HBASE_TS_KEY,HBASE_ROW_KEY,f:\\xFF";
    stored.done(&["import", "STORE", "t", "data.tsv", "--columns", columns, "--keep-empty"]);
    let wanted = ["r1 f:name A, B", "r2 g:age 7", r"r3 f:\xFF x\x09y", r"r4 f:\xFF "];
    assert_eq!(scan(&stored), wanted);
    let at = stored.done(&["get", "STORE", "t", "r3", "--timestamp", "5", "--value"]);
    assert_eq!(at, "x\ty");
    // One time for all that says none, later than what is there: it is what is read, and a second import adds nothing.
    stored.done(&["put", "STORE", "t", "r1", "f:name", "ahead", "9000000000000"]);
    stored.done(&["import", "STORE", "t", "named.csv"]);
    assert_eq!(scan(&stored)[0], "r1 f:name A, B");
    let line = stored.done(&["export", "STORE", "t", "--prefix", "r1"]);
    assert!(line.contains("\"timestamp\":9000000000001,\"mtime\":\"1"), "its file has the clock's time: {line}");
    for _ in 0..2 {
        stored.done(&["import", "STORE", "t", "named.csv", "--timestamp", "9000000000005"]);
    }
    let versions = stored.done(&["get", "STORE", "t", "r1", "f:name", "--versions", "9"]);
    assert_eq!(versions.lines().count(), 4, "{versions}");
}

#[test]
fn bulk_only_the_first_line_of_a_file_names_columns() {
    let stored = Stored::new();
    for (name, separator, rest) in [("rows.csv", ",", &[][..]), ("rows.tsv", "\t", &["--columns", "HBASE_ROW_KEY,f:a"])]
    {
        let lines = [["HBASE_ROW_KEY", "f:a"], ["a", "1"], ["HBASE_ROW_KEY", name], ["z", "2"]];
        stored.write(name, lines.map(|line| line.join(separator) + "\n").concat());
        let said = stored.done(&[&["import", "STORE", "t", name], rest].concat());
        assert_eq!(said, "imported 3 cells of 3 rows\n", "{name}");
        let row = format!("HBASE_ROW_KEY f:a {name}");
        assert_eq!(scan(&stored), [row.as_str(), "a f:a 1", "z f:a 2"]);
    }
    // Blank lines are none, and an export comes back whole.
    stored.write("blank.csv", "\n\nHBASE_ROW_KEY,f:a\nb,3\n");
    let columns = ["--columns", "HBASE_ROW_KEY,f:a"];
    let said = stored.done(&[&["import", "STORE", "t", "blank.csv"][..], &columns].concat());
    assert_eq!(said, "imported 1 cells of 1 rows\n");
    stored.done(&["export", "STORE", "t", "-o", "all.csv"]);
    stored.done(&["create", "STORE", "other", "f", "g"]);
    assert_eq!(stored.done(&["import", "STORE", "other", "all.csv"]), "imported 4 cells of 4 rows\n");
}

#[test]
fn bulk_reads_what_scan_prints_and_arrays_of_rows() {
    let stored = Stored::new();
    stored.done(&["put", "STORE", "t", r"\xFFr", r"f:\x00", r"\x80"]);
    stored.done(&["put", "STORE", "t", "a", "g:q", "text", "5", "--ttl", "9000000000000"]);
    stored.done(&["put", "STORE", "t", "a", "g:gone", "x", "5"]);
    stored.done(&["delete", "STORE", "t", "a", "g:gone"]);
    let printed = stored.done(&["--json", "scan", "STORE", "t", "--raw", "--versions", "9"]);
    stored.done(&["create", "STORE", "copy", "f", "g"]);
    assert!(stored.fed(&["import", "STORE", "copy", "-"], printed.as_bytes()).status.success());
    assert_eq!(stored.done(&["--json", "scan", "STORE", "copy", "--raw", "--versions", "9"]), printed);
    assert_eq!(stored.done(&["scan", "STORE", "copy"]), stored.done(&["scan", "STORE", "t"]));
    stored.done(&["export", "STORE", "t", "-o", "rows.json"]);
    stored.done(&["create", "STORE", "third", "f", "g"]);
    stored.done(&["--json", "import", "STORE", "third", "rows.json"]);
    let json = |table: &str| stored.run(&["export", "STORE", table, "--format", "json"]).stdout;
    assert!(json("t").len() > 30 && json("third") == json("t"));
}

#[test]
fn bulk_bad_lines_are_named_and_the_good_ones_before_them_kept() {
    let stored = Stored::new();
    let text = "HBASE_ROW_KEY,f:a,HBASE_TS_KEY\nr1,1,5\nr2,\"2\n2\",5\nr3,3,never\nr4,4,5\n,5,5\nr6,6,5,6\n";
    stored.write("bad.csv", text);
    let said = stored.refused(&["import", "STORE", "t", "bad.csv"], 2);
    assert!(said.contains("bad.csv: line 5, column 3: `never` is no timestamp"), "{said}");
    assert!(said.contains("the lines before it are imported") && said.contains("--resume"), "{said}");
    assert_eq!(scan(&stored), ["r1 f:a 1", r"r2 f:a 2\x0A2"]);
    stored.write("none.jsonl", "no object\n");
    let said = stored.refused(&["import", "STORE", "t", "none.jsonl"], 2);
    assert!(
        said.contains(
            "line 1, column 2: no object: a line is {\"row\": ..., \"FAMILY:QUALIFIER\": ...}; nothing is imported"
        ),
        "{said}"
    );
    // Behind the place where it has stopped.
    let said = stored.refused(&["import", "--resume", "STORE", "t", "bad.csv", "--on-error", "rest.csv"], 1);
    assert!(said.contains("bad.csv: line 7, column 1") && said.contains("bad.csv: line 8, column 4"), "{said}");
    assert_eq!(lines_of(&stored.path("rest.csv")), ["r3,3,never", ",5,5", "r6,6,5,6"]);
    assert_eq!(scan(&stored).len(), 3);
    let said = stored.refused(&["import", "STORE", "t", "bad.csv", "--on-error", "skip"], 1);
    assert!(said.contains("bad.csv: line 7, column 1"), "{said}");
    assert_eq!(scan(&stored).len(), 3);
    assert_eq!(names(&stored), ["bad.csv", "none.jsonl", "rest.csv", "store"], "nothing is left beside them");
    let json = "{\"row\":\"j1\",\"f:a\":\"1\"}\n\n{\"row\":\"j2\",\"f:a\":}\n";
    let output = stored.fed(&["import", "STORE", "t", "-"], json.as_bytes());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("-: line 3, column 19: expected value") && !said.contains("--resume"), "{said}");
    assert_eq!(scan(&stored)[0], "j1 f:a 1");
}

#[test]
fn bulk_a_quote_that_is_open_up_to_the_end_swallows_nothing_in_silence() {
    let stored = Stored::new();
    let text = "HBASE_ROW_KEY,f:a,f:b\nr0,1,2\nr1,1,\"open\nr2,1,2\n";
    stored.write("cut.csv", text);
    let said = stored.refused(&["import", "STORE", "t", "cut.csv"], 2);
    assert!(said.contains("cut.csv: line 3") && said.contains("a quote is open up to the end"), "{said}");
    assert_eq!(scan(&stored), ["r0 f:a 1", "r0 f:b 2"]);
    let said = stored.refused(&["import", "STORE", "t", "cut.csv", "--on-error", "rest.csv"], 1);
    assert!(said.contains("line 3"), "{said}");
    assert_eq!(lines_of(&stored.path("rest.csv")), ["r1,1,\"open", "r2,1,2"]);
    let said = stored.run(&["import", "STORE", "t", "cut.csv", "--on-error", "skip"]);
    let text = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
    assert!(text.contains("2 lines were not taken"), "{text}");
}

#[test]
fn bulk_an_array_that_is_cut_off_is_refused_and_goes_on_when_it_is_whole() {
    let stored = Stored::new();
    let [first, second] = ["r1", "r2"].map(|row| format!("{{\"row\":\"{row}\",\"f:a\":\"1\"}}"));
    let import = ["import", "STORE", "t", "rows.json"];
    let resume = ["import", "--resume", "STORE", "t", "rows.json"];
    for cut in ["[".to_owned(), format!("[\n{first}"), format!("[\n{first},\n")] {
        stored.write("rows.json", &cut);
        let said = stored.refused(&import, 2);
        assert!(said.contains("the array does not end") && said.contains("go on with --resume"), "{cut}: {said}");
        assert!(stored.refused(&resume, 2).contains("the array does not end"), "{cut}");
        // The rest comes, with what stands between.
        let comma = if cut.ends_with('}') { "," } else { "" };
        let whole = if cut == "[" { format!("[{first},{second}]") } else { format!("{cut}{comma}{second}\n]\n") };
        stored.write("rows.json", whole);
        assert_eq!(stored.done(&resume), "imported 2 cells of 2 rows\n", "{cut}");
        assert_eq!(scan(&stored), ["r1 f:a 1", "r2 f:a 1"], "{cut}");
        stored.done(&["deleteall", "STORE", "t", "r1"]);
        stored.done(&["deleteall", "STORE", "t", "r2"]);
    }
    stored.write("rows.json", format!("[\n{first}\n{second}\n]\n"));
    let said = stored.refused(&import, 2);
    assert!(said.contains("line 3: no comma separates it"), "{said}");
    assert_eq!(scan(&stored), ["r1 f:a 1"]);
    let said = stored.refused(&["import", "STORE", "t", "rows.json", "--on-error", "rest.jsonl"], 1);
    assert!(said.contains("line 3: no comma separates it"), "{said}");
    assert_eq!(lines_of(&stored.path("rest.jsonl")), [second]);
    // Rows one after the other are no array, and of two arrays each has its end.
    for whole in ["[]", "{\"row\":\"r1\",\"f:a\":\"1\"}\n{\"row\":\"r3\",\"f:a\":\"1\"}", "[]\n[]\n"] {
        stored.write("rows.json", whole);
        stored.done(&import);
    }
}

#[test]
fn bulk_a_stream_that_ends_within_a_line_says_so() {
    let stored = Stored::new();
    let text = "HBASE_ROW_KEY,f:a\nr1,1\nr2,12";
    let said = |json: &[&str], text: &str, format: &str| {
        let output = stored.fed(&[json, &["import", "STORE", "t", "-", "--format", format]].concat(), text.as_bytes());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let cut = "; line 3, the last one, has no line feed at its end: what is stored of it may be cut off\n";
    assert_eq!(said(&[], text, "csv"), format!("imported 2 cells of 2 rows{cut}"));
    assert_eq!(scan(&stored), ["r1 f:a 1", "r2 f:a 12"]);
    assert_eq!(said(&["--json"], text, "csv"), "{\"bad\":0,\"cells\":2,\"rows\":2,\"unended_line\":3}\n");
    assert!(said(&[], &text.replace(',', "\t"), "tsv").ends_with(cut));
    // Nothing is cut: of JSON what is whole, of csv an empty line, and a file ends as it likes.
    assert_eq!(said(&[], "{\"row\":\"r3\",\"f:a\":\"1\"}", "jsonl"), "imported 1 cells of 1 rows\n");
    assert_eq!(said(&[], &format!("{text}\n \n"), "csv"), "imported 2 cells of 2 rows\n");
    stored.write("in.csv", text);
    assert_eq!(stored.done(&["import", "STORE", "t", "in.csv"]), "imported 2 cells of 2 rows\n");
}

#[test]
fn bulk_rows_that_come_again_are_not_said_to_be_more_rows() {
    let stored = Stored::new();
    let line = |row: &str| format!("{{\"row\":\"{row}\",\"f:a\":\"1\"}}\n");
    for (rows, wanted) in [(["a", "b", "b"], "3 cells of 2 rows"), (["a", "b", "a"], "3 cells of at most 3 rows")] {
        stored.write("in.jsonl", rows.map(line).concat());
        assert_eq!(stored.done(&["import", "STORE", "t", "in.jsonl"]), format!("imported {wanted}\n"));
    }
    stored.write("in.csv", "HBASE_ROW_KEY,f:a\nb,1\na,2\n");
    assert_eq!(stored.done(&["import", "STORE", "t", "in.csv"]), "imported 2 cells of 2 rows\n");
}

#[test]
fn bulk_what_was_not_taken_is_not_counted() {
    let stored = Stored::new();
    stored.done(&["create-index", "STORE", "t", "one", "--columns", "f:k", "--unique"]);
    stored.write("twice.csv", "HBASE_ROW_KEY,f:k,f:n\nq1,same,1\nq2,same,2\nq3,other,3\n");
    let said = stored.run(&["import", "STORE", "t", "twice.csv", "--on-error", "skip"]);
    let text = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
    assert!(text.contains("imported 4 cells of 2 rows") && text.contains("1 line"), "{text}");
    assert_eq!(scan(&stored).len(), 4);
}

#[test]
fn bulk_a_file_that_was_mended_goes_on_and_one_that_was_changed_does_not() {
    let stored = Stored::new();
    stored.write("lines.tsv", "HBASE_ROW_KEY\tf:a\nr1\t1\nr2\nr3\t3\n");
    stored.refused(&["import", "STORE", "t", "lines.tsv"], 2);
    stored.write("lines.tsv", "HBASE_ROW_KEY\tf:a\nr1\tX\nr2\t2\nr3\t3\n");
    let said = stored.refused(&["import", "--resume", "STORE", "t", "lines.tsv"], 2);
    assert!(said.contains("has changed in the 2 lines"), "{said}");
    stored.write("lines.tsv", "HBASE_ROW_KEY\tf:a\nr1\t1\nr2\t2\nr3\t3\n");
    let said = stored.refused(&["import", "--resume", "STORE", "t", "lines.tsv", "--timestamp", "7"], 2);
    assert!(said.contains("--timestamp"), "{said}");
    let done = stored.done(&["import", "--resume", "STORE", "t", "lines.tsv"]);
    assert_eq!(done, "imported 3 cells of 3 rows\n");
    let said = stored.refused(&["import", "--resume", "STORE", "t", "lines.tsv"], 2);
    assert!(said.contains("Begin without --resume"), "{said}");
    assert_eq!(scan(&stored), ["r1 f:a 1", "r2 f:a 2", "r3 f:a 3"]);
}

#[test]
fn bulk_what_is_missing_is_said_with_the_way_to_make_it() {
    let stored = Stored::new();
    stored.write("t.csv", "HBASE_ROW_KEY,h:a\nr,1\n");
    stored.write("t.jsonl", "{\"row\":\"r\",\"f:a\":\"1\"}\n{\"row\":\"r\",\"h:a\":\"1\"}\n");
    for (args, wanted) in [
        (&["import", "STORE", "none", "t.csv"][..], "cellfs create STORE none FAMILY"),
        (&["import", "STORE", "t", "t.csv"], "cellfs alter STORE t h"),
        (&["import", "STORE", "t", "t.jsonl"], "line 2: table t has no family h"),
        (&["import", "STORE", "t", "absent.csv"], "absent.csv"),
        (&["import", "STORE", "t", "store/LOCK"], "--format"),
        (&["import", "STORE", "t", "t.jsonl", "--columns", "HBASE_ROW_KEY,f:a"], "csv and tsv"),
        (&["import", "STORE", "t", "t.csv", "--columns", "f:a"], "HBASE_ROW_KEY"),
        (&["import", "--resume", "STORE", "t", "-"], "stream"),
        (&["export", "STORE", "none"], "table none does not exist"),
        (&["export", "STORE", "t", "-o", "absent/file.csv"], "absent/file.csv"),
        (&["export", "--history", "STORE", "t", "-o", "t.csv"], "jsonl"),
        (&["export", "--history", "STORE", "t", "h", "-o", "t.jsonl"], "table t has no family h; it has f, g"),
        (&["export", "--history", "STORE", "t", "--by", "i=v", "-o", "t.jsonl"], "--by"),
    ] {
        let said = stored.refused(args, 2);
        assert!(said.contains(wanted), "{args:?}: {said}");
    }
    assert_eq!(lines_of(&stored.path("t.jsonl")).len(), 2, "what is refused leaves files as they are");
    stored.done(&["alter", "STORE", "t", "--set", "READONLY=true"]);
    let said = stored.refused(&["import", "STORE", "t", "t.jsonl"], 2);
    assert!(said.contains("READONLY"), "{said}");
}

#[test]
fn bulk_an_export_takes_its_name_when_it_is_whole_and_has_what_was_asked_for() {
    let stored = Stored::new();
    stored.write("in.csv", "HBASE_ROW_KEY,f:a,g:b\nr1,1,x\nr2,2,y\ns1,3,z\n");
    stored.done(&["import", "STORE", "t", "in.csv"]);
    let out = stored.write("out.csv", "before");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o644)).unwrap();
    stored.refused(&["export", "STORE", "t", "--filter", "Nonsense()", "-o", "out.csv"], 2);
    assert_eq!(fs::read_to_string(&out).unwrap(), "before");
    stored.done(&["export", "STORE", "t", "f", "--prefix", "r", "-o", "out.csv"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "HBASE_ROW_KEY,f:a\nr1,1\nr2,2\n");
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o644);
    std::os::unix::fs::symlink(&out, stored.path("link.tsv")).unwrap();
    stored.done(&["export", "STORE", "t", "g:b", "--reversed", "--limit", "1", "--format", "tsv", "-o", "link.tsv"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "HBASE_ROW_KEY\tg:b\ns1\tz\n");
    assert!(stored.done(&["export", "STORE", "t", "-o", "/dev/stdout"]).starts_with("{\"row\":\"r1\",\"f:a\":\"1\""));
    assert_eq!(names(&stored), ["in.csv", "link.tsv", "out.csv", "store"]);
}

/// Names in the directory, hidden ones too.
fn names(stored: &Stored) -> Vec<String> {
    let entries = fs::read_dir(stored.0.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn bulk_files_that_are_there_are_not_lost_to_lines_that_are_not_taken() {
    let stored = Stored::new();
    let notes = stored.write("notes.txt", "mine\n");
    stored.write("bad.csv", "HBASE_ROW_KEY,f:a\nr1,1\n,2\n");
    stored.refused(&["import", "STORE", "t", "bad.csv", "--on-error", "notes.txt"], 1);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine\n,2\n");
    let said = stored.refused(&["import", "STORE", "t", "bad.csv", "--on-error", "./bad.csv"], 2);
    assert!(said.contains("the file that is read"), "{said}");
    assert!(fs::read_to_string(stored.path("bad.csv")).unwrap().starts_with("HBASE_ROW_KEY"));
    // What was refused before its first record has nothing to go on with.
    stored.done(&["alter", "STORE", "t", "--set", "READONLY=true"]);
    stored.write("good.csv", "HBASE_ROW_KEY,f:a\nr1,1\n");
    let said = stored.refused(&["import", "STORE", "t", "good.csv"], 2);
    assert!(!said.contains("--resume"), "{said}");
    assert_eq!(names(&stored), ["bad.csv", "good.csv", "notes.txt", "store"]);
}

/// Of a cell that nobody would ever see the way out is said, whichever way it comes.
#[test]
fn bulk_a_cell_that_would_not_live_is_refused_on_every_way_in() {
    let stored = Stored::new();
    for ttl in ["0", "-5"] {
        let line = format!(r#"{{"row":"r","family":"f","qualifier":"a","value":"v","ttl":{ttl}}}"#);
        stored.write("cells.jsonl", &line);
        stored.write("cells.csv", format!("HBASE_ROW_KEY,f:a,HBASE_CELL_TTL\nr,1,{ttl}\n"));
        let said = |output: std::process::Output| {
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        let shell = format!("put 't', 'r', 'f:a', 'v', {{TTL => {ttl}}}");
        for told in [
            stored.refused(&["put", "STORE", "t", "r", "f:a", "v", "--ttl", ttl], 2),
            stored.refused(&["incr", "STORE", "t", "r", "f:a", "--ttl", ttl], 2),
            stored.refused(&["append", "STORE", "t", "r", "f:a", "v", "--ttl", ttl], 2),
            stored.refused(&["import", "STORE", "t", "cells.jsonl"], 2),
            stored.refused(&["import", "STORE", "t", "cells.csv"], 2),
            said(stored.fed(&["--json", "put", "STORE", "t", "-"], line.as_bytes())),
            said(stored.run(&["shell", "-q", "STORE", "-e", &shell])),
        ] {
            assert!(told.contains(&format!("`{ttl}`")), "{told}");
            assert!(told.contains("leave it out") && told.contains("delete"), "{told}");
        }
    }
    assert_eq!(stored.refused(&["scan", "STORE", "t", "--raw"], 1), "", "nothing is there");
}

/// A row of more cells than one step takes: its tombstone stands before them, and hides them all.
#[test]
fn bulk_put_takes_back_a_deleted_row_as_deleted() {
    let stored = Stored::new();
    let line = |n: usize| format!("{{\"row\":\"r\",\"f:{n:04}\":\"v\"}}\n");
    stored.write("in.jsonl", (0..1500).map(line).collect::<String>());
    stored.done(&["import", "STORE", "t", "in.jsonl"]);
    stored.done(&["deleteall", "STORE", "t", "r"]);
    stored.done(&["create", "STORE", "copy", "f", "g"]);
    let printed = stored.done(&["--json", "scan", "STORE", "t", "--raw", "--versions", "9"]);
    assert!(stored.fed(&["--json", "put", "STORE", "copy", "-"], printed.as_bytes()).status.success());
    assert_eq!(stored.refused(&["scan", "STORE", "copy"], 1), "", "nothing is shown");
    assert_eq!(stored.done(&["--json", "scan", "STORE", "copy", "--raw", "--versions", "9"]), printed);
    // The tombstone of one row says nothing of the next one.
    let rest = "{\"row\":\"s\",\"family\":\"f\",\"qualifier\":\"q\",\"value\":\"v\",\"timestamp\":1}\n";
    assert!(stored.fed(&["--json", "put", "STORE", "copy", "-"], (printed + rest).as_bytes()).status.success());
    assert_eq!(stored.done(&["scan", "STORE", "copy"]), "s\tf:q\t1\tv\n");
}

/// What an import has brought back as deleted is so in every way to take it further.
#[test]
fn bulk_a_version_that_is_kept_as_deleted_stays_it_from_scan_to_put() {
    let stored = Stored::new();
    stored.done(&["put", "STORE", "t", "r", "f:q", "secret"]);
    stored.done(&["delete", "STORE", "t", "r", "f:q"]);
    stored.done(&["export", "--history", "STORE", "t", "-o", "kept.jsonl"]);
    for table in ["u", "v", "w"] {
        stored.done(&["create", "STORE", table, "f"]);
    }
    stored.done(&["import", "STORE", "u", "kept.jsonl"]);
    let printed = stored.done(&["--json", "scan", "--raw", "STORE", "u"]);
    assert!(printed.contains("\"deleted\":"), "{printed}");
    assert!(stored.fed(&["--json", "put", "STORE", "v", "-"], printed.as_bytes()).status.success());
    assert!(stored.fed(&["import", "STORE", "w", "-"], printed.as_bytes()).status.success());
    for table in ["v", "w"] {
        assert_eq!(stored.refused(&["scan", "STORE", table], 1), "", "{table} shows it");
        assert_eq!(stored.done(&["--json", "scan", "--raw", "STORE", table]), printed);
        let listed = stored.done(&["undelete", "--list", "STORE", &format!("{table}/r/f/q")]);
        assert_eq!(listed.lines().count(), 1, "{listed}");
    }
}

#[test]
fn bulk_a_history_of_no_rows_is_empty() {
    let stored = Stored::new();
    for row in ["a", "b", "c"] {
        stored.done(&["put", "STORE", "t", row, "f:q", "v"]);
    }
    for stop in ["a", "b"] {
        assert_eq!(stored.done(&["export", "--history", "STORE", "t", "--start", "b", "--stop", stop]), "");
    }
    let line = stored.done(&["export", "--history", "STORE", "t", "--start", "b", "--stop", "c"]);
    assert!(line.starts_with("{\"row\":\"b\"") && line.lines().count() == 1, "{line}");
}

/// A byte of 0 is text, and takes six in a text of JSON.
#[test]
fn bulk_an_export_of_long_values_is_no_longer_than_base64() {
    let stored = Stored::new();
    let (zeros, text) = (vec![0; 3 << 20], "a line of text\n".repeat(1 << 13));
    for (column, value) in [("f:zeros", zeros.as_slice()), ("f:text", text.as_bytes())] {
        assert!(stored.fed(&["put", "STORE", "t", "r", column, "-"], value).status.success());
    }
    stored.done(&["create", "STORE", "u", "f"]);
    for name in ["jsonl", "json"] {
        let file = format!("out.{name}");
        stored.done(&["export", "STORE", "t", "-o", &file]);
        let written = fs::read_to_string(stored.path(&file)).unwrap();
        assert!(written.len() < 5 << 20, "{name}: {} bytes", written.len());
        assert!(written.contains("a line of text\\na line"), "{name}: text stays text");
        stored.done(&["truncate", "STORE", "u"]);
        stored.done(&["import", "STORE", "u", &file]);
        for (column, value) in [("f:zeros", zeros.as_slice()), ("f:text", text.as_bytes())] {
            assert!(stored.run(&["get", "STORE", "u", "r", column, "--value"]).stdout == value, "{name}: {column}");
        }
    }
    let printed = stored.run(&["scan", "--json", "STORE", "t"]).stdout;
    assert!(printed.len() < 5 << 20 && stored.fed(&["put", "--json", "STORE", "u", "-"], &printed).status.success());
}

#[test]
fn bulk_a_line_of_white_space_is_a_row_of_tsv() {
    let stored = Stored::new();
    stored.done(&["put", "STORE", "t", " ", "f:a", " "]);
    stored.done(&["export", "STORE", "t", "-o", "out.tsv"]);
    stored.done(&["create", "STORE", "u", "f"]);
    stored.write("more.tsv", fs::read_to_string(stored.path("out.tsv")).unwrap() + "\n\r\nr\tv\n");
    assert_eq!(stored.done(&["import", "STORE", "u", "more.tsv"]), "imported 2 cells of 2 rows\n");
    assert_eq!(stored.done(&["get", "STORE", "u", " ", "--value"]), " ");
}

/// The rest of its row is taken, and each line has its own reason.
#[test]
fn bulk_a_line_that_a_check_refuses_is_left_out_alone() {
    let stored = Stored::new();
    stored.done(&["create-check", "STORE", "t", "f", "age", "--columns", "age", "--type", "i64"]);
    let line = |row: &str, column: &str, value: &str| format!("{{\"row\":\"{row}\",\"f:{column}\":\"{value}\"}}\n");
    let bad = line("r", "age", "x");
    let lines = [
        line("q", "age", "1"),
        line("r", "age", "7"),
        line("r", "name", "bob"),
        bad.clone(),
        line("r", "city", "bern"),
        line("s", "age", "y"),
        line("s", "age", "z"),
    ];
    stored.write("in.jsonl", lines.concat());
    let output = stored.run(&["import", "STORE", "t", "in.jsonl", "--on-error", "aside"]);
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("imported 4 cells of 2 rows") && said.contains("3 lines"), "{said}");
    assert!(said.contains("line 4: ") && said.contains("`x`") && !said.contains("line 2:"), "{said}");
    assert_eq!(scan(&stored), ["q f:age 1", "r f:age 7", "r f:city bern", "r f:name bob"]);
    assert_eq!(fs::read_to_string(stored.path("aside")).unwrap(), bad + &lines[5] + &lines[6]);
    // Without the option it stops at that line; what stands before it is there.
    stored.done(&["truncate", "STORE", "t"]);
    let said = stored.refused(&["import", "STORE", "t", "in.jsonl"], 2);
    assert!(said.contains("line 4: ") && said.contains("before it are imported"), "{said}");
    assert_eq!(scan(&stored), ["q f:age 1", "r f:age 7", "r f:name bob"]);
}

/// Under HBase's rules a tombstone hides what has its time, also what is put later.
#[test]
fn bulk_what_comes_behind_a_null_is_there_under_the_rules_of_both() {
    let stored = Stored::new();
    stored.done(&["shell", "STORE", "-n", "-e", "create 'h', 'f', 'g'"]);
    let lines = [
        r#"{"row":"r1","f:q":null,"g:q":"beside"}"#,
        r#"{"row":"r2","f:q":"x"}"#,
        r#"{"row":"r2","f:q":null}"#,
        r#"{"row":"r2","f:q":"again"}"#,
        r#"{"row":"r3","f:q":"x"}"#,
        r#"{"row":"r3","f:q":null}"#,
        r#"{"row":"r4","f:a":"x","f:b":"x"}"#,
        r#"{"row":"r4","f:":null,"type":"DeleteFamily"}"#,
        r#"{"row":"r4","f:b":"again"}"#,
        r#"{"row":"r4","f:b":null}"#,
        r#"{"row":"r4","f:b":"for good"}"#,
    ];
    stored.write("in.jsonl", lines.map(|line| line.to_owned() + "\n").concat());
    for table in ["t", "h"] {
        stored.done(&["put", "STORE", table, "r1", "f:q", "before"]);
        // Once more: it comes to the same.
        for _ in 0..2 {
            stored.done(&["import", "STORE", table, "in.jsonl"]);
            let found = stored.done(&["scan", "STORE", table]);
            let values: Vec<&str> = found.lines().filter_map(|line| line.rsplit('\t').next()).collect();
            assert_eq!(values, ["beside", "again", "for good"], "{table}: {found}");
        }
    }
}
