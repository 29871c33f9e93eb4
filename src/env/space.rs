//! The room of a filesystem, and what of it this process may use.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use nix::sys::statfs::{EXT4_SUPER_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

use super::DiskSpace;

/// Of what ext4 counts as free, files get nothing of a fiftieth of all blocks, at most so many (its `reserved_clusters`,
/// as it comes; not the share of root). What statvfs shows lacks what it keeps for itself, here up to a fifth.
const WITHHELD_PART: u64 = 40;
const WITHHELD_MOST: u64 = 4096;

/// Blocks of a filesystem.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    all: u64,
    free: u64,
    available: u64,
}

impl Blocks {
    /// What root may use of ext4, which keeps a share for it.
    fn for_root(self) -> u64 {
        self.available.max(self.free.saturating_sub((self.all / WITHHELD_PART).min(WITHHELD_MOST)))
    }
}

/// The room of the filesystem that a directory is on.
pub(super) fn of(dir: &Path) -> io::Result<DiskSpace> {
    let stat = statvfs(dir).map_err(io::Error::from)?;
    let blocks = Blocks { all: stat.blocks(), free: stat.blocks_free(), available: stat.blocks_available() };
    // Elsewhere the two differ by what nobody gets.
    let has_share = blocks.available < blocks.free
        && is_root()
        && statfs(dir).map_err(io::Error::from)?.filesystem_type() == EXT4_SUPER_MAGIC;
    let usable = if has_share { blocks.for_root() } else { blocks.available };
    let unit = stat.fragment_size();
    Ok(DiskSpace {
        total: blocks.all * unit,
        free: blocks.free * unit,
        available: blocks.available * unit,
        usable: usable * unit,
    })
}

/// Whether this process is of the user that filesystems know as root: in a namespace of users it may be called so and be
/// another.
fn is_root() -> bool {
    static IS_ROOT: OnceLock<bool> = OnceLock::new();
    let is =
        || nix::unistd::geteuid().is_root() && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| is_same(&map));
    *IS_ROOT.get_or_init(is)
}

/// `INSIDE OUTSIDE COUNT` (user_namespaces(7)): whether root is root outside.
fn is_same(map: &str) -> bool {
    map.lines().any(|line| line.split_ascii_whitespace().take(2).eq(["0", "0"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_what_is_kept_for_it_and_not_what_nobody_gets() {
        // An ext4 of 300 MB with 5 % for root.
        let blocks = |free, available| Blocks { all: 69_000, free, available }.for_root();
        assert_eq!(blocks(20_000, 14_780), 18_275);
        assert_eq!(blocks(5000, 0), 3275);
        assert_eq!(blocks(1725, 0), 0);
        assert_eq!(blocks(100, 0), 0);
        let large = Blocks { all: 1 << 30, free: 1 << 20, available: 0 };
        assert_eq!(large.for_root(), (1 << 20) - 4096);
    }

    #[test]
    fn who_is_called_root_in_a_namespace_is_not() {
        assert!(is_same("         0          0 4294967295\n"));
        assert!(!is_same("         0       1000          1\n") && !is_same(""));
    }
}
