//! For tests: an index of small pages, which has few bits and yet a tree.

use std::cell::Cell;

thread_local! {
    static SMALL: Cell<bool> = const { Cell::new(false) };
}

/// What makes a new database have pages as this thread wants them.
pub(super) fn page_size() -> &'static str {
    if SMALL.get() { "PRAGMA page_size=512; " } else { "" }
}

/// Runs `action`, which makes databases of the smallest pages.
pub fn small<T>(action: impl FnOnce() -> T) -> T {
    SMALL.set(true);
    let result = action();
    SMALL.set(false);
    result
}
