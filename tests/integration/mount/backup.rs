//! `.history`: what a backup takes and a restore brings back, with the programs that people use for it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fixture::{CELLFS, Fixture, errno, names};
use super::random_store::RandomStore;

/// What must come back of a file or directory.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    is_dir: bool,
    bytes: Vec<u8>,
    mtime: (i64, i64),
    access: (u32, u32, u32),
    ttl: Option<String>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = &self.bytes[..self.bytes.len().min(20)];
        write!(f, "{} {:?} {:o} {:?} {}", self.bytes.len(), self.mtime, self.access.0, self.ttl, start.escape_ascii())
    }
}

pub type Tree = BTreeMap<PathBuf, Entry>;

fn ttl(path: &Path) -> Option<String> {
    let output = Command::new("getfattr").args(["--only-values", "-n", "user.cellfs.ttl"]).arg(path).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Everything below a directory. TTLs are asked for where `with_ttl` says so.
pub fn tree(root: &Path, with_ttl: bool) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let (mtime, access) = ((meta.mtime(), meta.mtime_nsec()), (meta.mode(), meta.uid(), meta.gid()));
        let mut entry = Entry { is_dir: meta.is_dir(), bytes: Vec::new(), mtime, access, ttl: None };
        if meta.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else {
            entry.bytes = fs::read(&path).unwrap();
            entry.ttl = if with_ttl { ttl(&path) } else { None };
            assert_eq!(meta.len(), entry.bytes.len() as u64, "{}", path.display());
        }
        found.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
    }
    found
}

/// Fails with what differs.
pub fn assert_same(one: &Tree, other: &Tree, what: &str) {
    let mut differences = Vec::new();
    for (path, entry) in one {
        match other.get(path) {
            Some(there) if there == entry => {}
            there => {
                let name: String = path.display().to_string().chars().filter(|c| *c != 'R' && *c != 'Q').collect();
                differences.push(format!("{name}: {entry:?} / {there:?}"));
            }
        }
    }
    differences.extend(other.keys().filter(|path| !one.contains_key(*path)).map(|p| format!("{}: new", p.display())));
    assert!(differences.is_empty(), "{what}: {} differences\n{}", differences.len(), differences.join("\n"));
}

