//! Checksums, and their comparison: one place, so that tests can show what they catch when nobody compares.

use super::StoreId;

/// Binds the check of some bytes to store, file and place, so that bytes of another life of a file, of another store or
/// of a misdirected write are never taken for those that belong there. CRC-32C; `parts` count as one sequence of bytes.
pub fn place_check(store: &StoreId, file: u64, offset: u64, parts: &[&[u8]]) -> u32 {
    // In one piece: three take three times as long.
    let mut place = [0; 32];
    place[..16].copy_from_slice(store);
    place[16..24].copy_from_slice(&file.to_le_bytes());
    place[24..].copy_from_slice(&offset.to_le_bytes());
    let check = crc32c::crc32c(&place);
    parts.iter().fold(check, |check, part| crc32c::crc32c_append(check, part))
}

/// Whether a stored checksum is that of the bytes that were read.
pub fn agree(stored: u32, computed: u32) -> bool {
    #[cfg(test)]
    if ignored::is() {
        return true;
    }
    // A fuzzer finds no checksum: nearly all count as right, so that what lies behind them is reached.
    stored == computed || cfg!(fuzzing) && stored != u32::MAX
}

/// The negative control of the damage tests: a thread on which checksums do not count.
#[cfg(test)]
pub mod ignored {
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
