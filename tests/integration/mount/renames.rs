//! Renames: history belongs to the name.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::fixture::{Fixture, errno, history, names, suffixed};

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> i32 {
    renameat2(AT_FDCWD, from, AT_FDCWD, to, flags).map_or_else(|e| e as i32, |()| 0)
}

#[test]
fn mount_rename_moves_the_newest_version_across_families_rows_and_tables() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("other/.schema/g")).unwrap();
    fs::create_dir_all(fixture.path("other/x/g")).unwrap();
    let (from, to) = (fixture.family("r").join("q"), fixture.path("other/x/g/moved"));
    fs::write(&to, "before").unwrap();
    fs::write(&from, "one").unwrap();
    fs::write(&from, "two").unwrap();
    fs::rename(&from, &to).unwrap();
    assert!(!from.exists());
    assert_eq!(fs::read_to_string(&to).unwrap(), "two");
    assert_eq!(history(&to), ["before", "two"]);
    assert_eq!(history(&from), ["one", "two"], "the old name keeps its history");
}

/// Of which the kernel has the bytes, or that it is not there.
#[test]
fn mount_a_rename_to_a_version_shows_under_the_own_name_of_the_column() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let new = family.join("new");
    for (name, old) in [("had", Some("old")), ("absent", None)] {
        let path = family.join(name);
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        fs::write(&new, "new").unwrap();
        fs::rename(&new, family.join(format!("{name}@9000000000000"))).unwrap();
        // The kernel hears of it behind the answer.
        let until = Instant::now() + Duration::from_secs(10);
        while fs::read_to_string(&path).ok().as_deref() != Some("new") {
            assert!(Instant::now() < until, "{name}: {:?}", fs::read_to_string(&path));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The kernel writes pages back while their file moves, with the notices of the change at the latest.
#[test]
fn mount_what_is_mapped_goes_on_in_a_row_family_or_table_that_moves() {
    const SCRIPT: &str = "\
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None)
for n in range(int(sys.argv[1])):
    for how in ('row', 'family', 'exchange', 'files'):
        keep = n % 2 == 0
        u, v = f'u{n}{how}', f'v{n}{how}'
        os.makedirs(f'{u}/r/f')
        os.makedirs(f'{v}/s/f' if how == 'row' else f'{v}/r/f')
        moved = f'{v}/r/f/a'
        if how == 'family':
            os.rmdir(f'{v}/r/f')
        if how == 'files':
            open(moved, 'wb').write(b'other')
        open(f'{u}/r/f/a', 'wb').write(b'start')
        fd = os.open(f'{u}/r/f/a', os.O_RDWR)
        pages = mmap.mmap(fd, 5)
        if not keep:
            os.close(fd)
        pages[0:1] = b'Q'
        exchange = lambda a, b: libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
        if how == 'row':
            os.rename(f'{u}/r', f'{v}/r')
        elif how == 'family':
            os.rename(f'{u}/r/f', f'{v}/r/f')
        elif how == 'exchange':
            exchange(u, v)
        else:
            exchange(f'{u}/r/f/a', moved)
        pages.flush()
        first = open(moved, 'rb').read()
        pages[0:1] = b'Z'
        pages.flush()
        then = open(moved, 'rb').read()
        if (first, then) != (b'Qtart', b'Ztart'):
            print(n, how, 'open' if keep else 'closed', first, then)
        pages.close()
        if keep:
            os.close(fd)
";
    let fixture = Fixture::new();
    let script = fixture.store().with_file_name("moves.py");
    fs::write(&script, SCRIPT).unwrap();
    let mut python = Command::new("python3");
    let said = python.arg(&script).arg("40").current_dir(fixture.path("")).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
}

#[test]
fn mount_what_is_made_and_removed_in_a_row_that_moves_is_so_wherever_it_is() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.path("u/r"), fixture.path("v/r"));
    fs::create_dir_all(one.join("f")).unwrap();
    fs::create_dir_all(fixture.path("v/s/f")).unwrap();
    let ended = AtomicBool::new(false);
    let either = |name: &str| [&one, &other].map(|row| row.join("f").join(name));
    let work = |writer: usize| {
        let mut there = BTreeSet::new();
        for n in 0..400 {
            let name = format!("{writer}-{n}");
            // It is at one of both places, and moves on between two looks.
            while !either(&name).iter().any(|path| fs::write(path, &name).is_ok()) {}
            // What could be opened is told of and read, wherever it is by then.
            if let Some(mut file) = either(&name).iter().find_map(|path| File::open(path).ok()) {
                let mut value = String::new();
                assert!(file.metadata().unwrap().len() > 0);
                std::io::Read::read_to_string(&mut file, &mut value).unwrap();
                assert_eq!(value, name);
            }
            there.insert(name);
            let old = format!("{writer}-{}", n / 2);
            if n % 2 == 0 && there.remove(&old) {
                while !either(&old).iter().any(|path| fs::remove_file(path).is_ok()) {}
            }
        }
        there
    };
    let expected: BTreeSet<String> = std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            let mut moves = 0;
            while !ended.load(Ordering::Relaxed) {
                fs::rename(&one, &other).unwrap();
                fs::rename(&other, &one).unwrap();
                moves += 2;
            }
            moves
        });
        let writers: Vec<_> = (0..3).map(|writer| scope.spawn(move || work(writer))).collect();
        let there = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        ended.store(true, Ordering::Relaxed);
        assert!(mover.join().unwrap() > 0);
        there
    });
    assert_eq!(names(&one.join("f")).into_iter().collect::<BTreeSet<_>>(), expected);
    for name in &expected {
        assert_eq!(fs::read_to_string(one.join("f").join(name)).unwrap(), *name);
    }
    assert!(!other.exists());
}