fn history(fixture: &Fixture) -> PathBuf {
    fixture.mnt().join(".history")
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn rsync(options: &[&str], from: &Path, to: &Path) -> String {
    let slash = |path: &Path| format!("{}/", path.display());
    run(Command::new("rsync").args(["-aXi"]).args(options).arg(slash(from)).arg(slash(to)))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    run(Command::new("cp").arg("-a").arg(from.join(".")).arg(to));
}

/// Through GNU tar, with names in the order that `find | sort` options give.
fn tar(from: &Path, to: &Path, order: &str) {
    fs::create_dir_all(to).unwrap();
    let script = format!(
        "set -o pipefail; cd \"$0\" && find . -print0 | {order} | tar --format=posix --xattrs --no-recursion --null -T - \
         -cf - | tar --xattrs --xattrs-include='*' -C \"$1\" -xf -"
    );
    run(Command::new("bash").arg("-c").arg(script).arg(from).arg(to));
}

/// A store with a random history, its tree, and a backup of it made by `make`.
struct Case {
    source: Fixture,
    backup: PathBuf,
    wanted: Tree,
}

impl Case {
    fn new(seed: u64, make: impl Fn(&Path, &Path)) -> Self {
        let base: u64 = std::env::var("CELLFS_BACKUP_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
        let source = Fixture::new();
        RandomStore::new(source.backend(), base + seed).fill(400);
        let backup = source.directory.path().join("backup");
        make(&history(&source), &backup);
        let wanted = tree(&history(&source), true);
        assert_same(&wanted, &tree(&backup, true), "the backup");
        Self { source, backup, wanted }
    }

    /// Restores into an empty store; both are the same then.
    fn restore(&self, what: &str, make: impl Fn(&Path, &Path)) -> Fixture {
        let target = Fixture::empty();
        make(&self.backup, &history(&target));
        assert_same(&self.wanted, &tree(&history(&target), true), what);
        let plain = |fixture: &Fixture| {
            let mut all = tree(&fixture.mnt(), false);
            // Directories of the plain tree have the time of the mount.
            all.values_mut().filter(|entry| entry.is_dir).for_each(|entry| entry.mtime = (0, 0));
            all
        };
        assert_same(&plain(&self.source), &plain(&target), what);
        target
    }
}

#[test]
fn mount_backup_with_rsync_brings_everything_back() {
    let case = Case::new(1, |from, to| drop(rsync(&[], from, to)));
    assert_eq!(rsync(&[], &history(&case.source), &case.backup), "", "a second backup copies nothing");
    let elsewhere = case.source.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let temp_dir = format!("--temp-dir={}", elsewhere.display());
    for options in [&[][..], &["--inplace"], &["--partial"], &[temp_dir.as_str()]] {
        let mut target = case.restore(&format!("rsync {options:?}"), |from, to| drop(rsync(options, from, to)));
        assert_eq!(rsync(options, &case.backup, &history(&target)), "", "a second restore copies nothing");
        let third = target.directory.path().join("third");
        rsync(&[], &history(&target), &third);
        assert_same(&tree(&case.backup, true), &tree(&third, true), "the third export");
        target.remount();
        assert_eq!(rsync(&["-n"], &case.backup, &history(&target)), "", "all of it is stored");
    }
}

#[test]
fn mount_backup_with_cp_brings_everything_back() {
    let case = Case::new(2, copy);
    case.restore("cp -a", copy);
}

#[test]
fn mount_backup_with_tar_brings_everything_back_in_any_order() {
    let case = Case::new(3, |from, to| tar(from, to, "cat"));
    let shuffled = format!("shuf -z --random-source={CELLFS}");
    for order in ["cat", "sort -z", "sort -rz", &shuffled] {
        // Without a directory first, tar makes it: nothing but the order differs.
        case.restore(order, |from, to| tar(from, to, order));
    }
}

#[test]
fn mount_restore_of_read_only_tables_takes_their_cells() {
    let source = Fixture::empty();
    let mut random = RandomStore::new(source.backend(), 5);
    random.fill(100);
    random.make_read_only();
    let backup = source.directory.path().join("backup");
    rsync(&[], &history(&source), &backup);
    type Restore = fn(&Path, &Path);
    let makes: [Restore; 4] =
        [|f, t| drop(rsync(&[], f, t)), |f, t| drop(rsync(&["--inplace"], f, t)), copy, |f, t| tar(f, t, "sort -z")];
    for make in makes {
        let target = Fixture::empty();
        make(&backup, &history(&target));
        assert_same(&tree(&backup, true), &tree(&history(&target), true), "read-only tables");
        let cell = target.mnt().join("default/one/r/new/x");
        assert_eq!(errno(fs::write(cell, "x")), libc::EROFS);
    }
}

#[test]
fn mount_restore_brings_back_what_was_removed_since() {
    let source = Fixture::new();
    fs::write(source.path("t/.schema/f/VERSIONS"), "1000").unwrap();
    let mut random = RandomStore::of_family(source.backend(), 4, "t", "f");
    random.fill(150);
    let backup = source.directory.path().join("backup");
    rsync(&[], &history(&source), &backup);
    let wanted = tree(&backup, true);
    random.only_later_puts_and_deletes();
    random.fill(150);
    rsync(&[], &backup, &history(&source));
    let mut now = tree(&history(&source), true);
    now.retain(|path, _| wanted.contains_key(path));
    assert_same(&wanted, &now, "restored over what was there");
}

#[test]
fn mount_history_lists_what_the_store_keeps() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    for value in ["1", "2"] {
        fs::write(family.join("q"), value).unwrap();
    }
    fs::remove_file(family.join("q")).unwrap();
    fs::write(family.join("q"), "3").unwrap();
    fs::write(family.join("q@5"), "old").unwrap();
    let below = history(&fixture).join("default/t");
    assert_eq!(names(&history(&fixture)), ["default"]);
    assert_eq!(names(&below), [".schema", "r"]);
    let listed = names(&below.join("r/f"));
    let deleted: Vec<_> = listed.iter().filter(|name| name.contains(".deleted.")).collect();
    assert_eq!((listed.len(), deleted.len()), (4, 2), "{listed:?}");
    assert_eq!(fs::read_to_string(below.join("r/f/q@5")).unwrap(), "old");
    let values: Vec<_> = deleted.iter().map(|name| fs::read_to_string(below.join("r/f").join(name)).unwrap()).collect();
    assert_eq!(values, ["2", "1"]);
    // Undelete: what a later tombstone covers is still read by its timestamp.
    let timestamp = deleted[1].split(['@', '.']).nth(1).unwrap();
    fs::copy(family.join(format!("q@{timestamp}")), family.join("q")).unwrap();
    assert_eq!(fs::read_to_string(family.join("q")).unwrap(), "1");
    for absent in ["q", "q@", "q@counter", "q@key", "q@6", "q@5.deleted.6", "%41@5"] {
        assert!(!below.join("r/f").join(absent).exists(), "{absent}");
    }
    assert!(!history(&fixture).join("hbase").exists());
    let mut listed = fs::read_dir(history(&fixture)).unwrap();
    assert!(listed.all(|entry| entry.unwrap().file_name() != ".info"), "it is reachable, and no part of a backup");
}

#[test]
fn mount_history_unlink_deletes_then_purges() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    fs::write(family.join("q"), "1").unwrap();
    let below = history(&fixture).join("default/t/r/f");
    let live = names(&below).remove(0);
    fs::remove_file(below.join(&live)).unwrap();
    let timestamp = live.strip_prefix("q@").unwrap();
    let deleted = format!("q@{timestamp}.deleted.{timestamp}");
    assert_eq!(names(&below), [deleted.as_str()]);
    assert!(!family.join("q").exists());
    assert!(!family.join(&live).exists(), "its own tombstone hides it");
    fs::remove_file(below.join(&deleted)).unwrap();
    assert!(names(&below).is_empty(), "an emptied directory stays until it is removed");
    fs::remove_dir(&below).unwrap();
    assert!(!below.exists());
    // What is restored again is there again.
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join(&deleted), "again").unwrap();
    assert_eq!(names(&below), [deleted.as_str()]);
    assert!(!family.join("q").exists(), "never live");
}

