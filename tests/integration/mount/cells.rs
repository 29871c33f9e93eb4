//! Reading and writing cells.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use super::fixture::{Fixture, history, names, suffixed};

#[test]
fn mount_write_is_one_version_a_close() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    let mut file = File::create(&cell).unwrap();
    for piece in ["one ", "two ", "three"] {
        file.write_all(piece.as_bytes()).unwrap();
        file.sync_all().unwrap();
    }
    let copy = file.try_clone().unwrap();
    drop(copy);
    drop(file);
    assert_eq!(history(&cell), ["one two three"]);
    fs::write(&cell, "four").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "four");
    assert_eq!(history(&cell), ["one two three", "four"]);
}

#[test]
fn mount_other_handles_see_bytes_before_the_commit() {
    let Some(fixture) = Fixture::alone() else { return };
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "old").unwrap();
    let mut writer = OpenOptions::new().write(true).truncate(true).open(&cell).unwrap();
    writer.write_all(b"new bytes").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "new bytes");
    assert_eq!(fs::metadata(&cell).unwrap().len(), 9);
    // Not by another process: starting one closes its copies of our files, and each close(2) commits.
    assert_eq!(super::model::stored(fixture.backend().as_ref(), "r", "q").unwrap(), b"old");
    drop(writer);
    assert_eq!(history(&cell), ["old", "new bytes"]);
}

#[test]
fn mount_append_truncate_and_write_in_place() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "hello").unwrap();
    OpenOptions::new().append(true).open(&cell).unwrap().write_all(b" world").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "hello world");
    OpenOptions::new().write(true).open(&cell).unwrap().write_all_at(b"J", 0).unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "Jello world");
    let file = OpenOptions::new().write(true).open(&cell).unwrap();
    file.set_len(5).unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "Jello");
    nix::unistd::truncate(&cell, 7).unwrap();
    assert_eq!(fs::read(&cell).unwrap(), b"Jello\0\0");
    assert_eq!(history(&cell), ["hello", "hello world", "Jello world", "Jello", "Jello\0\0"]);
}

#[test]
fn mount_concurrent_appends_keep_all_bytes() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("log");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let cell = &cell;
            scope.spawn(move || {
                for line in 0..50 {
                    let mut file = OpenOptions::new().append(true).create(true).open(cell).unwrap();
                    file.write_all(format!("{writer}-{line}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(&cell).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 200);
}

#[test]
fn mount_appends_keep_what_others_append_meanwhile() {
    let Some(fixture) = Fixture::alone() else { return };
    let cell = fixture.family("r").join("log");
    let append = |text: &[u8]| super::model::append(fixture.backend().as_ref(), "r", "log", text);
    let open = || OpenOptions::new().append(true).create(true).open(&cell).unwrap();
    let mut file = open();
    file.write_all(b"one ").unwrap();
    append(b"socket ");
    file.write_all(b"two ").unwrap();
    drop(file);
    assert_eq!(history(&cell), ["socket ", "socket one two "], "a file that was not there when it was opened");
    let mut file = open();
    file.write_all(b"three ").unwrap();
    file.sync_all().unwrap();
    append(b"between ");
    file.write_all(b"four").unwrap();
    file.sync_all().unwrap();
    let all = "socket one two three between four";
    assert_eq!(fs::read_to_string(&cell).unwrap(), all);
    drop(file);
    assert_eq!(fs::read_to_string(&cell).unwrap(), all);
    assert_eq!(history(&cell).len(), 5, "{:?}", history(&cell));
    // Written in place: the whole value counts.
    let file = OpenOptions::new().write(true).open(&cell).unwrap();
    file.write_all_at(b"SOCKET", 0).unwrap();
    let mut more = open();
    more.write_all(b"!").unwrap();
    drop(file);
    drop(more);
    assert_eq!(fs::read_to_string(&cell).unwrap(), "SOCKET one two three between four!");
}

#[test]
fn mount_appends_through_the_mount_and_the_socket_at_once_lose_nothing() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("log");
    std::thread::scope(|scope| {
        for who in 0..2 {
            let (cell, fixture) = (&cell, &fixture);
            scope.spawn(move || {
                for n in 0..50 {
                    let mut file = OpenOptions::new().append(true).create(true).open(cell).unwrap();
                    file.write_all(format!("mount {who} {n}\n").as_bytes()).unwrap();
                }
            });
            scope.spawn(move || {
                let backend = fixture.backend();
                for n in 0..50 {
                    super::model::append(backend.as_ref(), "r", "log", format!("socket {who} {n}\n").as_bytes());
                }
            });
        }
    });
    let text = fs::read_to_string(&cell).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 200, "{text}");
    assert_eq!(text.lines().count(), 200, "nothing is there twice");
    assert_eq!(super::model::stored(fixture.backend().as_ref(), "r", "log").unwrap(), text.as_bytes());
}

#[test]
fn mount_empty_files_are_empty_values() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    File::create(family.join("touched")).unwrap();
    fs::write(family.join("q"), "text").unwrap();
    OpenOptions::new().write(true).truncate(true).open(family.join("q")).unwrap();
    assert_eq!(names(&family), ["q", "touched"]);
    assert_eq!(fs::metadata(family.join("touched")).unwrap().len(), 0);
    // The commit of a handle that only truncated may come shortly after close(2).
    let emptied = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        history(&family.join("q")) == ["text", ""]
    });
    assert!(emptied, "{:?}", history(&family.join("q")));
}

