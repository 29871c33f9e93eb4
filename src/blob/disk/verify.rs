//! Reading every chunk of a file, for `cellfs check`.

use std::sync::Arc;

use crate::blob::blobs::Blobs;
use crate::{Error, ErrorKind, Result};

/// Damage in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub blob: u64,
    /// The chunk, if it is one; it matters only if it is live.
    pub chunk: Option<u32>,
    /// Names file and place.
    pub error: Error,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub chunks: u64,
    pub bytes: u64,
    /// Chunks from this number on were never there.
    pub next: u32,
}

impl Blobs {
    /// Numbers of all files.
    pub fn numbers(&self) -> Vec<u64> {
        self.0.files.known.read().keys().copied().collect()
    }

    /// Whether there is such a file; without a live chunk it may go at any time.
    pub fn is_known(&self, number: u64) -> bool {
        self.0.files.known.read().contains_key(&number)
    }

    /// Reads every chunk of a file that is not known to be dead, and tells of damage; of what goes meanwhile
    /// nothing more.
    pub fn verify(&self, number: u64, each: &mut dyn FnMut(Finding)) -> Result<Verified> {
        let files = &self.0.files;
        let blob = files.known.read().get(&number).cloned();
        let Some(blob) = blob else { return Ok(Verified::default()) };
        let is_dead = |chunk: u32| {
            let dead = files.shares.dead(number);
            dead.get(chunk as usize / 64).is_some_and(|word| word >> (chunk % 64) & 1 == 1)
        };
        let mut tell = |chunk: Option<u32>, tried: Result<()>| match tried {
            // Order: asked after the read has failed, as a file is forgotten before it is unlinked, and a chunk is known to
            // be dead before it is punched out.
            Err(error)
                if error.kind == ErrorKind::Corrupt && (!self.is_known(number) || chunk.is_some_and(is_dead)) =>
            {
                Ok(())
            }
            Err(error) if error.kind == ErrorKind::Corrupt => {
                each(Finding { blob: number, chunk, error });
                Ok(())
            }
            other => other,
        };
        tell(None, files.check_header(number))?;
        let table = match files.file(number) {
            Ok(file) if blob.table.read().is_none() && !files.tables_agree(&blob, &*file) => {
                let what = "a copy of its table is damaged, which costs time and no data";
                tell(None, Err(files.corrupt(number, None, what)))?;
                files.table(&blob)
            }
            Ok(_) => files.table(&blob),
            Err(e) => Err(e),
        };
        let table = match table {
            Ok(table) => table,
            Err(e) => {
                tell(None, Err(e))?;
                Arc::default()
            }
        };
        let mut verified = Verified::default();
        let chunks = blob.chunks.load(std::sync::atomic::Ordering::Acquire).max(table.next());
        verified.next = chunks;
        for chunk in 0..chunks {
            if is_dead(chunk) {
                continue;
            }
            tell(Some(chunk), files.read_chunk(number, chunk).map(|_| ()))?;
            verified.chunks += 1;
            verified.bytes += table.get(chunk).map_or(0, |place| u64::from(place.total));
        }
        Ok(verified)
    }
}
