//! The bijection between bytes (row keys, family names, qualifiers) and file names.
//!
//! A key has two spellings at the most. The strict one escapes each `%` that two uppercase hex digits follow; the
//! lenient one leaves it where it reads as three characters, as in the names of web trees (`a%20b`). The lenient
//! one is the name wherever it reads back as the key and is not the strict spelling of a key that needs that.
//! Must not know the store, nor shortened names.

use serde::{Deserialize, Serialize};

use super::suffix::{At, is_suffix};
use crate::model::KeyList;

/// What a name stands for; each level has a rule or two of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Row,
    Family,
    Qualifier,
}

/// Which names the mount takes as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bytes {
    /// Names of valid UTF-8 without control characters; rows do not begin with a dot.
    #[default]
    Text,
    /// Nearly all names that a filesystem takes (`names=raw`).
    Raw,
}

/// How a tree spells its keys. The history has the default everywhere, so that a backup can go to any mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spelling {
    pub bytes: Bytes,
    pub at: At,
}

/// Names that stand for something generated where rows are.
const GENERATED: [&[u8]; 23] = [
    b".schema",
    b".json",
    b".at",
    b".history",
    b".snapshot",
    b".info",
    b".key",
    b".changes",
    b".prefix",
    b".from",
    b".to",
    b".first",
    b".last",
    b".sample",
    b".columns",
    b".versions",
    b".times",
    b".filter",
    b".by",
    b".raw",
    b".count",
    b".export",
    b".import",
];

/// A longer key has no lenient spelling of its own: its name is shortened anyway.
const LENIENT_MAX: usize = 1024;

/// Which spelling.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Percent {
    Lenient,
    Strict,
}

impl Spelling {
    /// The one name of a key, of any length.
    pub fn name(self, level: Level, key: &[u8]) -> Vec<u8> {
        if is_own_name(key) {
            return key.to_vec();
        }
        self.spelt(level, key)
    }

    /// As [`Spelling::name`], of any key.
    fn spelt(self, level: Level, key: &[u8]) -> Vec<u8> {
        if level == Level::Qualifier && key.is_empty() {
            return b"%".to_vec();
        }
        if level == Level::Qualifier && is_percent(key) {
            return [key, b"25"].concat();
        }
        let lenient = self.write(level, key, Percent::Lenient);
        let is_plain = !key.contains(&b'%') && lenient.len() == key.len();
        if is_plain || self.is_lenient(level, key, &lenient) {
            lenient
        } else {
            self.write(level, key, Percent::Strict)
        }
    }

    /// The key of a name; `None` if it is no key's name.
    pub fn key(self, level: Level, name: &[u8]) -> Option<Vec<u8>> {
        if is_own_name(name) {
            return Some(name.to_vec());
        }
        if name.is_empty() || name == b"." || name == b".." {
            return None;
        }
        if level == Level::Qualifier && name == b"%" {
            return Some(Vec::new());
        }
        if level == Level::Qualifier && is_percent(name) {
            return Some(name[..name.len() - 2].to_vec());
        }
        let lenient = self.read(level, name);
        if self.name(level, &lenient) == name {
            return Some(lenient);
        }
        let strict = read_strict(name);
        (self.name(level, &strict) == name).then_some(strict)
    }

    /// The key that a name was probably meant for, which has another name.
    pub fn meant(self, level: Level, name: &[u8]) -> Vec<u8> {
        if level == Level::Qualifier && name == b"%" { Vec::new() } else { self.read(level, name) }
    }

