//! The command line, on a store that is not mounted and on one that is.

use std::fs;

use crate::mount::fixture::{CELLFS, Fixture};

/// Runs a command; status and standard output.
fn run(args: &[&str]) -> (i32, String) {
    let output = std::process::Command::new(CELLFS).args(args).stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), if said.is_empty() { errors } else { said })
}

struct Stored(tempfile::TempDir);

impl Stored {
    fn new() -> Self {
        let stored = Self(tempfile::tempdir().unwrap());
        assert_eq!(stored.run(&["create", "--make", "t", "f,VERSIONS=3"]).0, 0);
        stored
    }

    /// A command with the store in its place.
    fn run(&self, args: &[&str]) -> (i32, String) {
        let store = self.0.path().join("store");
        let mut all = vec![args[0], store.to_str().unwrap()];
        all.extend(&args[1..]);
        run(&all)
    }

    fn rows(&self, args: &[&str]) -> Vec<String> {
        let (status, said) = self.run(args);
        assert!(status <= 1, "{said}");
        let rows = said.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| *word != "ROW");
        rows.map(str::to_owned).collect()
    }
}

#[test]
fn commands_take_bytes_as_hbase_prints_them() {
    let stored = Stored::new();
    for (row, qualifier, value) in [(r"\x00a", r"f:\xFF", r"\x01\x5Cv"), (r"\xFFb", "f:q", "plain")] {
        assert_eq!(stored.run(&["put", "t", row, qualifier, value]).0, 0);
    }
    let (_, shown) = stored.run(&["get", "t", r"\x00a"]);
    assert!(shown.contains(r"f:\xFF") && shown.contains(r"\x01\x5Cv"), "{shown}");
    assert_eq!(stored.run(&["get", "--value", "t", r"\x00a", r"f:\xFF"]).1.as_bytes(), b"\x01\\v");
    assert_eq!(stored.rows(&["scan", "t", "--start", r"\x01"]), [r"\xFFb"]);
    assert_eq!(stored.rows(&["scan", "t", "--prefix", r"\xFF"]), [r"\xFFb"]);
    assert_eq!(stored.rows(&["scan", "t", "--filter", r"PrefixFilter('\xFF')"]), [r"\xFFb"], "literals are bytes");
    assert_eq!(stored.rows(&["scan", "t", "--filter", r"QualifierFilter(=,'binary:\xFF')"]), [r"\x00a"]);
    assert_eq!(stored.run(&["put", "t", r"\x00a", r"f:\xFF", "new", "--if-value", r"\x01\x5Cv"]).0, 0);
    assert_eq!(stored.run(&["deleteall", "t", r"\xFFb"]).0, 0);
    assert_eq!(stored.rows(&["scan", "t"]), [r"\x00a"]);
}