#[test]
fn mount_versions_are_read_and_written_by_timestamp() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@1416300000123"), "then").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "then");
    let metadata = fs::metadata(&cell).unwrap();
    assert_eq!((metadata.mtime(), metadata.mtime_nsec(), metadata.len()), (1_416_300_000, 123_000_000, 4));
    fs::write(&cell, "now").unwrap();
    fs::write(suffixed(&cell, "@5"), "long ago").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "now");
    assert_eq!(fs::read_to_string(suffixed(&cell, "@5")).unwrap(), "long ago");
    assert_eq!(history(&cell), ["long ago", "then", "now"]);
    assert_eq!(names(cell.parent().unwrap()), ["q"]);
}

#[test]
fn mount_unlink_keeps_the_history_and_a_later_write_goes_on() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "one").unwrap();
    fs::remove_file(&cell).unwrap();
    assert!(!cell.exists());
    assert_eq!(history(&cell), ["one"]);
    fs::write(&cell, "two").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "two");
    let versions = names(&suffixed(&cell, "@"));
    fs::remove_file(suffixed(&cell, &format!("@{}", versions[0]))).unwrap();
    assert!(!cell.exists(), "the version before it was deleted, too");
}

#[test]
fn mount_unlinking_a_version_shows_the_one_before() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@10"), "ten").unwrap();
    fs::write(suffixed(&cell, "@20"), "twenty").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "twenty");
    fs::remove_file(suffixed(&cell, "@20")).unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "ten");
}

/// Of a file that nobody has opened since its attributes were set the kernel believes what it was told then.
#[test]
fn mount_stat_tells_at_once_of_the_version_before_one_that_is_removed() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..50 {
        let cell = family.join(format!("q{n}"));
        fs::write(suffixed(&cell, "@10"), "ten").unwrap();
        fs::write(suffixed(&cell, "@20"), "twenty").unwrap();
        fs::set_permissions(&cell, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(fs::metadata(&cell).unwrap().len(), 6);
        fs::remove_file(suffixed(&cell, "@20")).unwrap();
        assert_eq!(fs::metadata(&cell).unwrap().len(), 3, "{n}");
        fs::write(family.join("new"), "thirty!").unwrap();
        fs::rename(family.join("new"), suffixed(&cell, "@30")).unwrap();
        assert_eq!(fs::metadata(&cell).unwrap().len(), 7, "{n}");
    }
}

#[test]
fn mount_open_file_outlives_its_name() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "kept").unwrap();
    let mut file = OpenOptions::new().read(true).write(true).open(&cell).unwrap();
    fs::remove_file(&cell).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "kept");
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(b"K").unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert!(!cell.exists());
    assert_eq!(history(&cell), ["kept"]);
}

#[test]
fn mount_mtime_is_kept_beside_the_version() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "text").unwrap();
    let version = names(&suffixed(&cell, "@"));
    let past = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    File::open(&cell).unwrap().set_modified(past).unwrap();
    assert_eq!(fs::metadata(&cell).unwrap().modified().unwrap(), past);
    assert_eq!(names(&suffixed(&cell, "@")), version);
    let before_epoch = SystemTime::UNIX_EPOCH - Duration::new(5, 250);
    let file = File::create(&cell).unwrap();
    (&file).write_all(b"other").unwrap();
    file.set_modified(before_epoch).unwrap();
    drop(file);
    assert_eq!(fs::metadata(&cell).unwrap().modified().unwrap(), before_epoch);
    assert_eq!(history(&cell), ["text", "other"]);
}

#[test]
fn mount_large_values_and_holes() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("large");
    let file = File::create(&cell).unwrap();
    let pattern = |n: u64| (n % 251) as u8;
    let bytes: Vec<u8> = (0..5_000_000).map(pattern).collect();
    file.write_all_at(&bytes, 1 << 20).unwrap();
    file.set_len(40 << 20).unwrap();
    drop(file);
    let read = fs::read(&cell).unwrap();
    assert_eq!(read.len(), 40 << 20);
    assert_eq!(&read[1 << 20..][..bytes.len()], bytes);
    assert!(read[..1 << 20].iter().all(|b| *b == 0) && read[(1 << 20) + bytes.len()..].iter().all(|b| *b == 0));
    let mut piece = [0; 1000];
    File::open(&cell).unwrap().read_exact_at(&mut piece, (1 << 20) + 70_000).unwrap();
    assert_eq!(piece[..], bytes[70_000..71_000]);
}