#[test]
fn mount_a_directory_that_moves_is_listed_whole_meanwhile() {
    let fixture = Fixture::new();
    let (one, other) = (fixture.path("u/r"), fixture.path("v/r"));
    fs::create_dir_all(one.join("f")).unwrap();
    fs::create_dir_all(fixture.path("v/s/f")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(one.join("f").join(name), "v").unwrap();
    }
    let dir = File::open(one.join("f")).unwrap();
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()));
    let ended = AtomicBool::new(false);
    let list = || {
        while !ended.load(Ordering::Relaxed) {
            assert_eq!(names(&by_descriptor), ["a", "b", "c"]);
        }
    };
    std::thread::scope(|scope| {
        let listers = [scope.spawn(list), scope.spawn(list)];
        for _ in 0..500 {
            fs::rename(&one, &other).unwrap();
            fs::rename(&other, &one).unwrap();
        }
        ended.store(true, Ordering::Relaxed);
        listers.into_iter().for_each(|lister| lister.join().unwrap());
    });
}

/// In a directory of more than one answer's names: the first answer tells all of each entry, later ones names and numbers.
#[test]
fn mount_a_listing_tells_the_numbers_that_renamed_files_have() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    (0..2500).for_each(|n| fs::write(family.join(format!("f{n:04}")), "v").unwrap());
    fs::rename(family.join("f2300"), family.join("f2400x")).unwrap();
    fs::write(family.join("f2300"), "another").unwrap();
    let open = File::open(family.join("f2350")).unwrap();
    fs::remove_file(family.join("f2350")).unwrap();
    fs::write(family.join("f2350"), "another").unwrap();
    let mut seen = BTreeSet::from([open.metadata().unwrap().ino()]);
    // Who looks at entries meanwhile is told all of the next ones too.
    let listed: Vec<_> = fs::read_dir(&family).unwrap().map(Result::unwrap).collect();
    for entry in listed {
        assert_eq!(entry.ino(), entry.metadata().unwrap().ino(), "{:?}", entry.file_name());
        assert!(seen.insert(entry.ino()), "{:?} has the number of another", entry.file_name());
    }
    assert_eq!(seen.len(), 2502);
}

#[test]
fn mount_a_temporary_file_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "one").unwrap();
    fs::write(family.join(".q.tmp"), "two").unwrap();
    fs::rename(family.join(".q.tmp"), family.join("q")).unwrap();
    assert_eq!(names(&family), ["q"]);
    assert_eq!(history(&family.join("q")), ["one", "two"]);
    assert!(!suffixed(&family.join(".q.tmp"), "@").exists());
}

