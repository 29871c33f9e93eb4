//! What may be in memory alone, written to the disk once more.

use std::path::Path;

use crate::env::Env;
use crate::{Error, Result};

/// What a hole in a file is made of.
const PAGE: usize = 4096;

/// Where pages lie that are more than zeros: what was punched out stays a hole.
fn written(piece: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (n, page) in piece.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
        let (from, to) = (n * PAGE, n * PAGE + page.len());
        match ranges.last_mut().filter(|range| range.end == from) {
            Some(range) => range.end = to,
            None => ranges.push(from..to),
        }
    }
    ranges
}

/// Writes what is in a file once more: it may be in memory alone, and count as written after a sync that failed.
pub fn write_again(env: &dyn Env, path: &Path) -> Result<()> {
    let file = match env.open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|e| Error::io(format!("open {}", path.display()), &e))?,
    };
    let again = || -> std::io::Result<()> {
        let (len, mut at) = (file.len()?, 0);
        let mut piece = vec![0; (1 << 20).min(len as usize)];
        while at < len {
            let part = piece.len().min((len - at) as usize);
            if file.read_at(&mut piece[..part], at).is_err() {
                // What cannot be read is not in memory.
                piece[..part].fill(0);
                for (n, page) in piece[..part].chunks_mut(PAGE).enumerate() {
                    if file.read_at(page, at + (n * PAGE) as u64).is_err() {
                        page.fill(0);
                    }
                }
            }
            for range in written(&piece[..part]) {
                file.write_at(&piece[range.clone()], at + range.start as u64)?;
            }
            at += part as u64;
        }
        Ok(())
    };
    again().map_err(|e| Error::io(format!("write again {}", path.display()), &e))
}
