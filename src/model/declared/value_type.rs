//! Types of values that a constraint asks for: what is one, and what can still become one.

use regex::bytes::{Regex, RegexBuilder};
use serde_json::error::Category;

use crate::error::reason;
use crate::model::cells::text::shown_value;
use crate::{Error, ErrorKind, Result};

/// Most memory of a compiled pattern, bytes.
const PATTERN_MAX: usize = 1 << 20;
/// Digits of the longest number, and its sign.
const I64_LEN: usize = 20;
/// Bytes of a counter.
const U64_LEN: usize = 8;

/// What a value is to be.
#[derive(Clone, Debug)]
pub enum ValueType {
    Utf8,
    /// A whole number of 64 bits with a sign, as a decimal; `echo` may have put a newline behind it.
    I64,
    /// Eight bytes: a counter, as increments make it.
    U64,
    Json,
    /// All of the value matches; `echo` may have put a newline behind it.
    Regex(Regex),
}

fn without_newline(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\n").unwrap_or(bytes)
}

impl ValueType {
    /// From its text.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "utf8" => Self::Utf8,
            "i64" => Self::I64,
            "u64" => Self::U64,
            "json" => Self::Json,
            other => match other.strip_prefix("regex:") {
                Some(pattern) => Self::Regex(compiled(pattern)?),
                None => {
                    let text = format!("`{}`: `type` is utf8, i64, u64, json or regex:PATTERN", other.escape_debug());
                    return Err(Error::new(ErrorKind::IllegalArgument, text));
                }
            },
        })
    }

    /// Why these bytes are no such value.
    pub fn wrong(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).err().map(|e| no_text(e.valid_up_to())),
            Self::I64 => {
                let text = std::str::from_utf8(without_newline(bytes)).ok();
                let is_number = text.is_some_and(|text| text.parse::<i64>().is_ok());
                (!is_number).then(|| format!("{} is no whole number of 64 bits (i64)", shown_value(bytes)))
            }
            Self::U64 => (bytes.len() != U64_LEN)
                .then(|| format!("it has {} bytes, and a counter (u64) has {U64_LEN}", bytes.len())),
            Self::Json => wrong_json(bytes, End::Here),
            Self::Regex(pattern) => {
                let matches = pattern.is_match(bytes) || pattern.is_match(without_newline(bytes));
                (!matches).then(|| format!("{} does not match {}", shown_value(bytes), inner(pattern)))
            }
        }
    }

    /// Why no such value begins with these bytes.
    pub fn wrong_start(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => match std::str::from_utf8(bytes) {
                // The rest of a character may follow.
                Err(e) if e.error_len().is_some() => Some(no_text(e.valid_up_to())),
                _ => None,
            },
            Self::I64 => {
                let text = without_newline(bytes);
                let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
                let has_ended = text.len() < bytes.len();
                let may_be = digits.iter().all(u8::is_ascii_digit) && (!has_ended || self.wrong(bytes).is_none());
                // Zeros may stand in front of any number.
                let is_short = digits.iter().skip_while(|digit| **digit == b'0').count() < I64_LEN;
                (!may_be || !is_short).then(|| format!("{} is no whole number of 64 bits (i64)", shown_value(bytes)))
            }
            Self::U64 => (bytes.len() > U64_LEN)
                .then(|| format!("it has more than {U64_LEN} bytes, and a counter (u64) has {U64_LEN}")),
            Self::Json => wrong_json(bytes, End::Later),
            Self::Regex(_) => None,
        }
    }
}

/// Whether more bytes may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    Later,
}

fn no_text(at: usize) -> String {
    format!("byte {at} of it is no UTF-8")
}

fn wrong_json(bytes: &[u8], end: End) -> Option<String> {
    // Strings are not looked into by what follows.
    match std::str::from_utf8(bytes) {
        Err(e) if end == End::Here || e.error_len().is_some() => return Some(no_text(e.valid_up_to())),
        _ => {}
    }
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Err(e) if end == End::Here || !(e.classify() == Category::Eof || is_in_number(bytes)) => {
            Some(format!("it is no JSON: {e}"))
        }
        _ => None,
    }
}