#[test]
fn mount_a_temporary_name_that_is_used_again_leaves_nothing_each_time() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let (temporary, file) = (family.join("d.tmp"), family.join("d"));
    for n in 0..100 {
        fs::write(&temporary, format!("save {n}")).unwrap();
        if n % 3 == 0 {
            // A program may set the time, and write in two steps.
            File::options().append(true).open(&temporary).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        fs::rename(&temporary, &file).unwrap();
        if n % 10 == 0 || n == 1 {
            assert!(!suffixed(&temporary, "@").exists(), "after {} times", n + 1);
        }
    }
    for _ in 0..2 {
        let kept: Vec<String> = (0..100).map(|n| format!("save {n}")).collect();
        assert_eq!(history(&file), kept);
        let below = names(&fixture.mnt().join(".history/default/t/r/f"));
        assert!(below.iter().all(|name| name.starts_with("d@")), "{below:?}");
        assert!(!suffixed(&temporary, "@").exists());
        fixture.remount();
    }
    // What a temporary name once had besides is its history.
    fs::write(&temporary, "by hand").unwrap();
    fs::remove_file(&temporary).unwrap();
    fs::write(&temporary, "save").unwrap();
    fs::rename(&temporary, &file).unwrap();
    assert_eq!(history(&temporary), ["by hand", "save"]);
    // A name that is moved to a backup's and made anew has a past of its own.
    let (real, backup) = (family.join("real"), family.join("real~"));
    for n in 0..4 {
        fs::write(&real, format!("text {n}")).unwrap();
        fs::rename(&real, &backup).unwrap();
    }
    fs::write(&real, "text 4").unwrap();
    assert_eq!(history(&real), ["text 1", "text 2", "text 3", "text 4"]);
    // Also where its directory was moved away before.
    fs::rename(fixture.path("t/r"), fixture.path("t/moved")).unwrap();
    fs::create_dir_all(&family).unwrap();
    fs::write(&temporary, "anew").unwrap();
    fs::rename(&temporary, &file).unwrap();
    assert!(!suffixed(&temporary, "@").exists());
}

#[test]
fn mount_a_file_that_is_being_written_moves_with_what_is_written() {
    let Some(fixture) = Fixture::alone() else { return };
    let family = fixture.family("r");
    for (name, at_once) in [("a", true), ("b", false)] {
        let (old, new) = (family.join(name), family.join(format!("{name}.new")));
        fs::write(&old, "stored").unwrap();
        let mut open = OpenOptions::new().append(true).open(&old).unwrap();
        open.write_all(b", more").unwrap();
        fs::rename(&old, &new).unwrap();
        if !at_once {
            open.write_all(b" and more").unwrap();
        }
        let expected = if at_once { "stored, more" } else { "stored, more and more" };
        assert_eq!(fs::read_to_string(&new).unwrap(), expected);
        drop(open);
        assert_eq!(errno(fs::metadata(&old)), libc::ENOENT);
        assert_eq!(history(&new), [expected], "one version is what the file became");
        assert_eq!(history(&old), ["stored"], "the old name keeps what it had, and nothing else");
    }
    // Overwritten from the start, by a program that does not close.
    let (old, new) = (family.join("c"), family.join("c.new"));
    fs::write(&old, "one").unwrap();
    fs::write(&new, "before").unwrap();
    let mut open = File::create(&old).unwrap();
    open.write_all(b"two").unwrap();
    fs::rename(&old, &new).unwrap();
    open.write_all(b" three").unwrap();
    open.sync_all().unwrap();
    open.write_all(b" four").unwrap();
    drop(open);
    assert!(!old.exists());
    assert_eq!(history(&new), ["before", "two three four"]);
    assert_eq!(history(&old), ["one"]);
    // What a handle has committed itself before is the same file.
    let (old, new) = (family.join("d"), family.join("d.new"));
    let mut open = File::create(&old).unwrap();
    open.write_all(b"a").unwrap();
    open.sync_all().unwrap();
    open.write_all(b"b").unwrap();
    fs::rename(&old, &new).unwrap();
    drop(open);
    assert_eq!(history(&new), ["ab"]);
    assert!(!suffixed(&old, "@").exists());
}

