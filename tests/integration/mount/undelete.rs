//! What was deleted or dropped comes back with one command, and what was refused is told with its path.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::fixture::{Fixture, errno, history, names};

/// Status, standard output and standard error of a command.
fn run(fixture: &Fixture, args: &[&str]) -> (i32, String) {
    let output = fixture.cellfs(args);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn text(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn mount_undelete_brings_back_cells_rows_tables_and_namespaces() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (name, value) in [("a", "one"), ("b", "two"), ("c", "three")] {
        fs::write(family.join(name), "older").unwrap();
        fs::write(family.join(name), value).unwrap();
    }
    fs::set_permissions(family.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let mtime = fs::metadata(family.join("a")).unwrap().mtime();
    fs::remove_file(family.join("a")).unwrap();
    let path = text(&family.join("a"));
    let (status, listed) = run(&fixture, &["undelete", "--list", &path]);
    assert!(status == 0 && listed.contains("f:a: 3 bytes") && listed.contains("deleted"), "{listed}");
    assert_eq!(errno(fs::metadata(family.join("a"))), libc::ENOENT, "--list changes nothing");
    assert_eq!(run(&fixture, &["undelete", &path]), (0, String::new()));
    let meta = fs::metadata(family.join("a")).unwrap();
    assert_eq!((fs::read_to_string(family.join("a")).unwrap().as_str(), meta.mtime()), ("one", mtime));
    assert_eq!(meta.mode() & 0o777, 0o600);
    assert_eq!(run(&fixture, &["undelete", &path]).0, 1, "there is nothing to bring back");
    // A row, by the path that it had; what is there stays.
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    let family = fixture.family("r");
    fs::write(family.join("b"), "new").unwrap();
    assert_eq!(run(&fixture, &["undelete", &text(&fixture.path("t/r"))]).0, 0);
    let read = |name: &str| fs::read_to_string(fixture.path("t/r/f").join(name)).unwrap();
    assert_eq!((read("a"), read("b"), read("c")), ("one".to_owned(), "new".to_owned(), "three".to_owned()));
    // A family and a table that were dropped, and what was deleted in them.
    let store = text(&fixture.store());
    assert_eq!(run(&fixture, &["alter", &store, "t", "--delete", "f"]).0, 0);
    assert_eq!(run(&fixture, &["undelete", &store, "t/r/f/c"]).0, 0);
    assert_eq!(read("c"), "three");
    fs::create_dir_all(fixture.mnt().join("ns/t/r/f")).unwrap();
    fs::write(fixture.mnt().join("ns/t/r/f/q"), "v").unwrap();
    assert_eq!(run(&fixture, &["drop", &store, "ns/t"]).0, 0);
    fs::remove_dir(fixture.mnt().join("ns")).unwrap();
    assert_eq!(run(&fixture, &["undelete", &text(&fixture.mnt().join("ns"))]).0, 0);
    assert_eq!(fs::read_to_string(fixture.mnt().join("ns/t/r/f/q")).unwrap(), "v");
    assert_eq!(run(&fixture, &["drop", &store, "ns/t"]).0, 0);
    fs::remove_dir(fixture.mnt().join("ns")).unwrap();
    assert_eq!(run(&fixture, &["undelete", &store, "ns/t/r/f/q"]).0, 0, "with all that it is in");
    assert_eq!(fs::read_to_string(fixture.mnt().join("ns/t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_undelete_brings_back_what_a_table_had_before_it_was_truncated() {
    let fixture = Fixture::new();
    let store = text(&fixture.store());
    let file = fixture.family("r").join("q");
    let write = |value: &str| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, value).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(run(&fixture, &["truncate", &store, "t"]), (0, String::new()));
        now.to_string()
    };
    let undelete = |args: &[&str]| run(&fixture, &[&["undelete", &store, "t"], args].concat()).0;
    let first = write("one");
    assert_eq!((undelete(&["--list"]), fs::metadata(&file).is_err()), (0, true));
    assert_eq!((undelete(&[]), fs::read_to_string(&file).unwrap().as_str()), (0, "one"));
    assert_eq!(undelete(&[]), 1, "what is there stays");
    assert_eq!(run(&fixture, &["truncate", &store, "t"]).0, 0);
    write("two");
    assert_eq!((undelete(&["--at", &first]), fs::read_to_string(&file).unwrap().as_str()), (0, "one"));
    // Rows that were deleted since come first.
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    assert_eq!((undelete(&[]), fs::read_to_string(&file).unwrap().as_str()), (0, "one"));
    assert_eq!(run(&fixture, &["truncate", &store, "t"]).0, 0);
    assert_eq!((undelete(&[]), fs::read_to_string(&file).unwrap().as_str()), (0, "one"), "the last one");
}

#[test]
fn mount_undelete_brings_dropped_families_back_with_their_table_and_rows() {
    let fixture = Fixture::new();
    let store = text(&fixture.store());
    let cells = ["t/r/f/q", "t/r/g/q", "t/s/g/q"];
    let fill = || {
        for family in ["f", "g"] {
            let _ = fs::create_dir(fixture.path("t/.schema").join(family));
        }
        for path in cells {
            fs::create_dir_all(fixture.path(path).parent().unwrap()).unwrap();
            fs::write(fixture.path(path), path).unwrap();
        }
    };
    let all = || cells.iter().all(|path| fs::read_to_string(fixture.path(path)).is_ok_and(|value| value == *path));
    fill();
    let drops: [&dyn Fn(); 2] = [&|| fs::remove_dir_all(fixture.path("t/.schema/g")).unwrap(), &|| {
        assert_eq!(run(&fixture, &["alter", &store, "t", "--delete", "g"]).0, 0)
    }];
    for drop in drops {
        for what in ["t", "t/r"] {
            drop();
            // The kernel is told of what is below by and by.
            let began = std::time::Instant::now();
            while all() {
                assert!(began.elapsed() < std::time::Duration::from_secs(60), "what was dropped is still there");
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            let (status, listed) = run(&fixture, &["undelete", "--list", &text(&fixture.path(what))]);
            assert!(status == 0 && listed.contains("family g of table t, dropped"), "{listed}");
            assert_eq!(run(&fixture, &["undelete", &text(&fixture.path(what))]), (0, String::new()));
            assert!(all(), "{what}");
        }
    }
    // A family that was dropped after the time that is meant, and one that was dropped before.
    let then = fixture.backend().now().0;
    std::thread::sleep(std::time::Duration::from_millis(2));
    drops[1]();
    let after = (fixture.backend().now().0 + 1).to_string();
    assert_eq!(run(&fixture, &["undelete", "--at", &after, &store, "t"]).0, 1);
    assert_eq!(run(&fixture, &["undelete", "--at", &then.to_string(), &store, "t"]), (0, String::new()));
    assert!(all());
    // With its table.
    drops[1]();
    assert_eq!(run(&fixture, &["drop", &store, "t"]).0, 0);
    assert_eq!(run(&fixture, &["undelete", &store, "t"]), (0, String::new()));
    assert!(all());
    // Another of the same name is there.
    drops[1]();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    let (status, said) = run(&fixture, &["undelete", &store, "t"]);
    assert!(status == 1 && said.contains("there is another of that name now"), "{said}");
}

#[test]
fn mount_undelete_of_nothing_says_so() {
    let fixture = Fixture::new();
    let store = text(&fixture.store());
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    for what in ["t", "t/r", "t/r/f", "t/r/f/q", "t/r/f/never", "t/r/never", "t/never/f", "never", "never/r/f/q"] {
        for list in [&["undelete"][..], &["undelete", "--list"]] {
            let output = fixture.cellfs(&[list, &[&store, what]].concat());
            let (said, told) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
            assert_eq!(output.status.code(), Some(1), "{what}: {said}");
            assert!(said.contains("there is nothing to bring back") && told.is_empty(), "{what}: {said}{told}");
        }
    }
    // What is kept of a table whose name another has is no nothing.
    assert_eq!(run(&fixture, &["truncate", &store, "t"]).0, 0);
    fs::write(fixture.family("s").join("q"), "v").unwrap();
    for what in ["t", "t/r/f/q"] {
        let (status, said) = run(&fixture, &["undelete", &store, what]);
        assert!(status == 1 && said.contains("truncated is kept") && said.contains("rename"), "{what}: {said}");
    }
}

#[test]
fn mount_undelete_at_a_time_brings_what_there_was_then() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for (time, value) in [(1000, "one"), (2000, "two")] {
        fs::write(family.join(format!("q@{time}")), value).unwrap();
    }
    let store = text(&fixture.store());
    assert_eq!(run(&fixture, &["undelete", "--at", "1500", &store, "t/r"]).0, 0);
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "one");
    assert_eq!(history(&family.join("q")), ["one", "two", "one"], "as a newer version");
    let (status, said) = run(&fixture, &["undelete", "--at", "some day", &store, "t/r"]);
    assert!(status == 2 && said.contains("yesterday"), "{said}");
}

#[test]
fn mount_undelete_at_a_time_brings_the_family_of_then() {
    let fixture = Fixture::new();
    let (store, schema) = (text(&fixture.store()), fixture.path("t/.schema/f"));
    let generation = |name: &str| {
        let _ = fs::create_dir(&schema);
        fs::write(fixture.family("r").join(name), name).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let then = fixture.backend().now().0.to_string();
        std::thread::sleep(std::time::Duration::from_millis(5));
        fs::remove_dir_all(&schema).unwrap();
        then
    };
    let (first, _) = (generation("a"), generation("b"));
    let undelete = |args: &[&str]| run(&fixture, &[&["undelete"], args].concat());
    let path = text(&schema);
    assert_eq!(undelete(&[&path, "--at", &first]), (0, String::new()));
    assert_eq!(names(&fixture.path("t/r/f")), ["a"]);
    // The latest without a time, and where another has cells it says how to get to the first.
    fs::remove_dir_all(&schema).unwrap();
    generation("c");
    assert_eq!(undelete(&[&path]), (0, String::new()));
    assert_eq!(names(&fixture.path("t/r/f")), ["c"]);
    let (status, said) = undelete(&[&path, "--at", &first]);
    assert!(status == 2 && said.contains("--delete"), "{said}");
    assert_eq!(run(&fixture, &["alter", &store, "t", "--delete", "f"]).0, 0);
    // One without cells makes place, for the table as well.
    fs::create_dir(&schema).unwrap();
    assert_eq!(undelete(&[&store, "t", "--at", &first]), (0, String::new()));
    assert_eq!(names(&fixture.path("t/r/f")), ["a"]);
}

/// All as of that time, or nothing.
#[test]
fn mount_undelete_at_a_time_brings_no_table_with_a_family_of_later() {
    let fixture = Fixture::new();
    let (store, schema) = (text(&fixture.store()), fixture.path("t/.schema/f"));
    fs::create_dir_all(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("t/r/g")).unwrap();
    fs::write(fixture.family("r").join("q"), "one").unwrap();
    fs::write(fixture.path("t/r/g/q"), "one").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let then = fixture.backend().now().0.to_string();
    std::thread::sleep(std::time::Duration::from_millis(5));
    fs::write(fixture.path("t/r/g/q"), "two").unwrap();
    fs::remove_dir_all(&schema).unwrap();
    fs::create_dir(&schema).unwrap();
    fs::write(fixture.family("r").join("q"), "two").unwrap();
    let read = || ["f", "g"].map(|family| fs::read_to_string(fixture.path("t/r").join(family).join("q")).unwrap());
    for what in ["t", "t/r"] {
        let (status, said) = run(&fixture, &["undelete", &store, what, "--at", &then]);
        assert!(status == 1 && said.contains("family f of table t") && said.contains("--delete"), "{said}");
        assert_eq!(read(), ["two", "two"]);
    }
    // With the table that family goes, too, and is kept.
    assert_eq!(run(&fixture, &["drop", &store, "t"]).0, 0);
    assert_eq!(run(&fixture, &["undelete", &store, "t", "--at", &then]), (0, String::new()));
    assert_eq!(read(), ["one", "one"]);
    // A namespace shows all of it, once.
    fs::remove_file(fixture.path("t/r/g/q")).unwrap();
    fs::create_dir_all(fixture.path("u/.schema/f")).unwrap();
    assert_eq!(run(&fixture, &["drop", &store, "u"]).0, 0);
    fs::create_dir(fixture.path("u")).unwrap();
    fs::create_dir_all(fixture.path("u/r/f")).unwrap();
    fs::write(fixture.path("u/r/f/q"), "v").unwrap();
    let (status, said) = run(&fixture, &["undelete", "--list", &text(&fixture.mnt().join("default"))]);
    let lines = ["family f of table t, dropped", "table u, dropped", "t r g:q: 3 bytes"];
    assert!(status == 0 && lines.iter().all(|line| said.matches(line).count() == 1), "{said}");
}

/// Each of them is dropped and brought back again and again.
#[test]
fn mount_undelete_at_a_time_finds_generations_that_were_brought_back_before() {
    let fixture = Fixture::new();
    let (schema, family) = (fixture.path("t/.schema/f"), fixture.path("t/r/f"));
    let path = text(&schema);
    let moment = || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let then = fixture.backend().now().0.to_string();
        std::thread::sleep(std::time::Duration::from_millis(5));
        then
    };
    let mut moments = Vec::new();
    for name in ["a", "b", "c"] {
        let _ = fs::create_dir(&schema);
        fs::write(fixture.family("r").join(name), name).unwrap();
        moments.push((moment(), name));
        fs::remove_dir_all(&schema).unwrap();
    }
    for n in [0, 1, 1, 2, 0, 2, 1, 0, 3, 5, 4] {
        let (at, name) = moments[n].clone();
        assert_eq!(run(&fixture, &["undelete", &path, "--at", &at]), (0, String::new()));
        assert_eq!(names(&family), [name], "generation {n}");
        // It was there then, too.
        moments.push((moment(), name));
        fs::remove_dir_all(&schema).unwrap();
    }
}

#[test]
fn mount_undelete_brings_back_a_version_that_was_deleted_by_itself() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let undelete = |name: &str, args: &[&str]| {
        let path = text(&family.join(name));
        run(&fixture, &[&["undelete", path.as_str()], args].concat()).0
    };
    let remove = |name: &str| fs::remove_file(family.join(name)).unwrap();
    let shown = |name: &str| fs::read_to_string(family.join(name)).unwrap();
    for name in ["a", "b", "c", "d"] {
        for (time, value) in [(1000, "one"), (2000, "two"), (3000, "three")] {
            fs::write(family.join(format!("{name}@{time}")), value).unwrap();
        }
    }
    // Named, at its own place.
    remove("a@2000");
    assert_eq!(undelete("a", &[]), 1, "what is there stays");
    assert_eq!(undelete("a@2000", &["--list"]), 0);
    assert_eq!(history(&family.join("a")), ["one", "three"]);
    assert_eq!(undelete("a@2000", &[]), 0);
    assert_eq!(undelete("a@2000", &[]), 1, "it is there");
    assert_eq!((shown("a"), shown("a@2000")), ("three".to_owned(), "two".to_owned()));
    remove("a@3000");
    assert_eq!(shown("a"), "two");
    // The newest, by the name of its cell, and of a time.
    for (name, args) in [("b", &[][..]), ("c", &["--at", "3500"])] {
        remove(&format!("{name}@3000"));
        assert_eq!(shown(name), "two");
        assert_eq!(undelete(name, args), 0, "{args:?}");
        assert_eq!(shown(name), "three");
    }
    // Of a cell that was removed later comes what it had then.
    remove("d@3000");
    remove("d");
    assert_eq!(undelete("d", &[]), 0);
    assert_eq!(shown("d"), "two");
}

