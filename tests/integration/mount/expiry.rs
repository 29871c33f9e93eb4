//! What expires vanishes from every look at the mount, though the kernel keeps names, attributes and pages.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::fixture::{Fixture, errno, names, suffixed};

/// A cell that lives for so many milliseconds, as the command line puts it.
fn put_for(fixture: &Fixture, row: &str, qualifier: &str, value: &str, ttl: &str) {
    let store = fixture.store();
    let column = format!("f:{qualifier}");
    let output = fixture.cellfs(&["put", store.to_str().unwrap(), "t", row, &column, value, "--ttl", ttl]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Looks again and again until it is so.
fn becomes(mut so: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        so()
    })
}

fn is_absent(path: &Path) -> bool {
    let error = fs::metadata(path).err();
    error.is_some_and(|e| e.raw_os_error() == Some(libc::ENOENT))
}

#[test]
fn mount_a_cell_vanishes_with_its_row_when_its_ttl_is_over() {
    let fixture = Fixture::new();
    let (table, row) = (fixture.path("t"), fixture.path("t/row"));
    let cell = row.join("f/q");
    assert!(is_absent(&cell), "the kernel knows that it is absent");
    put_for(&fixture, "row", "q", "short-lived", "700");
    // Everything is looked at, so that all of it is in the kernel's caches.
    assert_eq!(fs::read_to_string(&cell).unwrap(), "short-lived");
    assert_eq!(
        (names(&table), names(&row), names(&row.join("f"))),
        (vec!["row".into()], vec!["f".into()], vec!["q".into()])
    );
    assert!(fs::metadata(&row).unwrap().is_dir() && fs::metadata(row.join("f")).unwrap().is_dir());
    assert!(becomes(|| is_absent(&cell)));
    assert!(fs::read(&cell).is_err());
    assert!(is_absent(&row.join("f")) && is_absent(&row), "directories end with their last cell");
    assert!(names(&table).is_empty());
    put_for(&fixture, "row", "q", "again", "100000");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "again");
    assert_eq!(names(&row.join("f")), ["q"]);
}

#[test]
fn mount_the_version_before_shows_again_when_a_newer_one_expires() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    let cell = family.join("q");
    fs::write(&cell, "older").unwrap();
    put_for(&fixture, "row", "q", "newer", "500");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "newer");
    let held = fs::File::open(&cell).unwrap();
    assert!(becomes(|| fs::read_to_string(&cell).unwrap() == "older"), "pages of the expired version are kept");
    assert_eq!(names(&family), ["q"]);
    drop(held);
}

#[test]
fn mount_the_version_before_is_read_though_it_has_the_length_and_the_mtime_of_the_expired_one() {
    let fixture = Fixture::new();
    let (family, store) = (fixture.family("row"), fixture.store());
    let shell = |script: &str| {
        let output = std::process::Command::new("sh").args(["-c", script]).current_dir(&family).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("echo old > q; touch -d @1000000 q; sleep 0.05; echo new > q; touch -d @1000000 q");
    assert_eq!(shell("setfattr -n user.cellfs.ttl -v 1500 q; cat q"), "new\n");
    let held = fs::File::open(family.join("q")).unwrap();
    let stored = || fixture.cellfs(&["get", "--value", store.to_str().unwrap(), "t", "row", "f:q"]).stdout;
    assert!(becomes(|| stored().starts_with(b"old")));
    assert_eq!(shell("cat q; cp q copy; cat copy"), "old\nold\n");
    let mut text = [0; 4];
    assert!(becomes(|| std::os::unix::fs::FileExt::read_at(&held, &mut text, 0).unwrap() == 4 && text == *b"old\n"));
}

#[test]
fn mount_directories_of_a_family_that_gets_a_ttl_vanish_too() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let put = fixture.cellfs(&["put", store.to_str().unwrap(), "t", "row", "f:q", "v"]);
    assert!(put.status.success());
    let row = fixture.path("t/row");
    assert!(fs::metadata(row.join("f/q")).unwrap().is_file() && fs::metadata(&row).unwrap().is_dir());
    fs::write(fixture.path("t/.schema/f/TTL"), "1").unwrap();
    assert!(becomes(|| is_absent(&row.join("f/q"))));
    assert!(becomes(|| is_absent(&row)));
}