#[test]
fn mount_a_file_that_is_written_and_renamed_all_the_time_is_at_one_name() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let done = AtomicBool::new(false);
    let (one, other) = (family.join("one"), family.join("other"));
    fs::write(&one, "").unwrap();
    std::thread::scope(|scope| {
        let (one, other, done) = (&one, &other, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                fs::rename(one, other).unwrap();
                fs::rename(other, one).unwrap();
            }
        });
        // The same file all the time, committed again and again.
        let mut open = loop {
            if let Ok(open) = OpenOptions::new().append(true).open(one) {
                break open;
            }
        };
        for n in 0..200 {
            open.write_all(format!("{n} ").as_bytes()).unwrap();
            open.sync_all().unwrap();
        }
        done.store(true, Ordering::Release);
    });
    let expected: String = (0..200).map(|n| format!("{n} ")).collect();
    assert_eq!(fs::read_to_string(&one).unwrap(), expected);
    assert_eq!(names(&family), ["one"]);
}

#[test]
fn mount_inode_numbers_stay_apart_after_a_rename() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let (q, backup) = (family.join("q"), family.join("q~"));
    fs::write(&q, "old").unwrap();
    let ino = fs::metadata(&q).unwrap().ino();
    fs::rename(&q, &backup).unwrap();
    fs::write(&q, "new").unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
    assert_eq!(fs::read_to_string(&q).unwrap(), "new");
    assert_eq!(fs::metadata(&backup).unwrap().ino(), ino);
    assert_ne!(fs::metadata(&q).unwrap().ino(), ino);
}

#[test]
fn mount_rename_flags() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let (a, b) = (family.join("a"), family.join("b"));
    fs::write(&a, "A").unwrap();
    fs::write(&b, "B").unwrap();
    assert_eq!(rename_with(&a, &b, RenameFlags::RENAME_NOREPLACE), libc::EEXIST);
    assert_eq!(rename_with(&a, &family.join("c"), RenameFlags::RENAME_NOREPLACE), 0);
    assert_eq!(rename_with(&family.join("c"), &b, RenameFlags::RENAME_EXCHANGE), 0);
    assert_eq!(fs::read_to_string(family.join("c")).unwrap(), "B");
    assert_eq!(fs::read_to_string(&b).unwrap(), "A");
    assert_eq!(rename_with(&b, &a, RenameFlags::RENAME_WHITEOUT), libc::EINVAL);
    assert_eq!(errno(fs::rename(family.join("none"), &a)), libc::ENOENT);
}

#[test]
fn mount_rename_to_and_from_a_timestamp() {
    let fixture = Fixture::new();
    let q = fixture.family("r").join("q");
    fs::write(&q, "value").unwrap();
    fs::rename(&q, suffixed(&q, "@77")).unwrap();
    assert_eq!(fs::read_to_string(suffixed(&q, "@77")).unwrap(), "value");
    assert_eq!(history(&q).last().unwrap(), "value");
    fs::rename(suffixed(&q, "@77"), suffixed(&q, "2")).unwrap();
    assert_eq!(fs::read_to_string(suffixed(&q, "2")).unwrap(), "value");
}

#[test]
fn mount_a_dirty_open_file_is_committed_at_its_new_name() {
    let Some(fixture) = Fixture::alone() else { return };
    let family = fixture.family("r");
    let mut file = File::create(family.join("tmp")).unwrap();
    file.write_all(b"half").unwrap();
    fs::rename(family.join("tmp"), family.join("q")).unwrap();
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "half");
    file.write_all(b" and half").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "half and half");
    assert_eq!(history(&family.join("q")), ["half and half"]);
    assert_eq!(names(&family), ["q"]);
}

#[test]
fn mount_replaced_open_file_keeps_its_bytes() {
    use std::io::Read;
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "old").unwrap();
    fs::write(family.join("n"), "new").unwrap();
    let mut open = OpenOptions::new().read(true).open(family.join("q")).unwrap();
    fs::rename(family.join("n"), family.join("q")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "new");
}

