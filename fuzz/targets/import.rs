//! Records of an import: any bytes, in pieces of any length, are cells or are refused, and the same in one piece.
#![no_main]

use cellfs::bulk::{Format, read_records};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    let format = [Format::Jsonl, Format::Json, Format::Csv, Format::Tsv][usize::from(first & 3)];
    let piece = usize::from(first >> 2) + 1;
    let whole = read_records(format, std::iter::once(text));
    assert_eq!(whole, read_records(format, text.chunks(piece)));
});
