//! What a store and its blob files tell each other: names, limits, figures.

use super::shares::HINT;
use crate::Result;

/// Says to the store's journal what becomes of blob files. It must not call back into this room: others wait meanwhile.
pub trait Naming: Send + Sync {
    /// The number of a new file, greater than all before and not 0, after an edit that names it is on the disk.
    fn begin_blob(&self) -> Result<u64>;
    /// The file is complete and on the disk, with so many bytes and chunks.
    fn sealed(&self, number: u64, bytes: u64, chunks: u32) -> Result<()>;
}

/// A sealed file as the journal knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobState {
    pub number: u64,
    /// Of the whole file.
    pub bytes: u64,
    /// Numbers of chunks are below this.
    pub chunks: u32,
    /// Chunks that were judged dead and punched out, as bits; may be empty: then they are punched out once more.
    pub dead: Vec<u64>,
}

/// Limits; the defaults are the store's.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes at which the next file is begun, at most 1 GiB.
    pub roll: u64,
    /// The same where a filesystem cannot punch holes.
    pub roll_unpunched: u64,
    /// Bytes of chunks in memory.
    pub cache: usize,
    /// Hints of chunks that may be shared.
    pub hints: usize,
    /// Least, average and most bytes of a chunk that is cut.
    pub cut: (usize, usize, usize),
}

impl Default for Options {
    fn default() -> Self {
        let cut = (16 << 10, 64 << 10, 256 << 10);
        Self { roll: 256 << 20, roll_unpunched: 16 << 20, cache: 8 << 20, hints: (6 << 20) / HINT, cut }
    }
}

/// What the files have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub files: u64,
    pub chunks: u64,
    /// Length of all files.
    pub bytes: u64,
    /// Of these, punched out by this process.
    pub punched: u64,
}