#[test]
fn mount_shows_what_a_compaction_uncovers_in_a_classic_family() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let shell = |statement: &str| {
        let output = fixture.cellfs(&["shell", store.to_str().unwrap(), "-n", "-e", statement]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    };
    shell("create 'c', 'f'");
    shell("put 'c', 'r', 'f:q', 'covered', 1000");
    shell("deleteall 'c', 'r', 'f:q', 2000");
    shell("flush 'c'");
    let cell = fixture.path("c/r/f/q");
    assert!(is_absent(&cell));
    shell("put 'c', 'r', 'f:q', 'hidden by what was deleted before', 1500");
    assert!(is_absent(&cell));
    shell("major_compact 'c'");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "hidden by what was deleted before");
}

fn attribute(fixture: &Fixture, ttl: &str) {
    let family = format!("f,TTL={ttl}");
    assert!(fixture.cellfs(&["alter", fixture.store().to_str().unwrap(), "t", &family]).status.success());
}

fn sleep_ms(ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
}

/// A TTL counts from when something was written.
#[test]
fn mount_a_file_that_is_written_for_longer_than_its_ttl_stays() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    attribute(&fixture, "4");
    let open = |name: &str| OpenOptions::new().create(true).append(name == "log").write(true).open(family.join(name));
    let (mut log, mut other) = (open("log").unwrap(), open("other").unwrap());
    let mut written = String::new();
    for n in 0..20 {
        written += &format!("{n}\n");
        for file in [&mut log, &mut other] {
            writeln!(file, "{n}").unwrap();
            file.sync_all().unwrap();
        }
        sleep_ms(300);
        for name in ["log", "other"] {
            assert_eq!(fs::read_to_string(family.join(name)).unwrap(), written, "{name}");
        }
    }
    assert!(becomes(|| names(&family).is_empty()), "it expires once nobody writes");
    assert_eq!(log.metadata().unwrap().nlink(), 0);
}

#[test]
fn mount_what_is_committed_long_after_it_was_written_lives_from_then_on() {
    let Some(fixture) = Fixture::alone() else { return };
    let family = fixture.family("row");
    attribute(&fixture, "2");
    let open = |name: &str| OpenOptions::new().create(true).append(name == "log").write(true).open(family.join(name));
    let names_of = ["log", "other"];
    let mut files = names_of.map(|name| open(name).unwrap());
    files.iter_mut().for_each(|file| file.write_all(b"one\n").unwrap());
    let mtimes = || names_of.map(|name| fs::metadata(family.join(name)).unwrap().modified().unwrap());
    let written = mtimes();
    sleep_ms(3000);
    files.into_iter().for_each(|file| nix::unistd::close(file).unwrap());
    assert_eq!(mtimes(), written, "the close is no write");
    sleep_ms(1000);
    assert_eq!(names_of.map(|name| fs::read_to_string(family.join(name)).unwrap()), ["one\n"; 2]);
    assert!(becomes(|| names(&family).is_empty()));
}

