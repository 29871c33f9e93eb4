//! What is open while something becomes of its cell.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::fixture::{Fixture, errno, history, names, suffixed};

/// Looks again and again until it is so.
fn becomes(mut so: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        so()
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn both(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// Runs a command about table `t` of the fixture's store.
fn run(fixture: &Fixture, command: &str, rest: &[&str]) {
    let store = fixture.store();
    let output = fixture.cellfs(&[&[command, store.to_str().unwrap()], rest].concat());
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A log is written to for longer than its lines are kept, idle for a while, and compacted meanwhile.
#[test]
fn mount_who_appends_to_a_file_of_which_the_expired_bytes_are_purged_goes_on() {
    let fixture = Fixture::new();
    let (family, store) = (fixture.family("row"), fixture.store());
    let store = store.to_str().unwrap();
    run(&fixture, "alter", &["t", "f,TTL=2"]);
    let open = |name: &str| OpenOptions::new().create(true).append(true).read(true).open(family.join(name)).unwrap();
    let (mut log, replaced, other) = (open("log"), open("replaced"), both(&family.join("other")));
    for mut file in [&log, &replaced, &other] {
        file.write_all(&[b'x'; 2000]).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        file.sync_all().unwrap();
    }
    // Nobody looks through the mount before they are gone.
    assert!(becomes(|| fixture.cellfs(&["count", store, "t"]).stdout.starts_with(b"0")));
    run(&fixture, "flush", &[]);
    run(&fixture, "compact", &["t", "--major"]);
    log.write_all(b"late\n").unwrap();
    log.sync_all().unwrap();
    assert_eq!(fs::read_to_string(family.join("log")).unwrap(), "late\n");
    assert_eq!(mode(&family.join("log")), 0o600);
    fs::write(family.join("new"), "new").unwrap();
    fs::rename(family.join("new"), family.join("replaced")).unwrap();
    assert_eq!(fs::read_to_string(family.join("replaced")).unwrap(), "new");
    assert_eq!(errno(other.write_at(b"y", 0)), libc::ESTALE, "what was before it is gone");
    assert_eq!(errno(other.read_at(&mut [0; 10], 0)), libc::ESTALE);
    other.set_len(0).unwrap();
    other.write_at(b"anew", 0).unwrap();
    other.sync_all().unwrap();
    assert_eq!(fs::read_to_string(family.join("other")).unwrap(), "anew");
}

#[test]
fn mount_a_file_that_is_made_at_the_name_of_an_expired_one_is_another() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    run(&fixture, "alter", &["t", "f,TTL=2"]);
    for how in ["made", "renamed"] {
        let path = family.join(how);
        fs::write(&path, "old old").unwrap();
        let (held, writer) = (File::open(&path).unwrap(), both(&path));
        assert!(becomes(|| fs::metadata(&path).is_err()));
        match how {
            "made" => fs::write(&path, "new").unwrap(),
            _ => {
                fs::write(family.join("new"), "new").unwrap();
                fs::rename(family.join("new"), &path).unwrap();
            }
        }
        let mut text = [0; 20];
        let len = held.read_at(&mut text, 0).unwrap();
        assert_eq!(&text[..len], b"old old", "{how}");
        let written = writer.write_at(b"X", 0).and_then(|_| writer.sync_all());
        assert_eq!(errno(written), libc::ESTALE, "{how}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new", "{how}");
        assert_ne!(held.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino(), "{how}");
    }
}

/// Opened in the second of a change elsewhere.
#[test]
fn mount_a_read_in_the_middle_is_of_what_is_there_by_then() {
    let fixture = Fixture::new();
    let path = fixture.family("row").join("q");
    fs::write(&path, "0000AAAA").unwrap();
    run(&fixture, "put", &["t", "row", "f:q", "0000BBBB"]);
    let held = File::open(&path).unwrap();
    let read = |offset| {
        let mut two = [0; 2];
        assert_eq!(held.read_at(&mut two, offset).unwrap(), 2);
        two
    };
    assert_eq!(read(4), *b"BB");
    fs::write(&path, "0000CCCC").unwrap();
    assert!(becomes(|| read(4) == *b"CC"));
    run(&fixture, "put", &["t", "row", "f:q", "0000DDDD"]);
    assert!(becomes(|| read(5) == *b"DD"));
}

#[test]
fn mount_what_was_set_stays_where_the_bytes_are_refused() {
    let mut fixture = Fixture::with_limit(1 << 20);
    let family = fixture.family("row");
    let day = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for (name, before) in [("q", false), ("p", true)] {
        let path = family.join(name);
        fs::write(&path, "kept").unwrap();
        let file = both(&path);
        if before {
            file.write_at(b"more", 0).unwrap();
            set_mode(&path, 0o600);
        }
        assert_eq!(errno(file.write_at(b"x", 2_000_000)), libc::EFBIG);
        if !before {
            set_mode(&path, 0o600);
        }
        File::open(&path).unwrap().set_modified(day).unwrap();
        assert!(nix::unistd::close(file).is_err(), "{name}");
    }
    fixture.remount();
    for path in ["q", "p"].map(|name| family.join(name)) {
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        assert_eq!((mode(&path), fs::metadata(&path).unwrap().modified().unwrap()), (0o600, day), "{}", path.display());
    }
}

#[test]
fn mount_a_mode_that_is_set_between_two_writes_of_a_handle_makes_no_version() {
    let fixture = Fixture::new();
    let path = fixture.family("row").join("q");
    let file = both(&path);
    file.write_at(b"one", 0).unwrap();
    file.sync_all().unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    file.write_at(b"two", 3).unwrap();
    nix::unistd::close(file).unwrap();
    assert_eq!((history(&path).len(), mode(&path)), (1, 0o600));
    assert_eq!(fs::read_to_string(&path).unwrap(), "onetwo");
}

#[test]
fn mount_a_rename_of_what_nobody_has_committed_keeps_its_time_and_mode() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    let (from, to) = (family.join("from"), family.join("to"));
    let file = both(&from);
    file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    file.write_at(b"text", 0).unwrap();
    let written = fs::metadata(&from).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    fs::rename(&from, &to).unwrap();
    assert_eq!((fs::metadata(&to).unwrap().modified().unwrap(), mode(&to)), (written, 0o600));
    drop(file);
    assert_eq!((fs::metadata(&to).unwrap().modified().unwrap(), mode(&to)), (written, 0o600));
}

#[test]
fn mount_a_file_that_others_remove_keeps_its_mode_for_who_has_it_open() {
    let fixture = Fixture::new();
    let path = fixture.family("row").join("q");
    fs::write(&path, "text").unwrap();
    set_mode(&path, 0o755);
    let file = File::open(&path).unwrap();
    run(&fixture, "delete", &["t", "row", "f:q"]);
    assert!(becomes(|| file.metadata().unwrap().nlink() == 0));
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o755);
}

