//! Recipes of row keys on a real mount and from the command line: fields in the place of bytes.

use std::fs;
use std::io::Write;

use super::fixture::{Fixture, errno, names};

const RECIPE: &str = "salt(4) reverse_domain(host) desc(time)";

fn cellfs(fixture: &Fixture, command: &str, rest: &[&str]) -> (Option<i32>, String) {
    let store = fixture.store();
    let output = fixture.cellfs(&[&[command, store.to_str().unwrap()], rest].concat());
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// A table of pages of three sites, nine of each.
fn crawl() -> Fixture {
    let fixture = Fixture::new();
    fixture.family("none");
    fs::remove_dir(fixture.path("t/none/f")).unwrap();
    fs::remove_dir(fixture.path("t/none")).unwrap();
    fs::write(fixture.path("t/.schema/.key"), format!("{RECIPE}\n")).unwrap();
    for host in ["www.cnn.com", "a.org", "b.a.org"] {
        for minute in 0..9 {
            let fields = format!("host={host},time=2014-11-18T05:0{minute}:00Z");
            let put = cellfs(&fixture, "put", &["--key", "t", &fields, "f:n", &minute.to_string()]);
            assert_eq!(put, (Some(0), String::new()));
        }
    }
    fixture
}

#[test]
fn mount_a_part_of_the_fields_reads_the_rows_of_each_salt_alone() {
    let fixture = crawl();
    let line = |n: u32| format!("\"host=h{n:04}.example.com,time=2014-11-18T05:00:00Z\",x\n");
    let lines: String = (0..4000).map(line).collect();
    let csv = fixture.directory.path().join("more.csv");
    fs::write(&csv, format!("HBASE_ROW_KEY,f:n\n{lines}")).unwrap();
    let store = fixture.store();
    let imported = fixture.cellfs(&["import", "--key", store.to_str().unwrap(), "t", csv.to_str().unwrap()]);
    assert!(imported.status.success(), "{imported:?}");
    let looked = || fixture.backend().status().unwrap().cells_read;
    let of_host = fixture.path("t/.key/host=www.cnn.com");
    let before = looked();
    assert_eq!(names(&of_host).len(), 9);
    assert_eq!(fs::read_to_string(of_host.join(".count")).unwrap(), "9\n");
    for (export, rows) in [(".export/tsv", 9), (".first/4/.export/tsv", 4)] {
        let text = fs::read(of_host.join(export)).unwrap();
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1 + rows, "{export}");
    }
    let looks = looked() - before;
    assert!(looks < 1000, "{looks} cells were looked at for 9 rows of 4027");
}

#[test]
fn mount_programs_copy_a_schema_with_a_recipe() {
    let fixture = crawl();
    fs::create_dir_all(fixture.path("other/.schema/f")).unwrap();
    let (one, other) = (fixture.path("t/.schema/"), fixture.path("other/.schema/"));
    fs::write(other.join(".key"), "salt(2) a\n").unwrap();
    for (program, options) in [("rsync", "-a"), ("cp", "-rT")] {
        let done = std::process::Command::new(program).arg(options).args([&one, &other]).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(fs::read_to_string(other.join(".key")).unwrap(), format!("{RECIPE}\n"), "{program}");
        assert_eq!(names(&other), names(&one), "{program}");
    }
}

#[test]
fn mount_a_recipe_is_a_file_and_its_fields_are_paths() {
    let fixture = crawl();
    let recipe = fixture.path("t/.schema/.key");
    assert_eq!(fs::read_to_string(&recipe).unwrap(), format!("{RECIPE}\n"));
    assert!(names(&fixture.path("t/.schema")).contains(&".key".to_owned()));
    assert_eq!(
        fs::read_to_string(fixture.path("t/.schema/.table/METADATA/cellfs.key")).unwrap(),
        format!("{RECIPE}\n")
    );
    let wrong = fs::File::create(&recipe).unwrap().write_all(b"salt(4) hosts(x)\n");
    assert_eq!(errno(wrong), libc::EINVAL);
    assert_eq!(fs::read_to_string(&recipe).unwrap(), format!("{RECIPE}\n"));
    let wrong = fs::write(fixture.path("t/.schema/.table/METADATA/cellfs.key"), "salt(\n");
    assert_eq!(errno(wrong), libc::EINVAL);
    assert_eq!(fs::read_to_string(&recipe).unwrap(), format!("{RECIPE}\n"));
    let one = fixture.path("t/.key/host=www.cnn.com,time=2014-11-18T05:03:00Z");
    let rows = names(&one);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(fs::read_to_string(one.join(&rows[0]).join("f/n")).unwrap(), "3");
    assert_eq!(errno(fs::write(one.join(&rows[0]).join("f/n"), "x")), libc::EROFS);
    assert_eq!(names(&fixture.path("t/.key/host=a.org")).len(), 9, "of all salts");
    assert_eq!(fs::read_to_string(fixture.path("t/.key/host=b.a.org/.count")).unwrap(), "9\n");
    assert_eq!(names(&fixture.path("t/.key/host=a.org/.first/2")).len(), 2);
    assert!(names(&fixture.path("t/.key/host=none.org")).is_empty());
    for (path, sentence) in [
        ("hosts=x", "no field hosts; the key has host, time"),
        ("time=5", "field host is missing"),
        ("host", "is not NAME=VALUE"),
        ("host=a.org,time=late", "is not a time since 1970"),
    ] {
        assert_eq!(errno(fs::metadata(fixture.path("t/.key").join(path))), libc::ENOENT, "{path}");
        let said = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
        assert!(said.lines().last().unwrap().contains(sentence), "{path}: {said}");
    }
    fs::remove_file(&recipe).unwrap();
    assert_eq!(errno(fs::metadata(fixture.path("t/.key/host=a.org"))), libc::ENOENT);
    let said = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(said.contains("has no recipe of keys"), "{said}");
}

