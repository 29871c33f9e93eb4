//! The bytes of a file of the log, as far as the disk gives them.
//!
//! For one sector that has gone bad a disk refuses every read that touches it. What is refused is asked for again in
//! smaller pieces, down to a sector; what is refused then too is damage. Nothing is ever written here.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::file::{HEADER, path_of};
use super::record::MAGIC;
use crate::env::{Env, EnvFile, is_unreadable};
use crate::{Error, Result};

/// Bytes that are asked for at once, one size after the other; the last is a sector.
const PIECES: [usize; 3] = [1 << 20, 4096, 512];
/// What stands for a byte that cannot be read: no zero, which is how room looks that nobody has written to.
const FILLER: u8 = 0xFF;

/// See the module.
#[derive(Default)]
pub struct Bytes {
    pub(super) all: Vec<u8>,
    /// Where those are that cannot be read, ascending.
    refused: Vec<Range<usize>>,
}

impl From<Vec<u8>> for Bytes {
    fn from(all: Vec<u8>) -> Self {
        Self { all, refused: Vec::new() }
    }
}

impl Bytes {
    /// Of the file with a number.
    pub fn of(env: &dyn Env, dir: &Path, number: u64) -> Result<Self> {
        Self::at(env, &path_of(dir, number))
    }

    /// Of the file at a path.
    pub fn at(env: &dyn Env, path: &Path) -> Result<Self> {
        read(env, path).map_err(|e| Error::io(format!("read {}", path.display()), &e))
    }

    pub fn length(&self) -> u64 {
        self.all.len() as u64
    }

    /// Leaves out what is behind the first so many.
    pub fn truncate(&mut self, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.all.truncate(len);
        self.refused.retain(|range| range.start < len);
    }

    /// The first byte that cannot be read.
    pub fn refused(&self) -> Option<u64> {
        self.refused_in(0..self.all.len())
    }

    pub(super) fn refused_in(&self, within: Range<usize>) -> Option<u64> {
        let met = self.refused.iter().find(|range| range.start < within.end && within.start < range.end)?;
        Some(met.start.max(within.start) as u64)
    }

    /// Whether nothing was ever written from an offset on.
    pub(super) fn is_blank(&self, from: usize) -> bool {
        let rest = self.all.get(from..).unwrap_or_default();
        let is_refused = |at: usize| self.refused_in(at..at + 1).is_some();
        // What is written is written from its beginning on.
        self.refused_in(from..from + MAGIC.len()).is_none()
            && rest.iter().enumerate().all(|(n, byte)| *byte == 0 || is_refused(from + n))
    }

    /// Whether nothing was ever written to the file.
    pub fn is_void(&self) -> bool {
        self.is_blank(0)
    }

    /// Whether records may have been in it of which nothing can be read.
    pub fn may_hide_records(&self) -> bool {
        self.length() > HEADER && self.refused().is_some()
    }
}

fn read(env: &dyn Env, path: &Path) -> io::Result<Bytes> {
    match env.read_file(path) {
        Err(e) if is_unreadable(&e) => {}
        read => return read.map(Bytes::from),
    }
    let file = env.open(path)?;
    let mut all = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
    let mut refused = Vec::new();
    read_pieces(&*file, (&mut all, 0), &PIECES, &mut refused)?;
    // A disk that answers nothing any more has not lost what is on it.
    path.parent().map_or(Ok(Vec::new()), |dir| env.list(dir))?;
    let mut left: Vec<Range<usize>> = Vec::new();
    for range in refused {
        let piece = &mut all[range.clone()];
        match file.read_at(piece, range.start as u64) {
            Err(e) if is_unreadable(&e) => piece.fill(FILLER),
            read => {
                read?;
                continue;
            }
        }
        match left.last_mut().filter(|before| before.end == range.start) {
            Some(before) => before.end = range.end,
            None => left.push(range),
        }
    }
    Ok(Bytes { all, refused: left })
}

/// Fills `out`, which is for `at`, piece by piece; what is refused in the last of the `sizes` is added.
fn read_pieces(
    file: &dyn EnvFile,
    (out, at): (&mut [u8], usize),
    sizes: &[usize],
    refused: &mut Vec<Range<usize>>,
) -> io::Result<()> {
    let Some((size, smaller)) = sizes.split_first() else {
        refused.push(at..at + out.len());
        return Ok(());
    };
    for (n, piece) in out.chunks_mut(*size).enumerate() {
        let at = at + n * size;
        match file.read_at(piece, at as u64) {
            Err(e) if is_unreadable(&e) => read_pieces(file, (piece, at), smaller, refused)?,
            read => read?,
        }
    }
    Ok(())
}
