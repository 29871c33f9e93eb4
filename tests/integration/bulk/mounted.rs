//! The same through a mount: commands that ask its daemon, and the files that take streams.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use crate::mount::fixture::{Fixture, errno, names};

fn errors(fixture: &Fixture) -> String {
    fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap()
}

fn csv(rows: usize) -> String {
    let lines = (0..rows).map(|row| format!("r{row:06},{row},\"v,\n{row}\"\n"));
    "HBASE_ROW_KEY,f:a,f:b\n".to_owned() + &lines.collect::<String>()
}

#[test]
fn mount_import_and_export_by_commands_are_what_they_are_unmounted() {
    let fixture = Fixture::new();
    let file = |name: &str| fixture.directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(file("in.csv"), csv(20_000)).unwrap();
    let store = fixture.store().to_str().unwrap().to_owned();
    let seen = fixture.path("t/r000007/f/a");
    assert!(!seen.exists());
    let done = |args: &[&str]| {
        let output = fixture.cellfs(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    done(&["import", &store, "t", &file("in.csv")]);
    assert_eq!(fs::read_to_string(&seen).unwrap(), "7", "what was said to be absent is there");
    done(&["export", &store, "t", "-o", &file("out.csv")]);
    assert!(fs::read_to_string(file("out.csv")).unwrap() == csv(20_000));
    // A timestamp that runs ahead of the clock would have the clock's time beside it, in each cell.
    done(&["export", &store, "t", "--limit", "1", "-o", &file("out.jsonl")]);
    let cell = fs::read_to_string(file("out.jsonl")).unwrap();
    assert!(cell.contains("timestamp") && !cell.contains("mtime"), "{cell}");
    // A long value goes to the daemon in parts.
    let long = "x".repeat(3 << 20);
    fs::write(file("long.jsonl"), format!("{{\"row\":\"long\",\"f:a\":\"{long}\",\"f:b\":\"1\"}}\n")).unwrap();
    done(&["import", &store, "t", &file("long.jsonl")]);
    assert!(fs::read_to_string(fixture.path("t/long/f/a")).unwrap() == long);
    // Deleted versions, with the times of their ends.
    fs::remove_file(fixture.path("t/r000007/f/a")).unwrap();
    done(&["export", "--history", &store, "t", "--prefix", "r000007", "-o", &file("history.jsonl")]);
    let history = fs::read_to_string(file("history.jsonl")).unwrap();
    assert!(history.lines().count() == 2 && history.contains("\"deleted\":"), "{history}");
}

/// Else the kernel shows what it has kept, for as long as it may; and what was made is forgotten.
#[test]
fn mount_shows_what_a_large_import_has_changed_and_keeps_what_was_made() {
    let fixture = Fixture::new();
    let import = |of: &str| {
        let lines = (0..6000).map(|row| format!("r{row:05},{of}{}\n", "x".repeat(900)));
        fs::write(fixture.path("t/.import/csv"), format!("HBASE_ROW_KEY,f:q\n{}", lines.collect::<String>())).unwrap();
    };
    import("old");
    let made = fixture.path("t/zempty/f");
    fs::create_dir_all(&made).unwrap();
    let closed = fixture.path("t/r00003");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let read = |row: &str| fs::read_to_string(fixture.path(&format!("t/{row}/f/q"))).unwrap();
    // Later than what is read past the kernel's pages because it was just changed.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(read("r05000").starts_with("oldx"));
    import("newer");
    assert!(read("r05000").starts_with("newerx"));
    assert_eq!(fs::metadata(fixture.path("t/r05000/f/q")).unwrap().len(), 905);
    assert!(made.is_dir());
    assert_eq!(fs::metadata(&closed).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn mount_import_files_take_streams() {
    let fixture = Fixture::new();
    let import = |format: &str| fixture.path("t/.import").join(format);
    let meta = fs::metadata(import("csv")).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o200));
    assert_eq!(names(&fixture.path("t/.import")), ["csv", "csv,keep-empty", "jsonl", "tsv", "tsv,keep-empty"]);
    assert!(!names(&fixture.path("t")).contains(&".import".to_owned()), "listed nowhere");
    assert_eq!(errno(fs::read(import("csv"))), libc::EACCES);
    assert_eq!(errno(fs::metadata(import("parquet"))), libc::ENOENT);
    assert_eq!(errno(fs::metadata(fixture.path("t/.prefix/r/.import/csv"))), libc::ENOENT);
    assert_eq!(errno(fs::metadata(fixture.path("t/.at/-1h/.import/csv"))), libc::ENOENT);
    let file = fixture.directory.path().join("in.csv");
    fs::write(&file, csv(30_000)).unwrap();
    let shell = |script: &str| {
        let status = Command::new("sh").arg("-c").arg(script).arg(&file).arg(fixture.path("t")).status().unwrap();
        assert!(status.success(), "{script}");
    };
    for script in [
        "cat \"$0\" > \"$1/.import/csv\"",
        "cp \"$0\" \"$1/.import/csv\"",
        "dd if=\"$0\" of=\"$1/.import/csv\" bs=7000 status=none",
    ] {
        shell(script);
        assert_eq!(fs::read_to_string(fixture.path("t/.count")).unwrap(), "30000\n", "{script}");
        assert!(fs::read_to_string(fixture.path("t/.export/csv")).unwrap() == csv(30_000), "{script}");
        fixture
            .backend()
            .alter_from(Default::default(), &|_| {
                let name = cellfs::model::TableName::parse("t").unwrap();
                Ok(cellfs::model::CatalogueChange::TruncateTable { name })
            })
            .unwrap();
    }
    shell("printf 'HBASE_ROW_KEY,f:a,f:b\\nempty,,1\\n' > \"$1/.import/csv\"");
    assert_eq!(names(&fixture.path("t/empty/f")), ["b"]);
    shell("printf 'HBASE_ROW_KEY,f:a,f:b\\nempty,,1\\n' > \"$1/.import/csv,keep-empty\"");
    assert_eq!(names(&fixture.path("t/empty/f")), ["a", "b"]);
    assert_eq!(fs::read_to_string(fixture.path("t/empty/f/a")).unwrap(), "");
    // Several programs that write to one opening, and one that appends.
    shell("{ printf 'HBASE_ROW_KEY\\tf:a\\n'; printf 'one\\t'; printf '1\\ntwo\\t2'; } > \"$1/.import/tsv\"");
    assert_eq!(fs::read_to_string(fixture.path("t/two/f/a")).unwrap(), "2", "the last line needs no end");
    shell("printf '{\"row\":\"three\",\"f:a\":3}\\n' >> \"$1/.import/jsonl\"");
    assert_eq!(fs::read_to_string(fixture.path("t/three/f/a")).unwrap(), "3");
    assert_eq!(fs::read_to_string(fixture.path("t/one/f/a")).unwrap(), "1");
    // It is said, once nobody can write the rest of it: a program's end of the one above was in the middle of a line.
    let began = std::time::Instant::now();
    while !errors(&fixture).contains("/t/.import/tsv release: line 3, the last one, has no line feed at its end") {
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{}", errors(&fixture));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(errors(&fixture).matches("no line feed").count(), 1, "{}", errors(&fixture));
}

#[test]
fn mount_import_refuses_a_bad_line_at_the_write_and_says_where_it_is() {
    let Some(fixture) = Fixture::alone() else { return };
    let mut file = File::create(fixture.path("t/.import/csv")).unwrap();
    file.write_all(b"HBASE_ROW_KEY,f:a,HBASE_TS_KEY\nr1,1,5\nr2,2,").unwrap();
    assert_eq!(errno(file.write_all(b"soon\nr3,3,5\n")), libc::EINVAL);
    assert!(errors(&fixture).contains("line 3, column 3: `soon` is no timestamp"), "{}", errors(&fixture));
    assert_eq!(errno(file.write_all(b"r4,4,5\n")), libc::EINVAL, "nothing behind it is taken");
    let said = errors(&fixture);
    assert!(said.lines().last().is_some_and(|newest| newest.contains("line 3, column 3")), "{said}");
    drop(file);
    assert_eq!(names(&fixture.path("t")), ["r1"]);
    // A stream that ends in the middle.
    let mut file = File::create(fixture.path("t/.import/jsonl")).unwrap();
    file.write_all(b"{\"row\":\"whole\",\"f:a\":\"1\"}\n{\"row\":\"cut\",\"f:a\":\"1").unwrap();
    assert_eq!(errno(nix::unistd::close(file).map_err(std::io::Error::from)), libc::EINVAL);
    assert!(errors(&fixture).contains("line 2, column"), "{}", errors(&fixture));
    assert_eq!(names(&fixture.path("t")), ["r1", "whole"]);
    // Without names nothing can be read; a family that is missing is told with the way to make it.
    assert_eq!(errno(fs::write(fixture.path("t/.import/tsv"), "r\t1\n")), libc::EINVAL);
    assert_eq!(errno(fs::write(fixture.path("t/.import/tsv"), "HBASE_ROW_KEY\th:a\n")), libc::EINVAL);
    assert!(errors(&fixture).contains("cellfs alter STORE t h"), "{}", errors(&fixture));
    let file = File::options().write(true).open(fixture.path("t/.import/tsv")).unwrap();
    let written = std::os::unix::fs::FileExt::write_at(&file, b"x", 10);
    assert_eq!(errno(written), libc::EINVAL, "it is a stream");
}

#[test]
fn mount_import_takes_nothing_behind_a_close_that_has_left_lines_out() {
    let Some(fixture) = Fixture::alone() else { return };
    let store = fixture.store().to_str().unwrap().to_owned();
    let made = fixture.cellfs(&["create-check", &store, "t", "f", "number", "--columns", "n", "--type", "i64"]);
    assert!(made.status.success(), "{made:?}");
    let mut file = File::create(fixture.path("t/.import/csv")).unwrap();
    // A program of several that write to one opening has ended.
    let close = |file: &File| nix::unistd::close(file.try_clone().unwrap()).map_err(std::io::Error::from);
    file.write_all(b"HBASE_ROW_KEY,f:n\nr1,1\nr2,-").unwrap();
    assert_eq!(errno(close(&file)), libc::EINVAL, "a line that is none yet");
    file.write_all(b"2\nr3,soon\nr4,4\n").unwrap();
    assert_eq!(errno(close(&file)), libc::EINVAL);
    assert_eq!(errno(file.write_all(b"r5,5\n")), libc::EINVAL, "or r4 would lack in the midst");
    drop(file);
    assert_eq!(names(&fixture.path("t")), ["r1", "r2"]);
    let said = errors(&fixture);
    assert!(
        said.lines().last().is_some_and(|newest| newest.contains("line 4") && newest.contains("open it")),
        "{said}"
    );
}

#[test]
fn mount_import_of_many_lines_holds_little_memory() {
    let fixture = Fixture::new();
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", fixture.daemon_pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
    };
    let mut file = File::create(fixture.path("t/.import/tsv")).unwrap();
    file.write_all(b"HBASE_ROW_KEY\tf:a\n").unwrap();
    let rows = 200_000;
    for start in (0..rows).step_by(1000) {
        let value = "v".repeat(300);
        let lines: String = (start..start + 1000).map(|row| format!("r{row:07}\t{value}\n")).collect();
        file.write_all(lines.as_bytes()).unwrap();
    }
    drop(file);
    assert_eq!(fs::read_to_string(fixture.path("t/.count")).unwrap(), format!("{rows}\n"));
    // Memtables and caches have their own bounds; the stream had 60 MB.
    println!("{} MB at the most", resident());
    assert!(resident() < 600, "{} MB", resident());
}

/// A namespace with the tables `live` and `stage`, and an import into `live`.
fn with_import() -> (Fixture, PathBuf, File) {
    let fixture = Fixture::empty();
    let root = fixture.mnt().join("n");
    for table in ["live", "stage"] {
        fs::create_dir_all(root.join(table).join(".schema/f")).unwrap();
    }
    let file = File::create(root.join("live/.import/jsonl")).unwrap();
    (fixture, root, file)
}

fn count(table: &Path) -> String {
    fs::read_to_string(table.join(".count")).unwrap().trim().to_owned()
}

fn exchange(one: &Path, other: &Path) {
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE).unwrap();
}

#[test]
fn mount_an_import_goes_on_in_its_table_whatever_that_is_called() {
    // A batch; and more than is put through the log.
    for (rows, value) in [(300, "v".to_owned()), (4000, "v".repeat(1000))] {
        let (fixture, root, mut file) = with_import();
        let mut write = |part: usize| {
            let line = |row| format!("{{\"row\":\"{part}-{row:05}\",\"f:a\":\"{value}\"}}\n");
            (0..rows).for_each(|row| file.write_all(line(row).as_bytes()).unwrap());
        };
        write(1);
        // Another table takes the name.
        fs::rename(root.join("live"), root.join("old")).unwrap();
        fs::create_dir_all(root.join("live/.schema/f")).unwrap();
        assert_eq!(count(&root.join("old")), rows.to_string(), "what was written before is there");
        write(2);
        exchange(&root.join("old"), &root.join("stage"));
        write(3);
        let renamed = fixture.mnt().join("m");
        fs::rename(&root, &renamed).unwrap();
        write(4);
        drop(file);
        let counts = ["live", "old", "stage"].map(|table| count(&renamed.join(table)));
        assert_eq!(counts, ["0", "0", &(4 * rows).to_string()]);
    }
}

#[test]
fn mount_an_import_asks_for_families_of_its_table_whatever_that_is_called() {
    let (_fixture, root, mut file) = with_import();
    fs::rename(root.join("live"), root.join("old")).unwrap();
    fs::create_dir_all(root.join("live/.schema/other")).unwrap();
    fs::create_dir(root.join("old/.schema/new")).unwrap();
    file.write_all(b"{\"row\":\"1\",\"new:a\":\"1\"}\n{\"row\":\"2\",\"f:a\":\"2\"}\n").unwrap();
    assert_eq!(errno(file.write_all(b"{\"row\":\"3\",\"other:a\":\"3\"}\n")), libc::EINVAL);
    drop(file);
    assert_eq!([count(&root.join("live")), count(&root.join("old"))], ["0", "2"]);
}

#[test]
fn mount_an_import_into_a_table_that_is_replaced_is_refused() {
    let (fixture, root, mut file) = with_import();
    fs::rename(root.join("stage"), root.join("live")).unwrap();
    assert_eq!(errno(file.write_all(b"{\"row\":\"r\",\"f:a\":\"1\"}\n")), libc::ESTALE);
    assert!(errors(&fixture).contains("another table was renamed over"), "{}", errors(&fixture));
    drop(file);
    assert_eq!(count(&root.join("live")), "0");
}

/// What was taken of a stream is in its table, which is not empty then.
#[test]
fn mount_a_table_into_which_a_stream_goes_is_replaced_by_none() {
    let (_fixture, root, mut file) = with_import();
    file.write_all(b"{\"row\":\"r\",\"f:a\":\"1\"}\n").unwrap();
    assert_eq!(errno(fs::rename(root.join("stage"), root.join("live"))), libc::ENOTEMPTY);
    file.write_all(b"{\"row\":\"s\",\"f:a\":\"2\"}\n").unwrap();
    drop(file);
    assert_eq!(count(&root.join("live")), "2");
}

#[test]
fn mount_an_export_is_of_the_table_where_it_was_opened() {
    use std::io::Read;
    let (_fixture, root, mut file) = with_import();
    file.write_all(b"{\"row\":\"r\",\"f:a\":\"live\"}\n").unwrap();
    drop(file);
    let mut open = File::open(root.join("live/.export/csv")).unwrap();
    exchange(&root.join("live"), &root.join("stage"));
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "HBASE_ROW_KEY,f:a\nr,live\n");
    let mut of_other = String::new();
    File::open(root.join("live/.export/csv")).unwrap().read_to_string(&mut of_other).unwrap();
    assert_eq!(of_other, "HBASE_ROW_KEY\n");
}
