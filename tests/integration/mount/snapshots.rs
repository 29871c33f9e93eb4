//! Snapshots on a real mount, and the scripts that back a store up and bring it back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::fixture::{CELLFS, Fixture, damage, errno, history, names, suffixed};

fn store(fixture: &Fixture) -> String {
    fixture.store().display().to_string()
}

fn run(fixture: &Fixture, args: &[&str]) -> String {
    let output = fixture.cellfs(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn snapshot(fixture: &Fixture, name: &str) -> PathBuf {
    run(fixture, &["snapshot", "create", &store(fixture), name]);
    fixture.mnt().join(".snapshot").join(name)
}

#[test]
fn mount_a_snapshot_reads_as_the_tree_was() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "one").unwrap();
    fs::write(&cell, "two").unwrap();
    fs::write(fixture.family("gone").join("q"), "kept").unwrap();
    fs::remove_file(fixture.path("t/gone/f/q")).unwrap();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "7").unwrap();
    let kept = snapshot(&fixture, "before");
    let history_before = names(&kept.join(".history/default/t/gone/f"));
    fs::write(&cell, "three").unwrap();
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "3").unwrap();
    run(&fixture, &["purge", &store(&fixture), "t"]);
    run(&fixture, &["compact", "--major", &store(&fixture), "t"]);
    fs::rename(fixture.path("t"), fixture.path("renamed")).unwrap();
    fixture.remount();
    let kept = fixture.mnt().join(".snapshot/before");
    assert_eq!(names(&fixture.mnt().join(".snapshot")), ["before"]);
    assert!(!names(&fixture.mnt()).contains(&".snapshot".to_owned()), "it is not listed");
    assert_eq!(names(&kept), ["default"]);
    assert_eq!(names(&kept.join("default/t")), ["r"]);
    assert_eq!(history(&kept.join("default/t/r/f/q")), ["one", "two"]);
    assert_eq!(fs::read_to_string(kept.join("default/t/.schema/f/VERSIONS")).unwrap(), "7\n");
    assert_eq!(names(&kept.join(".history/default/t/gone/f")), history_before);
    let deleted = kept.join(".history/default/t/gone/f").join(&history_before[0]);
    assert_eq!(fs::read_to_string(deleted).unwrap(), "kept");
    assert_eq!(names(&kept.join(".at/-0h/default/t")), ["r"]);
    let json = fs::read_to_string(kept.join("default/t/r/.json")).unwrap();
    assert!(json.contains("\"f:q\""), "{json}");
    assert_eq!(fs::read_to_string(kept.join("default/t/.info/rows")).unwrap(), "1\texact\n");
}

#[test]
fn mount_a_snapshot_refuses_every_change() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let kept = snapshot(&fixture, "s");
    let cell = kept.join("default/t/r/f/q");
    let refused = |what: &str, found: i32| assert_eq!(found, libc::EROFS, "{what}");
    refused("write", errno(fs::write(&cell, "x")));
    refused("create", errno(fs::write(kept.join("default/t/r/f/new"), "x")));
    refused("unlink", errno(fs::remove_file(&cell)));
    refused("rmdir", errno(fs::remove_dir(kept.join("default/t/r/f"))));
    refused("mkdir", errno(fs::create_dir(kept.join("default/t/new"))));
    refused("rename", errno(fs::rename(&cell, fixture.path("t/r/f/other"))));
    refused("rename into", errno(fs::rename(fixture.path("t/r/f/q"), kept.join("default/t/r/f/other"))));
    refused("truncate", errno(fs::File::options().write(true).open(&cell)));
    refused("attribute", errno(fs::write(kept.join("default/t/.schema/f/VERSIONS"), "2")));
    refused("mkdir in the history", errno(fs::create_dir(kept.join(".history/default/u"))));
    refused("scratch", errno(fs::write(kept.join(".history/default/t/r/f/.x"), "x")));
    refused("json", errno(fs::write(kept.join("default/t/r/.json"), "{}")));
    refused("mkdir of a snapshot", errno(fs::create_dir(fixture.mnt().join(".snapshot/new"))));
    refused("rmdir of a snapshot", errno(fs::remove_dir(&kept)));
    assert_eq!(fs::read_to_string(&cell).unwrap(), "v");
    assert_eq!(errno(fs::metadata(fixture.mnt().join(".snapshot/absent"))), libc::ENOENT);
}