/// The kernel knows what the newest version's own name leads to.
#[test]
fn mount_what_is_done_to_the_newest_version_by_its_own_name_shows_at_once() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    for n in 0..30 {
        let path = family.join(format!("q{n}"));
        fs::write(&path, "first").unwrap();
        std::thread::sleep(Duration::from_millis(3));
        fs::write(&path, "second long").unwrap();
        let newest = suffixed(&path, &format!("@{}", names(&suffixed(&path, "@")).iter().max().unwrap()));
        assert_eq!(fs::metadata(&path).unwrap().len(), 11);
        set_mode(&newest, 0o600);
        assert_eq!(mode(&path), 0o600, "round {n}");
        assert_eq!(fs::metadata(&path).unwrap().len(), 11);
        fs::rename(&newest, family.join(format!("o{n}"))).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 5, "round {n}");
    }
}

/// As a restore does that finds another version of that time.
#[test]
fn mount_an_open_version_is_read_on_when_another_is_renamed_over_it_in_the_history() {
    let fixture = Fixture::new();
    fixture.family("r");
    let family = fixture.mnt().join(".history/default/t/r/f");
    fs::create_dir_all(&family).unwrap();
    let version = family.join("q@5");
    fs::write(&version, vec![b'o'; 20_000]).unwrap();
    let held = File::open(&version).unwrap();
    fs::write(family.join(".q@5.CCCCCC"), "new").unwrap();
    fs::rename(family.join(".q@5.CCCCCC"), &version).unwrap();
    run(&fixture, "flush", &[]);
    run(&fixture, "compact", &["t", "--major"]);
    let mut bytes = [0; 5];
    assert_eq!(held.read_at(&mut bytes, 15_000).unwrap(), 5);
    assert_eq!((&bytes, &*fs::read(&version).unwrap()), (b"ooooo", b"new".as_slice()));
}
