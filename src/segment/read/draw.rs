//! Blocks by their number: for who takes some of them at random.

use std::ops::Range;

use super::extent::Extent;
use crate::Result;
use crate::segment::parts::index::GROUP_BLOCKS;

/// A key, and one that is behind what is meant; `None`: nothing is.
type Between = (Vec<u8>, Option<Vec<u8>>);

impl Extent {
    /// The groups that may have keys of `[from, end)`.
    pub fn groups_between(&self, from: &[u8], end: &[u8]) -> Result<Range<usize>> {
        let groups = self.groups()?;
        Ok(groups.find(from)..groups.find(end) + 1)
    }

    /// As many blocks as any group can have; of an extent with one group: as it has.
    pub fn most_blocks(&self) -> Result<usize> {
        let groups = self.groups()?;
        if groups.len() > 1 { Ok(GROUP_BLOCKS) } else { Ok(self.index(groups, 0, true)?.len()) }
    }

    /// Where the n-th block of a group begins, and the next block of the extent; `None`: the group has fewer. No key
    /// before the first is in the block, none from the second on.
    pub fn block_between(&self, group: usize, n: usize) -> Result<Option<Between>> {
        let groups = self.groups()?;
        let index = self.index(groups, group, true)?;
        if n >= index.len() {
            return Ok(None);
        }
        let next = match () {
            () if n + 1 < index.len() => Some(index.separator(n + 1).to_vec()),
            () if group + 1 < groups.len() => Some(groups.separator(group + 1).to_vec()),
            () => None,
        };
        Ok(Some((index.separator(n).to_vec(), next)))
    }
}
