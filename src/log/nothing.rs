//! The file of a log that is never written to: a snapshot's.

use crate::env::EnvFile;

/// See the module.
pub(super) struct Nothing;

impl Nothing {
    fn refuse<T>() -> std::io::Result<T> {
        Err(std::io::Error::other("a snapshot is never written to"))
    }
}

impl EnvFile for Nothing {
    fn read_at(&self, _buf: &mut [u8], _offset: u64) -> std::io::Result<()> {
        Self::refuse()
    }

    fn write_at(&self, _data: &[u8], _offset: u64) -> std::io::Result<()> {
        Self::refuse()
    }

    fn sync(&self) -> std::io::Result<()> {
        Self::refuse()
    }

    fn set_len(&self, _len: u64) -> std::io::Result<()> {
        Self::refuse()
    }

    fn len(&self) -> std::io::Result<u64> {
        Ok(0)
    }
}
