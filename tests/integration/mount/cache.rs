//! The kernel's caches never show what is not so any more.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fixture::{Fixture, names};
use super::model::{delete, put};

#[test]
fn mount_shows_what_the_command_line_put_at_once() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let backend = fixture.backend();
    for n in 0..200 {
        let value = format!("value {n}");
        put(backend.as_ref(), "r", "q", value.as_bytes());
        assert_eq!(fs::read_to_string(family.join("q")).unwrap(), value);
    }
}

/// Long and short in turn: bytes of one version with the length of another would be a value that never was.
fn value_of(n: usize) -> String {
    if n.is_multiple_of(2) { format!("{n}") } else { format!("{n} and more") }
}

#[test]
fn mount_shows_what_its_other_files_wrote_at_once() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let cell = family.join("q");
    let meta = |path: &std::path::Path| fs::metadata(path).unwrap().len() as usize;
    for n in 1..400 {
        let value = value_of(n);
        if n < 200 {
            fs::write(family.join(format!("q@{n}")), &value).unwrap();
        } else {
            fs::write(fixture.path("t/r/.json"), format!(r#"{{"f:q": "{value}"}}"#)).unwrap();
        }
        assert_eq!((meta(&cell), fs::read_to_string(&cell).unwrap()), (value.len(), value));
    }
}

#[test]
fn mount_shows_one_version_at_a_time_to_readers_beside_writers_elsewhere() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    let backend = fixture.backend();
    put(backend.as_ref(), "r", "q", value_of(0).as_bytes());
    // What was open before the first change is read through its pages, which have one size for all.
    assert_eq!(fs::read_to_string(&cell).unwrap(), value_of(0));
    put(backend.as_ref(), "r", "q", value_of(0).as_bytes());
    let done = AtomicBool::new(false);
    let read = || {
        let mut reads = 0;
        while !done.load(Ordering::Relaxed) {
            let text = fs::read_to_string(&cell).unwrap();
            let number = text.split(' ').next().unwrap().parse();
            assert_eq!(number.map(value_of).as_ref(), Ok(&text), "after {reads} reads");
            reads += 1;
        }
    };
    std::thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        for n in 0..3000 {
            put(backend.as_ref(), "r", "q", value_of(n).as_bytes());
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn mount_forgets_that_a_name_was_absent() {
    let fixture = Fixture::new();
    let backend = fixture.backend();
    for n in 0..100 {
        let (row, cell) = (format!("row{n}"), format!("t/row{n}/f/q"));
        assert!(!fixture.path(&cell).exists());
        put(backend.as_ref(), &row, "q", b"v");
        assert_eq!(fs::read(fixture.path(&cell)).unwrap(), b"v");
        assert!(!fixture.path(&format!("t/{row}/f/second")).exists());
        put(backend.as_ref(), &row, "second", b"w");
        assert_eq!(fs::read(fixture.path(&format!("t/{row}/f/second"))).unwrap(), b"w");
        delete(backend.as_ref(), &row, "q");
        assert!(!fixture.path(&cell).exists());
        assert_eq!(names(&fixture.path(&format!("t/{row}/f"))), ["second"]);
    }
}

#[test]
fn mount_forgets_that_a_name_was_absent_which_programs_hold() {
    let fixture = Fixture::new();
    let (backend, store) = (fixture.backend(), fixture.store());
    let (row, family, cell) = (fixture.path("t/r"), fixture.path("t/r/f"), fixture.path("t/r/f/q"));
    let held_at_each_level: [&[_]; 4] = [&[&cell], &[&family], &[&row], &[&row, &family, &cell]];
    for held in held_at_each_level {
        for absent in [&cell, &family, &row] {
            put(backend.as_ref(), "r", "q", b"before");
            assert_eq!(fs::read(&cell).unwrap(), b"before");
            let holders: Vec<_> = held.iter().map(|path| fs::File::open(path).unwrap()).collect();
            assert!(fixture.cellfs(&["deleteall", store.to_str().unwrap(), "t", "r"]).status.success());
            assert!(!absent.exists(), "{held:?} held, {absent:?} deleted");
            put(backend.as_ref(), "r", "q", b"after");
            assert_eq!(fs::read(&cell).unwrap(), b"after", "{held:?} held, {absent:?} absent");
            drop(holders);
        }
    }
}

#[test]
fn mount_forgets_that_a_table_was_absent_which_programs_hold() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let (table, cell) = (fixture.path("made"), fixture.path("made/r/f/q"));
    let well = |args: &[&str]| assert!(fixture.cellfs(args).status.success(), "{args:?}");
    well(&["create", "--make", store, "made", "f"]);
    well(&["put", store, "made", "r", "f:q", "v"]);
    for held in [&table, &cell] {
        let holder = fs::File::open(held).unwrap();
        well(&["drop", store, "made"]);
        assert!(!table.exists());
        well(&["undrop", store, "made"]);
        assert_eq!(fs::read(&cell).unwrap(), b"v", "{held:?} held");
        drop(holder);
    }
}

#[test]
fn mount_sees_tables_come_and_go() {
    let fixture = Fixture::new();
    let store = fixture.store();
    assert!(!fixture.path("made").exists());
    assert!(fixture.cellfs(&["create", "--make", store.to_str().unwrap(), "made", "f"]).status.success());
    assert!(fixture.path("made").is_dir());
    assert!(fixture.cellfs(&["drop", store.to_str().unwrap(), "made"]).status.success());
    assert!(!fixture.path("made").exists());
}

/// How many requests of a kind were made.
fn requests(fixture: &Fixture, kind: &str) -> u64 {
    let text = fs::read_to_string(fixture.mnt().join(".info/requests")).unwrap();
    let mut counts = text.lines().filter_map(|line| line.split_once(' '));
    counts.find(|(name, _)| *name == kind).map_or(0, |(_, count)| count.parse().unwrap())
}

/// Whoever reads between writes has the pages that they have filled; who asks for the time of the last one is told it.
#[test]
fn mount_pages_of_a_file_that_is_written_are_kept() {
    let Some(mut fixture) = Fixture::alone() else { return };
    let cell = fixture.family("r").join("q");
    fs::write(&cell, vec![0; 512 << 10]).unwrap();
    // Nobody has it open any more: a child of another test may for a moment.
    fixture.remount();
    let file = File::options().read(true).write(true).open(&cell).unwrap();
    let mut page = vec![0; 4096];
    (0..128).for_each(|at| file.read_exact_at(&mut page, at * 4096).unwrap());
    let reads = requests(&fixture, "read");
    for round in 0..200_u64 {
        file.write_all_at(&round.to_be_bytes(), round % 128 * 4096).unwrap();
        file.read_exact_at(&mut page, round * 7 % 128 * 4096).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(requests(&fixture, "read") - reads < 30);
    let told = |file: &File| file.metadata().unwrap().modified().unwrap();
    let mut before = told(&file);
    for round in 0..50_u64 {
        file.write_all_at(&round.to_be_bytes(), 0).unwrap();
        let now = told(&file);
        assert!(std::mem::replace(&mut before, now) < now);
        file.read_exact_at(&mut page, 0).unwrap();
        assert_eq!(page[..8], round.to_be_bytes());
    }
    drop(file);
    assert_eq!(fs::metadata(&cell).unwrap().modified().unwrap(), before, "the close changes nothing");
}

#[test]
fn mount_warm_reads_cost_no_more_messages_than_open_and_release() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    assert_eq!(fs::read(&cell).unwrap(), b"v");
    let count = |name| requests(&fixture, name);
    let (reads, flushes, getattrs) = (count("read"), count("close"), count("getattr"));
    for _ in 0..100 {
        fs::read(&cell).unwrap();
        fs::metadata(&cell).unwrap();
    }
    // Reading the counters is itself a few reads of their own file.
    assert!(count("read") - reads <= 8, "pages are kept over opens");
    assert_eq!(count("close"), flushes, "readers send no FLUSH");
    assert!(count("getattr") - getattrs < 20, "attributes are kept");
}

#[test]
fn mount_expiry_becomes_visible_when_it_happens() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(fixture.path("t/.schema/f/TTL"), "1").unwrap();
    fs::write(&cell, "short-lived").unwrap();
    assert_eq!(fs::read(&cell).unwrap(), b"short-lived");
    let gone = (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !cell.exists()
    });
    assert!(gone && names(&fixture.path("t")).iter().all(|row| row == "r"));
}