#[test]
fn commands_put_back_what_scan_prints_as_json() {
    use std::io::Write;
    let stored = Stored::new();
    for (row, column, value, at) in [
        ("r1", "f:q", "old", "100"),
        ("r1", "f:q", "new", "200"),
        (r"\xFF\x00", r"f:\xFE", r"\x00\x80", "300"),
        ("r2", "f:", "empty qualifier", "400"),
        ("r2", "f:gone", "deleted", "500"),
    ] {
        assert_eq!(stored.run(&["put", "t", row, column, value, at]).0, 0);
    }
    assert_eq!(stored.run(&["delete", "t", "r2", "f:gone"]).0, 0);
    let scan = |table| stored.run(&["scan", table, "--json", "--raw", "--versions", "9"]).1;
    let printed = scan("t");
    assert_eq!(stored.run(&["create", "copy", "f,VERSIONS=3"]).0, 0);
    let put = |text: &str| {
        let store = stored.0.path().join("store");
        let mut child = std::process::Command::new(CELLFS);
        let child = child.args(["put", "--json"]).arg(store).args(["copy", "-"]).stdin(std::process::Stdio::piped());
        let mut child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    assert_eq!(put(&printed).0, 0);
    assert_eq!(scan("copy"), printed);
    // A wrong line is named, and what came before it is there.
    let (status, said) =
        put("{\"row\":\"r9\",\"family\":\"f\",\"qualifier\":\"q\",\"value\":\"v\"}\n\n{\"row\":\"r9\"}\n");
    assert!(status == 2 && said.contains("line 3"), "{status} {said}");
    assert_eq!(stored.run(&["get", "--value", "copy", "r9", "f:q"]).1, "v");
    let (status, said) = put("{\"row\":\"r\",\"family\":\"none\",\"qualifier\":\"q\",\"value\":\"v\"}\n");
    assert!(status == 2 && said.contains("none"), "{status} {said}");
    assert_eq!(stored.run(&["put", "copy", "r"]).0, 2, "a value is missing");
}

#[test]
fn commands_delete_up_to_a_time_and_a_familys_version() {
    let stored = Stored::new();
    for time in ["1", "2", "3"] {
        for column in ["f:a", "f:b"] {
            assert_eq!(stored.run(&["put", "t", "r", column, time, time]).0, 0);
        }
    }
    let versions = || stored.run(&["get", "t", "r", "--versions", "3"]).1.lines().filter(|l| l.contains("f:")).count();
    assert_eq!(versions(), 6);
    assert_eq!(stored.run(&["deleteall", "t", "r", "f:a", "1"]).0, 0);
    assert_eq!(versions(), 5);
    assert_eq!(stored.run(&["delete", "t", "r", "f", "2"]).0, 0);
    assert_eq!(versions(), 3, "of each column the version of that time");
    assert_eq!(stored.run(&["delete", "t", "r", "f"]).0, 2, "a family alone wants a time");
    assert_eq!(stored.run(&["deleteall", "t", "r", "", "3"]).0, 0);
    assert_eq!(versions(), 0);
}

#[test]
fn commands_scan_a_prefix_from_its_end() {
    let stored = Stored::new();
    for row in ["a", "b1", "b2", "b3", "c"] {
        assert_eq!(stored.run(&["put", "t", row, "f:q", "v"]).0, 0);
    }
    for row in [r"\xFF", r"\xFF\xFF"] {
        assert_eq!(stored.run(&["put", "t", row, "f:q", "v"]).0, 0);
    }
    assert_eq!(stored.rows(&["scan", "t", "--prefix", "b", "--reversed"]), ["b3", "b2", "b1"]);
    assert_eq!(stored.rows(&["scan", "t", "--prefix", "b", "--reversed", "--limit", "1"]), ["b3"]);
    assert_eq!(stored.rows(&["scan", "t", "--prefix", r"\xFF", "--reversed"]), [r"\xFF\xFF", r"\xFF"]);
}

#[test]
fn commands_regexstring_ends_as_in_java() {
    let stored = Stored::new();
    fs::write(stored.0.path().join("value"), "a\n").unwrap();
    assert_eq!(stored.run(&["put", "t", "r", "f:q", r"xa\x0A"]).0, 0);
    assert_eq!(stored.rows(&["scan", "t", "--filter", "ValueFilter(=,'regexstring:a$')"]), ["r"]);
    assert_eq!(stored.rows(&["scan", "t", "--filter", r"ValueFilter(=,'regexstring:a\z')"]), Vec::<String>::new());
}

#[test]
fn commands_spell_a_table_with_a_colon_or_a_slash_and_take_paths() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.mnt().join("ns/t/r/f")).unwrap();
    fs::write(fixture.mnt().join("ns/t/r/f/q"), "one").unwrap();
    fs::write(fixture.mnt().join("ns/t/r/f/q"), "two").unwrap();
    fs::write(fixture.mnt().join("ns/t/r/f/other"), "three").unwrap();
    let store = fixture.store().to_str().unwrap().to_owned();
    for table in ["ns:t", "ns/t"] {
        assert_eq!(run(&["get", "--value", &store, table, "r", "f:q"]), (0, "two".to_owned()));
        assert_eq!(run(&["count", &store, table]), (0, "1\n".to_owned()));
        assert_eq!(run(&["describe", &store, table]).0, 0);
        assert_eq!(run(&["flush", &store, table]).0, 0);
        assert_eq!(run(&["log", &store, &format!("{table}/r/f/q")]).1.lines().count(), 2);
    }
    let path = |below: &str| fixture.mnt().join("ns/t").join(below).to_str().unwrap().to_owned();
    assert_eq!(run(&["get", "--value", &path("r/f/q")]), (0, "two".to_owned()));
    assert_eq!(run(&["get", "--value", &path("r"), "f:other"]), (0, "three".to_owned()));
    let version = fs::read_dir(path("r/f/q@")).unwrap().last().unwrap().unwrap().file_name();
    let version = path(&format!("r/f/q@{}", version.to_str().unwrap()));
    assert_eq!(run(&["get", "--value", &version]), (0, "one".to_owned()));
    assert_eq!(run(&["scan", &path("")]).1.lines().filter(|line| line.contains("f:")).count(), 2);
    assert_eq!(run(&["scan", &path("r"), "f:q"]).1.lines().filter(|line| line.contains("f:")).count(), 1);
    let log = run(&["log", &path("r")]).1;
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(log.lines().all(|line| line.starts_with("f:")), "{log}");
    assert_eq!(run(&["mv", &path("r"), &path("s")]).0, 0);
    assert_eq!(run(&["get", "--value", &path("s/f/q")]), (0, "two".to_owned()));
    assert_eq!(run(&["purge", &path("s")]).0, 0);
    assert_eq!(run(&["get", &store, "ns/t"]).0, 2, "a row is missing");
}

