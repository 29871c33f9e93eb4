//! Finding a place in an extent: by a key, by a row, backward.

use super::{Bytes, ExtentCursor, STEPS};
use crate::Result;
use crate::format::key::{self, common};

impl ExtentCursor {
    /// To the first cell whose key is not below `key`, forward or backward.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.valid && (self.key.as_slice() == key || self.step_to(key)?) {
            return Ok(());
        }
        self.locate(key)?;
        let at = self.open.shape.find(self.raw(), key, true);
        self.enter_restart(at)?;
        if self.step_until(key, usize::MAX)? { Ok(()) } else { self.enter_next_block() }
    }

    /// Steps within the block to the first cell that is not below `key`, so many cells at most; whether it came there.
    fn step_until(&mut self, key: &[u8], most: usize) -> Result<bool> {
        // How many bytes the keys share: mostly it tells already which is the lesser one.
        let mut same = common(&self.key, key);
        for _ in 0..=most {
            if self.key.get(same) >= key.get(same) {
                return Ok(true);
            }
            let Some(at) = self.next_at() else { return Ok(false) };
            self.enter(at)?;
            same = match self.entry.shared {
                // At a restart, or of the same column, more may be shared than is told.
                shared if shared == 0 || self.entry.rest.is_empty() => common(&self.key, key),
                shared if shared > same => same,
                shared if shared < same => return Ok(true),
                shared => shared + common(&self.key[shared..], &key[shared..]),
            };
        }
        Ok(false)
    }

    /// Steps some cells within the block; whether it came to the first one that is not below `key`.
    fn step_to(&mut self, key: &[u8]) -> Result<bool> {
        if self.key.as_slice() > key {
            return Ok(false);
        }
        self.step_until(key, STEPS)
    }

    /// Loads the block that has a key, if any has.
    fn locate(&mut self, key: &[u8]) -> Result<()> {
        self.valid = false;
        let groups = self.groups()?;
        let group = groups.find(key);
        let index = match self.index(&groups, group) {
            Ok(index) => index,
            Err(e) => {
                self.open.bytes = Bytes::None;
                (self.open.group, self.open.n) = (group, 0);
                return Err(e);
            }
        };
        self.load(&groups, group, index.find(key))
    }

    /// To the first cell of the next row, if it is at a cell.
    pub fn next_row(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        if self.next_row > self.at {
            let at = self.next_row;
            self.next_row = 0;
            return self.enter(at);
        }
        let Some(len) = key::row_prefix_len(&self.key) else { return Err(self.nonsense()) };
        let mut target = std::mem::take(&mut self.target);
        target.clear();
        target.extend_from_slice(&self.key[..len]);
        // The last byte is that of an end mark; what is escaped is above it by more.
        if let Some(last) = target.last_mut() {
            *last += 1;
        }
        let done = self.leave_block(&target);
        self.target = target;
        done
    }

    /// To the first cell that is not below `key`, which is above all of the block.
    fn leave_block(&mut self, key: &[u8]) -> Result<()> {
        self.valid = false;
        let (group, n) = (self.open.group, self.open.n + 1);
        let groups = self.groups()?;
        let index = self.index(&groups, group)?;
        // Mostly it is the first one of the next block, and nothing has to be searched.
        if n < index.len() && index.separator(n) >= key {
            return self.go_on_in(&groups, group, n);
        }
        self.seek(key)?;
        self.shared = 0;
        Ok(())
    }

    /// To the last cell whose key is below `key`; that key. `None`: there is none, and it is at no cell.
    pub fn last_before(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.locate(key)?;
        loop {
            let at = self.open.shape.find(self.raw(), key, false);
            self.enter_restart(at)?;
            if self.key.as_slice() < key {
                return self.step_below(key).map(Some);
            }
            // All of the block is above: so is none of the one before.
            self.valid = false;
            let groups = self.groups()?;
            let (group, n) = match (self.open.group, self.open.n) {
                (0, 0) => return Ok(None),
                (group, 0) => (group - 1, self.index(&groups, group - 1)?.len().saturating_sub(1)),
                (group, n) => (group, n - 1),
            };
            self.load(&groups, group, n)?;
        }
    }

    /// From a cell below `key` to the last such in the block.
    fn step_below(&mut self, key: &[u8]) -> Result<Vec<u8>> {
        let restart = self.at;
        let mut last = restart;
        while let Some(at) = self.next_at() {
            self.enter(at)?;
            if self.key.as_slice() >= key {
                break;
            }
            last = at;
        }
        if self.at != last {
            self.enter_restart(Some(restart))?;
            while self.at < last {
                match self.next_at() {
                    Some(at) => self.enter(at)?,
                    None => break,
                }
            }
        }
        Ok(self.key.clone())
    }
}