#[test]
fn mount_an_open_file_stays_itself_while_others_are_renamed_over_it() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let target = family.join("target");
    fs::write(&target, "a").unwrap();
    let ended = AtomicBool::new(false);
    let replace = |writer: u8| {
        for n in 0..1500_usize {
            let temporary = family.join(format!("tmp{writer}-{}", n % 3));
            let mut file = File::create(&temporary).unwrap();
            file.write_all(&vec![b'a' + (n % 26) as u8; [50_000, 100, 70_000, 1][n % 4]]).unwrap();
            // Some are renamed before they are closed.
            let open = (n % 3 == 0).then_some(file);
            fs::rename(&temporary, &target).unwrap();
            drop(open);
        }
    };
    let look = || {
        while !ended.load(Ordering::Relaxed) {
            let file = File::open(&target).unwrap();
            let len = file.metadata().unwrap().len();
            let bytes = fs::read(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            let mut again = vec![0; bytes.len() + 1];
            let count = std::os::unix::fs::FileExt::read_at(&file, &mut again, 0).unwrap();
            assert_eq!((len, file.metadata().unwrap().len()), (bytes.len() as u64, bytes.len() as u64));
            assert!(again[..count] == bytes && bytes.iter().all(|byte| *byte == bytes[0]));
        }
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2).map(|writer| scope.spawn(move || replace(writer))).collect();
        let readers = [scope.spawn(look), scope.spawn(look)];
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ended.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn mount_renames_tables_in_the_catalogue() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::rename(fixture.path("t"), fixture.path("renamed")).unwrap();
    assert_eq!(fs::read_to_string(fixture.path("renamed/r/f/q")).unwrap(), "v");
    assert!(!fixture.path("t").exists());
    fs::write(fixture.path("renamed/r/f/q"), "w").unwrap();
    fs::create_dir(fixture.mnt().join("ns")).unwrap();
    fs::rename(fixture.path("renamed"), fixture.mnt().join("ns/table")).unwrap();
    assert_eq!(history(&fixture.mnt().join("ns/table/r/f/q")), ["v", "w"]);
}

#[test]
fn mount_renames_namespaces_and_exchanges_tables() {
    let mut fixture = Fixture::new();
    let (one, other) = (fixture.mnt().join("one"), fixture.mnt().join("other"));
    for table in ["a", "b"] {
        fs::create_dir_all(one.join(table).join(".schema/f")).unwrap();
        fs::create_dir_all(one.join(table).join("r/f")).unwrap();
        fs::write(one.join(table).join("r/f/q"), table).unwrap();
    }
    fs::write(one.join(".schema/owner"), "me").unwrap();
    let mut open = OpenOptions::new().append(true).open(one.join("a/r/f/q")).unwrap();
    fs::create_dir(&other).unwrap();
    assert_eq!(rename_with(&one, &other, RenameFlags::RENAME_NOREPLACE), libc::EEXIST);
    assert_eq!(rename_with(&one, &other, RenameFlags::RENAME_EXCHANGE), libc::EINVAL);
    assert_eq!(errno(fs::rename(fixture.path(""), &other)), libc::EPERM);
    fs::create_dir(other.join("t")).unwrap();
    assert_eq!(errno(fs::rename(&one, &other)), libc::ENOTEMPTY);
    fs::remove_dir(other.join("t")).unwrap();
    fs::rename(&one, &other).unwrap();
    assert!(!one.exists());
    assert_eq!(fs::read_to_string(other.join(".schema/owner")).unwrap(), "me\n");
    open.write_all(b" and more").unwrap();
    drop(open);
    let value = |table: &str| fs::read_to_string(other.join(table).join("r/f/q")).unwrap();
    assert_eq!((value("a").as_str(), value("b").as_str()), ("a and more", "b"));
    assert_eq!(rename_with(&other.join("a"), &other.join("b"), RenameFlags::RENAME_EXCHANGE), 0);
    assert_eq!((value("a").as_str(), value("b").as_str()), ("b", "a and more"));
    assert_eq!(history(&other.join("b/r/f/q")), ["a", "a and more"]);
    fs::write(other.join("a/r/f/q"), "written after").unwrap();
    fixture.remount();
    assert_eq!((value("a").as_str(), value("b").as_str()), ("written after", "a and more"));
}

