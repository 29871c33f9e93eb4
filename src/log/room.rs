//! Where the records of the active file go: into a window of it, for which room was taken ahead, or by a write each.
//!
//! A small record in a window costs a fifth of a write. Behind the records of a window the file has zeros. Elsewhere it
//! ends with its last record.

use std::io;

use crate::env::{EnvFile, Window};

/// Bytes of a window: as many as the file has, within these bounds, so that an idle file takes at most twice what is in
/// it, or little.
const LEAST: u64 = 64 << 10;
const MOST: u64 = 2 << 20;
/// Bytes of the longest record for which a window is made.
const SMALL: usize = 32 << 10;
/// After so many bytes a window is tried again where there was none.
const PATIENCE: u64 = 1 << 20;

/// See the module.
#[derive(Default)]
pub(super) struct Room {
    window: Option<Box<dyn Window>>,
    /// There is no window up to this offset.
    none_before: u64,
}

impl Room {
    /// Writes a record at the end of the others; `is_plenty`: whether room may be taken ahead.
    pub fn write(
        &mut self,
        file: &dyn EnvFile,
        (record, offset): (&[u8], u64),
        is_plenty: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let end = offset + record.len() as u64;
        if let Some(window) = self.window.as_mut().filter(|window| end <= window.end()) {
            return window.put(record, offset);
        }
        let is_longer = self.window.take().is_some() && is_longer(file, offset)?;
        if record.len() > SMALL || offset < self.none_before || !is_plenty() {
            return self.write_alone(file, (record, offset), is_longer);
        }
        match file.window(offset, offset + offset.clamp(LEAST, MOST)) {
            Ok(Some(mut window)) if end <= window.end() => {
                window.put(record, offset)?;
                self.window = Some(window);
                Ok(())
            }
            // What keeps it from being made keeps no record from being written.
            _ => {
                self.none_before = offset + PATIENCE;
                self.write_alone(file, (record, offset), true)
            }
        }
    }

    fn write_alone(&self, file: &dyn EnvFile, (record, offset): (&[u8], u64), is_longer: bool) -> io::Result<()> {
        // Order: a file that ends within a record shows that this was not written whole.
        if is_longer {
            file.set_len(offset)?;
        }
        file.write_at(record, offset)
    }

    /// Ends the window, before another file is written to.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// Ends the window and the file, which has records up to `offset`.
    pub fn end_at(&mut self, file: &dyn EnvFile, offset: u64) -> io::Result<()> {
        self.end();
        if is_longer(file, offset)? { file.set_len(offset) } else { Ok(()) }
    }
}

/// Whether a file has something behind its records. One that somebody else has cut is not made longer again.
fn is_longer(file: &dyn EnvFile, offset: u64) -> io::Result<bool> {
    match file.len()? {
        len if len < offset => Err(io::Error::other(CUT)),
        len => Ok(len > offset),
    }
}

/// What is said of a file of the log that is shorter than what was written to it.
pub(super) const CUT: &str = "it was cut short";
