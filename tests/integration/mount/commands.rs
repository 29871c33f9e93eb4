//! Commands that change a mounted store, and what the mount shows of it.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use super::fixture::{Fixture, errno, names};

/// Runs a command on the store, or on paths; what it printed.
fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn mount_alter_incr_append_and_truncate() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    run(&fixture, &["alter", store, "t", "f,VERSIONS=3", "g,TTL=100", "--set", "READONLY=true"]);
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/f/VERSIONS")).unwrap(), "3\n");
    assert_eq!(names(&fixture.path("t/.schema")), [".table", "f", "g"]);
    assert!(!fixture.cellfs(&["incr", store, "t", "r", "f:n"]).status.success(), "READONLY");
    run(&fixture, &["alter", store, "t", "--unset", "READONLY", "--delete", "g"]);
    assert_eq!(run(&fixture, &["incr", store, "t", "r", "f:n", "5"]), "5\n");
    assert_eq!(run(&fixture, &["incr", store, "t", "r", "f:n", "-2"]), "3\n");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/n@counter")).unwrap(), "3\n");
    run(&fixture, &["append", store, "t", "r", "f:q", "one"]);
    run(&fixture, &["append", store, "t", "r", "f:q", "two"]);
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "onetwo");
    assert!(!fixture.cellfs(&["alter", store, "t", "f,VERSIONS=0"]).status.success());
    run(&fixture, &["truncate", store, "t"]);
    assert!(names(&fixture.path("t")).is_empty());
}

#[test]
fn mount_the_shell_changes_a_row_once_a_millisecond() {
    let fixture = Fixture::new();
    crate::shell::check_quick(&run(
        &fixture,
        &["shell", "-q", "-n", "-e", crate::shell::QUICK, fixture.mnt().to_str().unwrap()],
    ));
}

#[test]
fn mount_a_ttl_that_hbase_has_no_number_for_is_refused_on_every_way() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    for args in [
        &["create", store, "u", "f,TTL=3000000000"][..],
        &["alter", store, "t", "f,TTL=100000 DAYS"],
        &["config", store, "default.TTL", "2147483648"],
    ] {
        let output = fixture.cellfs(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("TTL is at most 2147483647 seconds"), "{args:?}: {said}");
    }
    let ttl = fixture.path("t/.schema/f/TTL");
    assert_eq!(errno(fs::write(&ttl, "100000 DAYS\n")), libc::EINVAL);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("TTL is at most 2147483647 seconds (68 years), or FOREVER"), "{errors}");
    assert!(!ttl.exists(), "it is not set");
    fs::write(&ttl, "2147483647\n").unwrap();
    assert_eq!(fs::read_to_string(&ttl).unwrap(), "FOREVER\n");
}

/// What is written through a handle that does not empty the file is the amount, not a change of its text.
#[test]
fn mount_counter_adds_what_is_written_wherever_the_handle_stands() {
    let Some(fixture) = Fixture::alone() else { return };
    let counter = fixture.family("r").join("n@counter");
    let script = r#"
        set -e
        printf +123 > "$1"
        exec 3<> "$1"; printf +1 >&3; printf +1 >&3; exec 3>&-
        printf +1 >> "$1"
        printf +1 | dd of="$1" conv=notrunc status=none
        printf +10 | dd of="$1" bs=1 seek=2 conv=notrunc status=none
        exec 3> "$1"; printf +100 >&3; printf +100 >&3; exec 3>&-
        exec 3<> "$1"; read -r text <&3; printf -- -7 >&3; exec 3>&-
        cat "$1"
    "#;
    let done = Command::new("bash").args(["-c", script, "counter"]).arg(&counter).output().unwrap();
    assert_eq!((String::from_utf8_lossy(&done.stdout).trim(), done.status.success()), ("330", true), "{done:?}");
    let mut file = fs::OpenOptions::new().read(true).write(true).open(&counter).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"+20\n").unwrap();
    let end = file.stream_position().unwrap();
    file.set_len(end).unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&counter).unwrap(), "350\n");
    // What another has made of it meanwhile is shorter.
    let mut appends = fs::OpenOptions::new().append(true).open(&counter).unwrap();
    appends.write_all(b"+1").unwrap();
    fs::write(&counter, "-348").unwrap();
    assert_eq!(fs::metadata(&counter).unwrap().len(), 2);
    appends.write_all(b"5").unwrap();
    drop(appends);
    assert_eq!(fs::read_to_string(&counter).unwrap(), "17\n");
    // Far out, and taken back.
    let mut file = fs::OpenOptions::new().write(true).open(&counter).unwrap();
    file.seek(SeekFrom::Start(1 << 30)).unwrap();
    file.write_all(b"+5").unwrap();
    file.set_len(0).unwrap();
    file.write_all(b"+3").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&counter).unwrap(), "20\n");
}

