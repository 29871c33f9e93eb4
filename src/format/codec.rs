//! Compression of stored bytes.

use crate::model::Compression;

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

impl Codec {
    /// The codec of a code, `None` for an unknown one.
    pub fn from_code(code: u8) -> Option<Self> {
        [Codec::None, Codec::Gz, Codec::Snappy, Codec::Lz4, Codec::Zstd].get(code as usize).copied()
    }

    /// The codec of a family's COMPRESSION.
    pub fn of(compression: Compression) -> Self {
        match compression {
            Compression::None => Codec::None,
            Compression::Gz => Codec::Gz,
            Compression::Snappy => Codec::Snappy,
            Compression::Lz4 => Codec::Lz4,
            Compression::Zstd => Codec::Zstd,
        }
    }

    /// The bytes compressed; `None` where there is nothing to do.
    pub fn compress(self, data: &[u8]) -> Option<Vec<u8>> {
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
    pub fn expand(self, stored: &[u8], len: usize) -> Option<Vec<u8>> {
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
