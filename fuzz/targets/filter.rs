//! The filter language: any text is a filter or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = cellfs::query::parse(data);
});