#[test]
fn mount_paths_stand_for_table_row_and_column() {
    let fixture = Fixture::new();
    let path = |path: &str| fixture.path(path).into_os_string().into_string().unwrap();
    let [table, row, cell] = ["t", "t/-r%FF", "t/-r%FF/f/a:b"].map(path);
    run(&fixture, &["put", &cell, "one"]);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "one");
    run(&fixture, &["put", &row, "f:q", "two", "--ttl", "100000"]);
    run(&fixture, &["append", "--if-value", "two", &path("t/-r%FF/f/q"), "three"]);
    assert_eq!(fs::read_to_string(path("t/-r%FF/f/q")).unwrap(), "twothree");
    assert_eq!(run(&fixture, &["incr", &table, "n", "f:n", "7"]), "7\n");
    assert_eq!(run(&fixture, &["incr", &path("t/n/f/n")]), "8\n");
    run(&fixture, &["delete", &cell]);
    assert!(!fixture.path("t/-r%FF/f/a:b").exists());
    run(&fixture, &["deleteall", &path("t/-r%FF/f")]);
    assert_eq!(names(&fixture.path("t")), ["n"]);
    // A namespace is a part of the store, whose table follows; a version is asked for by its timestamp.
    run(&fixture, &["put", fixture.path("t").parent().unwrap().to_str().unwrap(), "t", "s", "f:q", "v"]);
    assert_eq!(fs::read_to_string(path("t/s/f/q")).unwrap(), "v");
    assert_eq!(fixture.cellfs(&["put", &path("t/s/f/q@5"), "v"]).status.code(), Some(2));
}

