//! What threads of the background do for whoever writes; who needs it does it, where there are no threads.

use crate::Result;

/// See the module; of an engine `E`. Of a store that takes no changes nothing has to be done.
pub struct Chores<E> {
    /// Flushes the memtables that are frozen.
    pub flush_frozen: fn(&E) -> Result<()>,
    /// Makes room on a full disk.
    pub make_room: fn(&E),
}

impl<E> Default for Chores<E> {
    fn default() -> Self {
        Self { flush_frozen: |_| Ok(()), make_room: |_| () }
    }
}