/// Nobody has removed it.
#[test]
fn mount_what_is_written_to_a_file_that_has_expired_makes_it_anew() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    let open = |name: &str| OpenOptions::new().create(true).append(name == "log").write(true).open(family.join(name));
    attribute(&fixture, "3");
    let named = ["log", "other", "gone", "replaced", "deleted", "dropped"];
    let mut files: Vec<_> = named.into_iter().map(|name| open(name).unwrap()).collect();
    for file in &mut files {
        file.write_all(b"one\n").unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        file.sync_all().unwrap();
    }
    // Nor does what others have removed by then come back.
    let store = fixture.store();
    let store = store.to_str().unwrap();
    assert!(fixture.cellfs(&["delete", store, "t", "row", "f:deleted"]).status.success());
    let at = fixture.cellfs(&["get", store, "t", "row", "f:dropped", "--json"]);
    let at = String::from_utf8(at.stdout).unwrap().split("timestamp\":").nth(1).unwrap().to_owned();
    let at: String = at.chars().take_while(char::is_ascii_digit).collect();
    assert!(fixture.cellfs(&["delete", store, "t", "row", "f:dropped", &at]).status.success());
    assert!(becomes(|| names(&family).is_empty()));
    for file in &mut files[..3] {
        file.write_all(b"late\n").unwrap();
        file.sync_all().unwrap();
    }
    let read = |name: &str| fs::read_to_string(family.join(name)).unwrap();
    assert_eq!((read("log"), read("other")), ("late\n".to_owned(), "one\nlate\n".to_owned()));
    let mode = |name: &str| fs::metadata(family.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("log"), mode("other")), (0o600, 0o600));
    // What was removed since stays so.
    fs::remove_file(family.join("gone")).unwrap();
    files[2].write_all(b"later\n").unwrap();
    files[2].sync_all().unwrap();
    assert!(!family.join("gone").exists());
    for file in &mut files[4..] {
        file.write_all(b"late\n").unwrap();
        file.sync_all().unwrap();
    }
    assert!(!family.join("deleted").exists() && !family.join("dropped").exists());
    // Another's bytes are not written over, by who knows that it has expired.
    assert_eq!(files[3].metadata().unwrap().nlink(), 0);
    fs::write(family.join("replaced"), "another's").unwrap();
    files[3].write_all(b"late\n").unwrap();
    assert_eq!(errno(files[3].sync_all()), libc::ESTALE);
    assert_eq!(read("replaced"), "another's");
    // What is written on is in it, and behind what others append.
    fs::OpenOptions::new().append(true).open(family.join("log")).unwrap().write_all(b"of another\n").unwrap();
    for file in &mut files[..2] {
        file.write_all(b"last\n").unwrap();
    }
    drop(files);
    assert_eq!(read("log"), "late\nof another\nlast\n");
    assert_eq!(read("other"), "one\nlate\nlast\n");
}

/// Directories may vanish by themselves from then on, but who works in one is still there.
#[test]
fn mount_who_works_in_a_directory_stays_there_when_a_cell_gets_a_ttl() {
    let fixture = Fixture::new();
    let family = fixture.family("row");
    fs::write(family.join("q"), "v").unwrap();
    let script = "setfattr -n user.cellfs.ttl -v 5000000 q && sleep 0.3 && pwd -P && ls";
    let told = Command::new("bash").args(["-ec", script]).current_dir(&family).output().unwrap();
    let said = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success() && said == format!("{}\nq\n", family.display()), "{said} {:?}", told.stderr);
    let script = "\"$0\" alter \"$1\" t f,VERSIONS=7; \"$0\" put \"$1\" t row f:p v --ttl 400; sleep 0.2; pwd -P; ls";
    let store = fixture.store();
    let mut told = Command::new("bash");
    told.args(["-ec", script, super::fixture::CELLFS, store.to_str().unwrap()]);
    let told = told.current_dir(&family).output().unwrap();
    let said = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success() && said == format!("{}\np\nq\n", family.display()), "{said} {:?}", told.stderr);
    assert!(becomes(|| names(&family) == ["q"]));
}

#[test]
fn mount_a_ttl_of_a_file_without_a_name_ends_nothing_that_is_stored() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "kept").unwrap();
    let script = "import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.unlink(sys.argv[1])
os.setxattr(fd, 'user.cellfs.ttl', b'1')";
    assert!(Command::new("python3").args(["-c", script]).arg(&cell).status().unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(names(&fixture.mnt().join(".history/default/t/r/f")).len(), 1, "it is deleted, and kept");
}