#[test]
fn mount_commands_drop_into_the_trash_and_now_for_good() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "value").unwrap();
    let store = text(&fixture.store());
    assert_eq!(run(&fixture, &["truncate", &store, "t"]), (0, String::new()));
    assert_eq!(names(&fixture.path("t")), Vec::<String>::new());
    assert_eq!(names(&fixture.path("t/.schema")), [".table", "f"]);
    fs::rename(fixture.path("t"), fixture.path("empty")).unwrap();
    assert_eq!(run(&fixture, &["undrop", &store, "t"]).0, 0);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "value");
    assert_eq!(run(&fixture, &["drop", &store, "t"]).0, 0);
    assert_eq!(run(&fixture, &["undrop", &store, "t"]).0, 0);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "value");
    assert_eq!(run(&fixture, &["drop", "--now", &store, "t"]).0, 0);
    assert_eq!(run(&fixture, &["undrop", &store, "t"]).0, 2);
}

#[test]
fn mount_refusals_are_told_with_their_path() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    assert_eq!(errno(fs::remove_dir(fixture.path("t/r"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::create_dir(fixture.path("t/r/g"))), libc::EPERM);
    assert_eq!(errno(fs::metadata(fixture.path("t/.hidden"))), libc::ENOENT);
    assert_eq!(errno(fs::metadata(fixture.path("t/.at/some-day"))), libc::ENOENT);
    assert_eq!(errno(fs::write(fixture.path("t/.schema/f/VERSIONS"), "many\n")), libc::EINVAL);
    assert_eq!(errno(fs::write(fixture.path("t/.schema/f/MIN_VERSIONS"), "999\n")), libc::EINVAL, "at write(2)");
    assert_eq!(errno(std::os::unix::fs::symlink("q", fixture.path("t/r/f/link"))), libc::EPERM);
    assert_eq!(errno(fs::hard_link(fixture.path("t/r/f/q"), fixture.path("t/r/f/hard"))), libc::EPERM);
    let mode = nix::sys::stat::Mode::S_IRUSR;
    assert_eq!(nix::unistd::mkfifo(&fixture.path("t/r/f/pipe"), mode), Err(nix::errno::Errno::EPERM));
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    let pid = format!("uid={} pid=", nix::unistd::geteuid());
    for (path, what) in [
        ("/default/t/r rmdir: ", "not empty"),
        ("/default/t/r/g mkdir: ", "families=auto"),
        ("/default/t/r/f/link symlink: ", "symbolic links"),
        ("/default/t/r/f/hard link: ", "hard links"),
        ("/default/t/r/f/pipe mknod: ", "regular file"),
        ("/default/t/.hidden lookup: ", "%2Ehidden"),
        ("/default/t/.at/some-day lookup: ", "-10min"),
        ("/default/t/.schema/f/VERSIONS write: ", "VERSIONS"),
    ] {
        let line = errors.lines().find(|line| line.contains(path));
        let line = line.unwrap_or_else(|| panic!("{path} is not in {errors}"));
        assert!(line.contains(what) && line.contains(&pid), "{line}");
    }
    assert_eq!(fs::read_to_string(fixture.path("t/.info/errors")).unwrap().lines().count(), errors.lines().count());
    let (status, said) = run(&fixture, &["why", &text(&fixture.path("t/r"))]);
    assert_eq!((status, said.lines().count()), (0, 5), "{said}");
    let (status, said) = run(&fixture, &["why", "-n", "1", &text(&fixture.store())]);
    assert!(status == 0 && said.contains("regular file") && said.lines().count() == 1, "{said}");
    assert_eq!(run(&fixture, &["why", &text(&fixture.path("other"))]).0, 1);
}

#[test]
fn mount_undelete_brings_back_the_newest_deleted_version_beside_one_that_came_back() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let file = family.join("q");
    for value in ["one", "two", "three"] {
        fs::write(&file, value).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    let at = |value: &str| {
        let versions = names(&family.join("q@"));
        let is_it =
            |name: &String| fs::read_to_string(family.join(format!("q@{name}"))).is_ok_and(|text| text == value);
        family.join(format!("q@{}", versions.iter().find(|name| is_it(name)).unwrap()))
    };
    let (two, three, read) = (at("two"), at("three"), || fs::read_to_string(&file).unwrap());
    fs::remove_file(&two).unwrap();
    assert_eq!(run(&fixture, &["undelete", &text(&two)]), (0, String::new()));
    fs::remove_file(&three).unwrap();
    assert_eq!((read().as_str(), run(&fixture, &["undelete", &text(&file)]).0), ("two", 0));
    assert_eq!(read(), "three");
    assert_eq!(run(&fixture, &["undelete", &text(&file)]).0, 1);
}
