//! FUSE messages of each operation of a user: no more than a filesystem in memory needs for it.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::mount::fixture::Fixture;

#[allow(dead_code)]
#[path = "../../../benches/floor/memory_fs.rs"]
mod memory_fs;

const COUNT: usize = 100;

/// Name, whether the kernel's caches are dropped before it, and what is done with each of the files.
type Operation = (&'static str, Cache, fn(&Path));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Cold,
    Warm,
}

const OPERATIONS: [Operation; 12] = [
    ("create+write+close", Cache::Warm, |file| fs::write(file.with_extension("made"), "v").unwrap()),
    ("stat, cold", Cache::Cold, |file| assert!(file.metadata().is_ok())),
    ("stat, warm", Cache::Warm, |file| assert!(file.metadata().is_ok())),
    ("stat of what is absent, again", Cache::Warm, |file| assert!(!file.with_extension("absent").exists())),
    ("open+read+close, cold", Cache::Cold, read),
    ("open+read+close, warm", Cache::Warm, read),
    ("overwrite", Cache::Warm, |file| fs::write(file, "w").unwrap()),
    ("append", Cache::Warm, |file| {
        OpenOptions::new().append(true).open(file).unwrap().write_all(b"+").unwrap();
    }),
    ("fsync", Cache::Warm, |file| OpenOptions::new().write(true).open(file).unwrap().sync_all().unwrap()),
    ("access", Cache::Warm, |file| {
        nix::unistd::access(file, nix::unistd::AccessFlags::R_OK).unwrap();
    }),
    ("rename", Cache::Warm, |file| fs::rename(file, file.with_extension("moved")).unwrap()),
    ("unlink", Cache::Warm, |file| fs::remove_file(file).unwrap()),
];

fn read(file: &Path) {
    let mut text = String::new();
    fs::File::open(file).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "v");
}

/// A filesystem in memory behind its own mount, unmounted when dropped.
struct Floor(tempfile::TempDir);

impl Floor {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().to_owned();
        std::thread::spawn(move || memory_fs::serve(&at));
        let is_mounted = |path: &Path| {
            nix::sys::statfs::statfs(path).is_ok_and(|s| s.filesystem_type() == nix::sys::statfs::FUSE_SUPER_MAGIC)
        };
        while !is_mounted(directory.path()) {
            std::thread::yield_now();
        }
        Self(directory)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = cellfs::fuse::unmount(self.0.path(), cellfs::fuse::Detach::Now);
    }
}

/// Requests so far.
fn requests(mount: &Path) -> u64 {
    let text = fs::read_to_string(mount.join(".info/requests")).unwrap();
    text.lines().filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum()
}

/// Messages for one operation, the least of some rounds: a processor that is busy with others has the kernel ask for more.
fn messages(mount: &Path, operation: Operation) -> u64 {
    (0..3).map(|round| messages_in(mount, round, operation)).min().unwrap()
}

/// From a hundred of them.
fn messages_in(mount: &Path, round: usize, (name, cache, operation): Operation) -> u64 {
    let directory = mount.join(format!("default/t/row {round}")).join("f");
    fs::create_dir_all(&directory).unwrap();
    let files: Vec<PathBuf> = (0..COUNT).map(|n| directory.join(format!("{name} {n}"))).collect();
    for file in &files {
        fs::write(file, "v").unwrap();
        read(file);
        assert!(!file.with_extension("absent").exists());
    }
    if cache == Cache::Cold {
        fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
    }
    assert!(directory.is_dir());
    let counting = requests(mount).abs_diff(requests(mount));
    let before = requests(mount);
    files.iter().for_each(|file| operation(file));
    // What was closed before may be released while it is counted.
    let made = (requests(mount) - before).saturating_sub(counting);
    (made as f64 / COUNT as f64).round() as u64
}

#[test]
fn posix_operations_cost_no_more_messages_than_the_floor() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root can drop the kernel's caches");
    }
    let (fixture, floor) = (Fixture::with_options("default_permissions"), Floor::new());
    for operation in OPERATIONS {
        let (least, ours) = (messages(floor.0.path(), operation), messages(&fixture.mnt(), operation));
        println!("{:<32} floor {least}, here {ours}", operation.0);
        assert!(ours <= least, "{}: {ours} messages, the floor has {least}", operation.0);
    }
}

/// The kernel does not ask for the attributes of a directory after each change in it, which it would judge by; it asks what
/// access(2) is to answer.
#[test]
fn posix_where_root_alone_is_let_in_a_change_costs_a_message_less() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root can drop the kernel's caches");
    }
    let (root_alone, judged) = (Fixture::new(), Fixture::with_options("default_permissions"));
    for operation in OPERATIONS {
        let [ours, with_judge] = [&root_alone, &judged].map(|fixture| messages(&fixture.mnt(), operation));
        println!("{:<32} judged by the kernel {with_judge}, for root alone {ours}", operation.0);
        match operation.0 {
            "create+write+close" | "rename" | "unlink" => assert_eq!(ours + 1, with_judge, "{}", operation.0),
            "access" => assert_eq!(ours, 1),
            name => assert_eq!(ours, with_judge, "{name}"),
        }
    }
}
