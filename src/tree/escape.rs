//! The one bijection between bytes (row keys, family names, qualifiers) and file names.
//!
//! Escaped as `%XX`: control bytes, `/`, bytes that are not valid UTF-8, a `%` that two uppercase hex
//! digits or `~` follow, a leading `.` of a row key, the first dot of `.` and `..`, and in qualifiers the
//! last `@` of a name that would read as one with a suffix. Must not know the store.

use sha2::{Digest, Sha256};

use super::suffix;

/// Longest file name in bytes.
pub const NAME_MAX: usize = 255;
/// Longest part before a suffix such as `@5.deleted.7`; a longer one is shortened.
pub const STEM_MAX: usize = 207;
/// `%~` and 32 hex digits.
const HASH_TAIL_LEN: usize = 34;

/// What a name stands for; each level has a rule or two of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Row,
    Family,
    Qualifier,
}

/// What a file name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The canonical spelling of this key.
    Key(Vec<u8>),
    /// A shortened name: the key starts with `prefix` and its full name is `name`.
    Short { prefix: Vec<u8> },
    /// Not the canonical spelling of any key; `canonical` is the right one.
    Refused { canonical: Vec<u8> },
}

/// The full escaped name of a key, of any length.
pub fn escape(level: Level, key: &[u8]) -> Vec<u8> {
    if level == Level::Qualifier && key.is_empty() {
        return b"%".to_vec();
    }
    if level == Level::Qualifier && key == b"%" {
        return b"%25".to_vec();
    }
    let mut name = Vec::with_capacity(key.len() + 8);
    for chunk in key.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            push_byte(&mut name, byte, byte < 0x20 || byte == 0x7F || byte == b'/');
        }
        for byte in chunk.invalid() {
            push_byte(&mut name, *byte, true);
        }
    }
    escape_percents(key, &mut name);
    escape_dot(level, &mut name);
    if level == Level::Qualifier {
        escape_last_at(&mut name);
    }
    name
}

fn push_byte(name: &mut Vec<u8>, byte: u8, escaped: bool) {
    if escaped {
        name.extend_from_slice(&hex_escape(byte));
    } else {
        name.push(byte);
    }
}

fn hex_escape(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

fn is_upper_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'F')
}

fn starts_ambiguous(after_percent: &[u8]) -> bool {
    match after_percent {
        [b'~', ..] => true,
        [a, b, ..] => is_upper_hex(*a) && is_upper_hex(*b),
        _ => false,
    }
}

/// Escapes each `%` of the key that would read as an escape. Only keys with a `%` pay for the second pass.
fn escape_percents(key: &[u8], name: &mut Vec<u8>) {
    let ambiguous = |at: usize| key[at] == b'%' && starts_ambiguous(&key[at + 1..]);
    if !(0..key.len()).any(ambiguous) {
        return;
    }
    name.clear();
    let mut at = 0;
    for chunk in key.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            let escaped = byte < 0x20 || byte == 0x7F || byte == b'/' || ambiguous(at);
            push_byte(name, byte, escaped);
            at += 1;
        }
        for byte in chunk.invalid() {
            push_byte(name, *byte, true);
            at += 1;
        }
    }
}

fn escape_dot(level: Level, name: &mut Vec<u8>) {
    let leading = name.first() == Some(&b'.') && level == Level::Row;
    if leading || name == b"." || name == b".." {
        name.splice(0..1, hex_escape(b'.'));
    }
}

fn escape_last_at(name: &mut Vec<u8>) {
    if let Some(at) = suffix::start(name) {
        name.splice(at..=at, hex_escape(b'@'));
    }
}

/// The bytes of an escaped name, whether it is canonical or not.
pub fn unescape_lossy(level: Level, name: &[u8]) -> Vec<u8> {
    if level == Level::Qualifier && name == b"%" {
        return Vec::new();
    }
    let mut key = Vec::with_capacity(name.len());
    let mut at = 0;
    while at < name.len() {
        match name[at..] {
            [b'%', a, b, ..] if is_upper_hex(a) && is_upper_hex(b) => {
                key.push(hex_value(a) << 4 | hex_value(b));
                at += 3;
            }
            _ => {
                key.push(name[at]);
                at += 1;
            }
        }
    }
    key
}

fn hex_value(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit - b'A' + 10 }
}

/// The file name of a key, shortened with a hash when it is longer than `limit` bytes. The same in every store,
/// so that a backup can go to any.
pub fn file_name(level: Level, key: &[u8], limit: usize) -> Vec<u8> {
    let full = escape(level, key);
    if full.len() <= limit { full } else { shorten(&full, key, limit) }
}

fn shorten(full: &[u8], key: &[u8], limit: usize) -> Vec<u8> {
    let mut cut = limit - HASH_TAIL_LEN;
    while !is_boundary(full, cut) {
        cut -= 1;
    }
    // Nobody can make two keys with one name: half of SHA-256 is enough for that.
    let hash = Sha256::digest(key);
    let mut name = full[..cut].to_vec();
    name.extend_from_slice(b"%~");
    name.extend_from_slice(hex::encode(&hash[..16]).as_bytes());
    name
}

/// Whether `full` can be cut before `at`: not inside a character, nor inside a `%XX`.
fn is_boundary(full: &[u8], at: usize) -> bool {
    let continuation = full[at] & 0xC0 == 0x80;
    let in_escape = (1..=2).any(|back| {
        at >= back
            && full[at - back] == b'%'
            && full[at - back + 1..].iter().take(2).filter(|b| is_upper_hex(**b)).count() == 2
    });
    !continuation && !in_escape
}

