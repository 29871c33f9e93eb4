//! What answers and listings say is so: refusals that come late, what a truncation leaves, what an export can hold.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use super::fixture::{Fixture, errno, names};

/// Status and all output of a command.
fn run(fixture: &Fixture, args: &[&str]) -> (i32, String) {
    let output = fixture.cellfs(args);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn done(fixture: &Fixture, args: &[&str]) -> String {
    let (status, said) = run(fixture, args);
    assert_eq!(status, 0, "{args:?}: {said}");
    said
}

fn shell(script: &str, fixture: &Fixture) -> (i32, String) {
    let output = Command::new("sh").args(["-c", script]).current_dir(fixture.mnt().join("default")).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn mount_an_empty_value_that_a_check_refuses_is_refused_at_the_close() {
    let fixture = Fixture::new();
    let (store, family) = (fixture.store(), fixture.family("r"));
    let store = store.to_str().unwrap();
    done(&fixture, &["create-check", store, "t", "f", "age", "--columns", "age", "--type", "i64"]);
    // A shell closes a copy of the file that it has emptied, and writes then.
    assert_eq!(shell("echo 5 > t/r/f/age && cat t/r/f/age", &fixture), (0, "5\n".to_owned()));
    assert_eq!(shell("printf 6 > t/r/f/age && (echo 1; echo 2) > t/r/f/other", &fixture).0, 0);
    let (status, said) = shell("cp /dev/null t/r/f/age", &fixture);
    assert!(status != 0 && said.contains("Invalid argument"), "{said}");
    assert!(done(&fixture, &["why", "-n", "1", fixture.mnt().to_str().unwrap()]).contains("check age of family f"));
    let new = family.join("new");
    done(&fixture, &["create-check", store, "t", "f", "new", "--columns", "new", "--type", "i64"]);
    assert_ne!(shell("touch t/r/f/new", &fixture).0, 0);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(errno(fs::metadata(new)), libc::ENOENT);
    assert_eq!(fs::read_to_string(family.join("age")).unwrap(), "6");
    // The reason is told before what follows from it.
    assert_ne!(shell("echo forty > t/r/f/age", &fixture).0, 0);
    std::thread::sleep(Duration::from_millis(200));
    let said = done(&fixture, &["why", "-n", "1", fixture.mnt().to_str().unwrap()]);
    assert!(said.contains("check age") && said.contains("forty"), "{said}");
}

#[test]
fn mount_undelete_puts_a_row_together_and_passes_over_what_is_refused() {
    let fixture = Fixture::new();
    let (store, mnt) = (fixture.store(), fixture.mnt());
    let (store, mnt) = (store.to_str().unwrap(), mnt.to_str().unwrap());
    done(&fixture, &["create", store, "un", "f", "m"]);
    done(&fixture, &["create-check", store, "un", "f", "need", "--required", "m:id"]);
    assert_eq!(shell("mkdir un/r && echo '{\"f:a\":\"1\",\"m:id\":\"7\"}' > un/r/.json && rm -r un/r", &fixture).0, 0);
    done(&fixture, &["undelete", &format!("{mnt}/default/un/r")]);
    assert_eq!(shell("cat un/r/f/a un/r/m/id", &fixture).1, "17");
    done(&fixture, &["create", store, "up", "f"]);
    done(&fixture, &["create-index", store, "up", "u", "--columns", "f:m", "--unique"]);
    for row in ["a", "b", "c", "d"] {
        done(&fixture, &["put", store, "up", row, "f:m", &format!("v{row}")]);
    }
    assert_eq!(shell("rm -r up/?", &fixture).0, 0);
    done(&fixture, &["put", store, "up", "z", "f:m", "vb"]);
    let (status, said) = run(&fixture, &["undelete", store, "up"]);
    assert!(status == 1 && said.contains("up b f:m is not brought back") && said.contains("1 of 4"), "{said}");
    assert_eq!(names(&fixture.mnt().join("default/up")), ["a", "c", "d", "z"]);
}

#[test]
fn mount_undelete_of_many_rows_cuts_none_of_them() {
    let fixture = Fixture::new();
    let (store, mnt) = (fixture.store(), fixture.mnt());
    let store = store.to_str().unwrap();
    done(&fixture, &["create", store, "un", "f", "m"]);
    done(&fixture, &["create-check", store, "un", "f", "need", "--required", "m:id"]);
    // Three cells a row: no step of a round number of cells ends with a row.
    let lines: String = (0..4_000).map(|row| format!("r{row:04},a{row},b,{row}\n")).collect();
    let file = fixture.store().with_extension("csv");
    fs::write(&file, format!("HBASE_ROW_KEY,f:a,f:b,m:id\n{lines}")).unwrap();
    done(&fixture, &["import", store, "un", file.to_str().unwrap()]);
    assert_eq!(shell("rm -r un/r*", &fixture).0, 0);
    let (status, said) = run(&fixture, &["undelete", &format!("{}/default/un", mnt.display())]);
    assert_eq!((status, said.as_str()), (0, ""));
    assert_eq!(names(&mnt.join("default/un")).len(), 4_000);
    assert_eq!(shell("cat un/r3333/f/a un/r3333/f/b un/r3333/m/id", &fixture).1, "a3333b3333");
}

#[test]
fn mount_undelete_at_a_time_and_complete_know_of_a_truncation() {
    let fixture = Fixture::new();
    let (store, family) = (fixture.store(), fixture.family("r"));
    let store = store.to_str().unwrap();
    for (command, first) in [("truncate", "1"), ("drop", "3")] {
        fs::write(family.join("a"), first).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis().to_string();
        std::thread::sleep(Duration::from_millis(30));
        fs::write(family.join("a"), "2").unwrap();
        done(&fixture, &[command, store, "t"]);
        if command == "truncate" {
            let complete = fs::read_to_string(fixture.path("t/.info/complete")).unwrap();
            assert!(complete.contains("the table was truncated at"), "{complete}");
        }
        done(&fixture, &["undelete", "--at", &at, store, "t"]);
        assert_eq!(fs::read_to_string(family.join("a")).unwrap(), first, "{command}");
    }
}

#[test]
fn mount_deleted_values_are_exported_as_what_they_are() {
    let fixture = Fixture::new();
    let (store, family) = (fixture.store(), fixture.family("r"));
    let store = store.to_str().unwrap();
    fs::write(family.join("a"), "secret").unwrap();
    fs::remove_file(family.join("a")).unwrap();
    for format in ["csv", "tsv", "json"] {
        let (status, said) = run(&fixture, &["export", "--raw", store, "t", "--format", format]);
        assert!(status == 2 && said.contains("only jsonl") && !said.contains("secret"), "{said}");
        let path = fixture.path(&format!("t/.raw/.export/{format}"));
        assert_eq!(errno(fs::read(path)), libc::ENOENT);
    }
    assert_eq!(names(&fixture.path("t/.raw/.export")), ["jsonl"]);
    assert!(done(&fixture, &["export", "--raw", store, "t"]).contains("secret"));
}

#[test]
fn mount_suffixes_go_behind_shortened_names() {
    let fixture = Fixture::new();
    let (store, family) = (fixture.store(), fixture.family("r"));
    let long = "q".repeat(500);
    done(&fixture, &["put", store.to_str().unwrap(), "t", "r", &format!("f:{long}"), "v"]);
    let shown = names(&family);
    assert_eq!(shown[0].len(), 255);
    assert_eq!(fs::read_to_string(family.join(format!("{}@key", shown[0]))).unwrap(), long);
    assert_eq!(names(&family.join(format!("{}@", shown[0]))).len(), 1);
    assert_eq!(errno(fs::metadata(family.join("x".repeat(256)))), libc::ENAMETOOLONG);
}

#[test]
fn mount_a_write_protected_store_is_read_as_it_is() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("a"), "v").unwrap();
    let mut fixture = fixture;
    fixture.unmount();
    let store = fixture.store();
    // Root may write to anything: for another user it is protected.
    let run = |script: &str| {
        let user = if nix::unistd::geteuid().is_root() { "65534" } else { "" };
        let mut command = if user.is_empty() { Command::new("sh") } else { Command::new("setpriv") };
        if !user.is_empty() {
            command.args(["--reuid", user, "--clear-groups", "sh"]);
        }
        command.args(["-c", script]).env("CELLFS", super::fixture::CELLFS).env("STORE", &store);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    if nix::unistd::geteuid().is_root() {
        assert!(Command::new("chown").args(["-R", "65534"]).arg(&store).status().unwrap().success());
        let parent = store.parent().unwrap();
        fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert!(Command::new("chmod").args(["-R", "a-w"]).arg(&store).status().unwrap().success());
    assert_eq!(run("$CELLFS get $STORE t r f:a").0, Some(0));
    let (status, said) = run("$CELLFS put $STORE t r f:a w");
    assert!(status == Some(2) && said.contains("write-protected"), "{said}");
    assert_eq!(run("$CELLFS check $STORE").0, Some(0));
    assert!(Command::new("chmod").args(["-R", "u+w"]).arg(&store).status().unwrap().success());
}

#[test]
fn mount_scans_by_key_tell_of_rows_that_are_none_of_the_recipe() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    done(&fixture, &["create", store, "bk", "f"]);
    fs::write(fixture.path("bk/.schema/.key"), "salt(2) a\n").unwrap();
    done(&fixture, &["put", "--key", store, "bk", "a=1", "f:q", "v"]);
    assert!(done(&fixture, &["scan", "--by-key", store, "bk"]).contains("a=1"));
    done(&fixture, &["put", store, "bk", "zz", "f:q", "w"]);
    let (status, said) = run(&fixture, &["scan", "--by-key", store, "bk"]);
    assert!(status == 1 && said.contains("a=1") && said.contains("1 rows have keys"), "{said}");
    assert_eq!(run(&fixture, &["scan", "--by-key", "--limit", "1", store, "bk"]).0, 0, "who asks for one has it");
}

#[test]
fn mount_a_copy_of_a_store_has_the_tables_of_users() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("a"), "v").unwrap();
    let (store, other) = (fixture.store(), fixture.store().with_file_name("other"));
    let [store, other] = [&store, &other].map(|path| path.to_str().unwrap());
    let said = done(&fixture, &["copy", "--make", store, other]);
    assert!(said.contains("t: the same on both sides") && !said.contains("hbase:"), "{said}");
    assert_eq!(done(&fixture, &["get", other, "t", "r", "f:a"]).lines().count(), 1);
    done(&fixture, &["copy", "--verify", store, other]);
    fs::write(fixture.family("r").join("b"), "v").unwrap();
    let (status, said) = run(&fixture, &["copy", "--verify", store, other]);
    assert!(status == 1 && said.contains("DIFFERS"), "{said}");
}