#[test]
fn mount_a_ttl_set_as_attribute_ends_the_version() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "short-lived").unwrap();
    let set = "import os,sys; os.setxattr(sys.argv[1], 'user.cellfs.ttl', b'3000')";
    let python = Command::new("python3").args(["-c", set]).arg(&cell).status();
    if python.is_err() {
        println!("skipped: there is no python3 on this machine");
        return;
    }
    assert!(python.unwrap().success());
    assert!(cell.exists());
    fixture.backend().flush(None).unwrap();
    let gone = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !cell.exists()
    });
    assert!(gone);
    let table = cellfs::model::TableName::parse("t").unwrap();
    fixture.backend().compact(&table, None, cellfs::backend::CompactionKind::Major).unwrap();
    assert!(!cell.exists());
    assert_eq!(super::model::stored(fixture.backend().as_ref(), "r", "q"), None);
}

#[test]
fn mount_frees_the_name_of_a_cell_that_expired_by_a_ttl_that_was_set_on_it() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let cell = family.join("q");
    let set = "import os,sys; os.setxattr(sys.argv[1], 'user.cellfs.ttl', b'300')";
    fs::write(&cell, "a").unwrap();
    assert!(cell.exists());
    assert!(Command::new("python3").args(["-c", set]).arg(&cell).status().unwrap().success());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while fs::read(&cell).is_ok() {
        assert!(std::time::Instant::now() < deadline, "it expires");
    }
    fs::write(&cell, "b").unwrap();
    assert_eq!(fs::read_to_string(&cell).unwrap(), "b");
}

#[test]
fn mount_finds_names_again_that_a_change_of_the_whole_table_brings_back() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "v").unwrap();
    assert!(fixture.cellfs(&["snapshot", "create", store, "s"]).status.success());
    fs::remove_file(&cell).unwrap();
    assert!(!cell.exists());
    let restored = fixture.cellfs(&["snapshot", "restore", store, "s", "t"]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_eq!(fs::read_to_string(&cell).unwrap(), "v");

    let hidden = cell.with_file_name("hidden");
    let script = "delete 't','r','f:hidden',100\nput 't','r','f:hidden','there',50\n";
    let file = fixture.directory.path().join("script");
    fs::write(&file, script).unwrap();
    assert!(fixture.cellfs(&["alter", store, "t", "f,NEW_VERSION_BEHAVIOR=false"]).status.success());
    assert!(fixture.cellfs(&["shell", store, file.to_str().unwrap()]).status.success());
    let before = hidden.exists();
    fs::write(fixture.path("t/.schema/f/NEW_VERSION_BEHAVIOR"), "true").unwrap();
    assert!(hidden.exists(), "it was there before: {before}");
}
