//! The bytes of a file of the log, as far as the disk gives them; what it does not give is damage.

use std::path::Path;

use super::file::{HEADER, path_of};
use super::record::MAGIC;
use crate::env::{Env, Partial};
use crate::{Error, Result};

/// See the module.
#[derive(Default)]
pub struct Bytes(Partial);

impl From<Vec<u8>> for Bytes {
    fn from(all: Vec<u8>) -> Self {
        Self(all.into())
    }
}

impl Bytes {
    /// Of the file with a number.
    pub fn of(env: &dyn Env, dir: &Path, number: u64) -> Result<Self> {
        Self::at(env, &path_of(dir, number))
    }

    /// Of the file at a path.
    pub fn at(env: &dyn Env, path: &Path) -> Result<Self> {
        Partial::read(env, path).map(Self).map_err(|e| Error::io(format!("read {}", path.display()), &e))
    }

    /// All of them, with a filler where the disk gives none.
    pub(in crate::log) fn all(&self) -> &[u8] {
        &self.0.bytes
    }

    pub fn length(&self) -> u64 {
        self.0.bytes.len() as u64
    }

    /// The first byte in a range that cannot be read.
    pub(in crate::log) fn refused_in(&self, within: std::ops::Range<usize>) -> Option<u64> {
        self.0.refused_in(within)
    }

    /// Leaves out what is behind the first so many.
    pub fn truncate(&mut self, len: u64) {
        self.0.truncate(len);
    }

    /// The first byte that cannot be read.
    pub fn refused(&self) -> Option<u64> {
        self.0.refused_in(0..usize::MAX)
    }

    /// Whether the first bytes of a record that may begin here were never written.
    pub(in crate::log) fn lacks_magic(&self, at: usize) -> bool {
        let head = at..at + MAGIC.len();
        let is_blank = self.all().get(head.clone()).is_some_and(|head| head.iter().all(|byte| *byte == 0));
        is_blank && self.refused_in(head).is_none()
    }

    /// Whether nothing was ever written from an offset on.
    pub(in crate::log) fn is_blank(&self, from: usize) -> bool {
        let rest = self.all().get(from..).unwrap_or_default();
        let is_refused = |at: usize| self.0.refused_in(at..at + 1).is_some();
        // What is written is written from its beginning on.
        self.0.refused_in(from..from + MAGIC.len()).is_none()
            && rest.iter().enumerate().all(|(n, byte)| *byte == 0 || is_refused(from + n))
    }

    /// Whether nothing was ever written to the file.
    pub fn is_void(&self) -> bool {
        self.is_blank(0)
    }

    /// Whether a record was written to the file, or begun.
    pub fn has_begun(&self) -> bool {
        !self.is_blank(HEADER as usize)
    }

    /// Whether records may have been in it of which nothing can be read.
    pub fn may_hide_records(&self) -> bool {
        self.length() > HEADER && self.refused().is_some()
    }
}