#[test]
fn mount_a_snapshot_that_goes_and_comes_again_is_another() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(&cell, "one").unwrap();
    let kept = snapshot(&fixture, "s").join("default/t/r/f/q");
    let mut open = fs::File::open(&kept).unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "one");
    fs::write(&cell, "second").unwrap();
    run(&fixture, &["snapshot", "delete", &store(&fixture), "s"]);
    assert_eq!(errno(fs::metadata(&kept)), libc::ENOENT);
    snapshot(&fixture, "s");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "second");
    // Whatever an open file of the old one gives, it is no wrong byte.
    let mut text = String::new();
    if std::io::Read::read_to_string(&mut open, &mut text).is_ok() {
        assert_eq!(text, "one");
    }
}

#[test]
fn mount_tables_are_cloned_and_restored() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    fs::write(suffixed(&cell, "@5"), "five").unwrap();
    fs::write(&cell, "newest").unwrap();
    snapshot(&fixture, "s");
    fs::remove_dir_all(fixture.path("t/r")).unwrap();
    run(&fixture, &["snapshot", "clone", &store(&fixture), "s", "t", "copy"]);
    assert_eq!(history(&fixture.path("copy/r/f/q")), ["five", "newest"]);
    fs::write(fixture.family("later").join("q"), "x").unwrap();
    assert_eq!(names(&fixture.path("t")), ["later"]);
    run(&fixture, &["snapshot", "restore", &store(&fixture), "s"]);
    assert_eq!(names(&fixture.path("t")), ["r"]);
    assert_eq!(history(&cell), ["five", "newest"]);
    fs::write(&cell, "again").unwrap();
    assert_eq!(history(&cell), ["five", "newest", "again"]);
    let listed = run(&fixture, &["snapshot", "list", &store(&fixture), "--json"]);
    assert!(listed.contains("\"snapshot\":\"s\"") && listed.lines().count() == 1, "{listed}");
}

pub fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts").join(name));
    let programs = Path::new(CELLFS).parent().unwrap().display().to_string();
    command.env_remove("CELLFS").env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    command
}

