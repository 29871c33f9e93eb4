//! `cellfs check` and its repair, on a store that is mounted and on one that is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::mount::fixture::{CELLFS, Fixture, damage, errno, holding};

fn check(fixture: &Fixture, more: &[&str]) -> Output {
    let store = fixture.store();
    let mut args = vec!["check", store.to_str().unwrap()];
    args.extend(more);
    fixture.cellfs(&args)
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Ten cells, flushed, and ten more in the log alone.
fn filled() -> Fixture {
    filled_with(1)
}

/// The same with longer values.
fn filled_with(times: usize) -> Fixture {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..20 {
        fs::write(family.join(format!("q{n:02}")), format!("value number {n:02}").repeat(times)).unwrap();
        if n == 9 {
            assert!(fixture.cellfs(&["flush", fixture.store().to_str().unwrap()]).status.success());
        }
    }
    fixture
}

/// The files of a directory of the store.
fn files(fixture: &Fixture, name: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(fixture.store().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn check_of_what_this_user_may_not_read_is_not_done_and_tells_no_damage() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can try as another user");
        return;
    }
    let mut fixture = filled();
    fixture.unmount();
    fs::set_permissions(fixture.directory.path(), Permissions::from_mode(0o755)).unwrap();
    let store = fixture.store();
    assert!(Command::new("chown").args(["-R", "65534:65534"]).arg(&store).status().unwrap().success());
    let check = || {
        let other = ["--reuid", "65534", "--regid", "65534", "--clear-groups", CELLFS, "check", "--json"];
        Command::new("setpriv").args(other).arg(&store).output().unwrap()
    };
    let whole = check();
    assert!(whole.status.success(), "{}", words(&whole));
    for name in ["segments", "log", "edits"] {
        let mut refused = 0;
        for path in files(&fixture, name) {
            let before = fs::metadata(&path).unwrap().permissions();
            fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
            let output = check();
            fs::set_permissions(&path, before).unwrap();
            let said = words(&output);
            assert!(!said.contains("\"severity\":\"damage\""), "{said}");
            // Nobody looks at a file of the log that is not needed any more.
            if !output.status.success() {
                refused += 1;
                assert_eq!(output.status.code(), Some(2), "{said}");
                assert!(said.contains("the check could not be done") && said.contains("Permission denied"), "{said}");
                assert!(said.contains(path.to_str().unwrap()), "{said}");
            }
        }
        assert!(refused > 0, "{name}");
    }
    assert_eq!(words(&check()), words(&whole), "nothing has changed");
}

#[test]
fn check_is_content_with_what_compactions_have_left() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let family = fixture.family("r");
    assert!(fixture.cellfs(&["alter", store, "t", "f,VERSIONS=1"]).status.success());
    for n in 0..10u8 {
        fs::write(family.join("q"), vec![n; 3 << 20]).unwrap();
        fs::write(family.join("small"), [n]).unwrap();
        assert!(fixture.cellfs(&["flush", store]).status.success());
    }
    let before = files(&fixture, "segments");
    assert!(fixture.cellfs(&["compact", "--major", store, "t"]).status.success());
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        if fixture.is_mounted() {
            fixture.unmount();
        }
    }
    assert!(!before.iter().any(|path| path.exists()), "what was merged is gone");
}

