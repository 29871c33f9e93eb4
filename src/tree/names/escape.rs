//! File names of keys: their spelling, shortened where it is too long for a filesystem. Must not know the store.

use sha2::{Digest, Sha256};

use super::spelling::is_upper_hex;
pub use super::spelling::{Bytes, Level, Spelling, are_own_names, is_own_name};
pub use super::suffix::At;

/// Longest file name in bytes.
pub const NAME_MAX: usize = 255;
/// Longest part before a suffix such as `@5.deleted.7`; a longer one is shortened.
pub const STEM_MAX: usize = 207;
/// `%~` and 32 hex digits.
const HASH_TAIL_LEN: usize = 34;
/// A cut goes back so far for a character or an escape; bytes that are neither are cut anywhere.
const BACK_MAX: usize = 5;

/// What a file name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The canonical spelling of this key.
    Key(Vec<u8>),
    /// A shortened name: the key starts with one of these.
    Short { prefixes: Vec<Vec<u8>> },
    /// Not the canonical spelling of any key; `canonical` is the right one.
    Refused { canonical: Vec<u8> },
}

impl Spelling {
    /// The file name of a key, shortened with a hash when it is longer than `limit` bytes. The same in every store,
    /// so that a backup can go to any.
    pub fn file_name(self, level: Level, key: &[u8], limit: usize) -> Vec<u8> {
        let full = self.name(level, key);
        if full.len() <= limit { full } else { shorten(&full, key, limit) }
    }

    /// Reads a file name; the caller resolves a shortened one in the store.
    pub fn parse(self, level: Level, name: &[u8]) -> Parsed {
        if let Some(prefix) = short_prefix(name) {
            return Parsed::Short { prefixes: self.beginnings(level, prefix) };
        }
        match self.key(level, name) {
            Some(key) => Parsed::Key(key),
            None => Parsed::Refused { canonical: self.name(level, &self.meant(level, name)) },
        }
    }
}