pub fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Every name below a directory with its value and mtime, in the order of the listings.
fn tree(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(directory) {
        let path = directory.join(&name);
        let metadata = fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            found.push(format!("{name}/"));
            found.extend(tree(&path).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.push(format!("{name} {:?} {:?}", metadata.modified().unwrap(), fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn mount_a_backup_under_writers_is_the_state_at_its_snapshot() {
    let fixture = Fixture::new();
    let writers = 4;
    let rows: Vec<PathBuf> = (0..writers).map(|n| fixture.family(&format!("row{n}"))).collect();
    let target = Fixture::empty();
    let backup = fixture.directory.path().join("backup");
    let stop = AtomicBool::new(false);
    let name = std::thread::scope(|scope| {
        for row in &rows {
            let stop = &stop;
            scope.spawn(move || {
                for n in 0.. {
                    fs::write(row.join("first"), n.to_string()).unwrap();
                    fs::write(row.join("second"), n.to_string()).unwrap();
                    fs::write(row.join(format!("q{}", n % 8)), n.to_string()).unwrap();
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..2 {
            succeeded(script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap());
        }
        let output = script("backup.sh").arg("--keep-snapshot").arg(fixture.store()).arg(&backup).output().unwrap();
        stop.store(true, Ordering::Relaxed);
        succeeded(output)
    });
    assert_eq!(names(&fixture.mnt().join(".snapshot")), [name.as_str()], "the others were deleted");
    succeeded(script("restore.sh").arg(&backup).arg(target.store()).output().unwrap());
    let kept = fixture.mnt().join(".snapshot").join(&name);
    assert_eq!(tree(&kept.join("default")), tree(&target.mnt().join("default")));
    assert_eq!(tree(&kept.join(".history/default")), tree(&target.mnt().join(".history/default")));
    for n in 0..writers {
        let number = |cell: &str| {
            let path = target.path(&format!("t/row{n}/f/{cell}"));
            fs::read_to_string(path).unwrap().parse::<u64>().unwrap()
        };
        let (first, second) = (number("first"), number("second"));
        assert!(first == second || first == second + 1, "{first} {second}");
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_backup_deletes_what_killed_runs_have_left_and_nothing_else() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    // A process that goes on and is no backup; and one that looks like one.
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let mut backup = Command::new("bash");
    let backup = backup.args(["-c", "read line; exit", "/usr/lib/cellfs/backup.sh"]).stdin(Stdio::piped());
    let mut backup = backup.spawn().unwrap();
    let made = |pid: u32, prefix: &str| {
        let name = format!("{prefix}-20200101T000000Z-{pid}");
        run(&fixture, &["snapshot", "create", &store(&fixture), &name]);
        name
    };
    let gone = [made(ended.id(), "backup"), made(other.id(), "backup")];
    let kept = [made(backup.id(), "backup"), made(ended.id(), "kept"), made(ended.id(), "backup-of-mine")];
    let output = script("backup.sh").arg(fixture.store()).arg(fixture.directory.path().join("b")).output().unwrap();
    other.kill().and_then(|()| other.wait()).unwrap();
    backup.kill().and_then(|()| backup.wait()).unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let left = names(&fixture.mnt().join(".snapshot"));
    assert!(gone.iter().all(|name| !left.contains(name)), "{left:?}");
    assert!(kept.iter().all(|name| left.contains(name)) && left.len() == 3, "{left:?}");
}

#[test]
fn one_backup_at_a_time_goes_to_a_destination() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let destination = fixture.directory.path().join("b");
    fs::create_dir(&destination).unwrap();
    let running = fs::File::open(&destination).unwrap();
    running.lock().unwrap();
    let refused = script("backup.sh").arg(fixture.store()).arg(&destination).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("another run brings") && words(&refused).contains("wait"), "{}", words(&refused));
    assert_eq!(names(&destination), [""; 0]);
    drop(running);
    succeeded(script("backup.sh").arg(fixture.store()).arg(&destination).output().unwrap());
    assert_eq!(names(&fixture.mnt().join(".snapshot")), [""; 0]);
}

#[test]
fn a_backup_deletes_nothing_that_is_no_backup() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let own = fixture.directory.path().join("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("important"), "kept").unwrap();
    for destination in [own.clone(), fixture.path("r2"), fixture.store().join("backup")] {
        let refused = script("backup.sh").arg(fixture.store()).arg(&destination).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{}", destination.display());
        assert!(words(&refused).contains("choose"), "{}", words(&refused));
    }
    assert_eq!(fs::read_to_string(own.join("important")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
    assert!(!fixture.path("r2").exists() && !fixture.store().join("backup").exists());
    let restored = script("restore.sh").arg(&own).arg(fixture.directory.path().join("other")).output().unwrap();
    assert_eq!(restored.status.code(), Some(1));
    assert!(!fixture.directory.path().join("other").exists());
}

#[test]
fn a_backup_names_the_cell_that_it_cannot_read_and_takes_the_rest() {
    let mut fixture = Fixture::new();
    for n in 0..5 {
        // Shorter ones stand among the keys, and are damaged with them.
        fs::write(fixture.family("r").join(format!("q {n}")), format!("value number {n}").repeat(50)).unwrap();
    }
    fixture.backend().flush(None).unwrap();
    fixture.unmount();
    damage(&fixture.store(), "value number 2");
    let backup = fixture.directory.path().join("b");
    let output = script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap();
    let text = words(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("\n  default/t/r/f/q 2@") && !text.contains("\n  default/t/r/f/q 1@"), "{text}");
    assert!(text.contains("cellfs check"), "{text}");
    let mut found = names(&backup.join("default/t/r/f"));
    found.sort();
    assert_eq!(found.iter().map(|name| &name[..3]).collect::<Vec<_>>(), ["q 0", "q 1", "q 3", "q 4"], "{found:?}");
    let checked = fixture.cellfs(&["check", fixture.store().to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(1));
}

#[test]
fn a_store_that_is_not_mounted_is_backed_up_too() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let (backup, other) = (fixture.directory.path().join("backup"), fixture.directory.path().join("other"));
    succeeded(script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap());
    succeeded(script("restore.sh").arg(&backup).arg(&other).output().unwrap());
    let got = fixture.cellfs(&["get", other.to_str().unwrap(), "t", "r"]);
    assert!(String::from_utf8_lossy(&got.stdout).contains("\tv"), "{got:?}");
    let refused = script("backup.sh").arg(fixture.directory.path().join("absent")).arg(&backup).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot be backed up"), "{refused:?}");
}

#[test]
fn mount_a_file_of_a_snapshot_that_is_deleted_is_stale() {
    use std::os::unix::fs::FileExt;
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), vec![7; 16 << 20]).unwrap();
    let kept = snapshot(&fixture, "kept");
    let file = fs::File::open(kept.join("default/t/r/f/q")).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).unwrap();
    run(&fixture, &["snapshot", "delete", &store(&fixture), "kept"]);
    assert_eq!(errno(file.read_exact_at(&mut byte, (16 << 20) - 1)), libc::ESTALE);
    assert_eq!(errno(fs::read(kept.join("default/t/r/f/q"))), libc::ENOENT);
    let errors = fs::read_to_string(fixture.mnt().join(".info/errors")).unwrap();
    assert!(errors.contains("snapshot kept was deleted while this file was open"), "{errors}");
}

#[test]
fn mount_several_tables_come_back_in_one_step() {
    let fixture = Fixture::new();
    let store = store(&fixture);
    fs::create_dir_all(fixture.path("u/.schema/f")).unwrap();
    let cells = ["t", "u"].map(|table| fixture.path(&format!("{table}/r/f/q")));
    let write = |text: &str| {
        for cell in &cells {
            fs::create_dir_all(cell.parent().unwrap()).unwrap();
            fs::write(cell, text).unwrap();
        }
    };
    let read = || cells.each_ref().map(|cell| fs::read_to_string(cell).unwrap());
    write("before");
    run(&fixture, &["snapshot", "create", &store, "s"]);
    write("after");
    let refused = fixture.cellfs(&["snapshot", "restore", &store, "s", "t", "absent"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(read(), ["after", "after"]);
    run(&fixture, &["snapshot", "restore", &store, "s", "t", "u", "t"]);
    assert_eq!(read(), ["before", "before"]);
}

#[test]
fn mount_a_disabled_table_comes_back_disabled_from_a_backup() {
    let fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fs::create_dir_all(fixture.path("open/.schema/f")).unwrap();
    run(&fixture, &["shell", &store(&fixture), "-e", "disable 't'"]);
    let backup = fixture.directory.path().join("backup");
    let target = Fixture::empty();
    for _ in 0..2 {
        succeeded(script("backup.sh").arg(fixture.store()).arg(&backup).output().unwrap());
        succeeded(script("restore.sh").arg(&backup).arg(target.store()).output().unwrap());
        assert_eq!(errno(fs::read(target.path("t/r/f/q"))), libc::EACCES);
        assert!(target.path("open/.schema/f").exists());
    }
    run(&target, &["shell", &store(&target), "-e", "enable 't'"]);
    assert_eq!(fs::read_to_string(target.path("t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_points_of_any_name_are_backed_up() {
    use std::os::unix::ffi::OsStrExt;
    for name in [&b"with space"[..], b"two\nlines\n", b"back\\slash \\n \"quoted\" 100%", b"not \xff UTF-8"] {
        let fixture = Fixture::empty();
        let mnt = fixture.directory.path().join(std::ffi::OsStr::from_bytes(name));
        let (one, other) = (fixture.directory.path().join("one"), fixture.directory.path().join("other"));
        fs::create_dir(&mnt).unwrap();
        let cellfs = |args: &[&str], path: &Path| {
            let output = Command::new(CELLFS).args(args).arg(path).stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{}", words(&output));
        };
        for store in [&one, &other] {
            cellfs(&["mount", store.to_str().unwrap()], &mnt);
            let cell = mnt.join("default/t/r/f/q");
            if store == &one {
                fs::create_dir_all(mnt.join("default/t/.schema/f")).unwrap();
                fs::create_dir_all(cell.parent().unwrap()).unwrap();
                fs::write(&cell, "v").unwrap();
            }
            let mut command = script(if store == &one { "backup.sh" } else { "restore.sh" });
            let backup = fixture.directory.path().join("backup");
            let args = if store == &one { [store, &backup] } else { [&backup, store] };
            let output = command.args(args).output().unwrap();
            let read = fs::read_to_string(&cell);
            cellfs(&["umount"], &mnt);
            assert!(output.status.success(), "{}", words(&output));
            assert_eq!(read.unwrap(), "v", "{}", name.escape_ascii());
        }
    }
}

#[test]
fn snapshot_names_that_are_too_long_are_refused_as_such() {
    let fixture = Fixture::new();
    let refused = fixture.cellfs(&["snapshot", "create", &store(&fixture), &"a".repeat(300)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(words(&refused).contains("at most 255 bytes; this one has 300"), "{}", words(&refused));
    run(&fixture, &["snapshot", "create", &store(&fixture), &"a".repeat(255)]);
}