#[test]
fn check_of_a_good_store_finds_nothing_mounted_or_not() {
    let mut fixture = filled();
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        assert!(words(&output).starts_with("no damage: 1 segments"), "{}", words(&output));
        if fixture.is_mounted() {
            fixture.unmount();
        }
    }
    let output = check(&fixture, &["--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["summary"]["entries"], &summary["summary"]["rows"]), (&20.into(), &1.into()));
    let output = check(&fixture, &["--repair"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(words(&output).contains("nothing to repair"), "{}", words(&output));
    let absent = fixture.cellfs(&["check", "/nonexistent"]);
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn check_names_the_cell_whose_value_is_damaged_and_others_are_read() {
    // Shorter values stand among the keys, and are damaged with them.
    let mut fixture = filled_with(50);
    assert!(fixture.cellfs(&["flush", fixture.store().to_str().unwrap()]).status.success());
    fixture.unmount();
    let one = damage(&fixture.store(), "value number 03");
    let other = damage(&fixture.store(), "value number 13");
    let names = [one, other].map(|path| format!("{}, offset ", path.display()));
    for _ in 0..2 {
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        for name in &names {
            assert!(words(&output).contains(name), "{}", words(&output));
        }
        for name in ["t:f, row r, column q03", "t:f, row r, column q13"] {
            assert!(words(&output).contains(name), "{}", words(&output));
        }
        if !fixture.is_mounted() {
            fixture.mount("");
        }
    }
    let family = fixture.path("t/r/f");
    for n in 0..20 {
        let read = fs::read(family.join(format!("q{n:02}")));
        if n == 3 || n == 13 {
            assert_eq!(errno(read), libc::EIO);
        } else {
            assert_eq!(read.unwrap(), format!("value number {n:02}").repeat(50).as_bytes());
        }
    }
    let output = check(&fixture, &["--repair"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("unmount it first"), "{}", words(&output));
    let store = fixture.store();
    let store = store.to_str().unwrap();
    assert!(words(&fixture.cellfs(&["status", store])).contains("cellfs check"));
    // What was read and met damage is told to the operator too, once.
    let told = format!("For all of it: cellfs check {store}");
    assert_eq!(fixture.log().lines().filter(|line| line.contains(&told)).count(), 1);
    for (args, wanted) in
        [(&["stats", store][..], "damaged reads"), (&["stats", store, "--prometheus"], "_reads_total")]
    {
        let output = words(&fixture.cellfs(args));
        let line = output.lines().find(|line| line.contains(wanted) && !line.starts_with('#')).unwrap();
        assert!(!line.ends_with(" 0"), "{line}");
    }
}

#[test]
fn check_tells_of_a_damaged_record_of_the_log() {
    let mut fixture = filled();
    fixture.unmount();
    let log = damage(&fixture.store(), "value number 13");
    let output = check(&fixture, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains(&format!("{}, offset ", log.display())), "{}", words(&output));
    fixture.mount("");
    let family = fixture.path("t/r/f");
    assert!(fs::read(family.join("q13")).is_err());
    assert_eq!(fs::read(family.join("q12")).unwrap(), b"value number 12");
    assert_eq!(fs::read(family.join("q14")).unwrap(), b"value number 14");
    let store = fixture.store();
    let told = words(&fixture.cellfs(&["status", store.to_str().unwrap()]));
    assert!(told.contains("f:q13") || told.contains("r:q13"), "{told}");
    fixture.unmount();
    assert_eq!(check(&fixture, &[]).status.code(), Some(1), "until somebody acknowledges it");
    assert_eq!(check(&fixture, &["--repair"]).status.code(), Some(0));
    assert_eq!(check(&fixture, &[]).status.code(), Some(0));
}

#[test]
fn check_of_a_mounted_store_reads_the_log() {
    let fixture = filled();
    let good = words(&check(&fixture, &[]));
    assert!(good.starts_with("no damage") && !good.contains(" 0 records of the log"), "{good}");
    let log = damage(&fixture.store(), "value number 13");
    let output = check(&fixture, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains(&format!("{}, offset ", log.display())), "{}", words(&output));
    assert!(words(&output).contains("row r, column q13"), "{}", words(&output));
    // What a flush has brought to a segment needs no log.
    assert!(fixture.cellfs(&["flush", fixture.store().to_str().unwrap()]).status.success());
    let output = check(&fixture, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
}

#[test]
fn check_beside_writers_flushes_and_compactions_finds_nothing() {
    let fixture = filled();
    let (store, family) = (fixture.store(), fixture.family("r"));
    let store = store.to_str().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (family, done) = (&family, &done);
            scope.spawn(move || {
                for n in 0.. {
                    fs::write(family.join(format!("w{writer}-{}", n % 10)), format!("{n}").repeat(1000)).unwrap();
                    if done.load(Ordering::Acquire) {
                        return;
                    }
                }
            });
        }
        let (fixture, done) = (&fixture, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                assert!(fixture.cellfs(&["flush", store]).status.success());
                assert!(fixture.cellfs(&["compact", "--major", store, "t"]).status.success());
            }
        });
        let wrong: Vec<String> = (0..20)
            .map(|_| check(fixture, &[]))
            .filter(|output| output.status.code() != Some(0) || words(output).contains("note"))
            .map(|output| words(&output))
            .collect();
        done.store(true, Ordering::Release);
        assert!(wrong.is_empty(), "{wrong:?}");
    });
}

#[test]
fn check_leaves_a_note_of_damage_until_there_is_none() {
    let mut fixture = filled();
    fixture.unmount();
    let damaged = holding(&fixture.store(), b"value number 03").0;
    let good = fs::read(&damaged).unwrap();
    damage(&fixture.store(), "value number 03");
    let store = fixture.store();
    let told = || words(&fixture.cellfs(&["status", store.to_str().unwrap()]));
    assert!(!told().contains("the check of"), "{}", told());
    assert_eq!(check(&fixture, &[]).status.code(), Some(1));
    assert!(told().contains(" found damage: "), "{}", told());
    fs::write(&damaged, good).unwrap();
    assert_eq!(check(&fixture, &[]).status.code(), Some(0));
    assert!(!told().contains("the check of"), "{}", told());
    assert!(!store.join("damage").exists());
}

#[test]
fn check_mends_what_is_kept_twice_from_its_other_copy() {
    let mut fixture = filled();
    fixture.unmount();
    for name in [".edits", ".copy", "format"] {
        let journal = files(&fixture, "edits").into_iter().find(|path| path.to_str().unwrap().ends_with(name));
        let path = journal.unwrap_or_else(|| fixture.store().join(name));
        let good = fs::read(&path).unwrap();
        fs::write(&path, "nonsense").unwrap();
        let output = check(&fixture, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        assert!(words(&output).contains(path.to_str().unwrap()), "{}", words(&output));
        let output = check(&fixture, &["--repair"]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        if path.ends_with("format") {
            assert_eq!(fs::read(&path).unwrap(), good);
        }
        let got = fixture.cellfs(&["get", fixture.store().to_str().unwrap(), "t", "r", "f:q04"]);
        assert!(words(&got).contains("value number 04"), "{}", words(&got));
    }
    for name in ["format", "format.copy"] {
        fs::write(fixture.store().join(name), "nonsense").unwrap();
    }
    let output = check(&fixture, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("--repair"), "{}", words(&output));
    let output = check(&fixture, &["--repair"]);
    assert!(words(&output).contains("made anew from the log. Inode"), "{}", words(&output));
    fixture.mount("");
    assert_eq!(fs::read(fixture.path("t/r/f/q04")).unwrap(), b"value number 04");
}

#[test]
fn check_misses_a_journal_that_is_gone() {
    let mut fixture = filled();
    fixture.unmount();
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files(&fixture, "edits").into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    for (path, _) in &kept {
        fs::remove_file(path).unwrap();
    }
    let found = check(&fixture, &[]);
    assert_eq!(found.status.code(), Some(1), "{}", words(&found));
    assert!(words(&found).contains("the journal, which says what the store has, is gone"), "{}", words(&found));
    let got = fixture.cellfs(&["get", fixture.store().to_str().unwrap(), "t", "r"]);
    assert_eq!(got.status.code(), Some(2), "{}", words(&got));
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    assert_eq!(check(&fixture, &[]).status.code(), Some(0));
    fixture.mount("");
    assert_eq!(fs::read(fixture.path("t/r/f/q04")).unwrap(), b"value number 04");
}
