//! The operations that are timed, as programs make them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::mounts::Mount;

/// An operation of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    StatCold,
    StatWarm,
    ReadCold,
    ReadWarm,
    Overwrite,
    Append,
    ListNames,
    ListLong,
    Rename,
    Unlink,
}

impl Operation {
    pub const ALL: &[Operation] = &[
        Operation::Create,
        Operation::StatCold,
        Operation::StatWarm,
        Operation::ReadCold,
        Operation::ReadWarm,
        Operation::Overwrite,
        Operation::Append,
        Operation::ListNames,
        Operation::ListLong,
        Operation::Rename,
        Operation::Unlink,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create+write+close",
            Operation::StatCold => "stat, cold",
            Operation::StatWarm => "stat, warm",
            Operation::ReadCold => "open+read+close, cold",
            Operation::ReadWarm => "open+read+close, warm",
            Operation::Overwrite => "overwrite (O_TRUNC)",
            Operation::Append => "append",
            Operation::ListNames => "readdir, an entry",
            Operation::ListLong => "readdir+stat, an entry",
            Operation::Rename => "rename",
            Operation::Unlink => "unlink",
        }
    }
}

const VALUE: [u8; 100] = [b'v'; 100];
const FILES_A_ROW: usize = 1000;

fn names(target: &Mount, round: usize, files: usize) -> Vec<PathBuf> {
    let rows = files.div_ceil(FILES_A_ROW);
    let families: Vec<PathBuf> = (0..rows).map(|row| target.family(&format!("round{round}row{row:03}"))).collect();
    (0..files).map(|n| families[n / FILES_A_ROW].join(format!("file{:04}", n % FILES_A_ROW))).collect()
}

/// Entries and inodes leave the kernel's caches; needs root.
fn drop_kernel_caches() {
    if fs::write("/proc/sys/vm/drop_caches", "2").is_err() {
        eprintln!("cannot drop the kernel's caches (not root): cold figures are warm");
    }
}

fn timed(count: usize, work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64() * 1e6 / count as f64
}

fn stat(path: &Path) {
    fs::symlink_metadata(path).expect("stat");
}

fn create(path: &Path) {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).expect("create");
    file.write_all(&VALUE).expect("write");
}

fn read(path: &Path, buffer: &mut [u8]) {
    let mut file = File::open(path).expect("open");
    while file.read(buffer).expect("read") > 0 {}
}

fn overwrite(path: &Path) {
    OpenOptions::new().write(true).truncate(true).open(path).and_then(|mut f| f.write_all(&VALUE)).expect("overwrite");
}

fn append(path: &Path) {
    OpenOptions::new().append(true).open(path).and_then(|mut f| f.write_all(b"+")).expect("append");
}

fn list_long(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("list");
    let mut count = 0;
    for entry in entries {
        fs::symlink_metadata(entry.expect("entry").path()).expect("stat");
        count += 1;
    }
    count
}

/// One round of every operation; microseconds each.
pub fn round(target: &Mount, round: usize, files: usize) -> Vec<(Operation, f64)> {
    let paths = names(target, round, files);
    let directories: Vec<&Path> = paths.iter().step_by(FILES_A_ROW).filter_map(|path| path.parent()).collect();
    let mut buffer = [0; 4096];
    let each = |work: &mut dyn FnMut(&Path)| timed(files, || paths.iter().for_each(|path| work(path)));
    let renamed = |path: &Path| path.with_extension("new");
    let mut figures = vec![(Operation::Create, each(&mut |path| create(path)))];
    drop_kernel_caches();
    figures.push((Operation::StatCold, each(&mut |path| stat(path))));
    figures.push((Operation::StatWarm, each(&mut |path| stat(path))));
    drop_kernel_caches();
    figures.push((Operation::ReadCold, each(&mut |path| read(path, &mut buffer))));
    figures.push((Operation::ReadWarm, each(&mut |path| read(path, &mut buffer))));
    figures.push((Operation::Overwrite, each(&mut |path| overwrite(path))));
    figures.push((Operation::Append, each(&mut |path| append(path))));
    drop_kernel_caches();
    let list = || directories.iter().for_each(|directory| assert!(fs::read_dir(directory).expect("list").count() > 0));
    figures.push((Operation::ListNames, timed(files, list)));
    drop_kernel_caches();
    let list = || directories.iter().for_each(|directory| assert!(list_long(directory) > 0));
    figures.push((Operation::ListLong, timed(files, list)));
    figures.push((Operation::Rename, each(&mut |path| fs::rename(path, renamed(path)).expect("rename"))));
    figures.push((Operation::Unlink, each(&mut |path| fs::remove_file(renamed(path)).expect("unlink"))));
    figures
}

/// Messages that one operation costs, from a hundred of them.
pub fn messages(target: &Mount, operation: Operation) -> String {
    const COUNT: usize = 100;
    let directory = target.family(&format!("messages{}", operation.name().replace(['/', ' '], "-")));
    let paths: Vec<PathBuf> = (0..COUNT).map(|n| directory.join(format!("file{n:03}"))).collect();
    if operation != Operation::Create {
        paths.iter().for_each(|path| create(path));
    }
    let mut buffer = [0; 4096];
    if matches!(operation, Operation::ReadWarm | Operation::StatWarm) {
        paths.iter().for_each(|path| read(path, &mut buffer));
        paths.iter().for_each(|path| stat(path));
    }
    if matches!(operation, Operation::StatCold | Operation::ReadCold | Operation::ListNames | Operation::ListLong) {
        drop_kernel_caches();
    }
    stat(&directory);
    let counting = requests_of_counting(target);
    let before = target.requests();
    match operation {
        Operation::ListNames => assert!(fs::read_dir(&directory).expect("list").count() > 0),
        Operation::ListLong => assert!(list_long(&directory) > 0),
        Operation::Create => paths.iter().for_each(|path| create(path)),
        Operation::StatCold | Operation::StatWarm => {
            paths.iter().for_each(|path| stat(path));
        }
        Operation::ReadCold | Operation::ReadWarm => paths.iter().for_each(|path| read(path, &mut buffer)),
        Operation::Overwrite => paths.iter().for_each(|path| overwrite(path)),
        Operation::Append => paths.iter().for_each(|path| append(path)),
        Operation::Rename => {
            paths.iter().for_each(|path| fs::rename(path, path.with_extension("new")).expect("rename"))
        }
        Operation::Unlink => paths.iter().for_each(|path| fs::remove_file(path).expect("unlink")),
    }
    let made = (target.requests() - before).saturating_sub(counting);
    format!("{:.2}", made as f64 / COUNT as f64)
}

/// What reading the counters itself costs.
fn requests_of_counting(target: &Mount) -> u64 {
    let before = target.requests();
    target.requests() - before
}

/// Seconds that a listing of names takes.
pub fn list(directory: &Path, entries: usize) -> f64 {
    let started = Instant::now();
    let count = fs::read_dir(directory).expect("list").count();
    assert!(count >= entries, "{count} of {entries} entries listed");
    started.elapsed().as_secs_f64()
}