#[test]
fn mount_history_scratch_files_are_no_cells() {
    let mut fixture = Fixture::new();
    let below = history(&fixture).join("default/t/new row/f");
    fs::create_dir_all(&below).unwrap();
    let large = vec![7; 3 << 20];
    fs::write(below.join(".q@5.aB3xYz"), &large).unwrap();
    fs::write(below.join("q"), "no version").unwrap();
    assert_eq!(fs::read(below.join(".q@5.aB3xYz")).unwrap(), large);
    assert_eq!(fs::read_to_string(below.join("q")).unwrap(), "no version");
    assert!(names(&below).is_empty(), "not listed");
    assert!(names(&fixture.path("t")).is_empty(), "remembered in the history only");
    fs::rename(below.join(".q@5.aB3xYz"), below.join("q@5")).unwrap();
    assert_eq!(names(&below), ["q@5"]);
    assert_eq!(fs::read(fixture.path("t/new row/f/q")).unwrap(), large);
    fs::remove_file(below.join("q")).unwrap();
    fs::write(below.join("gone"), "at unmount").unwrap();
    fixture.remount();
    assert!(!below.join("gone").exists());
    assert_eq!(names(&below), ["q@5"]);
    let stray =
        fs::read_dir(fixture.store()).unwrap().any(|e| e.unwrap().file_name().as_bytes().starts_with(b".spill"));
    assert!(!stray, "temporary files have no names");
}