    /// What a key begins with whose name, of which only the beginning is known, begins with `name`.
    pub fn beginnings(self, level: Level, name: &[u8]) -> Vec<Vec<u8>> {
        // What stands at the end may be read in another way with what follows.
        let mut sure = name.len() - cut_sequence(name);
        if let Some(at) = last_escape(name, |byte| byte == b'@' || byte == b'%')
            && name[at + 3..].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'.')
        {
            sure = sure.min(at);
        }
        let (lenient, strict) = (self.read_until(sure, level, name), read_strict(name));
        if strict.starts_with(&lenient) { vec![lenient] } else { vec![lenient, strict] }
    }

    /// Whether a name that begins with a dot, followed by `rest`, is written with `%2E`.
    fn escapes_dot(self, level: Level, rest: &[u8]) -> bool {
        if rest.is_empty() || rest == b"." {
            return true;
        }
        let is_generated = || GENERATED.iter().any(|name| name[1..] == *rest);
        level != Level::Qualifier && (self.bytes == Bytes::Text || is_generated())
    }

    /// Bytes below 80 that are escaped wherever they stand.
    fn escapes(self, byte: u8) -> bool {
        let control = byte < 0x20 || byte == 0x7F;
        byte == b'/' || byte == 0 || self.bytes == Bytes::Text && control
    }

    fn write(self, level: Level, key: &[u8], percent: Percent) -> Vec<u8> {
        let at = match level {
            Level::Qualifier => key.iter().rposition(|b| *b == b'@').filter(|at| is_suffix(&key[at + 1..], self.at)),
            Level::Row | Level::Family => None,
        };
        let mut name = Vec::with_capacity(key.len() + 8);
        let mut position = 0;
        for chunk in key.utf8_chunks() {
            let valid = chunk.valid().bytes().map(|byte| (byte, true));
            for (byte, valid) in valid.chain(chunk.invalid().iter().map(|byte| (*byte, false))) {
                let escaped = match byte {
                    b'%' if key.get(position + 1) == Some(&b'~') => true,
                    b'%' => percent == Percent::Strict && escape_at(key, position).is_some(),
                    b'.' => position == 0 && self.escapes_dot(level, &key[1..]),
                    b'@' => Some(position) == at,
                    _ => self.escapes(byte) || !valid && self.bytes == Bytes::Text,
                };
                if escaped {
                    name.extend_from_slice(&hex_escape(byte));
                } else {
                    name.push(byte);
                }
                position += 1;
            }
        }
        name
    }

    /// Whether the lenient spelling is the key's name.
    fn is_lenient(self, level: Level, key: &[u8], lenient: &[u8]) -> bool {
        if key.len() > LENIENT_MAX || self.read(level, lenient) != key {
            return false;
        }
        // It is, unless the strict reading is another key for which that is the only spelling.
        let mut name = lenient.to_vec();
        let mut key = key.to_vec();
        loop {
            let other = read_strict(&name);
            if other == key || self.write(level, &other, Percent::Strict) != name {
                return true;
            }
            name = self.write(level, &other, Percent::Lenient);
            if self.read(level, &name) != other {
                return false;
            }
            key = other;
        }
    }

    /// Reads a lenient spelling: an escape that nothing asks for where it stands is three characters.
    fn read(self, level: Level, name: &[u8]) -> Vec<u8> {
        self.read_until(name.len(), level, name)
    }

    /// Reads the first `end` bytes, which end with no part of an escape, as they read before the rest.
    fn read_until(self, end: usize, level: Level, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(end);
        let mut at = 0;
        while let Some(byte) = name[..end].get(at) {
            let Some(escaped) = escape_at(name, at) else {
                key.push(*byte);
                at += 1;
                continue;
            };
            let rest = &name[at + 3..];
            let is_escape = match escaped {
                b'.' => at == 0 && self.escapes_dot(level, rest),
                b'@' => level == Level::Qualifier && is_suffix(rest, self.at),
                b'%' => rest.first() == Some(&b'~'),
                0x80.. if self.bytes == Bytes::Text => {
                    at += read_run(&name[at..end], &mut key);
                    continue;
                }
                _ => self.escapes(escaped),
            };
            if is_escape {
                key.push(escaped);
            } else {
                key.extend_from_slice(&name[at..at + 3]);
            }
            at += 3;
        }
        key
    }
}

/// Whether a key is its own name, of any level and in any spelling, as most are: nothing in it is escaped anywhere.
pub fn is_own_name(key: &[u8]) -> bool {
    is_own_start(key) && is_ordinary(key)
}

/// As [`is_own_name`], of all these keys, none longer than `most` bytes.
pub fn are_own_names(keys: &KeyList, most: usize) -> bool {
    // All bytes in one go: a processor looks at several at once.
    is_ordinary(keys.bytes()) && keys.iter().all(|key| key.len() <= most && is_own_start(key))
}

fn is_own_start(key: &[u8]) -> bool {
    key.first().is_some_and(|first| *first != b'.')
}