fn shorten(full: &[u8], key: &[u8], limit: usize) -> Vec<u8> {
    let most = limit - HASH_TAIL_LEN;
    let cut = (most - BACK_MAX..=most).rev().find(|at| is_boundary(full, *at)).unwrap_or(most);
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

fn short_prefix(name: &[u8]) -> Option<&[u8]> {
    let cut = name.len().checked_sub(HASH_TAIL_LEN)?;
    let (prefix, tail) = name.split_at(cut);
    let is_hash = tail.starts_with(b"%~") && tail[2..].iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then_some(prefix)
}

/// Whether a name is a shortened one.
pub fn is_shortened(name: &[u8]) -> bool {
    short_prefix(name).is_some()
}

/// Whether a name is the one that rsync gives the copy of a file with a shortened name while it makes it:
/// `.NAME.XXXXXX`, the end of the hash cut off where that is too long.
pub fn is_copy_of_shortened(name: &[u8]) -> bool {
    let Some((stem, end)) = name.len().checked_sub(7).map(|at| name.split_at(at)) else { return false };
    let is_random = end[0] == b'.' && end[1..].iter().all(u8::is_ascii_alphanumeric);
    let hash = stem.windows(2).rposition(|pair| pair == b"%~").map(|at| &stem[at + 2..]);
    let is_hash = |hash: &[u8]| hash.len() <= 32 && hash.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    stem.starts_with(b".") && is_random && hash.is_some_and(is_hash)
}

/// As a name is spelt on the mount, however long it is.
pub(in crate::tree) fn shown(level: Level, key: &[u8]) -> String {
    String::from_utf8_lossy(&Spelling::default().name(level, key)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    const LEVELS: [Level; 3] = [Level::Row, Level::Family, Level::Qualifier];
    const SPELLINGS: [Spelling; 4] = [
        Spelling { bytes: Bytes::Text, at: At::Version },
        Spelling { bytes: Bytes::Text, at: At::Plain },
        Spelling { bytes: Bytes::Raw, at: At::Version },
        Spelling { bytes: Bytes::Raw, at: At::Plain },
    ];

    /// What names treat in their own way, alone or beside each other.
    const PIECES: [&[u8]; 20] = [
        b"%",
        b"%25",
        b"%2E",
        b"%40",
        b"%C3",
        b"%C3%A9",
        b"%41",
        b"~",
        b"@",
        b"5",
        b"counter",
        b".deleted.7",
        b".",
        b".schema",
        b"\xC3\xA9",
        b"\xC3",
        b"\xFF",
        b"\n",
        b"55555555555555555555",
        b"x",
    ];

    fn text(level: Level, key: &[u8]) -> String {
        String::from_utf8(Spelling::default().name(level, key)).unwrap()
    }

    fn check_round_trip(key: &[u8]) {
        for (spelling, level) in SPELLINGS.into_iter().flat_map(|s| LEVELS.map(|level| (s, level))) {
            let name = spelling.name(level, key);
            assert!(!name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b"..", "{key:?}");
            assert_eq!(spelling.parse(level, &name), Parsed::Key(key.to_vec()), "{spelling:?} {level:?}");
            if level == Level::Qualifier {
                assert_eq!(crate::tree::names::suffix::split(&name, spelling.at), None);
            }
            if spelling.bytes == Bytes::Text {
                assert!(std::str::from_utf8(&name).is_ok());
            }
        }
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
        assert_eq!(text(Level::Row, b"%41 %4 %~"), "%41 %4 %25~");
        assert_eq!(text(Level::Qualifier, b"a@5"), "a%405");
        assert_eq!(text(Level::Qualifier, b"a@b"), "a@b");
        assert_eq!(text(Level::Qualifier, b"a@1@2"), "a@1%402");
        assert_eq!(text(Level::Qualifier, b"a@5.deleted.7"), "a%405.deleted.7");
        assert_eq!(text(Level::Qualifier, b"a@counter"), "a%40counter");
        assert_eq!(text(Level::Qualifier, b"a@"), "a%40");
        assert_eq!(text(Level::Row, b"a@5"), "a@5");
        assert_eq!(text(Level::Row, &[b'x', 0xFF, 0xC3, 0xA9]), "x%FFé");
        assert_eq!(text(Level::Qualifier, b"caf%C3%A9 100%25.txt"), "caf%C3%A9 100%25.txt");
        assert_eq!(text(Level::Qualifier, b"%C3"), "%25C3");
        let raw = Spelling { bytes: Bytes::Raw, at: At::Version };
        assert_eq!(raw.name(Level::Row, b".a\tb\n\xFF"), b".a\tb\n\xFF");
        assert_eq!(raw.name(Level::Row, b".schema"), b"%2Eschema");
        let plain = Spelling { bytes: Bytes::Text, at: At::Plain };
        assert_eq!(plain.name(Level::Qualifier, b"react@18"), b"react@18");
        assert_eq!(plain.name(Level::Qualifier, b"react@"), b"react%40");
    }

    #[test]
    fn every_byte_round_trips_alone_and_in_company() {
        for a in 0..=255_u8 {
            for key in [vec![a], vec![b'x', a], vec![a, b'5'], vec![b'%', a], vec![b'@', a], vec![a, b'A', b'B']] {
                check_round_trip(&key);
            }
        }
    }

    #[test]
    fn random_keys_round_trip() {
        let mut random = rand::rngs::StdRng::seed_from_u64(42);
        for n in 0..200_000 {
            // Every other key is of the bytes that names treat in their own way.
            let byte = |random: &mut rand::rngs::StdRng| match n % 2 {
                0 => random.random(),
                _ => b"%@~./5AF\0\n\x1B\xFF\xC3\xA9"[random.random_range(0..14)],
            };
            let key: Vec<u8> = (0..random.random_range(1..24)).map(|_| byte(&mut random)).collect();
            check_round_trip(&key);
        }
    }

    #[test]
    fn other_spellings_are_refused_with_the_right_one() {
        for (level, name, right) in [
            (Level::Row, ".x", "%2Ex"),
            (Level::Row, "a%2Fb%20%0a\n", "a%2Fb%20%0a%0A"),
            (Level::Qualifier, "a%252F\x7F", "a%25252F%7F"),
        ] {
            match Spelling::default().parse(level, name.as_bytes()) {
                Parsed::Refused { canonical } => assert_eq!(canonical.escape_ascii().to_string(), right),
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn copies_of_shortened_names_are_known_by_their_form() {
        let short = Spelling::default().file_name(Level::Qualifier, &[b'k'; 500], NAME_MAX);
        let copy = |len: usize| [b".", &short[..len], b".mDTN8C"].concat();
        for len in [short.len(), 247, 223] {
            assert!(is_copy_of_shortened(&copy(len)), "{len}");
        }
        for other in [copy(221), short.clone(), short[1..].to_vec(), b".q.mDTN8C".to_vec(), b".%~x.mDTN8C".to_vec()] {
            assert!(!is_copy_of_shortened(&other), "{}", String::from_utf8_lossy(&other));
        }
    }

    #[test]
    fn long_keys_are_shortened_at_a_boundary() {
        let web = "caf%C3%A9%20%2F%41".repeat(20).into_bytes();
        let at_the_cut = [vec![b'x'; 215], b"%40123@4".repeat(9)].concat();
        let long = [vec![b'%'; 9000], vec![b'\n'; 9]].concat();
        let keys = [
            vec![b'a'; 300],
            vec![0_u8; 200],
            "é".repeat(200).into_bytes(),
            vec![0xFF; 32_767],
            web,
            at_the_cut,
            long,
            vec![0x80; 400],
        ];
        for (key, spelling) in keys.iter().flat_map(|key| SPELLINGS.map(|s| (key, s))) {
            for limit in [NAME_MAX, STEM_MAX] {
                let name = spelling.file_name(Level::Qualifier, key, limit);
                assert!(name.len() <= limit);
                assert!(spelling.bytes == Bytes::Raw || std::str::from_utf8(&name).is_ok());
                match spelling.parse(Level::Qualifier, &name) {
                    Parsed::Short { prefixes } => {
                        let found = prefixes.iter().any(|prefix| key.starts_with(prefix) && !prefix.is_empty());
                        assert!(found, "{spelling:?} {}: {prefixes:?}", name.escape_ascii());
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        let digits = [b"%2E@".to_vec(), vec![b'5'; 300]].concat();
        let name = Spelling::default().file_name(Level::Qualifier, &digits, NAME_MAX);
        let Parsed::Short { prefixes } = Spelling::default().parse(Level::Qualifier, &name) else { panic!("{name:?}") };
        assert!(prefixes.iter().any(|prefix| digits.starts_with(prefix)), "{prefixes:?}");
        let name = |length| Spelling::default().file_name(Level::Row, &vec![b'a'; length], NAME_MAX);
        assert_ne!(name(300), name(301));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn random_bytes_round_trip(key in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"%@~./5AF".to_vec())], 1..12)) {
            check_round_trip(&key);
        }

        #[test]
        fn what_a_shortened_name_begins_with_is_found(
            begin in 0..PIECES.len(),
            padding in 0..256_usize,
            pieces in prop::collection::vec(0..PIECES.len(), 0..100),
        ) {
            let pieces = pieces.iter().flat_map(|piece| PIECES[*piece]);
            let key: Vec<u8> = PIECES[begin].iter().chain(&vec![b'x'; padding]).chain(pieces).copied().collect();
            for (spelling, level) in SPELLINGS.into_iter().flat_map(|s| LEVELS.map(|level| (s, level))) {
                for limit in [NAME_MAX, STEM_MAX] {
                    let name = spelling.file_name(level, &key, limit);
                    if spelling.name(level, &key).len() > limit {
                        let Parsed::Short { prefixes } = spelling.parse(level, &name) else { panic!("not shortened") };
                        let found = prefixes.iter().any(|prefix| key.starts_with(prefix));
                        prop_assert!(found, "{:?} {:?} {}", spelling, level, key.escape_ascii());
                    }
                }
            }
        }

        #[test]
        fn a_name_has_one_spelling(name in "[%@~.A-F0-9a/]{1,8}") {
            for (spelling, level) in SPELLINGS.into_iter().flat_map(|s| LEVELS.map(|level| (s, level))) {
                if let Parsed::Key(key) = spelling.parse(level, name.as_bytes()) {
                    prop_assert_eq!(spelling.name(level, &key), name.as_bytes());
                }
            }
        }
    }
}