#[test]
fn mount_history_directories_are_empty_when_they_are_made() {
    let fixture = Fixture::new();
    let namespace = history(&fixture).join("ns");
    fs::create_dir(&namespace).unwrap();
    assert!(names(&namespace).is_empty() && !namespace.join(".schema").exists());
    fs::create_dir(namespace.join(".schema")).unwrap();
    fs::create_dir(namespace.join("t")).unwrap();
    assert!(names(&namespace.join("t")).is_empty());
    fs::create_dir_all(namespace.join("t/row/f")).unwrap();
    assert!(!namespace.join("t/.schema").exists());
    fs::create_dir(namespace.join("t/.schema")).unwrap();
    assert!(names(&namespace.join("t/.schema")).is_empty(), "neither .table nor the family that the row declared");
    fs::create_dir(namespace.join("t/.schema/f")).unwrap();
    let family = fixture
        .backend()
        .catalogue()
        .unwrap()
        .tables
        .values()
        .find(|t| &*t.name.name == "t" && &*t.name.namespace == "ns")
        .unwrap()
        .families["f"]
        .clone();
    assert_eq!((family.attributes.len(), family.rules.versions), (0, i32::MAX as u32));
    assert!(names(&namespace.join("t/.schema/f")).is_empty());
    fs::write(namespace.join("t/.schema/f/VERSIONS"), "3\n").unwrap();
    assert_eq!(names(&namespace.join("t/.schema/f")), ["VERSIONS"]);
    assert_eq!(fs::read_to_string(fixture.mnt().join("ns/t/.schema/f/VERSIONS")).unwrap(), "3\n");
}

#[test]
fn mount_a_table_of_the_history_is_removed_name_by_name_and_comes_back() {
    let fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    std::fs::write(&cell, "one").unwrap();
    std::fs::write(&cell, "two").unwrap();
    std::fs::remove_file(&cell).unwrap();
    let table = history(&fixture).join("default/t");
    let backup = fixture.directory.path().join("copy");
    rsync(&[], &history(&fixture), &backup);
    run(Command::new("rm").arg("-r").arg(&table));
    assert!(!table.exists());
    assert_eq!(fixture.backend().catalogue().unwrap().user_tables().count(), 0);
    rsync(&[], &backup, &history(&fixture));
    assert_eq!(rsync(&["-n"], &backup, &history(&fixture)), "");
    assert_eq!(rsync(&["-n"], &history(&fixture), &backup), "");
}

#[test]
fn mount_a_backup_has_what_a_restored_table_was_given_since() {
    let fixture = Fixture::empty();
    let table = history(&fixture).join("default/t");
    fs::create_dir_all(table.join(".schema/.table")).unwrap();
    fs::create_dir_all(table.join(".schema/f")).unwrap();
    fs::create_dir_all(table.join("r/g")).unwrap();
    assert_eq!(names(&table.join(".schema")), [".table", "f"]);
    let plain = fixture.mnt().join("default/t/.schema");
    fs::create_dir(plain.join(".index/city")).unwrap();
    fs::write(plain.join(".index/city/columns"), "f:city\n").unwrap();
    fs::create_dir(plain.join("f/.check/age")).unwrap();
    fs::write(plain.join("f/.check/age/columns"), "age\n").unwrap();
    fs::write(plain.join("f/METADATA/why"), "x\n").unwrap();
    fs::write(plain.join("g/VERSIONS"), "3\n").unwrap();
    let backup = fixture.directory.path().join("copy");
    rsync(&[], &history(&fixture), &backup);
    let schema = backup.join("default/t/.schema");
    for path in [".index/city/columns", "f/.check/age/columns", "f/METADATA/why", "g/VERSIONS"] {
        assert!(schema.join(path).exists(), "{path}");
    }
    assert!(!schema.join(".table/METADATA").exists(), "nobody has made it, and it has nothing");
}