/// Whether a digit goes on what ends in the middle of a number, which serde_json has for a wrong one.
fn is_in_number(bytes: &[u8]) -> bool {
    if !matches!(bytes.last(), Some(b'-' | b'+' | b'.' | b'e' | b'E')) {
        return false;
    }
    let longer = [bytes, b"0"].concat();
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(&longer);
    read.map_or_else(|e| e.classify() == Category::Eof, |_| true)
}

/// A pattern that all of a value has to match.
fn compiled(pattern: &str) -> Result<Regex> {
    let refused = |e: regex::Error| Error::new(ErrorKind::IllegalArgument, format!("type: {}", reason(e)));
    // By itself first: `a)|(b` makes sense between brackets alone.
    RegexBuilder::new(pattern).size_limit(PATTERN_MAX).build().map_err(refused)?;
    RegexBuilder::new(&format!("{START}{pattern}{STOP}")).size_limit(PATTERN_MAX).build().map_err(refused)
}

const START: &str = r"\A(?:";
const STOP: &str = r")\z";

/// The pattern as it was given.
fn inner(pattern: &Regex) -> &str {
    let text = pattern.as_str();
    text.strip_prefix(START).and_then(|text| text.strip_suffix(STOP)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> ValueType {
        ValueType::parse(text).unwrap()
    }

    #[test]
    fn each_type_takes_what_it_names() {
        // Name, values that are of it, values that are not.
        type Case<'c> = (&'c str, &'c [&'c [u8]], &'c [&'c [u8]]);
        let cases: &[Case<'_>] = &[
            ("utf8", &[b"", b"caf\xC3\xA9"], &[b"caf\xC3", b"\xFF"]),
            (
                "i64",
                &[b"0", b"-9223372036854775808", b"42\n", b"007"],
                &[b"", b"1.5", b"9223372036854775808", b" 1", b"1\n\n"],
            ),
            ("u64", &[&[0; 8]], &[b"", &[0; 7], &[0; 9]]),
            ("json", &[b"{\"a\":[1,null]}\n", b"1", b"\"\xC3\xA9\""], &[b"", b"{", b"{}}", b"\"\xFF\""]),
            ("regex:[A-Z][a-z]+|x", &[b"Bonn", b"Bonn\n", b"x"], &[b"bonn", b"Bonn!", b"xx", b"Bonn\n\n"]),
        ];
        for (name, right, wrong) in cases {
            right.iter().for_each(|value| assert_eq!(of(name).wrong(value), None, "{name}"));
            wrong.iter().for_each(|value| assert!(of(name).wrong(value).is_some(), "{name} {value:?}"));
        }
        for wrong in ["", "int", "regex:(", "regex:a)|(b", "regex:(?:a{1000}){1000}"] {
            assert!(ValueType::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(ValueType::parse("regex:(").unwrap_err().message, "type: unclosed group");
    }

    #[test]
    fn what_cannot_become_a_value_is_known_early() {
        for (name, wrong) in [
            ("utf8", b"a\xFFb".as_slice()),
            ("i64", b"12x"),
            ("i64", b"99999999999999999999"),
            ("i64", b"9223372036854775808\n"),
            ("u64", &[0; 9]),
            ("json", b"{]"),
            ("json", b"{} {"),
            ("json", b"[1 -"),
        ] {
            assert!(of(name).wrong_start(wrong).is_some(), "{name} {wrong:?}");
        }
    }

    proptest! {
        /// No start of a value is refused, wherever it is cut.
        #[test]
        fn starts_of_values_may_become_them(number: i64, text: String, zeros in 0_usize..30, at in 0_usize..200) {
            let json = serde_json::json!({ text.clone(): [number, { "x": &text }] }).to_string();
            let padded = format!("{}{:0>width$}", if number < 0 { "-" } else { "" }, number.unsigned_abs(), width = zeros);
            for (name, value) in [("utf8", text), ("i64", number.to_string() + "\n"), ("i64", padded), ("json", json)] {
                let kind = of(name);
                prop_assert_eq!(kind.wrong(value.as_bytes()), None);
                let start = &value.as_bytes()[..at.min(value.len())];
                prop_assert_eq!(kind.wrong_start(start), None, "{} {:?}", name, start);
            }
        }
    }
}
