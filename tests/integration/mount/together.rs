//! What several programs do at once on one mount.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::fixture::{Fixture, errno, names, suffixed};
use super::paths_oracle::put_many;

const AT_ONCE: usize = 8;

/// Runs as many threads at once, each with its number.
fn at_once(each: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for n in 0..AT_ONCE {
            let each = &each;
            scope.spawn(move || each(n));
        }
    });
}

#[test]
fn families_that_are_made_at_once_keep_their_cells() {
    let fixture = Fixture::empty();
    for round in 0..10 {
        let table = fixture.mnt().join(format!("default/t{round}"));
        fs::create_dir(&table).unwrap();
        at_once(|n| {
            fs::create_dir_all(table.join(format!("r{n}/f{n}"))).unwrap();
            fs::write(table.join(format!("r{n}/f{n}/q")), "x").unwrap();
        });
        // The first that is declared ends the time in which they come as directories.
        at_once(|n| fs::create_dir(table.join(format!(".schema/g{n}"))).unwrap());
        for n in 0..AT_ONCE {
            assert_eq!(fs::read(table.join(format!("r{n}/f{n}/q"))).unwrap(), b"x", "round {round}");
            assert!(table.join(format!(".schema/g{n}")).is_dir(), "round {round}");
        }
    }
}

/// The kernel takes a notice of a name when nobody changes the directory; who does may be waiting for an answer.
#[test]
fn mount_a_version_that_is_written_shows_at_once_while_others_change_the_directory() {
    let fixture = Fixture::with_options("threads=1");
    let family = fixture.family("r");
    let (done, path) = (AtomicBool::new(false), family.join("q"));
    thread::scope(|scope| {
        for n in 0..3 {
            let (done, other) = (&done, family.join(format!("other{n}")));
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    fs::write(&other, "x").unwrap();
                    fs::remove_file(&other).unwrap();
                }
            });
        }
        for round in 0..200 {
            fs::write(&path, "before").unwrap();
            fs::remove_file(&path).unwrap();
            assert!(!path.exists());
            fs::write(family.join(format!("q@{}", 9_000 + round)), format!("{round}")).unwrap();
            let read = fs::read_to_string(&path);
            done.store(read.is_err() || round == 199, Ordering::Relaxed);
            assert_eq!(read.unwrap(), format!("{round}"));
            fs::remove_file(&path).unwrap();
        }
    });
}

/// The kernel has the name and the bytes of what is gone with its only version, until it hears of it.
#[test]
fn mount_a_file_that_went_with_its_only_version_is_gone_at_once() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for round in 0..200 {
        let path = family.join(format!("q{round}"));
        fs::write(&path, "old").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let versions = suffixed(&path, "@");
        fs::remove_file(suffixed(&versions, &names(&versions)[0])).unwrap();
        if round % 2 == 0 {
            assert_eq!(errno(fs::read(&path)), libc::ENOENT, "round {round}");
        } else {
            fs::write(&path, "new").unwrap_or_else(|e| panic!("round {round}: {e}"));
            assert_eq!(fs::read(&path).unwrap(), b"new", "round {round}");
        }
    }
}

/// As many closes as there are answered apart at most, and more: each waits for the kernel.
#[test]
fn mount_very_many_closes_at_once_keep_nobody_waiting() {
    let fixture = Fixture::with_options("threads=1");
    let family = fixture.family("r");
    thread::scope(|scope| {
        for n in 0..400 {
            let family = &family;
            scope.spawn(move || {
                let path = family.join(format!("q{n}"));
                for round in 1..6 {
                    assert!(!path.exists());
                    fs::write(family.join(format!("q{n}@{round}")), format!("{round}")).unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{round}"));
                    fs::remove_file(&path).unwrap();
                }
            });
        }
    });
}

/// History waits a moment for the last message of a file that a shell has emptied.
#[test]
fn mount_a_look_into_history_that_waits_keeps_nobody_else() {
    let fixture = Fixture::with_options("threads=1");
    let family = fixture.family("r");
    let (path, versions) = (family.join("q"), family.join("q@"));
    fs::write(&path, "x").unwrap();
    let answered_meanwhile = |round: &usize| {
        let file = File::create(&path).unwrap();
        // The close of a copy: its file goes on.
        drop(file.try_clone().unwrap());
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(fs::read_dir(&versions).unwrap());
                done.store(true, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_millis(5));
            // Many, so that whoever was answered before the first of them is known to be done.
            assert!(!(0..100).any(|n| family.join(format!("absent{round}-{n}")).exists()));
            let is_first = !done.load(Ordering::SeqCst);
            drop(file);
            is_first
        })
    };
    // Who is held up elsewhere proves nothing.
    assert!((0..20).filter(answered_meanwhile).count() >= 10, "whoever asked something else has waited too");
}

#[test]
fn attributes_that_are_set_at_once_are_all_set() {
    let fixture = Fixture::new();
    let (store, schema) = (fixture.store(), fixture.path("t/.schema"));
    let store = store.to_str().unwrap();
    for round in 1..20 {
        at_once(|n| {
            fs::write(schema.join(format!(".table/METADATA/k{n}")), format!("{round}\n")).unwrap();
            fs::write(schema.join(format!("f/CONFIGURATION/c{n}")), format!("{round}\n")).unwrap();
            let alter = fixture.cellfs(&["alter", store, "t", "--set", &format!("x.{n}={round}")]);
            assert!(alter.status.success(), "{alter:?}");
        });
        for n in 0..AT_ONCE {
            for path in [
                format!(".table/METADATA/k{n}"),
                format!("f/CONFIGURATION/c{n}"),
                format!(".table/CONFIGURATION/x.{n}"),
            ] {
                assert_eq!(fs::read_to_string(schema.join(&path)).unwrap(), format!("{round}\n"), "{path}");
            }
        }
    }
}