#[test]
fn commands_log_and_move_keys_of_bytes() {
    let stored = Stored::new();
    assert_eq!(stored.run(&["put", "t", r"\x00a\xFF", r"f:\x2F", "v", "5"]).0, 0);
    let (status, said) = stored.run(&["log", r"t/\x00a\xFF/f/\x2F"]);
    assert!(status == 0 && said.starts_with("5\t"), "{said}");
    assert_eq!(stored.run(&["mv", r"t/\x00a\xFF", r"t/b\x00"]).0, 0);
    assert_eq!(stored.run(&["get", "--value", "t", r"b\x00", r"f:\x2F"]), (0, "v".to_owned()));
}

#[test]
fn commands_get_several_rows() {
    let stored = Stored::new();
    for row in ["a", "b", r"\x01"] {
        assert_eq!(stored.run(&["put", "t", row, "f:q", "v"]).0, 0);
    }
    assert_eq!(stored.rows(&["get", "t", "b", "--row", r"\x01", "--row", "none", "--row", "a"]), ["b", r"\x01", "a"]);
    assert_eq!(stored.run(&["get", "t", "none", "--row", "neither"]).0, 1);
}

#[test]
fn commands_change_on_a_condition_whatever_the_change() {
    let stored = Stored::new();
    let value = |column: &str| stored.run(&["get", "--value", "t", "r", column]).1;
    assert_eq!(stored.run(&["put", "t", "r", "f:lock", "mine"]).0, 0);
    let on = |wanted: &str, change: &[&str]| {
        stored.run(&[change, &["--if-column", "f:lock", "--if-value", wanted]].concat()).0
    };
    for change in
        [&["put", "t", "r", "f:q", "v"][..], &["append", "t", "r", "f:q", "w"], &["incr", "t", "r", "f:n", "2"]]
    {
        assert_eq!((on("other", change), on("mine", change)), (1, 0), "{change:?}");
    }
    assert_eq!(value("f:q"), "vw");
    assert_eq!((on("other", &["deleteall", "t", "r", "f:n"]), value("f:n").len()), (1, 8));
    assert_eq!((on("mine", &["deleteall", "t", "r", "f:n"]), value("f:n").len()), (0, 0));
    assert_eq!((on("other", &["delete", "t", "r", "f:q"]), on("mine", &["delete", "t", "r", "f:q"])), (1, 0));
    assert_eq!(stored.run(&["append", "t", "r", "f:q", "x", "--if-absent"]).0, 0);
    assert_eq!(stored.run(&["append", "t", "r", "f:q", "x", "--if-absent"]).0, 1);
    assert_eq!(stored.run(&["deleteall", "t", "r", "--if-absent"]).0, 2, "which column is not said");
    assert_eq!((on("mine", &["deleteall", "t", "r"]), stored.run(&["get", "t", "r"]).0), (0, 1));
}

#[test]
fn commands_refuse_unknown_attributes_and_speak_of_what_is_asked() {
    let stored = Stored::new();
    for unknown in
        [&["alter", "t", "--set", "NOSUCH=1"][..], &["alter", "t", "f,NOSUCH=1"], &["create", "u", "f,NOSUCH=1"]]
    {
        let (status, said) = stored.run(unknown);
        assert!(status == 2 && said.contains("NOSUCH"), "{unknown:?}: {said}");
    }
    let (status, said) = stored.run(&["alter", "t", "--set", "REGION_REPLICATION=3"]);
    assert!(status == 0 && said.contains("REGION_REPLICATION=3"), "{said}");
    assert_eq!(stored.run(&["alter", "t", "f,VERSIONS=5"]), (0, String::new()), "what was set before is not repeated");
    assert_eq!(stored.run(&["alter", "t", "--set", "hbase.hstore.compaction.min=5"]).0, 0);
}

