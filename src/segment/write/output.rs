//! A segment's file while it is written: gathered into large writes, synced once.
//!
//! Must not know what is in the parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::env::{Env, EnvFile};
use crate::format::Codec;
use crate::segment::parts::facts::Place;
use crate::segment::parts::piece::{HEADER, Header, Kind, Owner, RAW_MAX};
use crate::{Error, ErrorKind, Result};

/// Bytes that are written at once.
const WRITE: usize = 1 << 20;

/// See the module.
pub(in crate::segment) struct Output {
    file: Arc<dyn EnvFile>,
    path: PathBuf,
    pub(in crate::segment) owner: Owner,
    buffer: Vec<u8>,
    written: u64,
}

impl Output {
    /// A new file.
    pub(in crate::segment) fn create(env: &dyn Env, path: &Path, owner: Owner) -> Result<Self> {
        let file = env.create_new(path).map_err(|e| Error::io(format_args!("make {}", path.display()), &e))?;
        Ok(Self { file, path: path.to_owned(), owner, buffer: Vec::with_capacity(WRITE + (WRITE >> 2)), written: 0 })
    }

    /// Where the next byte goes.
    pub(in crate::segment) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes as they are.
    pub(in crate::segment) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= WRITE {
            self.flush()?;
            self.write(bytes)?;
            self.written += bytes.len() as u64;
            return Ok(());
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE { self.flush() } else { Ok(()) }
    }

    /// Appends zeros up to the next multiple.
    pub(in crate::segment) fn align(&mut self, to: u64) -> Result<()> {
        let gap = self.position().next_multiple_of(to) - self.position();
        self.put(&vec![0; gap as usize])
    }

    /// Appends a part, compressed if that saves an eighth; where it is, its header left out.
    pub(in crate::segment) fn put_piece(&mut self, kind: Kind, codec: Codec, count: u16, raw: &[u8]) -> Result<Place> {
        let too_long =
            |_| Error::new(ErrorKind::ValueTooLarge, "a value of 4 GiB and more cannot be stored in one piece");
        let len = u32::try_from(raw.len()).map_err(too_long)?;
        let packed = if raw.len() <= RAW_MAX { codec.compress(raw) } else { None };
        let packed = packed.filter(|packed| packed.len() <= raw.len() - raw.len() / 8);
        let (codec, stored) = packed.as_deref().map_or((Codec::None, raw), |packed| (codec, packed));
        // What is compressed is not longer than `len`.
        let header = Header::new(kind, codec, stored.len() as u32, len, count);
        let at = self.position();
        self.put(&header.seal(&self.owner, at, stored))?;
        self.put(stored)?;
        debug_assert_eq!(self.position(), at + (HEADER + stored.len()) as u64);
        Ok(Place { at, stored: stored.len() as u32 })
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let what = || format!("write {}", self.path.display());
        self.file.write_at(bytes, self.written).map_err(|e| Error::io(what(), &e))
    }

    fn flush(&mut self) -> Result<()> {
        self.write(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Returns when everything is on the disk; the name is not yet.
    pub(in crate::segment) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync().map_err(|e| Error::io(format_args!("sync {}", self.path.display()), &e))
    }
}
