//! Bytes of generated files and attributes that handles and scratch files hold: their sum is bounded.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Error, ErrorKind, Result};

/// Bytes that all of them may hold.
const SUM_MAX: usize = 256 << 20;

static SUM: AtomicUsize = AtomicUsize::new(0);

/// Where the bytes begin in the file that they are written to.
#[derive(Debug, Default)]
enum Begins {
    #[default]
    AtZero,
    /// With the first that is written, once one is.
    WithFirst(Option<usize>),
}

/// Bytes that are counted while they are held.
#[derive(Debug, Default)]
pub struct HeldText {
    bytes: Vec<u8>,
    begins: Begins,
}

impl HeldText {
    /// `TooMany` when too much is held already.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        reserve(bytes.len())?;
        Ok(Self { bytes, begins: Begins::AtZero })
    }

    /// None yet, and what is written stands alone, wherever in its file: it is no change of what is read there.
    pub fn alone() -> Self {
        Self { bytes: Vec::new(), begins: Begins::WithFirst(None) }
    }

    pub fn try_clone(&self) -> Result<Self> {
        Self::new(self.bytes.clone())
    }

    /// Cuts them where the file is to end, or fills them up with zeros, if they do not stand alone.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        match self.begins {
            Begins::AtZero => self.set_len(len),
            Begins::WithFirst(first) => {
                self.set_len(len.saturating_sub(first.unwrap_or(0)).min(self.bytes.len()))?;
                // With nothing left of them they begin anew.
                let first = first.filter(|_| !self.bytes.is_empty());
                self.begins = Begins::WithFirst(first);
                Ok(())
            }
        }
    }

    /// Where they end in their file, if they stand alone and there are some.
    pub fn end_alone(&self) -> Option<usize> {
        match self.begins {
            Begins::AtZero => None,
            Begins::WithFirst(first) => Some(first? + self.bytes.len()),
        }
    }

    fn set_len(&mut self, len: usize) -> Result<()> {
        reserve(len.saturating_sub(self.bytes.len()))?;
        SUM.fetch_sub(self.bytes.len().saturating_sub(len), Ordering::Relaxed);
        self.bytes.resize(len, 0);
        Ok(())
    }

    /// Writes at an offset, beyond the end too.
    pub fn write(&mut self, offset: usize, data: &[u8]) -> Result<()> {
        let offset = offset - self.begin_by(offset)?;
        let end = offset + data.len();
        if end > self.bytes.len() {
            self.set_len(end)?;
        }
        self.bytes[offset..end].copy_from_slice(data);
        Ok(())
    }

    /// Where they begin if something is written at an offset.
    fn begin_by(&mut self, offset: usize) -> Result<usize> {
        let Begins::WithFirst(first) = &mut self.begins else { return Ok(0) };
        let first = first.get_or_insert(offset);
        let before = first.saturating_sub(offset);
        reserve(before)?;
        *first -= before;
        self.bytes.splice(0..0, std::iter::repeat_n(0, before));
        Ok(*first)
    }
}

impl Deref for HeldText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for HeldText {
    fn drop(&mut self) {
        SUM.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

fn reserve(more: usize) -> Result<()> {
    let added =
        SUM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| sum.checked_add(more).filter(|s| *s <= SUM_MAX));
    let text = "too much is held in generated files and attributes at once; close some, or remove scratch files there";
    added.map(|_| ()).map_err(|_| Error::new(ErrorKind::TooMany, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_bounded_and_given_back() {
        let mut held = HeldText::new(vec![1; 1000]).unwrap();
        held.write(1500, b"xy").unwrap();
        assert_eq!((held.len(), held[1499], held[1501]), (1502, 0, b'y'));
        assert_eq!(held.resize(SUM_MAX + 1).unwrap_err().kind, ErrorKind::TooMany);
        held.resize(10).unwrap();
        assert_eq!(&*held.try_clone().unwrap(), &[1; 10]);
    }

    #[test]
    fn what_stands_alone_begins_where_it_is_written() {
        let mut held = HeldText::alone();
        held.resize(10).unwrap();
        held.write(4, b"1").unwrap();
        held.write(3, b"+").unwrap();
        held.write(5, b"23").unwrap();
        assert_eq!(&*held, b"+123");
        held.resize(100).unwrap();
        held.resize(5).unwrap();
        assert_eq!(&*held, b"+1");
        assert_eq!(held.end_alone(), Some(5));
        held.resize(0).unwrap();
        assert!(held.is_empty() && held.end_alone().is_none());
        held.write(0, b"+3").unwrap();
        assert_eq!(&*held, b"+3");
    }
}
