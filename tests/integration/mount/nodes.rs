//! What nodes beside cells answer: full keys, refusals at every level, disabled tables, names beside attributes.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use super::fixture::{CELLFS, Fixture, errno, names};

/// An extended attribute, read by getfattr(1); `None` where that is missing.
fn xattr(path: &Path, name: &str) -> Option<String> {
    let output = Command::new("python3")
        .args(["-c", "import os, sys; sys.stdout.buffer.write(os.getxattr(sys.argv[1], sys.argv[2]))"])
        .arg(path)
        .arg(name)
        .output()
        .ok()?;
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn mount_every_node_has_its_key() {
    let fixture = Fixture::new();
    if Command::new("python3").arg("-V").output().is_err() {
        println!("skipped: python3, which reads extended attributes, is missing");
        return;
    }
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    for (path, key) in [
        ("", "default"),
        ("t", "t"),
        ("t/r", "r"),
        ("t/r/f", "f"),
        ("t/r/f/q", "q"),
        ("t/r/f/q@", "q"),
        ("t/r/f/q@key", "q"),
        ("t/r/.json", "r"),
        ("t/r/.key", "r"),
        ("t/.schema", "t"),
        ("t/.schema/f", "f"),
        ("t/.schema/f/VERSIONS", "VERSIONS"),
        ("t/.info", "t"),
        ("t/.info/rows", "t"),
        ("t/.at", "t"),
        ("t/r/.info", "r"),
        ("../.info/errors", "errors"),
        ("../.snapshot", ".snapshot"),
    ] {
        assert_eq!(xattr(&fixture.path(path), "user.cellfs.key").as_deref(), Some(key), "{path}");
    }
}

#[test]
fn mount_tells_of_refusals_at_every_level() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    assert_eq!(errno(fs::remove_dir(fixture.path("t/r"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::metadata(fixture.path("t/r/f/x@05"))), libc::ENOENT);
    assert_eq!(errno(File::create(fixture.path("t/r/f/x@05"))), libc::EINVAL);
    assert_eq!(errno(fs::create_dir(fixture.path("t/r/f/deeper"))), libc::EPERM);
    let all = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let ids = format!(" uid={} pid=", nix::unistd::getuid());
    for (path, operation) in [
        ("/default/t/r ", "rmdir:"),
        ("/default/t/r/f/x@05 ", "lookup:"),
        ("/default/t/r/f/x@05 ", "create:"),
        ("/default/t/r/f/deeper ", "mkdir:"),
    ] {
        let line = all.lines().find(|line| line.contains(&format!("{path}{operation}")));
        let line = line.unwrap_or_else(|| panic!("{path}{operation} is not told of:\n{all}"));
        assert!(line.contains(&ids) && line.starts_with("20"), "{line}");
    }
    for level in ["", "t", "t/r"] {
        let found = fs::read_to_string(fixture.path(level).join(".info/errors")).unwrap();
        assert!(found.contains("/default/t/r rmdir:"), "{level}: {found}");
    }
    assert_eq!(names(&fixture.path("t/r/.info")), ["errors"]);
    assert_eq!(names(&fixture.path("t/r")), ["f"], "it is not listed");
    let why = Command::new(CELLFS).args(["why", "-n", "1"]).arg(fixture.path("t/r/f/deeper")).output().unwrap();
    let said = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.status.success() && said.lines().count() == 1 && said.contains("/f/deeper mkdir:"), "{said}");
    let why = Command::new(CELLFS).args(["--json", "why"]).arg(fixture.path("t/r/f/deeper")).output().unwrap();
    let object: serde_json::Value = serde_json::from_slice(&why.stdout).unwrap();
    assert_eq!((object["path"].as_str(), object["request"].as_str()), (Some("/default/t/r/f/deeper"), Some("mkdir")));
    assert!(object["sentence"].as_str().is_some_and(|sentence| !sentence.is_empty()), "{object}");
}

#[test]
fn mount_removes_a_disabled_table_that_is_empty() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let disable = |table: &str| {
        let statement = format!("disable '{table}'");
        assert!(fixture.cellfs(&["shell", store.to_str().unwrap(), "-e", &statement]).status.success());
    };
    fs::create_dir_all(fixture.path("empty/.schema/f")).unwrap();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    disable("empty");
    disable("t");
    fs::remove_dir(fixture.path("empty")).unwrap();
    assert!(!fixture.path("empty").exists());
    assert_eq!(errno(fs::remove_dir(fixture.path("t"))), libc::ENOTEMPTY);
}

#[test]
fn mount_names_beside_attributes_are_scratch_alike() {
    let fixture = Fixture::new();
    let family = fixture.path("t/.schema/f");
    for name in ["versions", "NOSUCH", ".VERSIONS.swp"] {
        fs::write(family.join(name), "5\n").unwrap();
        assert_eq!(fs::read_to_string(family.join(name)).unwrap(), "5\n", "{name}");
        assert!(!names(&family).contains(&name.to_owned()), "{name} is listed");
    }
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    for (name, told) in [("versions", true), ("NOSUCH", true), (".VERSIONS.swp", false)] {
        assert_eq!(errors.contains(&format!("`{name}` is the name of no attribute")), told, "{name}: {errors}");
    }
    fs::rename(family.join("NOSUCH"), family.join("VERSIONS")).unwrap();
    assert_eq!(fs::read_to_string(family.join("VERSIONS")).unwrap(), "5\n");
}

