//! The bytes of a file as far as the disk gives them.
//!
//! For one sector that has gone bad a disk refuses every read that touches it. What is refused is asked for again in
//! smaller pieces, down to a sector. Nothing is ever written here.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::{Env, EnvFile, is_unreadable};

/// Bytes that are asked for at once, one size after the other; the last is a sector.
const PIECES: [usize; 3] = [1 << 20, 4096, 512];
/// How often a file is read once more that became shorter in the middle.
const TRIES: usize = 10;
/// What stands for a byte that cannot be read: no zero, which is how room looks that nobody has written to.
const FILLER: u8 = 0xFF;

/// See the module.
#[derive(Default)]
pub struct Partial {
    pub bytes: Vec<u8>,
    /// Where those are that cannot be read, ascending.
    refused: Vec<Range<usize>>,
}

impl From<Vec<u8>> for Partial {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, refused: Vec::new() }
    }
}

impl Partial {
    /// Of a (small) file. An error where the disk answers nothing any more: then it has not lost what is on it.
    pub fn read(env: &dyn Env, path: &Path) -> io::Result<Self> {
        match read_whole(env, path) {
            Err(e) if is_unreadable(&e) => {}
            read => return read.map(Self::from),
        }
        let file = env.open(path)?;
        let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
        let mut refused = Vec::new();
        read_pieces(&*file, (&mut bytes, 0), &PIECES, &mut refused)?;
        path.parent().map_or(Ok(Vec::new()), |dir| env.list(dir))?;
        let mut left: Vec<Range<usize>> = Vec::new();
        for range in refused {
            let piece = &mut bytes[range.clone()];
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
        Ok(Self { bytes, refused: left })
    }

    /// The first byte in a range that cannot be read.
    pub fn refused_in(&self, within: Range<usize>) -> Option<u64> {
        let met = self.refused.iter().find(|range| range.start < within.end && within.start < range.end)?;
        Some(met.start.max(within.start) as u64)
    }

    /// Leaves out what is behind the first so many bytes.
    pub fn truncate(&mut self, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.bytes.truncate(len);
        self.refused.retain(|range| range.start < len);
    }
}

/// Of a log that is written to, room that was taken ahead may go meanwhile.
fn read_whole(env: &dyn Env, path: &Path) -> io::Result<Vec<u8>> {
    let mut tries = 0..TRIES;
    loop {
        match env.read_file(path) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && tries.next().is_some() => {}
            read => return read,
        }
    }
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
