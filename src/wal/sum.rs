//! Comparison of checksums: one place, so that tests can show what they catch when nobody compares.

/// Whether a stored checksum is that of the bytes that were read.
pub(crate) fn agree(stored: u32, computed: u32) -> bool {
    #[cfg(test)]
    if ignored::is() {
        return true;
    }
    // A fuzzer finds no checksum: nearly all count as right, so that what lies behind them is reached.
    stored == computed || cfg!(fuzzing) && stored != u32::MAX
}

/// The negative control of the damage tests: a thread on which checksums do not count.
#[cfg(test)]
pub(crate) mod ignored {
    use std::cell::Cell;

    thread_local! {
        static IGNORED: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is() -> bool {
        IGNORED.get()
    }

    /// Runs `action` as if there were no checksums.
    pub fn during<T>(action: impl FnOnce() -> T) -> T {
        IGNORED.set(true);
        let result = action();
        IGNORED.set(false);
        result
    }
}
