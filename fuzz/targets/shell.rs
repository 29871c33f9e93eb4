//! The shell's language: any text is statements or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        cellfs::shell::is_understood(text);
    }
});