#[test]
fn mount_a_path_of_a_table_is_counted() {
    let fixture = Fixture::new();
    let path = |path: &str| fixture.path(path).into_os_string().into_string().unwrap();
    for row in ["a", "b", "b2"] {
        run(&fixture, &["put", &path("t"), row, "f:q", "v"]);
    }
    assert_eq!(run(&fixture, &["count", &path("t")]), "3\n");
    assert_eq!(run(&fixture, &["count", &path("t"), "--prefix", "b"]), "2\n");
    // A namespace is a part of the store, whose table follows.
    assert_eq!(run(&fixture, &["count", fixture.store().to_str().unwrap(), "t"]), "3\n");
    assert_eq!(run(&fixture, &["count", fixture.path("t").parent().unwrap().to_str().unwrap(), "t"]), "3\n");
    let refused = |args: &[&str]| {
        let output = fixture.cellfs(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = refused(&["count", &path("t/a")]);
    assert!(told.contains("the path of a table") && told.contains(".count"), "{told}");
    let told = refused(&["count", fixture.path("t").parent().unwrap().to_str().unwrap()]);
    assert!(told.contains("the path of a table"), "{told}");
    let told = refused(&["count", fixture.store().to_str().unwrap()]);
    assert!(told.contains("a table is missing"), "{told}");
    assert!(refused(&["count", &path("t/.first/2")]).contains("scan path"));
}

#[test]
fn mount_a_path_of_a_table_stands_for_it_where_no_table_follows() {
    let fixture = Fixture::new();
    let path = |path: &str| fixture.path(path).into_os_string().into_string().unwrap();
    let (table, row) = (path("t"), path("t/r"));
    run(&fixture, &["put", &table, "r", "f:q", "v"]);
    run(&fixture, &["alter", &table, "f,VERSIONS=7", "g"]);
    run(&fixture, &["alter", &table, "--set", "MAX_FILESIZE=5000000000"]);
    let described = run(&fixture, &["describe", &table]);
    assert_eq!(described, run(&fixture, &["describe", fixture.store().to_str().unwrap(), "t"]));
    assert!(described.contains("VERSIONS=7") && described.contains("family g") && described.contains("MAX_FILESIZE"));
    run(&fixture, &["flush", &table]);
    run(&fixture, &["compact", "--major", &table]);
    run(&fixture, &["create-index", "--columns", "f:q", &table, "by_q"]);
    run(&fixture, &["create-check", &table, "f", "texts", "--type", "utf8"]);
    let described = run(&fixture, &["describe", &table]);
    assert!(described.contains("index by_q") && described.contains("check texts of f"), "{described}");
    run(&fixture, &["drop-index", &table, "by_q"]);
    run(&fixture, &["drop-check", &table, "f", "texts"]);
    // Where a table follows, the path stands for its store.
    run(&fixture, &["create", fixture.store().to_str().unwrap(), "u", "f"]);
    assert!(run(&fixture, &["describe", &table, "u"]).starts_with("table u "));
    run(&fixture, &["alter", &table, "u", "f,VERSIONS=9"]);
    assert!(run(&fixture, &["describe", &path("u")]).contains("VERSIONS=9"));
    let refused = |args: &[&str], why: &str| {
        let output = fixture.cellfs(args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(why), "{args:?}: {told}");
    };
    refused(&["drop", &table, &path("u")], "one table");
    refused(&["flush", &table, "nosuch"], "nosuch");
    run(&fixture, &["flush", &row]);
    refused(&["drop", &row], "the path of a table");
    refused(&["drop", fixture.mnt().join("default").to_str().unwrap()], "the path of a table");
    refused(&["drop", fixture.mnt().join(".history/default/t").to_str().unwrap()], "outside .history");
    refused(&["alter", &table], "nothing is to be changed");
    // A family may follow, if it is no table's name.
    run(&fixture, &["compact", &table, "g"]);
    run(&fixture, &["alter", &table, "h"]);
    assert!(run(&fixture, &["describe", &table]).contains("family h"));
    refused(&["alter", &table, "u"], "nothing is to be changed");
    run(&fixture, &["alter", fixture.store().to_str().unwrap(), "t", "u"]);
    refused(&["compact", &table, "u"], "a table and a family");
    // What follows may look like a path where people work.
    let within = |directory: &str, args: &[&str]| {
        let mut command = std::process::Command::new(super::fixture::CELLFS);
        let output = command.current_dir(fixture.mnt().join(directory)).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?} in {directory}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    within("default", &["alter", "t", "i", "f,VERSIONS=8"]);
    within("default", &["compact", "t", "i"]);
    within("default", &["create-index", "t", "u", "--columns", "f:q"]);
    within("default", &["drop-index", "t", "u"]);
    assert!(within("default/t", &["describe", ".", "u"]).starts_with("table u "));
    assert!(within("default/t", &["describe", "."]).contains("family i"));
    assert!(within(".history/default", &["describe", "t", "u"]).starts_with("table u "));
    run(&fixture, &["drop", &table, "u"]);
    assert!(!fixture.path("u").exists() && fixture.path("t").exists());
    run(&fixture, &["truncate", &table]);
    assert!(fixture.path("t").is_dir() && names(&fixture.path("t")).is_empty());
    run(&fixture, &["drop", &table]);
    assert!(!fixture.path("t").exists());
}

#[test]
fn mount_attributes_without_effect_say_so() {
    let fixture = Fixture::new();
    let errors = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "5").unwrap();
    assert!(!errors().contains("no effect"));
    fs::write(fixture.path("t/.schema/f/DFS_REPLICATION"), "3").unwrap();
    assert!(errors().contains("DFS_REPLICATION=3 is kept and shown, but has no effect"), "{}", errors());
    let store = fixture.store();
    let altered = fixture.cellfs(&["alter", store.to_str().unwrap(), "t", "f,COMPRESSION=LZO"]);
    assert!(altered.status.success());
    assert!(String::from_utf8_lossy(&altered.stderr).contains("COMPRESSION=LZO is kept"));
}

#[test]
fn mount_values_and_keys_may_be_negative_numbers() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    run(&fixture, &["put", store, "t", "-1", "f:q", "-5", "--ttl", "100000000"]);
    run(&fixture, &["put", store, "t", "-1", "f:q", "-6.5", "--if-value", "-5"]);
    run(&fixture, &["append", store, "t", "-1", "f:q", "-7"]);
    assert_eq!(run(&fixture, &["get", store, "t", "-1", "f:q", "--value"]), "-6.5-7");
    assert!(run(&fixture, &["scan", store, "t", "--prefix", "-1"]).contains("-6.5-7"));
    run(&fixture, &["put", store, "t", "-1", "f:q", "--", "-text"]);
    assert_eq!(run(&fixture, &["get", store, "t", "-1", "--value"]), "-text");
}

/// Names that a terminal would obey.
const RUDE: &str = "red\u{1b}[31m\r\n\u{7}bell\u{9b}";

