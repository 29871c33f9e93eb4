//! Options of a mount, as far as the operations need them.

use std::path::PathBuf;
use std::time::Duration;

use crate::tree::names::escape::Spelling;

/// What a mount was told about the files and directories that are made in it, whoever makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// Permission bits that no new file has, in place of the umask of who makes it.
    pub file_mask: Option<u16>,
    /// Likewise of directories.
    pub dir_mask: Option<u16>,
}

/// Nodes at the most, and at the least, whatever memory there is.
const NODES: (usize, usize) = (10_000, 1_000_000);
/// Memory that a node takes with what hangs on it: measured with names of 5 and of 45 bytes, 640 and 730.
const NODE_BYTES: u64 = 700;
/// What part of the memory nodes may take.
const SHARE: u64 = 4;

/// Most nodes of a mount that is told nothing, by the bytes of memory that its process may have.
pub fn nodes_within(memory: Option<u64>) -> usize {
    let (least, most) = NODES;
    let nodes = memory.and_then(|bytes| usize::try_from(bytes / SHARE / NODE_BYTES).ok());
    nodes.map_or(most, |nodes| nodes.clamp(least, most))
}

/// Options of a mount.
#[derive(Clone, Debug)]
pub struct Options {
    pub uid: u32,
    pub gid: u32,
    /// Permission bits taken away from 0666 of files.
    pub file_mask: u16,
    /// Permission bits taken away from 0777 of directories.
    pub dir_mask: u16,
    pub told: Told,
    /// Why nothing is changed through the mount.
    pub read_only: Option<String>,
    /// How long the kernel may keep names and attributes; changes are announced to it.
    pub cache_time: Duration,
    /// `mkdir` in a row declares families that the table lacks.
    pub families_auto: bool,
    /// Names of temporary files: a column of one version is erased when such a name is unlinked.
    pub temporary: Vec<glob::Pattern>,
    /// Where large unfinished values lie, in unlinked files.
    pub spill_dir: PathBuf,
    /// Families list every version beside its cell.
    pub inline_history: bool,
    /// How names are spelt.
    pub spelling: Spelling,
    /// Extended attributes are switched off.
    pub no_xattr: bool,
    /// Others than who mounts are let in, of whom the kernel judges by the modes that it was told.
    pub lets_others_in: bool,
    /// Most nodes that are held before the oldest are given back.
    pub max_nodes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            uid: 0,
            gid: 0,
            file_mask: 0o022,
            dir_mask: 0o022,
            told: Told::default(),
            read_only: None,
            cache_time: Duration::from_secs(86_400),
            families_auto: false,
            temporary: [".*.sw?", ".*.sw?x", "4913", ".nfs*", ".~lock.*#"]
                .iter()
                .filter_map(|glob| glob::Pattern::new(glob).ok())
                .collect(),
            spill_dir: std::env::temp_dir(),
            inline_history: false,
            spelling: Spelling::default(),
            no_xattr: false,
            lets_others_in: false,
            max_nodes: NODES.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_follow_the_memory() {
        let memories = [None, Some(0), Some(80 << 20), Some(1 << 30), Some(4 << 30), Some(u64::MAX)];
        assert_eq!(memories.map(nodes_within), [1_000_000, 10_000, 29_959, 383_479, 1_000_000, 1_000_000]);
    }
}