#[test]
fn mount_renames_rows_and_families_with_their_history() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    let cell = fixture.family("old").join("q");
    fs::write(&cell, "one").unwrap();
    fs::write(&cell, "two").unwrap();
    fs::write(fixture.family("old").join("gone"), "x").unwrap();
    fs::remove_file(fixture.family("old").join("gone")).unwrap();
    let mut open = OpenOptions::new().append(true).open(&cell).unwrap();
    fs::rename(fixture.path("t/old"), fixture.path("t/new")).unwrap();
    assert_eq!(names(&fixture.path("t")), ["new"]);
    assert_eq!(history(&fixture.path("t/new/f/q")), ["one", "two"]);
    assert_eq!(history(&fixture.path("t/new/f/gone")), ["x"]);
    open.write_all(b" and more").unwrap();
    drop(open);
    assert_eq!(fs::read_to_string(fixture.path("t/new/f/q")).unwrap(), "two and more");
    assert!(!fixture.path("t/old").exists());
    fs::rename(fixture.path("t/new/f"), fixture.path("t/new/g")).unwrap();
    assert_eq!(names(&fixture.path("t/new")), ["g"]);
    assert_eq!(history(&fixture.path("t/new/g/q")), ["one", "two", "two and more"]);
    fs::create_dir_all(fixture.path("t/other/g")).unwrap();
    fs::write(fixture.path("t/other/g/q"), "full").unwrap();
    assert_eq!(errno(fs::rename(fixture.path("t/new/g"), fixture.path("t/other/g"))), libc::ENOTEMPTY);
    let rows = [fixture.path("t/new"), fixture.path("t/other")];
    assert_eq!(rename_with(&rows[0], &rows[1], RenameFlags::RENAME_EXCHANGE), libc::EINVAL);
}

#[test]
fn mount_counters_and_json_rows() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("hits@counter"), "+5").unwrap();
    fs::write(family.join("hits@counter"), "-7").unwrap();
    assert_eq!(fs::read_to_string(family.join("hits@counter")).unwrap(), "-2\n");
    assert_eq!(fs::read(family.join("hits")).unwrap(), (-2_i64).to_be_bytes());
    fs::write(family.join("text"), "not a counter").unwrap();
    assert_eq!(errno(fs::read(family.join("text@counter"))), libc::ENOENT);
    fs::remove_file(family.join("hits")).unwrap();
    let json = fixture.path("t/r/.json");
    assert_eq!(fs::read_to_string(&json).unwrap(), "{\n  \"f:text\": \"not a counter\"\n}\n");
    fs::write(&json, r#"{"f:text": null, "f:a": "A", "f:b": {"base64": "/wA="}}"#).unwrap();
    assert_eq!(names(&family), ["a", "b"]);
    assert_eq!(fs::read(family.join("b")).unwrap(), [0xFF, 0]);
    fs::write(family.join("a"), "B").unwrap();
    assert!(fs::read_to_string(&json).unwrap().contains(r#""f:a": "B""#));
    // A family that the table lacks is refused at write(2): shells do not look at what close(2) says.
    let mut file = fs::File::create(&json).unwrap();
    assert_eq!(errno(file.write_all(br#"{"f:c": "1", "none:q": "2"}"#)), libc::EPERM);
    drop(file);
    assert_eq!(names(&family), ["a", "b"]);
}

/// Each handle makes a version of its own, wherever the name goes.
#[test]
fn mount_a_handle_replaces_no_version_of_another_after_a_rename() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let (from, to) = (family.join("q"), family.join("p"));
    let open = || OpenOptions::new().create(true).truncate(false).write(true).open(&from).unwrap();
    let write = |file: &File, bytes: &[u8]| {
        file.write_all_at(bytes, 0).unwrap();
        file.sync_all().unwrap();
    };
    let one = open();
    write(&one, b"1");
    let other = open();
    write(&other, b"2");
    fs::rename(&from, &to).unwrap();
    write(&one, b"3");
    assert_eq!(history(&to), ["2", "3"]);
    write(&one, b"4");
    assert_eq!(history(&to), ["2", "4"]);
}
