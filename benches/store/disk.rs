//! What a directory takes on the disk, and what the kernel has of it in memory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_file() => vec![entry.path()],
        _ => files(&entry.path()),
    });
    found.collect()
}

/// Bytes that all files of a directory take. Blocks: what is reserved but not written does not count twice.
pub fn bytes_in(dir: &Path) -> u64 {
    files(dir).iter().filter_map(|file| fs::metadata(file).ok()).map(|meta| meta.blocks() * 512).sum()
}

/// The kernel forgets what it has of the files: all of it (root), or what it lets go of these.
pub fn forget(dir: &Path) {
    nix::unistd::sync();
    if fs::write("/proc/sys/vm/drop_caches", "3").is_ok() {
        return;
    }
    static SAID: Once = Once::new();
    SAID.call_once(|| eprintln!("not root: for `cold` the files alone leave the page cache, names and inodes stay"));
    for file in files(dir).iter().filter_map(|file| File::open(file).ok()) {
        let done = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        done.expect("advise");
    }
}

/// The kernel has all of the files again.
pub fn warm(dir: &Path) {
    for file in files(dir) {
        if let Ok(mut file) = File::open(file) {
            std::io::copy(&mut file, &mut std::io::sink()).expect("read");
        }
    }
}
