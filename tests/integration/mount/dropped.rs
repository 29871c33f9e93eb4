//! What rmdir drops comes back; what is purged or dropped by command does not.

use std::fs;

use super::fixture::{Fixture, errno, names, suffixed};

fn store(fixture: &Fixture) -> String {
    fixture.store().display().to_string()
}

/// Runs a command that succeeds; what it prints.
fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn deleted(fixture: &Fixture, below: &str) -> Vec<String> {
    let path = fixture.mnt().join(".history/default").join(below);
    if !path.exists() {
        return Vec::new();
    }
    names(&path).into_iter().filter(|name| name.contains(".deleted.")).collect()
}

#[test]
fn mount_a_dropped_family_comes_back_with_its_history() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@5"), "five").unwrap();
    fs::remove_file(&cell).unwrap();
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    fs::remove_dir(fixture.path("t/.schema/f")).unwrap();
    assert_eq!(names(&fixture.path("t/.schema")), [".table"]);
    run(&fixture, &["flush", &store(&fixture)]);
    fixture.remount();
    let listed = run(&fixture, &["list", "--dropped", &store(&fixture)]);
    assert!(listed.starts_with("family f of t, dropped ") && listed.lines().count() == 1, "{listed}");
    // A new one of that name is another.
    fs::create_dir(fixture.path("t/.schema/f")).unwrap();
    assert!(!fixture.path("t/r/f/q@5").exists());
    assert!(refusal(&fixture, &["undrop", &store(&fixture), "t", "f"]).contains("has a family f now"));
    fs::remove_dir(fixture.path("t/.schema/f")).unwrap();
    let both = run(&fixture, &["list", "--dropped", &store(&fixture)]);
    assert_eq!(both.lines().count(), 2, "{both}");
    run(&fixture, &["undrop", &store(&fixture), "t", "f"]);
    assert!(!fixture.path("t/r/f/q@5").exists(), "the latest comes back first");
    fs::remove_dir(fixture.path("t/.schema/f")).unwrap();
    assert!(refusal(&fixture, &["undrop", &store(&fixture), "t", "g"]).contains("no dropped family g"));
}

#[test]
fn mount_a_family_that_comes_back_leaves_the_empty_directories_of_its_table() {
    let fixture = Fixture::new();
    fixture.family("r");
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("t/r/g")).unwrap();
    let cell = fixture.path("t/r/g/q");
    fs::write(&cell, "value").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis().to_string();
    std::thread::sleep(std::time::Duration::from_millis(20));
    run(&fixture, &["alter", &store(&fixture), "t", "--delete", "g"]);
    fs::create_dir(fixture.path("t/empty")).unwrap();
    run(&fixture, &["undelete", "--at", &at, &store(&fixture), "t"]);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "value");
    assert!(fixture.path("t/empty").is_dir());
}

#[test]
fn mount_a_dropped_table_comes_back_with_its_history() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "value").unwrap();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "7").unwrap();
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    let kept = deleted(&fixture, "t/r/f");
    assert_eq!(kept.len(), 1);
    fs::remove_dir(fixture.path("t")).unwrap();
    assert!(names(&fixture.path("")).is_empty());
    run(&fixture, &["flush", &store(&fixture)]);
    run(&fixture, &["undrop", &store(&fixture), "t"]);
    assert_eq!(deleted(&fixture, "t/r/f"), kept);
    assert_eq!(fs::read_to_string(fixture.path("t/.schema/f/VERSIONS")).unwrap(), "7\n");
    let version = fixture.mnt().join(".history/default/t/r/f").join(&kept[0]);
    assert_eq!(fs::read_to_string(version).unwrap(), "value");
    fs::remove_dir(fixture.path("t")).unwrap();
    fs::create_dir(fixture.path("t")).unwrap();
    assert!(refusal(&fixture, &["undrop", &store(&fixture), "t"]).contains("there is a table t now"));
}

#[test]
fn mount_cellfs_drop_now_leaves_nothing_to_bring_back() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "value").unwrap();
    assert_eq!(errno(fs::remove_dir(fixture.path("t"))), libc::ENOTEMPTY);
    run(&fixture, &["drop", "--now", &store(&fixture), "t"]);
    assert_eq!(run(&fixture, &["list", "--dropped", &store(&fixture)]), "");
    assert!(refusal(&fixture, &["undrop", &store(&fixture), "t"]).contains("no dropped table t"));
    // What rmdir dropped goes likewise.
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    fs::remove_dir(fixture.path("t")).unwrap();
    run(&fixture, &["drop", "--now", &store(&fixture), "t"]);
    assert_eq!(run(&fixture, &["list", "--dropped", &store(&fixture)]), "");
    assert!(refusal(&fixture, &["drop", "--now", &store(&fixture), "t"]).contains("does not exist"));
}

