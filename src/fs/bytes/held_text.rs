//! Bytes of generated files and attributes that handles and scratch files hold: their sum is bounded.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Error, ErrorKind, Result};

/// Bytes that all of them may hold.
const SUM_MAX: usize = 256 << 20;

static SUM: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are counted while they are held.
#[derive(Debug, Default)]
pub struct HeldText {
    bytes: Vec<u8>,
}

impl HeldText {
    /// `TooMany` when too much is held already.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        reserve(bytes.len())?;
        Ok(Self { bytes })
    }

    pub fn try_clone(&self) -> Result<Self> {
        Self::new(self.bytes.clone())
    }

    /// Cuts them, or fills them up with zeros.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        reserve(len.saturating_sub(self.bytes.len()))?;
        SUM.fetch_sub(self.bytes.len().saturating_sub(len), Ordering::Relaxed);
        self.bytes.resize(len, 0);
        Ok(())
    }

    /// Writes at an offset, beyond the end too.
    pub fn write(&mut self, offset: usize, data: &[u8]) -> Result<()> {
        let end = offset + data.len();
        if end > self.bytes.len() {
            self.resize(end)?;
        }
        self.bytes[offset..end].copy_from_slice(data);
        Ok(())
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
}
