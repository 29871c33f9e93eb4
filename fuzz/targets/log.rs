//! A file of the log of any bytes: its walk ends, goes forward, and what it gives is whole.
#![no_main]

use cellfs::log::{FileHeader, HEADER, Walk};
use cellfs::model::SeqNo;
use libfuzzer_sys::fuzz_target;

const STORE: [u8; 16] = [7; 16];
const FILE: u64 = 42;

fuzz_target!(|data: &[u8]| {
    // The first byte says whether the header is a good one.
    let Some((kind, rest)) = data.split_first() else { return };
    let mut bytes = Vec::new();
    if kind % 4 != 0 {
        let header = FileHeader { number: FILE, before: SeqNo(u64::from(*kind)), edit: 1 };
        bytes.extend_from_slice(&header.encode(&STORE));
    }
    bytes.extend_from_slice(rest);
    let end = bytes.len() as u64;
    let Ok(Some(mut walk)) = Walk::of(bytes, FILE, &STORE) else { return };
    let mut last = None;
    while let Some(found) = walk.next_found() {
        let offset = match found {
            Ok(record) => {
                assert!(record.cells.iter().all(|cell| cell.whole));
                record.offset
            }
            Err(damage) => {
                assert!(damage.resume.is_none_or(|at| at > damage.offset));
                damage.offset
            }
        };
        assert!(offset >= HEADER && offset < end && last.is_none_or(|last| last < offset));
        last = Some(offset);
    }
});