#[test]
fn commands_take_no_more_from_a_pipe_than_a_value_may_have() {
    let fixture = Fixture::with_limit(1_000_000);
    for command in ["put", "append"] {
        let mut child = std::process::Command::new(CELLFS);
        child.arg(command).arg(fixture.store()).args(["t", "r", "f:q", "-"]);
        // It has no end.
        let zero = fs::File::open("/dev/zero").unwrap();
        let done = child.stdin(zero).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && said.contains("1000000"), "{command}: {said}");
    }
}

fn config(stored: &Stored, args: &[&str]) -> (i32, String) {
    stored.run(&[&["config"], args].concat())
}

#[test]
fn commands_config_keeps_settings_in_the_store() {
    let stored = Stored::new();
    let (_, list) = config(&stored, &[]);
    let line = |list: &str, name: &str| {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap().to_owned();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(&list, "default.VERSIONS"), "10 default");
    assert_eq!(line(&list, "default.TTL"), "FOREVER default");
    assert!(line(&list, "value_limit").ends_with(" default"));
    for (name, value) in [("value_limit", "3"), ("default.VERSIONS", "4"), ("default.TTL", "1 DAYS")] {
        assert_eq!(config(&stored, &[name, value]), (0, String::new()));
    }
    let (_, list) = config(&stored, &[]);
    assert_eq!((line(&list, "value_limit"), line(&list, "default.TTL")), ("3 set".to_owned(), "86400 set".to_owned()));
    assert_eq!(config(&stored, &["default.VERSIONS"]), (0, "4\n".to_owned()));
    assert_eq!(config(&stored, &["default.ENCRYPTION"]), (1, String::new()), "set by nobody");
    let (_, json) = config(&stored, &["--json", "value_limit"]);
    assert_eq!(json.trim(), r#"{"name":"value_limit","origin":"set","value":"3"}"#);
    // What is refused is told, and changes nothing.
    for args in [
        &["no_such", "1"][..],
        &["no_such"],
        &["value_limit", "-1"],
        &["value_limit", "much"],
        &["default.VERSIONS", "0"],
        &["default.NO_SUCH", "0"],
        &["--unset", "no_such"],
        &["--unset", "value_limit", "1"],
    ] {
        let (status, said) = config(&stored, args);
        assert!(status == 2 && !said.is_empty(), "{args:?}: {said}");
    }
    assert_eq!(config(&stored, &[]).1, list);
    // They are honoured by the command line and the shell.
    assert_eq!(stored.run(&["put", "t", "r", "f:q", "four"]).0, 2);
    assert_eq!(stored.run(&["put", "t", "r", "f:q", "333"]).0, 0);
    assert_eq!(stored.run(&["create", "u", "f", "g,VERSIONS=7"]).0, 0);
    let (_, described) = stored.run(&["describe", "u"]);
    assert!(
        described.contains(" TTL=86400 VERSIONS=4\n") && described.contains(" TTL=86400 VERSIONS=7\n"),
        "{described}"
    );
    assert!(described.contains("KEEP_DELETED_CELLS=TRUE"), "{described}");
    let (_, said) = stored.run(&["shell", "-q", "-e", "create 's', 'f', {NAME => 'g', TTL => 5}"]);
    let (_, described) = stored.run(&["describe", "s"]);
    assert!(
        described.contains("f TTL=86400 VERSIONS=4\n") && described.contains("g TTL=5 VERSIONS=4"),
        "{said}{described}"
    );
    for name in ["value_limit", "default.VERSIONS", "default.TTL"] {
        assert_eq!(config(&stored, &["--unset", name]), (0, String::new()));
    }
    assert_eq!(stored.run(&["put", "t", "r", "f:q", "four"]).0, 0);
    assert_eq!(line(&config(&stored, &[]).1, "default.VERSIONS"), "10 default");
}

#[test]
fn commands_make_no_store_of_a_mistyped_path() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("stoer");
    let path = store.to_str().unwrap();
    for args in [
        &["create", path, "t", "f"][..],
        &["create", "--make", path, "t", "f,NO_SUCH=1"],
        &["alter", path, "t", "f"],
        &["drop", path, "t"],
        &["truncate", path, "t"],
        &["undrop", path, "t"],
        &["undelete", path, "t"],
        &["purge", path, "t"],
        &["put", path, "t", "r", "f:q", "v"],
        &["delete", path, "t", "r", "f:q"],
        &["deleteall", path, "t", "r"],
        &["incr", path, "t", "r", "f:q"],
        &["append", path, "t", "r", "f:q", "v"],
        &["snapshot", "create", path, "s"],
        &["snapshot", "delete", path, "s"],
        &["snapshot", "clone", path, "s", "t", "u"],
        &["snapshot", "restore", path, "s"],
        &["flush", path],
        &["compact", path, "t"],
        &["config", path, "value_limit", "1"],
        &["mv", path, "t/r", "t/s"],
        &["check", "--repair", path],
        &["shell", path, "-e", "create 't', 'f'"],
    ] {
        let (status, said) = run(args);
        assert_eq!(status, 2, "{args:?}: {said}");
        assert!(!store.exists(), "{args:?}");
        assert!(said.contains(path) || args.contains(&"f,NO_SUCH=1"), "{args:?}: {said}");
    }
    assert_eq!(run(&["create", "--make", path, "t", "f"]).0, 0);
    assert_eq!(run(&["create", path, "u", "f"]).0, 0);
}