/// With the cell `f:q` of two hours ago in the row `t/r`, and families with a TTL of a minute in `t` and `short`.
fn with_an_old_cell() -> Fixture {
    let fixture = Fixture::new();
    for family in ["short/.schema/f", "t/.schema/g"] {
        fs::create_dir_all(fixture.path(family)).unwrap();
        fs::write(fixture.path(family).join("TTL"), "60").unwrap();
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let timestamp = (now.as_millis() - 7_200_000).to_string();
    let store = fixture.store();
    let output = fixture.cellfs(&["put", store.to_str().unwrap(), "t", "r", "f:q", "precious", &timestamp]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fixture
}

#[test]
fn mount_what_is_older_than_a_ttl_moves_under_it_by_copying_or_stays() {
    let fixture = with_an_old_cell();
    let (from, to) = (fixture.path("t/r"), fixture.path("short/r"));
    assert_eq!(errno(fs::rename(&from, &to)), libc::EXDEV);
    assert_eq!(errno(fs::rename(from.join("f"), from.join("g"))), libc::EXDEV);
    for (from, to) in [(from.clone(), to.clone()), (from.join("f/q"), from.join("g/q"))] {
        let moved = fixture.cellfs(&["mv", from.to_str().unwrap(), to.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&moved.stderr);
        assert!(!moved.status.success() && said.contains("older than the TTL"), "{said}");
    }
    assert_eq!(fs::read_to_string(from.join("f/q")).unwrap(), "precious");
    assert!(Command::new("mv").args([&from, &to]).status().unwrap().success());
    assert_eq!(fs::read_to_string(to.join("f/q")).unwrap(), "precious");
    assert!(!from.exists());
}

#[test]
fn mount_a_version_that_would_not_show_is_not_moved_there() {
    let fixture = with_an_old_cell();
    let row = fixture.path("t/r");
    let stays = |from: &Path, to: &Path| {
        assert_eq!(errno(fs::rename(from, to)), libc::EPERM, "{}", to.display());
        assert!(fs::read_to_string(from).is_ok(), "{}", to.display());
    };
    fs::create_dir_all(row.join("g")).unwrap();
    stays(&row.join("f/q"), &row.join("g/q@77"));
    assert_eq!(errno(fs::write(row.join("g/x@20261122"), "copied")), libc::EINVAL);
    put_for(&fixture, "r", "own", "with a TTL", "3600000");
    stays(&row.join("f/own"), &row.join("f/own@20261122"));
    fs::create_dir_all(fixture.path("classic/.schema/f")).unwrap();
    fs::write(fixture.path("classic/.schema/f/NEW_VERSION_BEHAVIOR"), "false").unwrap();
    let cell = fixture.path("classic/r/f/q");
    fs::create_dir_all(cell.parent().unwrap()).unwrap();
    fs::write(&cell, "removed").unwrap();
    fs::remove_file(&cell).unwrap();
    stays(&row.join("f/q"), &suffixed(&cell, "@5"));
    fs::rename(row.join("f/q"), &cell).unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "precious");
}

/// What is being written stays its writer's until he commits it.
#[test]
fn mount_a_ttl_that_is_set_while_a_file_is_written_goes_with_its_commit() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    let script = "import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.write(fd, b'half')
os.setxattr(sys.argv[1], 'user.cellfs.ttl', b'1000000')
print(os.getxattr(sys.argv[1], 'user.cellfs.ttl').decode(), flush=True)
sys.stdin.readline()
os.write(fd, b' and half')
os.fsync(fd)
os.setxattr(sys.argv[1], 'user.cellfs.ttl', b'2000000')
os.write(fd, b' and the end')
os.close(fd)
print(os.getxattr(sys.argv[1], 'user.cellfs.ttl').decode(), flush=True)";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(&cell).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut writer = command.spawn().unwrap();
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "1000000");
    let store = fixture.store();
    let got = fixture.cellfs(&["get", "--value", store.to_str().unwrap(), "t", "r", "f:q"]);
    assert!(got.stdout.is_empty(), "{}", String::from_utf8_lossy(&got.stdout));
    writer.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "2000000");
    assert!(writer.wait().unwrap().success());
    assert_eq!(fs::read_to_string(&cell).unwrap(), "half and half and the end");
    assert_eq!(names(&fixture.path("t/r/f/q@")).len(), 1);
}
