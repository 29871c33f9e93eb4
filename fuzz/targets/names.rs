//! Names of keys: each key has one name, each name at most one key, and both lead back.
#![no_main]

use cellfs::tree::names::escape::Parsed;
use cellfs::tree::names::escape::{Bytes, Level, Spelling};
use cellfs::tree::names::suffix::At;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((how, bytes)) = data.split_first() else { return };
    let level = [Level::Row, Level::Qualifier, Level::Family][usize::from(how % 3)];
    // Only a qualifier may be empty.
    if bytes.is_empty() && level != Level::Qualifier {
        return;
    }
    let spelling = Spelling {
        bytes: if how & 64 == 0 { Bytes::Text } else { Bytes::Raw },
        at: if how & 128 == 0 { At::default() } else { At::Plain },
    };
    let name = spelling.name(level, bytes);
    assert!(!name.contains(&b'/') && !name.contains(&0) && !name.is_empty() && name != b"." && name != b"..");
    assert_eq!(spelling.key(level, &name).as_deref(), Some(bytes), "the key of a key's name");
    let file = spelling.file_name(level, bytes, 255);
    assert!(file.len() <= 255);
    match spelling.parse(level, &file) {
        Parsed::Key(key) => assert_eq!(key, bytes),
        Parsed::Short { prefixes } => assert!(prefixes.iter().any(|prefix| bytes.starts_with(prefix))),
        Parsed::Refused { canonical } => panic!("its own name is refused for {canonical:?}"),
    }
    match spelling.parse(level, bytes) {
        Parsed::Key(key) => assert_eq!(spelling.name(level, &key), bytes, "the name of a name's key"),
        Parsed::Short { .. } => {}
        Parsed::Refused { canonical } => assert_ne!(canonical, bytes),
    }
});