#[test]
fn mount_moves_an_open_row_with_its_generated_files() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let mut open = OpenOptions::new().read(true).write(true).open(fixture.path("t/r/.json")).unwrap();
    fs::rename(fixture.path("t/r"), fixture.path("t/s")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert!(text.contains("f:q"), "{text}");
    drop(open);
    let mut open = OpenOptions::new().write(true).truncate(true).open(fixture.path("t/s/.json")).unwrap();
    open.write_all(b"{\"f:new\": \"w\"}").unwrap();
    fs::rename(fixture.path("t/s"), fixture.path("t/u")).unwrap();
    drop(open);
    // The last close may be answered before it is done.
    fs::read_dir(fixture.path("t/u/f/new@")).map(|_| ()).unwrap_or_default();
    assert_eq!(names(&fixture.path("t")), ["u"]);
    assert_eq!(fs::read_to_string(fixture.path("t/u/f/new")).unwrap(), "w");
}

#[test]
fn mount_moves_a_made_row_whole() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("t/r/f")).unwrap();
    fs::rename(fixture.path("t/r"), fixture.path("t/s")).unwrap();
    assert_eq!((names(&fixture.path("t")), names(&fixture.path("t/s"))), (vec!["s".into()], vec!["f".to_owned()]));
    fs::create_dir_all(fixture.path("t/a/f")).unwrap();
    fs::write(fixture.path("t/a/f/q"), "v").unwrap();
    fs::rename(fixture.path("t/a"), fixture.path("t/b")).unwrap();
    assert_eq!(names(&fixture.path("t")), ["b", "s"]);
    fs::remove_file(fixture.path("t/b/f/q")).unwrap();
    fs::rename(fixture.path("t/b"), fixture.path("t/c")).unwrap();
    assert_eq!(names(&fixture.path("t")), ["c", "s"]);
    assert!(!fixture.path("t/a").exists() && !fixture.path("t/b/f").exists());
    // A family that is moved leaves the row, not itself.
    fs::create_dir_all(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("t/d/f")).unwrap();
    fs::rename(fixture.path("t/d/f"), fixture.path("t/d/g")).unwrap();
    assert_eq!(names(&fixture.path("t/d")), ["g"]);
}

#[test]
fn mount_copies_a_schema_over_another() {
    let fixture = Fixture::new();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "7\n").unwrap();
    fs::write(fixture.path("t/.schema/.table/READONLY"), "false\n").unwrap();
    // What is copied into a family that cp(1) has just made would be there already.
    fs::create_dir_all(fixture.path("copy/.schema/f")).unwrap();
    let schema = |table: &str| fixture.path(table).join(".schema");
    let copy = |options: &[&str], from: &Path, to: &Path| {
        let done = Command::new("cp").args(options).arg(from).arg(to).output().unwrap();
        assert!(done.status.success(), "cp {options:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    copy(&["-a"], &schema("t").join("."), &schema("copy"));
    copy(&["-r"], &schema("t").join("."), &schema("copy"));
    assert_eq!(fs::read_to_string(schema("copy").join("f/VERSIONS")).unwrap(), "7\n");
    assert_eq!(fs::read_to_string(schema("copy").join(".table/READONLY")).unwrap(), "false\n");
}

#[test]
fn mount_says_what_a_name_that_ends_in_an_at_means() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("x"), "v").unwrap();
    let last = || fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(errno(File::create(family.join("y@"))), libc::EPERM);
    assert!(last().contains("versions of `y`") && last().contains("`y%40`"), "{}", last());
    assert_eq!(errno(fs::create_dir(family.join("y@"))), libc::EPERM);
    assert!(last().contains("`y%40`"), "{}", last());
    assert_eq!(errno(fs::rename(family.join("x"), family.join("z@"))), libc::EPERM);
    assert!(last().contains("`z%40`"), "{}", last());
    assert_eq!(errno(File::create(family.join("@"))), libc::EINVAL);
    assert!(last().contains("write `%40`"), "{}", last());
    for name in ["y%40", "%40"] {
        fs::write(family.join(name), "v").unwrap();
    }
}

#[test]
fn mount_undeletes_a_removed_table_at_once() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::write(fixture.family("s").join("q"), "w").unwrap();
    let table = fixture.path("t");
    assert!(Command::new("rm").arg("-r").arg(&table).status().unwrap().success());
    assert!(!table.exists());
    let undelete = || fixture.cellfs(&["undelete", fixture.store().to_str().unwrap(), "t"]);
    assert_eq!(undelete().status.code(), Some(0));
    assert_eq!(fs::read_to_string(table.join("r/f/q")).unwrap(), "v");
    assert_eq!(fs::read_to_string(table.join("s/f/q")).unwrap(), "w");
    // What was deleted before a table was dropped as it was stays deleted.
    fs::remove_file(table.join("r/f/q")).unwrap();
    assert!(fixture.cellfs(&["drop", fixture.store().to_str().unwrap(), "t"]).status.success());
    assert_eq!(undelete().status.code(), Some(0));
    assert_eq!(names(&table), ["s"]);
}

#[test]
fn mount_umount_says_that_the_store_is_gone() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::remove_dir_all(fixture.store()).unwrap();
    let output = fixture.cellfs(&["umount", fixture.mnt().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("moved or removed"), "{said}");
    fixture.kill();
}
