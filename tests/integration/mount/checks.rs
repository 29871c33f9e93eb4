//! Constraints on a real mount: declared as directories, from the command line and in the shell, and refused on every way
//! in.

use std::fs;
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::fixture::{Fixture, errno, history, names};

fn declare(fixture: &Fixture, name: &str, attributes: &[(&str, &str)]) {
    let dir = fixture.path("t/.schema/f/.check").join(name);
    fs::create_dir(&dir).unwrap();
    for (attribute, text) in attributes {
        fs::write(dir.join(attribute), format!("{text}\n")).unwrap();
    }
}

fn errors(fixture: &Fixture) -> String {
    fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap()
}

fn cellfs(fixture: &Fixture, command: &str, rest: &[&str]) -> (Option<i32>, String) {
    let store = fixture.store();
    let output = fixture.cellfs(&[&[command, store.to_str().unwrap()], rest].concat());
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// What write(2) and close(2) say of a new file.
fn written(path: &Path, bytes: &[u8]) -> (i32, i32) {
    let mut file = fs::File::create(path).unwrap();
    let wrote = file.write_all(bytes).err().and_then(|e| e.raw_os_error()).unwrap_or(0);
    let closed = nix::unistd::close(file.into_raw_fd()).err().map_or(0, |e| e as i32);
    (wrote, closed)
}

/// A file of which nothing was stored goes when the kernel has let go of it.
fn await_gone(path: &Path) {
    let began = Instant::now();
    while path.exists() {
        assert!(began.elapsed() < Duration::from_secs(10), "{}: nothing of it is stored", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A file that was refused shows what is stored once the kernel has let go of it, after the close.
fn await_text(path: &Path, text: &str) {
    let began = Instant::now();
    while fs::read_to_string(path).unwrap() != text {
        assert!(began.elapsed() < Duration::from_secs(10), "{}: what was refused is there", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn mount_a_check_refuses_what_breaks_it_at_write_or_close() {
    let fixture = Fixture::new();
    let family = fixture.family("u1");
    declare(&fixture, "age", &[("columns", "age"), ("type", "i64"), ("length", "..4")]);
    declare(&fixture, "doc", &[("columns", "doc"), ("type", "json")]);
    declare(&fixture, "city", &[("columns", "city"), ("type", "regex:[A-Z][a-z]+")]);
    for (name, bytes, wanted) in [
        ("age", b"12x".as_slice(), (libc::EINVAL, libc::EINVAL)),
        ("age", b"12345", (libc::EINVAL, libc::EINVAL)),
        ("age", b"-\n", (libc::EINVAL, libc::EINVAL)),
        ("age", b"-", (0, libc::EINVAL)),
        ("doc", b"{\"a\": ]", (libc::EINVAL, libc::EINVAL)),
        ("doc", b"{\"a\": 1", (0, libc::EINVAL)),
        ("city", b"bonn", (0, libc::EINVAL)),
    ] {
        assert_eq!(written(&family.join(name), bytes), wanted, "{name} {bytes:?}");
        await_gone(&family.join(name));
    }
    let said = errors(&fixture);
    assert!(said.contains("check city of family f, table t: row u1, f:city: `bonn` does not match"), "{said}");
    for (name, text) in [("age", "42\n"), ("doc", "{\"a\": [1]}\n"), ("city", "Bonn\n"), ("other", "any")] {
        fs::write(family.join(name), text).unwrap();
    }
    let mut log = fs::OpenOptions::new().append(true).open(family.join("doc")).unwrap();
    assert_eq!(errno(log.write_all(b"}")), libc::EINVAL);
    drop(log);
    assert_eq!(errno(fs::write(fixture.path("t/u1/.json"), r#"{"f:age": "x", "f:new": "y"}"#)), 0);
    assert_eq!(errno(fs::metadata(family.join("new"))), libc::ENOENT, "the whole step is refused");
    // mv(1) takes EINVAL for a directory that is to go into itself.
    assert_eq!(errno(fs::rename(family.join("other"), family.join("age"))), libc::EPERM);
    assert_eq!(fs::read_to_string(family.join("age")).unwrap(), "42\n");
    // No counter: it has three bytes.
    assert_eq!(errno(fs::write(fixture.path("t/u1/f/age@counter"), "+5")), libc::EINVAL);
    assert_eq!(fs::read_to_string(family.join("age")).unwrap(), "42\n");
    // What was deleted before the check does not come back past it.
    fs::write(family.join("free"), "text").unwrap();
    fs::remove_file(family.join("free")).unwrap();
    declare(&fixture, "free", &[("columns", "free"), ("type", "u64")]);
    let (status, said) = cellfs(&fixture, "undelete", &["t/u1/f/free"]);
    assert!(status == Some(1) && said.contains("a counter (u64) has 8"), "{status:?} {said}");
    let (status, said) = cellfs(&fixture, "append", &["t", "u1", "f:age", "7x"]);
    assert!(status == Some(2) && said.contains("check age"), "{status:?} {said}");
}

#[test]
fn mount_a_check_is_a_directory_of_small_files() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r1").join("age"), "old").unwrap();
    let dir = fixture.path("t/.schema/f/.check");
    assert!(!names(&fixture.path("t/.schema/f")).contains(&".check".to_owned()), "there is none");
    declare(&fixture, "age", &[("columns", "age")]);
    let wrong = fs::File::create(dir.join("age/length")).unwrap().write_all(b"many\n");
    assert_eq!(errno(wrong), libc::EINVAL);
    // Where a shell looks; a line that may go on is judged when it is known to be whole.
    assert_eq!(written(&dir.join("age/type"), b"i64\n"), (libc::EINVAL, libc::EINVAL));
    assert_eq!(written(&dir.join("age/type"), b"i64"), (0, libc::EINVAL));
    let said = errors(&fixture);
    assert!(said.contains("nothing is changed") && said.contains("row r1, f:age: `old` is no whole number"), "{said}");
    assert_eq!(names(&dir.join("age")), ["columns"]);
    fs::write(fixture.family("r1").join("age"), "1").unwrap();
    fs::write(dir.join("age/type"), "i64\n").unwrap();
    assert_eq!(names(&dir.join("age")), ["columns", "type"]);
    assert!(names(&fixture.path("t/.schema/f")).contains(&".check".to_owned()));
    let described = fs::read_to_string(fixture.path("t/.info/describe")).unwrap();
    assert!(described.contains("{NAME => 'age', FAMILY => 'f', COLUMNS => 'age', TYPE => 'i64'}"), "{described}");
    assert_eq!(errno(fs::create_dir(dir.join("age"))), libc::EEXIST);
    assert_eq!(errno(fs::create_dir(dir.join("a b"))), libc::EINVAL);
    assert_eq!(errno(fs::create_dir(dir.join("age/x"))), libc::EPERM);
    fs::remove_dir_all(dir.join("age")).unwrap();
    assert_eq!(errno(fs::write(fixture.family("r1").join("age"), "any")), 0);
    declare(&fixture, "age", &[("columns", "other"), ("type", "i64")]);
    fs::remove_dir_all(fixture.path("t/.schema/f")).unwrap();
    assert_eq!(cellfs(&fixture, "undrop", &["t", "f"]).0, Some(0));
    assert_eq!(errno(fs::write(fixture.path("t/r1/f/other"), "x")), libc::EINVAL, "it came back with its family");
}

#[test]
fn mount_checks_are_copied_with_a_schema_and_come_back_from_backups() {
    let fixture = Fixture::new();
    fs::write(fixture.family("a").join("name"), "Ada").unwrap();
    fs::write(fixture.family("a").join("age"), "36").unwrap();
    declare(&fixture, "age", &[("columns", "age"), ("type", "i64")]);
    declare(&fixture, "whole", &[("required", "f:name"), ("length", "1..")]);
    fs::create_dir_all(fixture.path("u/.schema/f")).unwrap();
    let copy = Command::new("cp").arg("-r").arg(fixture.path("t/.schema/.")).arg(fixture.path("u/.schema/")).output();
    let copy = copy.unwrap();
    assert!(copy.status.success(), "{}", String::from_utf8_lossy(&copy.stderr));
    assert_eq!(names(&fixture.path("u/.schema/f/.check")), ["age", "whole"]);
    assert_eq!(fs::read_to_string(fixture.path("u/.schema/f/.check/whole/required")).unwrap(), "f:name\n");
    fs::create_dir_all(fixture.path("u/r/f")).unwrap();
    assert_eq!(written(&fixture.path("u/r/f/age"), b"1").1, libc::EINVAL, "without a name");
    fs::write(fixture.path("u/r/f/name"), "Bo").unwrap();
    fs::write(fixture.path("u/r/f/age"), "1").unwrap();
    let backup = fixture.directory.path().join("backup");
    let rsync = |from: &Path, to: &Path| {
        let output = Command::new("rsync").args(["-aX", "-i"]).arg(from.join("")).arg(to.join("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    rsync(&fixture.mnt().join(".history"), &backup);
    let other = Fixture::empty();
    rsync(&backup, &other.mnt().join(".history"));
    assert_eq!(rsync(&backup, &other.mnt().join(".history")), "", "a second run copies nothing");
    assert_eq!(fs::read_to_string(other.path("u/r/f/age")).unwrap(), "1");
    assert_eq!(written(&other.path("t/a/f/age"), b"x").0, libc::EINVAL);
}

#[test]
fn mount_command_line_and_shell_make_and_drop_checks() {
    let mut fixture = Fixture::new();
    for (row, age) in [("a", "1"), ("b", "two"), ("c", "3")] {
        fs::write(fixture.family(row).join("age"), age).unwrap();
    }
    let (status, said) = cellfs(&fixture, "create-check", &["t", "f", "age", "--columns", "age", "--type", "i64"]);
    assert!(status == Some(2) && said.contains("row b, f:age: `two`"), "{said}");
    assert!(!fixture.path("t/.schema/f/.check/age").exists());
    fs::write(fixture.family("b").join("age"), "2").unwrap();
    let (status, said) = cellfs(&fixture, "create-check", &["t", "f", "age", "--columns", "age", "--type", "i64"]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(cellfs(&fixture, "create-check", &["t", "f", "age", "--type", "i64"]).1.contains("exists"));
    assert!(cellfs(&fixture, "create-check", &["t", "f", "x", "--columns", "q"]).1.contains("asks for something"));
    assert!(cellfs(&fixture, "create-check", &["t", "g", "x", "--type", "i64"]).1.contains("family g of table t"));
    let described = cellfs(&fixture, "describe", &["t"]).1;
    assert!(described.contains("  check age of f columns=age type=i64"), "{described}");
    let file = fixture.directory.path().join("people.csv");
    fs::write(&file, "HBASE_ROW_KEY,f:age\nd,4\ne,five\ng,6\n").unwrap();
    let (status, said) = cellfs(&fixture, "import", &["t", file.to_str().unwrap(), "--on-error", "skip"]);
    assert!(status == Some(1) && said.contains("line 3") && said.contains("`five` is no whole number"), "{said}");
    assert_eq!(names(&fixture.path("t")), ["a", "b", "c", "d", "g"]);
    fixture.kill();
    fixture.mount("");
    assert!(cellfs(&fixture, "put", &["t", "a", "f:age", "x"]).1.contains("check age"), "it was kept");
    let shell = |line: &str| cellfs(&fixture, "shell", &["-e", line]).1;
    let said =
        shell("alter 't', NAME => 'f', CHECK => {NAME => 'mail', COLUMNS => 'mail', TYPE => 'regex:[^@]+@[^@]+'}");
    assert!(said.contains("1/1 regions updated"), "{said}");
    let said = shell("put 't', 'a', 'f:mail', 'none'");
    assert!(said.contains("DoNotRetryIOException") && said.contains("check mail of family f"), "{said}");
    let said = shell("put 't', 'a', 'f:mail', 'a@b'\ndescribe 't'");
    assert!(said.contains("{NAME => 'mail', FAMILY => 'f', COLUMNS => 'mail'"), "{said}");
    shell("alter 't', NAME => 'f', METHOD => 'delete_check', CHECK => 'mail'");
    assert!(!shell("put 't', 'a', 'f:mail', 'none'").contains("check"));
    assert!(shell("alter 't', NAME => 'f', METHOD => 'delete_check', CHECK => 'mail'").contains("it has age"));
    assert_eq!(cellfs(&fixture, "drop-check", &["t", "f", "age"]).0, Some(0));
    assert!(cellfs(&fixture, "drop-check", &["t", "f", "age"]).1.contains("it has none"));
}

#[test]
fn mount_a_shell_that_writes_what_a_check_takes_is_refused_nothing() {
    let fixture = Fixture::new();
    let family = fixture.family("r1");
    declare(&fixture, "age", &[("columns", "new,empty"), ("type", "i64")]);
    let shell = |script: &str| Command::new("sh").args(["-c", script]).current_dir(&family).status().unwrap();
    assert!(shell("echo 12 > new").success());
    assert_eq!((fs::read_to_string(family.join("new")).unwrap().as_str(), errors(&fixture).as_str()), ("12\n", ""));
    shell(": > empty");
    await_gone(&family.join("empty"));
    let said = errors(&fixture);
    let (uid, line) = (nix::unistd::getuid(), said.lines().next().unwrap_or_default());
    assert!(line.contains(&format!("uid={uid} ")) && !line.contains("pid=0 "), "{said}");
    assert!(line.contains("/r1/f/empty release: ") && line.contains("is no whole number"), "{said}");
}

#[test]
fn mount_rm_of_a_check_or_an_index_drops_it_whole() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("text"), "any").unwrap();
    let (checks, indexes) = (fixture.path("t/.schema/f/.check"), fixture.path("t/.schema/.index"));
    declare(&fixture, "j", &[("columns", "age"), ("type", "i64"), ("length", "..4")]);
    fs::create_dir(indexes.join("i")).unwrap();
    fs::write(indexes.join("i/columns"), "f:age\n").unwrap();
    fs::write(indexes.join("i/include"), "f:text\n").unwrap();
    // Its columns alone do not go, or it would be of `text` too.
    assert_eq!(errno(fs::remove_file(checks.join("j/columns"))), libc::EPERM);
    assert!(errors(&fixture).contains("would be of all columns of family f"), "{}", errors(&fixture));
    // Some names go, and the directory stays: the check holds on, and after the mount it is as it was.
    let script = "import os, sys\nd = os.open(sys.argv[1], os.O_RDONLY)\n\
                  for name in sys.argv[2:]: os.unlink(name, dir_fd=d)";
    let python = Command::new("python3").args(["-c", script]).arg(checks.join("j")).args(["type", "columns"]).status();
    assert!(python.unwrap().success());
    assert_eq!(written(&fixture.path("t/r/f/age"), b"x").0, libc::EINVAL);
    let mut fixture = fixture;
    fixture.remount();
    assert_eq!(names(&checks.join("j")), ["columns", "length", "type"]);
    for dir in [checks.join("j"), indexes.join("i")] {
        let rm = Command::new("rm").arg("-r").arg(&dir).output().unwrap();
        assert!(rm.status.success(), "{}", String::from_utf8_lossy(&rm.stderr));
        assert_eq!(errno(fs::metadata(&dir)), libc::ENOENT);
    }
    fs::write(fixture.path("t/r/f/age"), "any text").unwrap();
    declare(&fixture, "j", &[("columns", "other"), ("type", "i64")]);
    assert_eq!(names(&checks.join("j")), ["columns", "type"], "nothing is hidden of a new one");
}

/// As on any filesystem: what an open file holds so far is its own.
#[test]
fn mount_a_directory_moves_whatever_a_check_says_of_its_open_files() {
    let fixture = Fixture::new();
    declare(&fixture, "doc", &[("columns", "doc,old"), ("type", "json")]);
    let family = fixture.family("r");
    fs::write(family.join("old"), "[1]").unwrap();
    let begin = |name: &str| {
        let mut file = fs::File::create(fixture.path("t/r/f").join(name)).unwrap();
        file.write_all(b"{\"a\":").unwrap();
        file
    };
    let close = |file: fs::File| nix::unistd::close(file.into_raw_fd()).err().map_or(0, |e| e as i32);
    // What becomes right is stored, wherever the file is by then.
    let mut file = begin("doc");
    let root = fixture.mnt();
    for (from, to) in [("default/t/r", "default/t/r2"), ("default/t", "n/t"), ("n", "n2"), ("n2/t", "default/t")] {
        fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
        fs::rename(root.join(from), root.join(to)).unwrap_or_else(|e| panic!("{to}: {e}"));
    }
    file.write_all(b"1}").unwrap();
    assert_eq!(close(file), 0);
    let moved = fixture.path("t/r2/f");
    assert_eq!(fs::read_to_string(moved.join("doc")).unwrap(), "{\"a\":1}");
    assert_eq!(history(&moved.join("old")), ["[1]"]);
    // What does not is told by the close.
    fs::rename(fixture.path("t/r2"), fixture.path("t/r")).unwrap();
    for (name, left) in [("doc", "{\"a\":1}"), ("old", "[1]")] {
        let file = begin(name);
        fs::rename(fixture.path("t/r"), fixture.path("t/r2")).unwrap();
        assert_eq!(close(file), libc::EINVAL, "{name}");
        await_text(&moved.join(name), left);
        assert_eq!(history(&moved.join(name)), [left]);
        fs::rename(fixture.path("t/r2"), fixture.path("t/r")).unwrap();
    }
    fs::remove_file(family.join("doc")).unwrap();
    let file = begin("doc");
    fs::rename(fixture.path("t/r"), fixture.path("t/r2")).unwrap();
    assert_eq!(close(file), libc::EINVAL);
    await_gone(&moved.join("doc"));
    assert_eq!(names(&moved), ["old"]);
    assert_eq!(names(&fixture.path("t")), ["r2"]);
}