#[test]
fn mount_purge_takes_what_is_deleted_and_nothing_else() {
    let fixture = Fixture::new();
    for row in ["r", "s"] {
        let family = fixture.family(row);
        for name in ["a", "b"] {
            fs::write(family.join(name), "old").unwrap();
            fs::remove_file(family.join(name)).unwrap();
            fs::write(family.join(name), "new").unwrap();
        }
    }
    let count = |row: &str| deleted(&fixture, &format!("t/{row}/f")).len();
    assert_eq!((count("r"), count("s")), (2, 2));
    run(&fixture, &["purge", fixture.path("t/r/f/a").to_str().unwrap()]);
    assert!(deleted(&fixture, "t/r/f").iter().all(|name| name.starts_with("b@")));
    assert_eq!((count("r"), count("s")), (1, 2));
    run(&fixture, &["purge", &store(&fixture), "t", "r", "f:b"]);
    assert_eq!((count("r"), count("s")), (0, 2));
    run(&fixture, &["purge", fixture.path("t/s").to_str().unwrap()]);
    assert_eq!(count("s"), 0);
    for cell in ["r/f/a", "r/f/b", "s/f/a", "s/f/b"] {
        let path = fixture.path("t").join(cell);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(super::fixture::history(&path), ["new"]);
    }
    // A cell that is gone has a path too.
    fs::remove_file(fixture.path("t/r/f/a")).unwrap();
    run(&fixture, &["purge", fixture.path("t/r/f/a").to_str().unwrap()]);
    assert_eq!(count("r"), 0);
    let raw = run(&fixture, &["scan", "--raw", &store(&fixture), "t"]);
    assert_eq!(raw.lines().count(), 3, "no tombstone is left: {raw}");
    fs::remove_dir_all(fixture.path("t/s")).unwrap();
    run(&fixture, &["purge", fixture.mnt().to_str().unwrap()]);
    assert_eq!(run(&fixture, &["scan", "--raw", &store(&fixture), "t"]).lines().count(), 1);
    assert!(refusal(&fixture, &["purge", "/proc"]).contains("in no mount of cellfs"));
    let nowhere = fixture.mnt().join("nowhere");
    assert!(refusal(&fixture, &["purge", nowhere.to_str().unwrap()]).contains("namespace nowhere does not exist"));
}

#[test]
fn mount_undelete_brings_a_namespace_back_with_what_it_had() {
    let mut fixture = Fixture::new();
    let (store, space) = (store(&fixture), fixture.mnt().join("ns"));
    let quota = space.join(".schema/hbase.namespace.quota.maxtables");
    fs::create_dir_all(space.join("t/r/f")).unwrap();
    fs::write(space.join("t/r/f/q"), "v").unwrap();
    fs::write(&quota, "5\n").unwrap();
    let is_back = || fs::read_to_string(space.join("t/r/f/q")).is_ok_and(|value| value == "v");
    let path = space.display().to_string();
    let drop = || fs::remove_dir_all(&space).unwrap();
    let ways: [&[&str]; 3] = [&["undelete", &path], &["undelete", &store, "ns"], &["undelete", &store, "ns:"]];
    for way in ways {
        drop();
        assert!(!space.exists());
        run(&fixture, way);
        assert!(is_back() && fs::read_to_string(&quota).unwrap() == "5\n", "{way:?}");
    }
    run(&fixture, &["drop", &store, "ns:t"]);
    fs::remove_dir(&space).unwrap();
    run(&fixture, &["undrop", &store, "ns:t"]);
    assert!(is_back() && fs::read_to_string(&quota).unwrap() == "5\n");
    drop();
    fixture.unmount();
    run(&fixture, &["undelete", &store, "ns"]);
}