#[test]
fn mount_shared_memory_maps_commit() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("mapped");
    fs::write(&cell, vec![b'a'; 10_000]).unwrap();
    let script = "import mmap,sys\nf=open(sys.argv[1],'r+b')\nm=mmap.mmap(f.fileno(),0)\nm[5000:5003]=b'XYZ'\nm.flush()\nm.close()\nf.close()\n";
    let python = std::process::Command::new("python3").args(["-c", script]).arg(&cell).status();
    if python.is_err() {
        println!("skipped: there is no python3 on this machine");
        return;
    }
    assert!(python.unwrap().success());
    let bytes = fs::read(&cell).unwrap();
    assert_eq!((&bytes[4999..5004], bytes.len()), (&b"aXYZa"[..], 10_000));
}

#[test]
fn mount_history_waits_for_files_that_are_just_being_closed() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..100 {
        let cell = family.join(format!("q{n}"));
        // Nothing is written: the commit comes with the RELEASE, after close(2) has returned.
        drop(fs::File::create(&cell).unwrap());
        assert_eq!(names(&super::fixture::suffixed(&cell, "@")).len(), 1, "{n}");
        drop(fs::File::create(&cell).unwrap());
        let column = format!("q{n}");
        assert_eq!(super::model::stored(fixture.backend().as_ref(), "r", &column).as_deref(), Some(&b""[..]), "{n}");
    }
}

#[test]
fn mount_an_open_file_outlives_its_cell() {
    let Some(fixture) = Fixture::alone() else { return };
    let family = fixture.family("r");
    for flushed in [false, true] {
        let cell = family.join("q");
        fs::write(&cell, "0123456789").unwrap();
        if flushed {
            fixture.backend().flush(None).unwrap();
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&cell).unwrap();
        super::model::delete(fixture.backend().as_ref(), "r", "q");
        assert_eq!(file.metadata().unwrap().len(), 10);
        file.write_all_at(b"X", 5).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "01234X6789");
        fs::write(&cell, "another").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&cell).unwrap(), "another");
        fs::remove_file(&cell).unwrap();
    }
    assert!(names(&family).is_empty());
}

#[test]
fn mount_a_raised_ttl_brings_back_what_had_expired() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    fs::write(fixture.path("t/.schema/f/TTL"), "1").unwrap();
    while cell.exists() {
        std::thread::yield_now();
    }
    fs::write(fixture.path("t/.schema/f/TTL"), "FOREVER").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "v");
}

#[test]
fn mount_the_mtime_stays_at_the_close_of_a_file_that_is_made_where_one_was_just_removed() {
    let fixture = Fixture::new();
    let path = fixture.family("r").join("q");
    for _ in 0..200 {
        let mut file = File::create(&path).unwrap();
        file.write_all(b"v").unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        drop(file);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
        fs::remove_file(&path).unwrap();
    }
}

/// `make` takes a time that lies ahead for clock skew.
#[test]
fn mount_no_mtime_is_later_than_the_clock_was_at_the_write() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let store = fixture.store();
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    let is_now = |path: &std::path::Path| {
        let metadata = fs::metadata(path).unwrap();
        let at = metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000;
        let now = now();
        assert!(at <= now && now - at < 600_000, "{}: {at}, and it is {now}", path.display());
    };
    // Written faster than the clock goes.
    for n in 0..50 {
        fs::write(family.join("q"), n.to_string()).unwrap();
    }
    is_now(&family.join("q"));
    is_now(&fixture.path("t/r/.json"));
    let ahead = now() + 3_600_000;
    fs::write(suffixed(&family.join("given"), &format!("@{ahead}")), "x").unwrap();
    is_now(&family.join("given"));
    is_now(&suffixed(&family.join("given"), &format!("@{ahead}")));
    is_now(&fixture.path("t/r/.json"));
    let put = format!("put 't', 's', 'f:q', 'v', {}", i64::MAX - 1);
    assert!(fixture.cellfs(&["shell", "-e", &put, store.to_str().unwrap()]).status.success());
    is_now(&fixture.path("t/s/f/q"));
    is_now(&fixture.path("t/s/.json"));
    // One that is set stays.
    let later = SystemTime::now() + Duration::from_secs(3600);
    File::open(family.join("q")).unwrap().set_modified(later).unwrap();
    assert_eq!(fs::metadata(family.join("q")).unwrap().modified().unwrap(), later);
}
