//! Compression of the cell blocks that a server sends, in the form of Hadoop's codecs.

use std::io::Read;

use crate::hbase::client::error::{Error, Kind, Result};

/// Which codec a connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    /// Hadoop's DefaultCodec: zlib.
    Deflate,
}

impl Compression {
    /// Of its name in an address.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => None,
        }
    }

    /// The class that a server is told.
    pub(in crate::hbase::client) fn class(self) -> &'static str {
        match self {
            Self::Gzip => "org.apache.hadoop.io.compress.GzipCodec",
            Self::Deflate => "org.apache.hadoop.io.compress.DefaultCodec",
        }
    }

    /// The bytes of a block, of which there may be `most`.
    pub(in crate::hbase::client) fn unpack(self, block: &[u8], most: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limit = most as u64 + 1;
        let read = match self {
            Self::Gzip => flate2::read::MultiGzDecoder::new(block).take(limit).read_to_end(&mut bytes),
            Self::Deflate => flate2::read::ZlibDecoder::new(block).take(limit).read_to_end(&mut bytes),
        };
        read.map_err(|e| Error::protocol(format!("cells cannot be unpacked: {e}")))?;
        if bytes.len() > most {
            return Err(Error::new(Kind::TooLarge, format!("cells of more than {most} bytes in one answer")));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn blocks_are_unpacked_up_to_a_bound() {
        let bytes = vec![7; 100_000];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&bytes).unwrap();
        for (compression, block) in [(Compression::Gzip, gzip), (Compression::Deflate, zlib.finish().unwrap())] {
            assert_eq!(compression.unpack(&block, 100_000).unwrap(), bytes);
            assert_eq!(compression.unpack(&block, 99_999).unwrap_err().kind, Kind::TooLarge);
            assert_eq!(compression.unpack(&block[..20], 100_000).unwrap_err().kind, Kind::Protocol);
        }
        assert_eq!(Compression::named("gzip"), Some(Compression::Gzip));
        assert_eq!(Compression::named("snappy"), None);
    }
}