#[test]
fn mount_commands_show_no_control_characters_of_what_they_are_given() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let column = format!("{RUDE}:q");
    let absent = fixture.directory.path().join(RUDE);
    let absent = absent.to_str().unwrap();
    for args in [
        &["get", store, RUDE, "r"][..],
        &["get", store, "t", "r", &column],
        &["put", store, "t", "r", RUDE, "v"],
        &["put", store, "t", RUDE, &column, "v"],
        &["create", store, "n", RUDE],
        &["alter", store, "t", "--set", RUDE],
        &["alter", store, "t", "--unset", RUDE],
        &["alter", store, "t", "--delete", RUDE],
        &["scan", store, "t", "--filter", RUDE],
        &["scan", store, "t", "--timerange", RUDE],
        &["snapshot", "create", store, RUDE],
        &["snapshot", "restore", store, RUDE],
        &["log", store, RUDE],
        &["log", absent],
        &["mv", store, RUDE, "t/r"],
        &["purge", absent],
        &["status", absent],
        &["umount", absent],
        &["mount", absent, absent, "-o", RUDE],
        &["check", absent],
        &["undrop", store, "t", RUDE],
        &["compact", store, "t", RUDE],
        &["shell", store, "-n", "-e", &format!("get '{RUDE}', 'r'")],
        &[RUDE],
        &["get", RUDE],
        &["put", store, "t", "r", "f:q", "v", RUDE],
    ] {
        let output = fixture.cellfs(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && !said.is_empty(), "{args:?}: {said}");
        let rude = said.chars().filter(|c| c.is_control() && *c != '\n').count();
        assert!(rude == 0 && !said.contains("\n\u{7}"), "{args:?}: {said:?}");
    }
}

#[test]
fn mount_commands_say_what_is_missing() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    for (args, wanted) in [
        (&["log", store, "nosuch"][..], "nosuch names no cell"),
        (&["log", store], "is a store: say what in it is meant"),
        (&["purge", store], "is a store: say what in it is meant"),
        (&["log", store, "t/r/f/q", "-n", "0"], "0 is not in 1..="),
    ] {
        let output = fixture.cellfs(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{args:?}: {said}");
    }
}

#[test]
fn mount_follows_no_link_in_a_store() {
    let mut fixture = Fixture::new();
    fixture.unmount();
    let other = fixture.directory.path().join("other");
    fs::write(&other, "mine").unwrap();
    let store = fixture.store();
    for name in ["reserve", "progress", "lost", "segments/00000009.seg", "log/00000009.log", "edits/00000009.edits"] {
        let path = store.join(name);
        let before = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(&other, &path).unwrap();
        let output = fixture.cellfs(&["scan", store.to_str().unwrap(), "t"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("is a symbolic link"), "{name}: {said}");
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        fs::remove_file(&path).unwrap();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
    }
    fixture.mount("");
}

#[test]
fn mount_paths_of_commands_are_spelt_as_the_mount_spells_them() {
    let mut fixture = Fixture::with_options("names=raw");
    let family = fixture.family("r");
    fs::write(family.join("a\tb"), "a tab").unwrap();
    fs::write(family.join("a%09b"), "a percent sign").unwrap();
    let path = family.join("a%09b").into_os_string().into_string().unwrap();
    assert_eq!(run(&fixture, &["get", "--value", &path]), "a percent sign");
    run(&fixture, &["delete", &path]);
    assert_eq!(names(&family), ["a\tb"]);
    fixture.unmount();
    fixture.mount("at=plain");
    fs::write(family.join("lib"), "one").unwrap();
    fs::write(family.join("lib@18"), "eighteen").unwrap();
    let path = family.join("lib@18").into_os_string().into_string().unwrap();
    assert_eq!(run(&fixture, &["get", "--value", &path]), "eighteen");
    run(&fixture, &["put", &path, "nineteen"]);
    assert_eq!(fs::read_to_string(family.join("lib")).unwrap(), "one");
    assert_eq!(fs::read_to_string(&path).unwrap(), "nineteen");
}

#[test]
fn an_address_of_a_cluster_makes_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("m")).unwrap();
    // Nobody listens there.
    let (zookeeper, master) = ("hbase://127.0.0.1:1/hbase?timeout=1", "hbase+rpc://127.0.0.1:1?timeout=1");
    for arguments in [&["mount", zookeeper, "m"][..], &["create", "--make", master, "t", "f"]] {
        let command =
            std::process::Command::new(super::fixture::CELLFS).args(arguments).current_dir(&directory).output();
        let output = command.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("Connection refused"), "{said}");
    }
    assert_eq!(names(directory.path()), ["m"]);
}

