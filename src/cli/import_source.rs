//! What an import reads: a file, a stream, or the rows of a Parquet file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::export::outline;
use super::given::wrong;
use crate::bulk::{Columns, Format, Outline, Rows};
use crate::{Error, Result};

/// What is read: a file that can be read again, or a stream.
pub enum Source {
    File(File, PathBuf, u64),
    Stream(Box<dyn Read>),
    Rows(Box<Rows>),
}

impl Source {
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stream(Box::new(std::io::stdin().lock())));
        }
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let file = File::open(path).map_err(failed)?;
        let there = file.metadata().map_err(failed)?;
        Ok(if there.is_file() { Self::File(file, path.to_owned(), there.len()) } else { Self::Stream(Box::new(file)) })
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = match self {
                Self::File(file, ..) => file.read(buffer),
                Self::Stream(stream) => stream.read(buffer),
                // They are no bytes.
                Self::Rows(_) => return Ok(0),
            };
            match read {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// The rows of a Parquet file, behind as many as are passed.
    pub fn into_rows(self, columns: Option<Columns>, types: &Types, passed: u64) -> Result<Self> {
        let Self::File(file, name, _) = self else {
            return Err(wrong(
                "Parquet has its footer at the end: give a file that can be read from there, and no stream",
            ));
        };
        // Of damage that the library panics of its panic says nothing to a user; what is read of it is an error.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().contains("/parquet-")) {
                usual(panic);
            }
        }));
        let rows = Rows::open(file, columns, &types.0, passed).map_err(|e| e.context(name.display()))?;
        Ok(Self::Rows(Box::new(rows)))
    }
}

/// The types that a schema file names.
pub struct Types(Outline);

impl Types {
    pub fn read(schema: Option<&Path>) -> Result<Self> {
        Ok(Self(schema.map(|file| outline(file, Format::Parquet)).transpose()?.unwrap_or_default()))
    }

    /// What tells them from others; `None`: there are none.
    pub fn mark(&self) -> Option<u64> {
        let mut mark = Xxh3::new();
        for ((family, qualifier), kind) in &self.0.columns {
            for part in [family.as_bytes(), qualifier, kind.name().as_bytes()] {
                mark.update(&(part.len() as u64).to_le_bytes());
                mark.update(part);
            }
        }
        (!self.0.columns.is_empty()).then(|| mark.digest())
    }
}