#[test]
fn commands_describe_what_was_set_of_a_table_and_its_families() {
    let stored = Stored::new();
    assert_eq!(stored.run(&["alter", "t", "--set", "foo1=bar"]).0, 0);
    let statement = "alter 't', {NAME => 'f', METADATA => {'note' => 'a\tb'}, CONFIGURATION => {'c' => 'd'}}";
    let (status, said) = stored.run(&["shell", "-q", "-e", statement]);
    assert_eq!(status, 0, "{said}");
    let (_, described) = stored.run(&["describe", "t"]);
    assert!(described.contains("table t (enabled) foo1=bar\n"), "{described}");
    assert!(described.contains(" VERSIONS=3 note=a\\tb c=d\n"), "{described}");
    let (_, json) = stored.run(&["describe", "--json", "t"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["configuration"], serde_json::json!({ "foo1": "bar" }));
    assert_eq!(json["metadata"], serde_json::json!({}));
    let family = &json["families"]["f"];
    assert_eq!(family["VERSIONS"], "3", "{json}");
    assert_eq!(family["METADATA"]["note"], "a\tb", "{json}");
    assert_eq!(family["CONFIGURATION"], serde_json::json!({ "c": "d" }));
}

#[test]
fn commands_say_what_is_no_store_and_whose_one_is() {
    use std::os::unix::fs::PermissionsExt;
    let stored = Stored::new();
    let file = stored.0.path().join("file");
    fs::write(&file, "").unwrap();
    for command in ["status", "stats", "check", "list"] {
        let (status, said) = run(&[command, file.to_str().unwrap()]);
        assert!(status == 2 && said.contains("is not a directory. A store is one"), "{command}: {said}");
    }
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can try as another user");
        return;
    }
    fs::set_permissions(stored.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for command in ["status", "stats", "check", "list"] {
        let other = ["--reuid", "65534", "--regid", "65534", "--clear-groups", CELLFS, command];
        let store = stored.0.path().join("store");
        let output = std::process::Command::new("setpriv").args(other).arg(store).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("Permission denied") && said.contains("it belongs to user 0,"), "{command}: {said}");
        assert!(said.contains("this process is of user 65534: run it as that user"), "{command}: {said}");
    }
}

#[test]
fn commands_print_a_value_or_json() {
    let stored = Stored::new();
    assert_eq!(stored.run(&["put", "t", "r", "f:q", "v"]).0, 0);
    let store = stored.0.path().join("store");
    let store = store.to_str().unwrap();
    for args in [["--json", "get", store, "t", "r", "--value"], ["get", store, "t", "r", "--value", "--json"]] {
        let (status, said) = run(&args);
        assert!(status == 2 && said.contains("leave one of them out"), "{said}");
    }
    assert_eq!(stored.run(&["get", "t", "r", "--value"]), (0, "v".to_owned()));
}
