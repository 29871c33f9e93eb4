//! Secondary indexes on a real mount: declared as directories, asked as paths and from the command line.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use super::fixture::{Fixture, errno, names};

/// Rows u0 to u11 with f:city, f:age and f:mail.
fn users() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..12 {
        let family = fixture.family(&format!("u{n:02}"));
        fs::write(family.join("city"), ["Bonn", "Köln", "a,b/c"][n % 3]).unwrap();
        fs::write(family.join("age"), format!("{}", 20 + n / 2)).unwrap();
        fs::write(family.join("mail"), format!("u{n}@x.org")).unwrap();
    }
    fixture
}

fn declare(fixture: &Fixture, name: &str, attributes: &[(&str, &str)]) {
    let dir = fixture.path("t/.schema/.index").join(name);
    fs::create_dir(&dir).unwrap();
    for (attribute, text) in attributes {
        fs::write(dir.join(attribute), format!("{text}\n")).unwrap();
    }
}

/// Waits until it is built.
fn built(fixture: &Fixture, name: &str) {
    let began = Instant::now();
    loop {
        let described = fs::read_to_string(fixture.path("t/.info/describe")).unwrap();
        let line = described.lines().find(|line| line.starts_with(&format!("{{NAME => '{name}'"))).unwrap_or_default();
        if line.contains("STATE => 'COMPLETE'") {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{described}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ask(fixture: &Fixture, path: &str) -> Vec<String> {
    names(&fixture.path("t/.by").join(path))
}

fn is_refused(fixture: &Fixture, path: &str, sentence: &str) {
    assert_eq!(errno(fs::metadata(fixture.path("t/.by").join(path))), libc::ENOENT, "{path}");
    let last = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(last.lines().last().unwrap().contains(sentence), "{path}: {last}");
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn cellfs(fixture: &Fixture, command: &str, rest: &[&str]) -> (Option<i32>, String) {
    let store = fixture.store();
    let args = [&[command, store.to_str().unwrap(), "t"], rest].concat();
    said(&fixture.cellfs(&args))
}

#[test]
fn mount_by_an_index_rows_are_found_and_chains_go_on() {
    let fixture = users();
    declare(&fixture, "city", &[("columns", "f:city")]);
    for is_built in [false, true] {
        if is_built {
            built(&fixture, "city");
        }
        assert_eq!(ask(&fixture, "city/Bonn"), ["u00", "u03", "u06", "u09"]);
    }
    is_refused(&fixture, "city/a,b%2Fc", "2 values are asked for");
    assert_eq!(ask(&fixture, "city/a%2Cb%2Fc"), ["u02", "u05", "u08", "u11"]);
    assert_eq!(ask(&fixture, "city/Köln/.from/u02/.first/2"), ["u04", "u07"]);
    assert_eq!(ask(&fixture, "city/Köln/.last/1"), ["u10"]);
    assert_eq!(ask(&fixture, "../.columns/f:age/.by/city/Köln/u04/f"), ["age"]);
    assert_eq!(ask(&fixture, "city/.prefix/K"), ["u01", "u04", "u07", "u10"]);
    assert_eq!(ask(&fixture, "city/.from/C/.to/a").len(), 4);
    assert_eq!(ask(&fixture, "city/.to/C/.from/A").len(), 4);
    assert_eq!(ask(&fixture, "city/.from/C").len(), 8);
    assert!(names(&fixture.path("t/.by/city")).is_empty(), "values are not listed");
    let read = |path: &str| fs::read_to_string(fixture.path("t/.by/city").join(path)).unwrap();
    assert_eq!(read("Bonn/.count"), "4\n");
    assert_eq!(read("Bonn/u03/f/mail"), "u3@x.org");
    assert_eq!(read("Bonn/.export/jsonl").lines().count(), 12);
    assert_eq!(errno(fs::metadata(fixture.path("t/.by/city/Bonn/u01"))), libc::ENOENT);
    assert_eq!(errno(fs::write(fixture.path("t/.by/city/Bonn/u03/f/city"), "x")), libc::EROFS);
    // What is written, deleted and moved is found as it is.
    fs::write(fixture.family("u03").join("city"), "Köln").unwrap();
    fs::remove_file(fixture.family("u06").join("city")).unwrap();
    fs::rename(fixture.family("u09").join("city"), fixture.family("zz").join("city")).unwrap();
    assert_eq!(ask(&fixture, "city/Bonn"), ["u00", "zz"]);
    assert_eq!(ask(&fixture, "city/Köln"), ["u01", "u03", "u04", "u07", "u10"]);
}

#[test]
fn mount_by_an_index_a_percent_sign_alone_is_the_empty_value() {
    let fixture = users();
    fs::write(fixture.family("u01").join("city"), "").unwrap();
    fs::write(fixture.family("u04").join("city"), "%").unwrap();
    declare(&fixture, "city", &[("columns", "f:city,f:mail")]);
    for is_built in [false, true] {
        if is_built {
            built(&fixture, "city");
        }
        assert_eq!(ask(&fixture, "city/%"), ["u01"]);
        assert_eq!(ask(&fixture, "city/%,u1@x.org"), ["u01"]);
        assert_eq!(ask(&fixture, "city/%25"), ["u04"]);
        assert_eq!(ask(&fixture, "city/.from/%").len(), 12);
        assert_eq!(ask(&fixture, "city/.prefix/%").len(), 12);
        assert_eq!(ask(&fixture, "city/.to/%25"), ["u01"]);
        assert!(ask(&fixture, "city/.to/%").is_empty(), "nothing is before it");
    }
}

#[test]
fn mount_by_an_index_time_travel_and_snapshots_show_what_was() {
    let fixture = users();
    declare(&fixture, "city", &[("columns", "f:city")]);
    built(&fixture, "city");
    let store = fixture.store();
    assert!(fixture.cellfs(&["snapshot", "create", store.to_str().unwrap(), "s"]).status.success());
    let before = fs::symlink_metadata(fixture.family("u00").join("city")).unwrap().modified().unwrap();
    let before = before.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    std::thread::sleep(Duration::from_millis(3));
    fs::write(fixture.family("u00").join("city"), "Köln").unwrap();
    assert_eq!(ask(&fixture, "city/Bonn"), ["u03", "u06", "u09"]);
    assert_eq!(names(&fixture.path(&format!("t/.at/{before}/.by/city/Bonn"))), ["u00"]);
    assert_eq!(names(&fixture.path(&format!("t/.by/city/Bonn/.at/{before}"))), ["u00"]);
    let kept = fixture.mnt().join(".snapshot/s/default/t/.by/city/Bonn");
    assert_eq!(names(&kept), ["u00", "u03", "u06", "u09"]);
}

#[test]
fn mount_an_index_is_a_directory_of_small_files() {
    let fixture = users();
    let dir = fixture.path("t/.schema/.index");
    assert!(!names(&fixture.path("t/.schema")).contains(&".index".to_owned()), "there is none");
    declare(&fixture, "city", &[]);
    assert!(names(&fixture.path("t/.schema")).contains(&".index".to_owned()));
    is_refused(&fixture, "city/Bonn", "has no columns yet");
    let columns = dir.join("city/columns");
    for (attribute, wrong) in
        [("columns", "f"), ("columns", "a/b:c"), ("unique", "perhaps"), ("where", "Nope("), ("include", "/")]
    {
        let mut file = fs::File::create(dir.join("city").join(attribute)).unwrap();
        let refused = file.write_all(format!("{wrong}\n").as_bytes());
        assert_eq!(errno(refused), libc::EINVAL, "{attribute} {wrong}");
        drop(file);
        assert_eq!(errno(fs::metadata(dir.join("city").join(attribute))), libc::ENOENT, "{attribute}");
    }
    fs::write(&columns, "f:city\n").unwrap();
    assert_eq!(fs::read_to_string(&columns).unwrap(), "f:city\n");
    fs::write(dir.join("city/include"), "f:mail").unwrap();
    fs::write(dir.join("city/where"), "PrefixFilter('u0')").unwrap();
    assert_eq!(names(&dir.join("city")), ["columns", "include", "where"]);
    built(&fixture, "city");
    assert_eq!(ask(&fixture, "city/Köln"), ["u01", "u04", "u07"]);
    assert_eq!(ask(&fixture, "city/Köln/u01/f"), ["city", "mail"]);
    assert_eq!(fs::read_to_string(fixture.path("t/.by/city/Köln/.export/csv")).unwrap().lines().count(), 4);
    assert_eq!(errno(fs::write(dir.join("city/unique"), "true\n")), libc::EINVAL, "beside where");
    fs::remove_file(dir.join("city/where")).unwrap();
    assert_eq!(ask(&fixture, "city/Köln").len(), 4);
    assert_eq!(errno(fs::create_dir(dir.join("city"))), libc::EEXIST);
    assert_eq!(errno(fs::create_dir(dir.join("a b"))), libc::EINVAL);
    assert_eq!(errno(fs::create_dir(dir.join("city/x"))), libc::EPERM);
    fs::remove_dir_all(dir.join("city")).unwrap();
    is_refused(&fixture, "city/Bonn", "has no index city; it has none");
    assert!(names(&dir).is_empty());
}

#[test]
fn mount_indexes_are_in_the_history_and_come_back() {
    let fixture = users();
    declare(&fixture, "mail", &[("columns", "f:mail"), ("unique", "true")]);
    declare(&fixture, "city", &[("columns", "f:city,f:age"), ("include", "f:mail")]);
    let backup = fixture.directory.path().join("backup");
    let rsync = |from: &Path, to: &Path| {
        let arguments = ["-aX", "-i"].map(std::ffi::OsStr::new);
        let (mut from, mut to) = (from.as_os_str().to_owned(), to.as_os_str().to_owned());
        from.push("/");
        to.push("/");
        let output = std::process::Command::new("rsync").args(arguments).arg(&from).arg(&to).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    rsync(&fixture.mnt().join(".history"), &backup);
    let other = Fixture::empty();
    rsync(&backup, &other.mnt().join(".history"));
    assert_eq!(rsync(&backup, &other.mnt().join(".history")), "", "a second run copies nothing");
    built(&other, "city");
    built(&other, "mail");
    assert_eq!(ask(&other, "city/Bonn,21"), ["u03"]);
    assert_eq!(ask(&other, "city/Bonn,21/u03/f"), ["age", "city", "mail"]);
    assert_eq!(ask(&other, "mail/u7@x.org"), ["u07"]);
}

#[test]
fn mount_a_value_that_is_to_be_unique_is_eexist() {
    use std::os::fd::IntoRawFd;
    let fixture = users();
    let done = cellfs(&fixture, "create-index", &["mail", "--columns", "f:mail", "--unique"]);
    assert_eq!(done, (Some(0), String::new()));
    let path = fixture.family("new").join("mail");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"u7@x.org").unwrap();
    assert_eq!(nix::unistd::close(file.into_raw_fd()), Err(nix::Error::EEXIST));
    assert_eq!(cellfs(&fixture, "get", &["new", "f:mail"]).0, Some(1), "nothing of it is stored");
    let sentence = "row u07 has `u7@x.org` already";
    assert!(fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap().contains(sentence));
    let (status, text) = cellfs(&fixture, "put", &["new", "f:mail", "u7@x.org"]);
    assert!(status == Some(2) && text.contains(sentence), "{status:?} {text}");
    fs::rename(fixture.family("u07").join("mail"), fixture.family("new").join("mail")).unwrap();
    assert_eq!(ask(&fixture, "mail/u7@x.org"), ["new"]);
    let (status, text) = cellfs(&fixture, "create-index", &["age", "--columns", "f:age", "--unique"]);
    assert!(status == Some(2) && text.contains("rows u00 and u01 have `20`"), "{status:?} {text}");
    assert_eq!(names(&fixture.path("t/.schema/.index")), ["mail"], "it is not left behind");
}

#[test]
fn mount_an_index_that_is_to_be_unique_and_is_not_says_so_where_people_look() {
    let mut fixture = users();
    declare(&fixture, "age", &[("unique", "true"), ("columns", "f:age")]);
    let told = "rows u00 and u01 have `20`";
    let errors = |fixture: &Fixture| fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let began = Instant::now();
    while !errors(&fixture).contains("index age of table t: it is to be unique, and rows u00 and u01") {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", errors(&fixture));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(fixture.log().lines().any(|line| line.contains("WARN") && line.contains(told)), "{}", fixture.log());
    let store = fixture.store().into_os_string().into_string().unwrap();
    for _ in 0..2 {
        let status = said(&fixture.cellfs(&["status", &store])).1;
        assert!(status.contains(&format!("not unique     index age of table t: {told}")), "{status}");
        let status = said(&fixture.cellfs(&["--json", "status", &store])).1;
        assert!(status.contains(&format!("\"not_unique\":[\"index age of table t: {told}\"]")), "{status}");
        fixture.remount();
    }
    // Mended as it says.
    fs::remove_file(fixture.path("t/.schema/.index/age/unique")).unwrap();
    for n in (1..12).step_by(2) {
        fs::write(fixture.family(&format!("u{n:02}")).join("age"), format!("{}", 40 + n)).unwrap();
    }
    fs::write(fixture.path("t/.schema/.index/age/unique"), "true\n").unwrap();
    built(&fixture, "age");
    assert!(!said(&fixture.cellfs(&["status", &store])).1.contains("not unique"));
}

#[test]
fn mount_a_value_that_is_too_long_to_be_unique_is_told() {
    let fixture = users();
    for n in [4, 7] {
        fs::write(fixture.family(&format!("u{n:02}")).join("mail"), "x".repeat(20_000)).unwrap();
    }
    let told = "row u04 has 20000 bytes in f:mail: values of a unique index have at most 16384 bytes";
    let (status, text) = cellfs(&fixture, "create-index", &["mail", "--columns", "f:mail", "--unique"]);
    assert!(status == Some(2) && text.contains(&format!("index mail cannot be unique: {told}")), "{status:?} {text}");
    assert!(names(&fixture.path("t/.schema/.index")).is_empty(), "it is not left behind");
    declare(&fixture, "mail", &[("unique", "true"), ("columns", "f:mail")]);
    let errors = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let began = Instant::now();
    // The first is of the index that was refused.
    while errors().matches(&format!("index mail of table t: it is to be unique, and {told}")).count() < 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", errors());
        std::thread::sleep(Duration::from_millis(5));
    }
    let described = fs::read_to_string(fixture.path("t/.info/describe")).unwrap();
    assert!(described.contains(&format!("NOT UNIQUE: {told}")), "{described}");
}

#[test]
fn mount_an_index_answers_without_a_family_that_it_includes() {
    let fixture = users();
    let index = fixture.path("t/.schema/.index/city");
    declare(&fixture, "city", &[("columns", "f:city"), ("include", "g,f:mail")]);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("no family g: the index shows nothing of it until that is declared"), "{errors}");
    for is_built in [false, true] {
        if is_built {
            built(&fixture, "city");
        }
        assert_eq!(ask(&fixture, "city/Bonn/u03/f"), ["city", "mail"]);
    }
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir(fixture.path("t/u03/g")).unwrap();
    fs::write(fixture.path("t/u03/g/q"), "1").unwrap();
    assert_eq!(ask(&fixture, "city/Bonn/u03"), ["f", "g"]);
    let scan = || cellfs(&fixture, "scan", &["--by", "city=Bonn"]).1.lines().count();
    assert_eq!(scan(), 9);
    let (status, text) = cellfs(&fixture, "alter", &["--delete", "g"]);
    assert!(status == Some(0) && text.contains("index city includes family g and shows nothing of it"), "{text}");
    assert_eq!(scan(), 8);
    assert_eq!(ask(&fixture, "city/Bonn/u03/f"), ["city", "mail"]);
    assert_eq!(fs::read_to_string(fixture.path("t/.by/city/Bonn/.count")).unwrap(), "4\n");
    assert_eq!(fs::read_to_string(fixture.path("t/.by/city/Bonn/.export/jsonl")).unwrap().lines().count(), 8);
    assert_eq!(cellfs(&fixture, "undrop", &["g"]).0, Some(0));
    assert_eq!(scan(), 9);
    fs::write(index.join("include"), "nowhere:q").unwrap();
    assert_eq!(ask(&fixture, "city/Bonn/u03/f"), ["city"]);
}

#[test]
fn mount_command_line_makes_asks_and_drops_indexes() {
    let fixture = users();
    let index = |rest: &[&str]| cellfs(&fixture, "create-index", rest);
    assert_eq!(index(&["near", "--columns", "f:city,f:age", "--include", "f:mail"]), (Some(0), String::new()));
    let scan = |rest: &[&str]| cellfs(&fixture, "scan", rest).1;
    let rows = |text: String| -> Vec<String> {
        let mut rows: Vec<String> = text.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect();
        rows.dedup();
        rows
    };
    assert_eq!(rows(scan(&["--by", "near=Bonn"])), ["u00", "u03", "u06", "u09"]);
    assert_eq!(rows(scan(&["--by", "near=Bonn,21"])), ["u03"]);
    assert_eq!(rows(scan(&["--by", r"near=a\x2Cb/c", "--reversed", "--limit", "2"])), ["u11", "u08"]);
    assert_eq!(rows(scan(&["--by", "near", "--value-from", "C", "--value-to", "L", "f:age"])).len(), 4);
    assert_eq!(rows(scan(&["--by", "near", "--value-prefix", "B"])).len(), 4);
    assert_eq!(scan(&["--by", "near=Bonn,21"]).lines().count(), 3, "what it includes, and what it is of");
    assert!(scan(&["--by", "near=Bonn", "--value-to", "C"]).contains("write --by INDEX"));
    assert!(scan(&["--by", "far=Bonn"]).contains("no index far; it has near"));
    assert!(index(&["x", "--columns", "g:q"]).1.contains("no family g"));
    assert!(index(&["x", "--columns", "f:q", "--include", "f,g:q"]).1.contains("no family g"));
    assert!(index(&["near", "--columns", "f:q"]).1.contains("exists"));
    assert!(index(&["x", "--columns", "f"]).1.contains("FAMILY:QUALIFIER"));
    let described = cellfs(&fixture, "describe", &[]).1;
    assert!(described.contains("  index near (complete) columns=f:city,f:age include=f:mail"), "{described}");
    assert_eq!(cellfs(&fixture, "drop-index", &["near"]), (Some(0), String::new()));
    assert!(cellfs(&fixture, "drop-index", &["near"]).1.contains("no index near; it has none"));
    assert!(!cellfs(&fixture, "describe", &[]).1.contains("index"));
    // A family that goes leaves its index without anything to find.
    assert_eq!(index(&["near", "--columns", "f:city"]), (Some(0), String::new()));
    let (status, text) = cellfs(&fixture, "alter", &["--delete", "f"]);
    assert!(status == Some(0) && text.contains("index near is of family f and finds nothing without it"), "{text}");
    assert!(text.contains("`cellfs undrop STORE t f`"), "{text}");
    assert_eq!(cellfs(&fixture, "undrop", &["f"]).0, Some(0));
    built(&fixture, "near");
    assert_eq!(rows(scan(&["--by", "near=Bonn"])), ["u00", "u03", "u06", "u09"]);
}

#[test]
fn mount_import_refuses_what_another_row_has_in_a_unique_index() {
    let fixture = Fixture::new();
    let store = fixture.store().into_os_string().into_string().unwrap();
    let created = fixture.cellfs(&["create-index", &store, "t", "mail", "--columns", "f:mail", "--unique"]);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let file = fixture.directory.path().join("people.csv");
    fs::write(&file, "HBASE_ROW_KEY,f:mail\na,one@x\nb,two@x\nc,one@x\nd,three@x\n").unwrap();
    let imported = fixture.cellfs(&["import", &store, "t", file.to_str().unwrap(), "--on-error", "skip"]);
    let said = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(said.contains("line 4") && said.contains("row a has `one@x` already"), "{said}");
    assert_eq!(names(&fixture.path("t")), ["a", "b", "d"]);
    assert_eq!(names(&fixture.path("t/.by/mail/one@x")), ["a"]);
}

#[test]
fn mount_a_wide_range_of_an_index_is_listed_in_few_walks() {
    let fixture = Fixture::new();
    let rows = 20_000;
    let lines: String = (0..rows).map(|n| format!("u{n:05},{:02}\n", n * 7 % 90)).collect();
    let csv = fixture.directory.path().join("rows.csv");
    fs::write(&csv, format!("HBASE_ROW_KEY,f:age\n{lines}")).unwrap();
    let imported = cellfs(&fixture, "import", &[csv.to_str().unwrap()]);
    assert_eq!(imported.0, Some(0), "{imported:?}");
    declare(&fixture, "age", &[("columns", "f:age")]);
    built(&fixture, "age");
    let looked = || fixture.backend().status().unwrap().cells_read;
    let before = looked();
    let listed = ask(&fixture, "age/.from/10/.to/80");
    let looks = looked() - before;
    let wanted: Vec<String> =
        (0..rows).filter(|n| (10..80).contains(&(n * 7 % 90))).map(|n| format!("u{n:05}")).collect();
    assert!(listed == wanted, "{} rows, not {}", listed.len(), wanted.len());
    println!("{looks} looks for {} rows", listed.len());
    assert!(looks < 15 * listed.len() as u64, "{looks} looks for {} rows", listed.len());
}

#[test]
fn mount_an_index_of_a_family_that_is_not_there_says_so() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/.index/i")).unwrap();
    fs::write(fixture.path("t/.schema/.index/i/columns"), "later:a\n").unwrap();
    let errors = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let told = |errors: &str| errors.lines().filter(|line| line.contains("has no family later")).count();
    assert_eq!(told(&errors()), 1, "{}", errors());
    // As copies of a schema come, whose names are in their order.
    fs::create_dir(fixture.path("t/.schema/later")).unwrap();
    fs::write(fixture.path("t/.schema/.index/i/columns"), "later:b\n").unwrap();
    assert_eq!(told(&errors()), 1, "{}", errors());
}
