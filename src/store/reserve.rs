//! Room that is given back when the disk is full, so that deleting and compacting still work.

use super::engine::Engine;
use crate::{Error, ErrorKind, Result};

const BYTES: u64 = 4 << 20;
/// The reserve is made again when this much is free.
const ENOUGH: u64 = 4 * BYTES;

impl Engine {
    fn reserve_path(&self) -> std::path::PathBuf {
        self.options.path.join("reserve")
    }

    /// Bytes that it holds.
    pub fn reserved(&self) -> u64 {
        if self.options.env.exists(&self.reserve_path()).unwrap_or(false) { BYTES } else { 0 }
    }

    /// Gives the reserve back to the disk; whether there was one.
    fn release_reserve(&self) -> bool {
        let released = self.options.env.remove(&self.reserve_path()).is_ok();
        if released {
            log::warn!("the disk under {} is full: the reserve is in use", self.options.path.display());
        }
        released
    }

    /// Makes the reserve if it is missing and there is room.
    pub fn restore_reserve(&self) -> Result<()> {
        let (env, path) = (&self.options.env, self.reserve_path());
        let io = |e: std::io::Error| Error::io(format!("reserve room in {}", path.display()), &e);
        if env.exists(&path).map_err(io)? || env.disk_space(&self.options.path).map_err(io)?.available < ENOUGH {
            return Ok(());
        }
        let fill = || {
            let file = env.create_new(&path)?;
            let zeros = vec![0; 1 << 20];
            (0..BYTES).step_by(zeros.len()).try_for_each(|at| file.write_at(&zeros, at))
        };
        let filled = fill();
        if filled.is_err() {
            self.release_reserve();
        }
        filled.map_err(io)
    }

    /// Does what must work on a full disk: with the reserve, if it does not without.
    pub fn with_reserve<T>(&self, mut action: impl FnMut() -> Result<T>) -> Result<T> {
        match action() {
            Err(e) if e.kind == ErrorKind::NoSpace && self.release_reserve() => action(),
            other => other,
        }
    }
}