#[test]
fn mount_commands_speak_fields_and_scan_in_their_order() {
    let fixture = crawl();
    let one = "host=a.org,time=2014-11-18T05:03:00Z";
    let got = cellfs(&fixture, "get", &["--key", "t", one, "f:n", "--value"]);
    assert_eq!(got, (Some(0), "3".to_owned()));
    assert_eq!(cellfs(&fixture, "get", &["--key", "t", "host=a.org,time=1"]).0, Some(1));
    assert!(cellfs(&fixture, "get", &["--key", "t", "host=a.org"]).1.contains("field time is missing"));
    let fields = |text: String| -> Vec<String> {
        text.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect()
    };
    let scanned = fields(cellfs(&fixture, "scan", &["--by-key", "t"]).1);
    assert_eq!(scanned.len(), 27);
    // com.cnn.www comes before org.a, and that before org.a.b; the newest first.
    let hosts: Vec<&str> = scanned.iter().map(|of| of.split(',').next().unwrap()).collect();
    assert_eq!((hosts[0], hosts[9], hosts[18]), ("host=www.cnn.com", "host=a.org", "host=b.a.org"));
    for (at, of) in scanned.iter().enumerate() {
        assert!(of.ends_with(&format!("time=2014-11-18T05:0{}:00Z", 8 - at % 9)), "{of}");
    }
    let mut backwards = fields(cellfs(&fixture, "scan", &["--by-key", "--reversed", "t"]).1);
    backwards.reverse();
    assert_eq!(backwards, scanned);
    assert_eq!(fields(cellfs(&fixture, "scan", &["--by-key=host=a.org", "--limit", "4", "t"]).1), scanned[9..13]);
    assert_eq!(fields(cellfs(&fixture, "scan", &[&format!("--by-key={one}"), "t"]).1), [one]);
    assert!(cellfs(&fixture, "scan", &["--by-key=time=1", "t"]).1.contains("field host is missing"));
    // From the first fields of a row up to those of another, whatever salt stands before them.
    let part = |args: &[&str]| fields(cellfs(&fixture, "scan", &[args, &["t"]].concat()).1);
    assert_eq!(part(&["--by-key", "--start=host=a.org", "--stop=host=b.a.org"]), scanned[9..18]);
    assert_eq!(part(&["--by-key", &format!("--start={one}")]), scanned[14..]);
    assert_eq!(part(&["--by-key", "--stop", one, "--limit", "99"]), scanned[..14]);
    assert_eq!(part(&["--by-key=host=a.org", &format!("--start={one}")]), scanned[14..18]);
    assert_eq!(part(&[&format!("--by-key={one}"), "--start=host=a.org", "--stop=host=b.a.org"]), [one]);
    assert!(part(&[&format!("--by-key={one}"), "--stop", one]).is_empty());
    let mut backwards = part(&["--by-key", "--reversed", "--start=host=a.org", "--stop=host=www.cnn.com"]);
    backwards.reverse();
    assert_eq!(backwards, scanned[9..18]);
    let said = cellfs(&fixture, "scan", &["--by-key", "--start=a.org", "t"]).1;
    assert!(said.contains("is not NAME=VALUE"), "{said}");
    // Keys that others have made are told and left out.
    fs::write(fixture.family("plain").join("n"), "").unwrap();
    let said = cellfs(&fixture, "scan", &["--by-key", "t"]).1;
    assert!(said.lines().filter(|line| line.starts_with("host=")).count() == 27, "{said}");
    fs::remove_file(fixture.path("t/plain/f/n")).unwrap();
    fs::remove_dir(fixture.path("t/plain/f")).unwrap();
    fs::remove_dir(fixture.path("t/plain")).unwrap();
    let file = fixture.directory.path().join("pages.csv");
    assert_eq!(cellfs(&fixture, "export", &["--key", "t", "-o", file.to_str().unwrap()]).0, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"host=a.org,time=2014-11-18T05:03:00Z\",3"), "{text}");
    assert_eq!(cellfs(&fixture, "create", &["u", "f"]).0, Some(0));
    let said = cellfs(&fixture, "import", &["--key", "u", file.to_str().unwrap()]).1;
    assert!(said.contains("table u has no recipe of keys"), "{said}");
    let other = "hash(host, 2) host '|' time(time)";
    fs::write(fixture.path("u/.schema/.key"), other).unwrap();
    let said = cellfs(&fixture, "import", &["--key", "u", file.to_str().unwrap()]);
    assert_eq!(said, (Some(0), "imported 27 cells of 27 rows\n".to_owned()));
    let got = cellfs(&fixture, "get", &["--key", "u", one, "f:n", "--value"]);
    assert_eq!(got.1, "3", "another recipe, the same fields");
    assert_eq!(cellfs(&fixture, "incr", &["--key", "u", one, "f:hits", "2"]).1, "2\n");
    assert_eq!(cellfs(&fixture, "deleteall", &["--key", "u", one]).0, Some(0));
    assert_eq!(cellfs(&fixture, "count", &["u"]).1, "26\n");
}