/// Reads a file name; the caller resolves a shortened one in the store.
pub fn parse(level: Level, name: &[u8]) -> Parsed {
    if let Some(prefix) = short_prefix(name) {
        return Parsed::Short { prefix: unescape_lossy(level, prefix) };
    }
    let key = unescape_lossy(level, name);
    let canonical = escape(level, &key);
    if canonical == name && (level == Level::Qualifier || !key.is_empty()) {
        Parsed::Key(key)
    } else {
        Parsed::Refused { canonical }
    }
}

fn short_prefix(name: &[u8]) -> Option<&[u8]> {
    let cut = name.len().checked_sub(HASH_TAIL_LEN)?;
    let (prefix, tail) = name.split_at(cut);
    let is_hash = tail.starts_with(b"%~") && tail[2..].iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    const LEVELS: [Level; 3] = [Level::Row, Level::Family, Level::Qualifier];

    fn text(level: Level, key: &[u8]) -> String {
        String::from_utf8(escape(level, key)).unwrap()
    }

    #[test]
    fn examples_of_each_rule() {
        assert_eq!(text(Level::Row, b"a/b\n\x7f"), "a%2Fb%0A%7F");
        assert_eq!(text(Level::Row, b".hidden"), "%2Ehidden");
        assert_eq!(text(Level::Qualifier, b".hidden"), ".hidden");
        assert_eq!(text(Level::Qualifier, b".."), "%2E.");
        assert_eq!(text(Level::Qualifier, b""), "%");
        assert_eq!(text(Level::Qualifier, b"%"), "%25");
        assert_eq!(text(Level::Row, b"100%"), "100%");
        assert_eq!(text(Level::Row, b"%41 %4 %~"), "%2541 %4 %25~");
        assert_eq!(text(Level::Qualifier, b"a@5"), "a%405");
        assert_eq!(text(Level::Qualifier, b"a@b"), "a@b");
        assert_eq!(text(Level::Qualifier, b"a@1@2"), "a@1%402");
        assert_eq!(text(Level::Qualifier, b"a@5.deleted.7"), "a%405.deleted.7");
        assert_eq!(text(Level::Qualifier, b"a@counter"), "a%40counter");
        assert_eq!(text(Level::Qualifier, b"a@"), "a%40");
        assert_eq!(text(Level::Row, b"a@5"), "a@5");
        assert_eq!(text(Level::Row, &[b'x', 0xFF, 0xC3, 0xA9]), "x%FFé");
    }

    #[test]
    fn every_byte_round_trips_alone_and_in_company() {
        for level in LEVELS {
            for a in 0..=255_u8 {
                for key in [vec![a], vec![b'x', a], vec![a, b'5'], vec![b'%', a], vec![b'@', a], vec![a, b'A', b'B']] {
                    assert_eq!(parse(level, &escape(level, &key)), Parsed::Key(key));
                }
            }
        }
    }

    #[test]
    fn a_million_random_keys_round_trip() {
        let mut random = rand::rngs::StdRng::seed_from_u64(42);
        for n in 0..1_000_000 {
            // Every other key is of the bytes that names treat in their own way.
            let byte = |random: &mut rand::rngs::StdRng| match n % 2 {
                0 => random.random(),
                _ => b"%@~./5AF\0\n\x1B\xFF\xC3\xA9"[random.random_range(0..14)],
            };
            let key: Vec<u8> = (0..random.random_range(1..24)).map(|_| byte(&mut random)).collect();
            for level in LEVELS {
                let name = escape(level, &key);
                assert!(!name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b"..", "{key:?}");
                assert_eq!(parse(level, &name), Parsed::Key(key.clone()));
            }
        }
    }

    #[test]
    fn other_spellings_are_refused_with_the_right_one() {
        for (level, name, right) in [
            (Level::Row, "%41", "A"),
            (Level::Qualifier, "%2Ex", ".x"),
            (Level::Row, "a%40", "a@"),
            (Level::Qualifier, "x%", "x%"),
        ] {
            match parse(level, name.as_bytes()) {
                Parsed::Refused { canonical } => assert_eq!(canonical, right.as_bytes()),
                other => assert_eq!((name, other), (right, Parsed::Key(b"x%".to_vec()))),
            }
        }
    }

    #[test]
    fn long_keys_are_shortened_at_a_boundary() {
        for key in [vec![b'a'; 300], vec![0_u8; 200], "é".repeat(200).into_bytes(), vec![0xFF; 32_767]] {
            for limit in [NAME_MAX, STEM_MAX] {
                let name = file_name(Level::Qualifier, &key, limit);
                assert!(name.len() <= limit && std::str::from_utf8(&name).is_ok());
                match parse(Level::Qualifier, &name) {
                    Parsed::Short { prefix } => assert!(key.starts_with(&prefix)),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_ne!(file_name(Level::Row, &[b'a'; 300], NAME_MAX), file_name(Level::Row, &[b'a'; 301], NAME_MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn random_bytes_round_trip(key in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"%@~./5AF".to_vec())], 1..12)) {
            for level in LEVELS {
                let name = escape(level, &key);
                prop_assert!(!name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b"..");
                prop_assert!(std::str::from_utf8(&name).is_ok());
                prop_assert_eq!(parse(level, &name), Parsed::Key(key.clone()));
                if level == Level::Qualifier {
                    prop_assert_eq!(suffix::start(&name), None);
                }
            }
        }

        #[test]
        fn a_name_has_one_spelling(name in "[%@~.A-F0-9a/]{1,8}") {
            for level in LEVELS {
                if let Parsed::Key(key) = parse(level, name.as_bytes()) {
                    prop_assert_eq!(escape(level, &key), name.as_bytes());
                }
            }
        }
    }
}