#[test]
fn a_file_that_became_an_attribute_is_set_once() {
    let fixture = Fixture::new();
    let family = fixture.path("t/.schema/f");
    let held = File::create(family.join(".new")).unwrap();
    fs::write(family.join(".new"), "7\n").unwrap();
    let before = filetime(1_600_000_000);
    File::options().write(true).open(family.join(".new")).unwrap().set_modified(before).unwrap();
    fs::rename(family.join(".new"), family.join("VERSIONS")).unwrap();
    fs::write(family.join("VERSIONS"), "9\n").unwrap();
    drop(held);
    // What follows is answered behind the release of the handle.
    fixture.cellfs(&["describe", fixture.store().to_str().unwrap(), "t"]);
    assert_eq!(fs::read_to_string(family.join("VERSIONS")).unwrap(), "9\n");
}

fn filetime(seconds: u64) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
}

#[test]
fn a_program_that_runs_is_not_written_to() {
    let fixture = Fixture::new();
    let program = fixture.family("r").join("program");
    fs::copy("/bin/sleep", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let whole = fs::read(&program).unwrap();
    let mut running = Command::new(&program).arg("60").spawn().unwrap();
    let by = |flags: i32, write: bool| {
        let mut options = OpenOptions::new();
        errno(options.read(true).write(write).custom_flags(flags).open(&program))
    };
    let refused = [by(0, true), by(libc::O_TRUNC, true), by(libc::O_TRUNC, false)];
    let runs = running.try_wait().unwrap().is_none();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(refused, [libc::ETXTBSY; 3]);
    assert!(runs);
    assert_eq!(fs::read(&program).unwrap(), whole);
    fs::write(&program, "#!/bin/sh\n").unwrap();
}

/// One process stores into the first byte of each page of a mapping, another writes behind it and reads that again.
const BESIDE_A_MAPPING: &str = "
import mmap, os, sys, time
path = sys.argv[1]
made = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
os.write(made, bytes(16 * 4096))
end = time.monotonic() + 2
if not os.fork():
    pages = mmap.mmap(os.open(path, os.O_RDWR), 0)
    stored = 0
    while time.monotonic() < end:
        stored += 1
        for page in range(16):
            pages[page * 4096] = stored % 256
    os._exit(0)
writers, reader = [made, os.open(path, os.O_WRONLY)], os.open(path, os.O_RDONLY)
written = [bytes(64)] * 16
count = lost = 0
while time.monotonic() < end:
    page = count % 16
    at = page * 4096 + 100
    lost += os.pread(reader, 64, at) != written[page]
    written[page] = os.urandom(64)
    os.pwrite(writers[count // 16 % 2], written[page], at)
    lost += os.pread(reader, 64, at) != written[page]
    count += 1
os.wait()
print(count > 16, lost)
";

#[test]
fn mount_a_write_stays_beside_what_others_store_into_the_same_page() {
    let fixture = Fixture::new();
    let file = fixture.family("r").join("shared");
    let Ok(output) = Command::new("python3").args(["-c", BESIDE_A_MAPPING]).arg(&file).output() else {
        return println!("skipped: python3 is missing");
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "True 0\n", "{output:?}");
}

/// Each its own half, by descriptors of its own; a page of it that one reads may come before what the other has written.
#[test]
fn mount_two_that_write_one_file_read_what_they_wrote() {
    const HALF: usize = 64 << 10;
    let fixture = Fixture::new();
    let path = fixture.family("r").join("shared");
    fs::write(&path, vec![0; 2 * HALF]).unwrap();
    let open = || File::options().read(true).write(true).open(&path).unwrap();
    let work = |half: usize, mut file: File| {
        let (mut written, mut found) = (vec![0; HALF], vec![0; HALF]);
        for round in 0..4000_usize {
            let at = round * 7919 % (HALF - 500);
            let bytes = (round as u64 + 1).to_be_bytes();
            written[at..at + 8].copy_from_slice(&bytes);
            file.write_all_at(&bytes, (half * HALF + at) as u64).unwrap();
            if round % 2 == 0 {
                drop(file);
                file = open();
            }
            // The kernel may still fetch a page in the moment of a write, and then does so again.
            let is_read = (0..200).any(|_| {
                file.read_exact_at(&mut found, (half * HALF) as u64).unwrap();
                found == written || {
                    thread::sleep(Duration::from_millis(10));
                    false
                }
            });
            assert!(is_read, "half {half}, round {round}");
        }
    };
    thread::scope(|scope| {
        for half in 0..2 {
            let (work, file) = (&work, open());
            scope.spawn(move || work(half, file));
        }
    });
}

/// For one name of an answer all rows of a table may be looked at.
#[test]
fn mount_nobody_waits_for_the_listing_of_an_answer() {
    let fixture = Fixture::with_options("threads=1,cache=0");
    let cells = (0..150_000).map(|n| (format!("r{n:06}"), "q".to_owned(), format!("value {n}")));
    put_many(fixture.backend().as_ref(), "f", cells);
    let ask = fixture.path("t/.filter/ValueFilter(=, 'substring:no such value')");
    let answered_meanwhile = || {
        let is_listed = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(names(&ask).is_empty());
                is_listed.store(true, Ordering::Release);
            });
            let mut answered = 0;
            while !is_listed.load(Ordering::Acquire) {
                fs::metadata(fixture.path("t/r000001/f/q")).unwrap();
                answered += 1;
            }
            answered
        })
    };
    // Some are answered before it begins, and at its end.
    assert!((0..20).any(|_| answered_meanwhile() > 20));
}