#[test]
fn the_other_end_of_a_pipe_has_the_store_first() {
    let directory = tempfile::tempdir().unwrap();
    let script = "$B create --make u a f && $B put u a r f:q v && (sleep 0.3; $B get --value u a r f:q) | $B put u a rr f:q - \
                  && $B get --value u a rr f:q && ! $B create u c VERSIONS=3";
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", script]).env("B", super::fixture::CELLFS).current_dir(&directory).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("an attribute without its family"), "{said}");
    assert_eq!(output.stdout, b"v");
}

#[test]
fn check_tells_of_a_log_that_is_gone() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let store = fixture.store();
    for file in fs::read_dir(store.join("log")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    for _ in 0..2 {
        let output = fixture.cellfs(&["check", store.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code() == Some(1) && said.contains("it was on the disk once"), "{said}");
    }
}

#[test]
fn mount_keep_versions_for_is_where_it_has_an_effect_or_was_asked_for() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let errors = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let altered = |family: &str| {
        let output = fixture.cellfs(&["alter", store, "t", family]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let shown = |family: &str| {
        let described = fs::read_to_string(fixture.path("t/.info/describe")).unwrap();
        let name = format!("{{NAME => '{family}'");
        let line = described.lines().find(|line| line.starts_with(&name)).unwrap().to_owned();
        let is_described = line.contains("'KEEP_VERSIONS_FOR'");
        assert_eq!(fixture.path(&format!("t/.schema/{family}/KEEP_VERSIONS_FOR")).exists(), is_described);
        is_described
    };
    let said = |seconds: u32| {
        let text = "is kept and shown, but has no effect in a family without NEW_VERSION_BEHAVIOR";
        format!("KEEP_VERSIONS_FOR={seconds} {text}")
    };
    // Of HBase's rules from the start, or from now on.
    assert!(shown("f"));
    fs::write(fixture.path("t/.schema/f/NEW_VERSION_BEHAVIOR"), "false").unwrap();
    assert_eq!(altered("g,NEW_VERSION_BEHAVIOR=false"), "");
    assert_eq!(altered("h,VERSIONS=20"), "");
    assert!(!shown("f") && !shown("g") && shown("h"));
    assert!(altered("h,NEW_VERSION_BEHAVIOR=false").contains("goes with NEW_VERSION_BEHAVIOR"));
    assert!(!shown("h"));
    // Who asks for it is told.
    assert!(!errors().contains("KEEP_VERSIONS_FOR"), "{}", errors());
    fs::write(fixture.path("t/.schema/f/KEEP_VERSIONS_FOR"), "60").unwrap();
    assert!(errors().contains(&said(60)), "{}", errors());
    assert!(altered("g,KEEP_VERSIONS_FOR=70").contains(&said(70)));
    assert!(altered("i,NEW_VERSION_BEHAVIOR=false,KEEP_VERSIONS_FOR=80").contains(&said(80)));
    assert!(shown("f") && shown("g") && shown("i"));
    assert_eq!(altered("i,NEW_VERSION_BEHAVIOR=true"), "");
    assert_eq!(altered("i,KEEP_VERSIONS_FOR=90"), "");
    // What new families have by default.
    run(&fixture, &["config", store, "default.NEW_VERSION_BEHAVIOR", "false"]);
    fs::create_dir(fixture.path("t/.schema/j")).unwrap();
    assert!(!shown("j"));
}

/// The path of a row says which row is meant, in either direction, and beside nothing else that says so.
#[test]
fn mount_the_path_of_a_row_is_that_row() {
    let fixture = Fixture::new();
    for row in ["a", "b", "c"] {
        run(&fixture, &["put", fixture.path("t").to_str().unwrap(), row, "f:q", row]);
    }
    let path = fixture.path("t/b");
    let path = path.to_str().unwrap();
    for command in ["scan", "export"] {
        let found = run(&fixture, &[command, path]);
        assert!(found.lines().count() == 1 && found.contains('b'), "{command}: {found}");
        assert_eq!(run(&fixture, &[command, path, "--reversed"]), found);
        for range in [["--prefix", "c"], ["--start", "c"], ["--stop", "c"]] {
            let output = fixture.cellfs(&[&[command, path][..], &range].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command} {range:?}: {said}");
            assert!(said.contains("one row") && output.stdout.is_empty(), "{command} {range:?}: {said}");
        }
    }
}