#[test]
fn mount_rm_of_a_whole_schema_changes_nothing() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let schema = fixture.path("t/.schema");
    fs::write(schema.join("f/VERSIONS"), "7\n").unwrap();
    fs::write(schema.join(".table/METADATA/note"), "kept\n").unwrap();
    fs::write(schema.join(".table/DURABILITY"), "SYNC_WAL\n").unwrap();
    fs::create_dir(schema.join("g")).unwrap();
    let described = || fs::read_to_string(fixture.path("t/.info/describe")).unwrap();
    let before = described();
    let rm = |below: &str| std::process::Command::new("rm").arg("-rf").arg(schema.join(below)).output().unwrap();
    for below in ["", ".table"] {
        let refused = rm(below);
        assert!(!refused.status.success(), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("Operation not permitted"), "{refused:?}");
        assert_eq!(described(), before);
        let read = |path: &str| fs::read_to_string(schema.join(path)).unwrap();
        assert_eq!((read("f/VERSIONS").as_str(), read(".table/METADATA/note").as_str()), ("7\n", "kept\n"));
        assert_eq!(names(&schema), [".table", "f", "g"]);
        assert!(names(&schema.join(".table")).contains(&"DURABILITY".to_owned()));
    }
    // One family goes as before, and one attribute of the table.
    assert!(rm("g").status.success());
    assert!(rm(".table/DURABILITY").status.success());
    assert_eq!(names(&schema), [".table", "f"]);
    assert!(!names(&schema.join(".table")).contains(&"DURABILITY".to_owned()));
}

#[test]
fn mount_a_family_goes_by_itself_also_while_its_schema_is_held_open() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let schema = fixture.path("t/.schema");
    // It comes before the table's own attributes.
    for family in ["g", "h", "-i"] {
        fs::create_dir(schema.join(family)).unwrap();
    }
    let script = "import os, sys\nd = os.open(sys.argv[1], os.O_RDONLY)\n\
                  try: os.rmdir(sys.argv[2], dir_fd=d)\nexcept OSError as e: sys.exit(e.errno)";
    let rmdir = |name: &str| {
        let python = std::process::Command::new("python3").args(["-c", script]).arg(&schema).arg(name).status();
        python.unwrap().code().unwrap()
    };
    assert_eq!((rmdir("g"), rmdir("f"), rmdir("-i")), (0, libc::ENOTEMPTY, libc::EPERM));
    assert_eq!(names(&schema), ["-i", ".table", "f", "h"]);
    fs::create_dir_all(fixture.path("t/r/h")).unwrap();
    fs::write(fixture.path("t/r/h/q"), "v").unwrap();
    let find = |args: &[&str]| {
        let find = std::process::Command::new("find").arg(&schema).args(args).output().unwrap();
        find.status.success()
    };
    assert!(find(&["-mindepth", "1", "-path", "*/.schema/h*", "-delete"]));
    assert_eq!(names(&schema), ["-i", ".table", "f"]);
    // All of it does not go.
    assert!(!find(&["-mindepth", "1", "-delete"]));
    assert_eq!(names(&schema), ["-i", ".table", "f"]);
    assert_eq!(fs::read_to_string(schema.join("f/VERSIONS")).unwrap(), "10\n");
    let store = fixture.store().into_os_string().into_string().unwrap();
    run(&fixture, &["undrop", &store, "t", "h"]);
    assert_eq!(fs::read_to_string(fixture.path("t/r/h/q")).unwrap(), "v");
    assert_eq!(fs::read_to_string(schema.join("h/VERSIONS")).unwrap(), "10\n");
}

#[test]
fn mount_purge_takes_no_version_alone_and_mv_nothing_of_the_history() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    for value in ["1", "2", "3"] {
        fs::write(&cell, value).unwrap();
    }
    fs::remove_file(&cell).unwrap();
    let kept = deleted(&fixture, "t/r/f");
    assert_eq!(kept.len(), 3);
    let version = fixture.path("t/r/f").join(kept[0].split(".deleted").next().unwrap());
    let behind = fixture.mnt().join(".history/default/t/r/f");
    for path in [&version, &behind.join(&kept[0]), &behind] {
        let said = refusal(&fixture, &["purge", path.to_str().unwrap()]);
        assert!(said.contains("a version alone is not purged") || said.contains("outside .history"), "{said}");
    }
    let to = fixture.path("t/s/f");
    assert!(refusal(&fixture, &["mv", behind.to_str().unwrap(), to.to_str().unwrap()]).contains("outside .history"));
    assert_eq!(deleted(&fixture, "t/r/f"), kept);
}