fn is_ordinary(bytes: &[u8]) -> bool {
    let is_ordinary =
        |byte: u8| (byte.wrapping_sub(b' ') <= b'~' - b' ') & (byte != b'%') & (byte != b'/') & (byte != b'@');
    // Not byte by byte until one is none.
    bytes.chunks(64).all(|piece| piece.iter().fold(true, |all, byte| all & is_ordinary(*byte)))
}

/// Reads a run of escapes of 80 to FF: those that are no part of valid UTF-8 among themselves. Its length.
fn read_run(name: &[u8], key: &mut Vec<u8>) -> usize {
    let escaped = |at: usize| escape_at(name, at).filter(|byte| *byte >= 0x80);
    let run: Vec<u8> = (0..).map_while(|n| escaped(3 * n)).collect();
    for chunk in run.utf8_chunks() {
        chunk.valid().bytes().for_each(|byte| key.extend_from_slice(&hex_escape(byte)));
        key.extend_from_slice(chunk.invalid());
    }
    3 * run.len()
}

/// Bytes at the end that are escapes of the beginning of a UTF-8 sequence.
fn cut_sequence(name: &[u8]) -> usize {
    let high = |at: usize| escape_at(name, at).is_some_and(|byte| byte >= 0x80);
    let mut begin = name.len();
    while begin >= 3 && high(begin - 3) {
        begin -= 3;
    }
    let run = read_strict(&name[begin..]);
    let end = run.utf8_chunks().last().map(|chunk| chunk.invalid().to_vec()).unwrap_or_default();
    let is_cut = std::str::from_utf8(&end).is_err_and(|e| e.error_len().is_none());
    if is_cut { 3 * end.len() } else { 0 }
}

/// Every escape read as its byte.
fn read_strict(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(byte) = name.get(at) {
        match escape_at(name, at) {
            Some(escaped) => {
                key.push(escaped);
                at += 3;
            }
            None => {
                key.push(*byte);
                at += 1;
            }
        }
    }
    key
}

/// A lone `%`, which the empty qualifier has taken, or the name of one, or of that.
fn is_percent(text: &[u8]) -> bool {
    let Some((b'%', rest)) = text.split_first() else { return false };
    rest.len().is_multiple_of(2) && rest.chunks(2).all(|pair| pair == b"25")
}

pub(in crate::tree) fn is_upper_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'F')
}

/// The byte that a `%` and two uppercase hex digits at a position stand for.
fn escape_at(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..at + 3)? {
        [b'%', high, low] if is_upper_hex(*high) && is_upper_hex(*low) => Some(hex_value(*high) << 4 | hex_value(*low)),
        _ => None,
    }
}

/// As an argument has it: with hex digits of either case.
pub(in crate::tree) fn escape_at_any(text: &[u8], at: usize) -> Option<u8> {
    escape_at(&text.get(at..at + 3)?.to_ascii_uppercase(), 0)
}

/// Where the last escape of a wanted byte is.
fn last_escape(text: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    (0..text.len().saturating_sub(2)).rev().find(|at| escape_at(text, *at).is_some_and(&wanted))
}

fn hex_value(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit - b'A' + 10 }
}

fn hex_escape(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::names::suffix::At;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn its_own_name_is_what_the_rules_in_full_spell(key in "[ -~]{1,6}|[a-z.@%/0-9]{1,4}") {
            let key = key.as_bytes();
            for (bytes, at) in [Bytes::Text, Bytes::Raw].into_iter().flat_map(|b| [(b, At::Version), (b, At::Plain)]) {
                for level in [Level::Row, Level::Family, Level::Qualifier] {
                    let spelt = Spelling { bytes, at }.spelt(level, key);
                    prop_assert!(!is_own_name(key) || spelt == key, "{:?} {}", level, key.escape_ascii());
                }
            }
        }

        #[test]
        fn keys_are_their_own_names_if_each_is(keys in prop::collection::vec("[ -~]{0,9}|[a-z.]{1,5}", 0..3)) {
            let each = keys.iter().all(|key| is_own_name(key.as_bytes()) && key.len() <= 7);
            prop_assert_eq!(are_own_names(&keys.iter().collect(), 7), each);
        }
    }
}
