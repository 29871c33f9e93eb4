//! Programs that run from a file: nobody writes to it meanwhile (ETXTBSY).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::fs::nodes::node::Node;
use crate::{Error, ErrorKind, Result};

/// Counts a program that runs, until it is dropped.
pub struct Running(Arc<Node>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.runs.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Running {
    /// For a handle by which the kernel runs a program; it is released when the last process ends that does.
    pub fn begin(node: &Arc<Node>) -> Self {
        node.runs.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(node))
    }
}

impl Node {
    /// The kernel asks for itself, but after an open with O_TRUNC: by then the program has lost its pages.
    pub(in crate::fs) fn check_not_running(&self) -> Result<()> {
        if self.runs.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Executing, "the file is a program that runs; put another one in its place by rename"))
    }
}