#[test]
fn mount_count_by_an_index() {
    let fixture = Fixture::new();
    for n in 0..10 {
        fs::write(fixture.family(&format!("u{n}")).join("city"), if n % 3 == 0 { "Bonn" } else { "Köln" }).unwrap();
    }
    assert_eq!(cellfs(&fixture, "create-index", &["t", "city", "--columns", "f:city"]).0, Some(0));
    assert_eq!(cellfs(&fixture, "count", &["t", "--by", "city=Bonn"]), (Some(0), "4\n".to_owned()));
    assert_eq!(cellfs(&fixture, "count", &["t", "--by", "city", "--value-from", "K"]).1, "6\n");
    assert_eq!(cellfs(&fixture, "count", &["t"]).1, "10\n");
    assert!(cellfs(&fixture, "count", &["t", "--by", "town=Bonn"]).1.contains("no index town"));
}

#[test]
fn mount_advice_is_of_the_keys_that_are_there() {
    let fixture = Fixture::new();
    let advise = |table: &str| {
        let store = fixture.store();
        let output = fixture.cellfs(&["key", "advise", store.to_str().unwrap(), table]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let import = |table: &str, lines: String| {
        assert_eq!(cellfs(&fixture, "create", &[table, "f"]).0, Some(0));
        let file = fixture.directory.path().join("lines.csv");
        fs::write(&file, format!("HBASE_ROW_KEY,HBASE_TS_KEY,{lines}")).unwrap();
        let (status, said) = cellfs(&fixture, "import", &[table, file.to_str().unwrap()]);
        assert_eq!(status, Some(0), "{said}");
    };
    let value = "x".repeat(40);
    let rising = (0..200).map(|n| format!("{:06}-log,{},{value}\n", n, 1000 + n)).collect::<String>();
    import("rising", format!("f:d\n{rising}"));
    let (status, said) = advise("rising");
    assert!(status == Some(1) && said.starts_with("rising keys:") && said.contains("salt(N)"), "{said}");
    let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let spread = (0..200).map(|n| format!("{:06x},{},{value}\n", scattered(n), 1000 + n)).collect::<String>();
    import("spread", format!("f:d\n{spread}"));
    assert_eq!(advise("spread"), (Some(0), "200 rows looked at: nothing to tell\n".to_owned()));
    // The last fifty are all of one site.
    let hot = (0..400).map(|n| match n {
        350.. => format!("m{:06x},{},{value}\n", scattered(n), 1000 + n),
        _ => format!("{}{:06x},{},{value}\n", ["a", "z", "p", "g"][n as usize % 4], scattered(n), 1000 + n),
    });
    import("hot", format!("f:d\n{}", hot.collect::<String>()));
    let (status, said) = advise("hot");
    assert!(status == Some(1) && said.contains("hot spot:") && !said.contains("rising"), "{said}");
    let named = (0..50).map(|n| format!("{:06x},1000,1\n", scattered(n))).collect::<String>();
    import("named", format!("f:myVeryImportantAttribute\n{named}"));
    assert!(advise("named").1.contains("long names:"));
    let texts = (0..50).map(|n| format!("{:06x}-1416287999{n:03},1000,{value}\n", scattered(n))).collect::<String>();
    import("texts", format!("f:d\n{texts}"));
    assert!(advise("texts").1.contains("numbers as texts: 50 of 50 keys"));
    let wide = (0..10_050).map(|n| format!("{{\"row\":\"r\",\"f:{n}\":\"{value}\"}}\n"));
    assert_eq!(cellfs(&fixture, "create", &["wide", "f"]).0, Some(0));
    let file = fixture.directory.path().join("wide.jsonl");
    fs::write(&file, wide.collect::<String>()).unwrap();
    assert_eq!(cellfs(&fixture, "import", &["wide", file.to_str().unwrap()]).0, Some(0));
    assert!(advise("wide").1.contains("wide rows: row r has more than 10000 columns"));
    assert!(advise("none").0 == Some(2));
}
