//! Bytes that are not committed yet, while what is around them changes or is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::process::Command;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::fixture::{Fixture, errno, history, names};
use super::model::{put, stored};

/// Runs a Python program in a directory of the mount; what it printed.
fn python(directory: &std::path::Path, program: &str) -> String {
    let output = Command::new("python3").current_dir(directory).args(["-c", program]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn set_read_only(fixture: &Fixture, yes: bool) {
    fs::write(fixture.path("t/.schema/.table/READONLY"), yes.to_string()).unwrap();
}

#[test]
fn mount_shows_nothing_of_a_truncation_that_was_refused() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "hello-world").unwrap();
    set_read_only(&fixture, true);
    let shorten = "import os,sys\ntry: os.truncate('q', 3)\nexcept OSError as e: print(e.errno)";
    assert_eq!(python(&fixture.family("r"), shorten).trim(), libc::EROFS.to_string());
    assert_eq!(fs::read_to_string(&cell).unwrap(), "hello-world");
    set_read_only(&fixture, false);
    OpenOptions::new().append(true).open(&cell).unwrap().write_all(b"!").unwrap();
    assert_eq!(stored(fixture.backend().as_ref(), "r", "q").unwrap(), b"hello-world!");
}

#[test]
fn mount_shows_what_is_stored_after_a_removal_that_was_refused() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let backend = fixture.backend();
    for (name, other) in [("unlinked", None), ("replaced", Some("other"))] {
        let cell = family.join(name);
        fs::write(&cell, "old").unwrap();
        fs::write(family.join("other"), "other").unwrap();
        let mut open = File::open(&cell).unwrap();
        set_read_only(&fixture, true);
        let refused = match other {
            None => fs::remove_file(&cell),
            Some(other) => fs::rename(family.join(other), &cell),
        };
        assert_eq!(errno(refused), libc::EROFS);
        set_read_only(&fixture, false);
        put(backend.as_ref(), "r", name, b"new");
        assert_eq!(fs::read_to_string(&cell).unwrap(), "new");
        let mut seen = String::new();
        open.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "new");
    }
}

#[test]
fn mount_writes_where_the_program_says_however_the_file_was_opened() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let mapped = "import mmap\nopen('q','w').write('hello')\nf = open('q','a+b')\nm = mmap.mmap(f.fileno(), 0)\n\
                  m[0] = ord('J')\nm.flush()\nm.close()\nf.close()\nprint(open('q').read())";
    assert_eq!(python(&family, mapped).trim(), "Jello");
    let cleared = "import os,fcntl\nopen('q','w').write('hello')\nf = os.open('q', os.O_RDWR | os.O_APPEND)\n\
                   fcntl.fcntl(f, fcntl.F_SETFL, 0)\nos.pwrite(f, b'Z', 1)\nos.close(f)\nprint(open('q').read())";
    assert_eq!(python(&family, cleared).trim(), "hZllo");
    let set = "import os,fcntl\nopen('q','w').write('hello')\nf = os.open('q', os.O_RDWR)\n\
               fcntl.fcntl(f, fcntl.F_SETFL, os.O_APPEND)\nos.write(f, b'Z')\nos.close(f)\nprint(open('q').read())";
    assert_eq!(python(&family, set).trim(), "helloZ");
    assert_eq!(history(&family.join("q")).last().unwrap(), "helloZ");
}

#[test]
fn mount_keeps_open_files_and_made_directories_when_a_table_or_namespace_is_renamed() {
    let fixture = Fixture::empty();
    let root = fixture.mnt();
    fs::create_dir_all(root.join("n1/t1/.schema/f")).unwrap();
    fs::create_dir_all(root.join("n1/t1/r/f")).unwrap();
    fs::create_dir_all(root.join("n1/t1/made/f")).unwrap();
    let mut open = File::create(root.join("n1/t1/r/f/q")).unwrap();
    open.write_all(b"a").unwrap();
    for (from, to) in [("n1/t1", "n1/t2"), ("n1", "n2")] {
        fs::rename(root.join(from), root.join(to)).unwrap();
        let table = root.join(if to == "n2" { "n2/t2" } else { "n1/t2" });
        assert_eq!(names(&table), ["made", "r"]);
        assert!(table.join("made/f").is_dir() && table.join("r/f").is_dir());
        assert!(table.join("r/f/q").exists());
        open.write_all(b"b").unwrap();
        open.sync_all().unwrap();
    }
    drop(open);
    assert_eq!(fs::read_to_string(root.join("n2/t2/r/f/q")).unwrap(), "abb");
    assert_eq!(history(&root.join("n2/t2/r/f/q")), ["abb"], "one close, one version");
}

#[test]
fn mount_makes_one_version_of_a_handle_whose_place_was_renamed() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let begin = |name: &str| {
        let mut file = File::create(family.join(name)).unwrap();
        file.write_all(b"1").unwrap();
        file.sync_all().unwrap();
        file
    };
    let mut file = begin("q");
    fs::rename(fixture.path("t/r"), fixture.path("t/moved")).unwrap();
    file.write_all(b"2").unwrap();
    drop(file);
    assert_eq!(history(&fixture.path("t/moved/f/q")), ["12"]);

    let family = fixture.family("r");
    fs::write(family.join("x"), "x").unwrap();
    let mut file = File::create(family.join("y")).unwrap();
    file.write_all(b"1").unwrap();
    file.sync_all().unwrap();
    renameat2(AT_FDCWD, &family.join("x"), AT_FDCWD, &family.join("y"), RenameFlags::RENAME_EXCHANGE).unwrap();
    file.write_all(b"2").unwrap();
    drop(file);
    assert_eq!(history(&family.join("x")), ["x", "12"]);
    assert_eq!(history(&family.join("y")), ["1", "x"]);
}

/// Neither its name, where the directory was, nor its bytes, where that is.
#[test]
fn mount_a_file_that_was_refused_leaves_nothing_when_its_directory_moves() {
    let fixture = Fixture::with_limit(1 << 20);
    let root = fixture.mnt();
    fs::create_dir_all(root.join("n/t/.schema/f")).unwrap();
    fs::create_dir_all(root.join("n/t/.schema/g")).unwrap();
    let moves = [("n/t/r", "n/t/r2"), ("n/t/r/f", "n/t/r/g"), ("n/t", "n/t2"), ("n", "n2")];
    for (from, to) in moves {
        let path = |below: &str| root.join(below);
        let within = path("n/t/r/f");
        fs::create_dir_all(&within).unwrap();
        let mut file = File::create(within.join("ghost")).unwrap();
        assert_eq!(errno(file.write_all(&vec![b'x'; 1_100_000])), libc::EFBIG);
        fs::rename(path(from), path(to)).unwrap();
        let moved = path(to).join(within.strip_prefix(path(from)).unwrap());
        assert_eq!(names(&moved), ["ghost"], "{to}: it is open");
        drop(file);
        let began = std::time::Instant::now();
        while !names(&moved).is_empty() {
            assert!(began.elapsed().as_secs() < 10, "{to}: it is there although nothing of it is stored");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        if from == "n/t" || from == "n" {
            fs::create_dir_all(root.join("n/t/.schema/f")).unwrap();
        }
        fs::create_dir_all(&within).unwrap();
        assert_eq!(names(&within), Vec::<String>::new(), "{from}: nothing was made there");
        fs::remove_dir(&within).unwrap();
        fs::remove_dir(&moved).unwrap();
    }
}
