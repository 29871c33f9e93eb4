//! Values on their way into a segment: compression and the checks of their chunks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::model::{Compression, ValueHandle};
use crate::{Error, ErrorKind, Result};

/// Stored bytes under one check.
pub const CHUNK: usize = 64 * 1024;

/// How the stored bytes of a value are compressed. The numbers are part of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    #[default]
    None = 0,
    Gz = 1,
    Snappy = 2,
    Lz4 = 3,
    Zstd = 4,
}

/// A value ready to be appended.
pub struct Prepared {
    pub(super) source: Source,
    pub(super) codec: Codec,
    pub(super) len: u32,
    pub(super) stored_len: u32,
    pub(super) chunks: Vec<u32>,
}

pub(super) enum Source {
    Bytes(Vec<u8>),
    Spilled(Arc<File>),
    Shared(ValueHandle),
}

impl Codec {
    /// The codec of a code, `None` for an unknown one.
    pub fn from_code(code: u8) -> Option<Self> {
        [Codec::None, Codec::Gz, Codec::Snappy, Codec::Lz4, Codec::Zstd].get(code as usize).copied()
    }

    fn of(compression: Compression) -> Self {
        match compression {
            Compression::None => Codec::None,
            Compression::Gz => Codec::Gz,
            Compression::Snappy => Codec::Snappy,
            Compression::Lz4 => Codec::Lz4,
            Compression::Zstd => Codec::Zstd,
        }
    }

    fn compress(self, data: &[u8]) -> Option<Vec<u8>> {
        match self {
            Codec::None => None,
            Codec::Gz => {
                use std::io::Write;
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(data).ok()?;
                encoder.finish().ok()
            }
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(data).ok(),
            Codec::Lz4 => Some(lz4_flex::block::compress(data)),
            Codec::Zstd => zstd::bulk::compress(data, 3).ok(),
        }
    }

    /// The `len` bytes that `stored` stands for; `None` if it does not stand for exactly that many.
    pub(super) fn expand(self, stored: &[u8], len: usize) -> Option<Vec<u8>> {
        let data = match self {
            Codec::None => stored.to_vec(),
            Codec::Gz => {
                use std::io::Read;
                let mut data = Vec::with_capacity(len);
                let limit = len as u64 + 1;
                flate2::read::GzDecoder::new(stored).take(limit).read_to_end(&mut data).ok()?;
                data
            }
            Codec::Snappy => {
                let mut data = vec![0; len];
                let filled = snap::raw::Decoder::new().decompress(stored, &mut data).ok()?;
                data.truncate(filled);
                data
            }
            Codec::Lz4 => lz4_flex::block::decompress(stored, len).ok()?,
            Codec::Zstd => zstd::bulk::decompress(stored, len).ok()?,
        };
        (data.len() == len).then_some(data)
    }
}

impl Prepared {
    /// Bytes at hand, compressed if the family asks for it and they get smaller.
    pub fn bytes(data: Vec<u8>, compression: Compression) -> Self {
        let len = data.len() as u32;
        let codec = Codec::of(compression);
        let (codec, data) = match codec.compress(&data) {
            Some(smaller) if smaller.len() < data.len() => (codec, smaller),
            _ => (Codec::None, data),
        };
        let chunks = data.chunks(CHUNK).map(crc32c::crc32c).collect();
        Self { codec, len, stored_len: data.len() as u32, chunks, source: Source::Bytes(data) }
    }

    /// The bytes of another entry.
    pub fn shared(handle: ValueHandle) -> Self {
        Self { source: Source::Shared(handle), codec: Codec::None, len: handle.len, stored_len: 0, chunks: Vec::new() }
    }

    /// No value (tombstones).
    pub fn none() -> Self {
        Self { source: Source::Bytes(Vec::new()), codec: Codec::None, len: 0, stored_len: 0, chunks: Vec::new() }
    }

    /// Bytes of the value in the log.
    pub fn stored_len(&self) -> u64 {
        u64::from(self.stored_len)
    }

    fn spilled(file: Arc<File>, len: u32) -> Result<Self> {
        let mut chunks = Vec::with_capacity((len as usize).div_ceil(CHUNK));
        let mut buffer = vec![0; CHUNK];
        let mut offset = 0u64;
        while offset < u64::from(len) {
            let part = CHUNK.min((u64::from(len) - offset) as usize);
            file.read_exact_at(&mut buffer[..part], offset)
                .map_err(|e| Error::io("read the spilled bytes of a large value", &e))?;
            chunks.push(crc32c::crc32c(&buffer[..part]));
            offset += part as u64;
        }
        Ok(Self { source: Source::Spilled(file), codec: Codec::None, len, stored_len: len, chunks })
    }
}

/// Largest spilled value that is compressed, which needs it in memory.
const COMPRESS_LIMIT: u32 = 8 << 20;

/// Makes `len` bytes of an unlinked file ready: read twice (checks, copy), never whole in memory unless
/// small enough to be compressed.
pub fn prepare(file: Arc<File>, len: u64, compression: Compression) -> Result<Prepared> {
    let len = u32::try_from(len).map_err(|_| {
        Error::new(ErrorKind::ValueTooLarge, format!("a value of {len} bytes: no value can reach 4 GiB"))
    })?;
    if compression == Compression::None || len > COMPRESS_LIMIT {
        return Prepared::spilled(file, len);
    }
    let mut data = vec![0; len as usize];
    file.read_exact_at(&mut data, 0).map_err(|e| Error::io("read the spilled bytes of a large value", &e))?;
    Ok(Prepared::bytes(data, compression))
}
