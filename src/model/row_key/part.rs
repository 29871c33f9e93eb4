//! One part of a recipe: its bytes, and where it ends in a key.

use super::number::{DIGITS_MAX, Number};
use crate::model::{check_row, to_bytes_binary, to_string_binary};
use crate::{Error, ErrorKind, Result};

/// What ends a text in the middle of a key.
pub(super) const ZERO: &[u8] = &[0];
/// Most bytes of a text of a fixed width, and of a literal.
const WIDTH_MAX: usize = 1024;
/// Hexadecimal digits of the digest.
const HASH_MAX: usize = 64;
/// One byte tells them apart.
const BUCKETS_MAX: u16 = 256;

/// How a text stands in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    AsItIs,
    Reverse,
    ReverseDomain,
}

/// A part that has a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Text(Order),
    /// Of so many bytes.
    Fixed(usize),
    Number(Number, Direction),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

/// See the module of recipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Salt(u16),
    /// Digits, of the field or of all that follows.
    Hash(Option<String>, usize),
    Literal(Vec<u8>),
    Field(String, Coding),
}

pub(super) fn wrong(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

fn unknown(text: &str) -> Error {
    wrong(format!(
        "`{}` is no part of a recipe: NAME, text(NAME, W), reverse(NAME), reverse_domain(NAME), digits(NAME, W), \
         u8 to u64, i8 to i64, f64, time, date (NAME), desc(PART), 'literal', salt(N), hash(N), hash(NAME, N)",
        text.escape_debug()
    ))
}

/// `NAME(ARGUMENTS)`.
fn call(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name.trim(), rest.strip_suffix(')')?.trim()))
}

fn number<N: std::str::FromStr + PartialOrd>(text: &str, least: N, most: N) -> Option<N> {
    text.trim().parse().ok().filter(|number| *number >= least && *number <= most)
}

fn field_name(text: &str) -> Result<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.is_empty() || !text.chars().all(is_word) {
        return Err(unknown(text));
    }
    Ok(text.to_owned())
}

impl Part {
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(literal) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            let bytes = to_bytes_binary(literal.as_bytes());
            let fits = !bytes.is_empty() && bytes.len() <= WIDTH_MAX;
            return if fits { Ok(Self::Literal(bytes)) } else { Err(unknown(text)) };
        }
        let spread = match call(text) {
            Some(("salt", of)) => number(of, 1, BUCKETS_MAX).map(Self::Salt),
            Some(("hash", of)) => match of.split_once(',') {
                None => number(of, 1, HASH_MAX).map(|digits| Self::Hash(None, digits)),
                Some((name, digits)) => {
                    let name = Some(field_name(name.trim())?);
                    number(digits, 1, HASH_MAX).map(|digits| Self::Hash(name, digits))
                }
            },
            _ => return coded(text).map(|(name, coding)| Self::Field(name, coding)),
        };
        spread.ok_or_else(|| unknown(text))
    }
}

fn coded(text: &str) -> Result<(String, Coding)> {
    let Some((kind, of)) = call(text) else { return Ok((field_name(text)?, Coding::Text(Order::AsItIs))) };
    let (name, width) = of.split_once(',').map_or((of, None), |(name, width)| (name.trim(), Some(width)));
    let ascending = |number| Ok((field_name(name)?, Coding::Number(number, Direction::Ascending)));
    match (kind, width) {
        ("text", None) => Ok((field_name(name)?, Coding::Text(Order::AsItIs))),
        ("text", Some(width)) => {
            let width = number(width, 1, WIDTH_MAX).ok_or_else(|| unknown(text))?;
            Ok((field_name(name)?, Coding::Fixed(width)))
        }
        ("reverse", None) => Ok((field_name(name)?, Coding::Text(Order::Reverse))),
        ("reverse_domain", None) => Ok((field_name(name)?, Coding::Text(Order::ReverseDomain))),
        ("digits", Some(width)) => {
            ascending(Number::Digits(number(width, 1, DIGITS_MAX).ok_or_else(|| unknown(text))?))
        }
        ("desc", _) => match coded(of)? {
            (name, Coding::Text(Order::AsItIs)) if call(of).is_none() => {
                Ok((name, Coding::Number(Number::Time, Direction::Descending)))
            }
            (name, Coding::Number(number, Direction::Ascending)) => {
                Ok((name, Coding::Number(number, Direction::Descending)))
            }
            _ => Err(wrong(format!("`{text}`: desc is of numbers, times and dates: a text has no greatest one"))),
        },
        (kind, None) => ascending(Number::parse(kind).ok_or_else(|| unknown(text))?),
        _ => Err(unknown(text)),
    }
}

/// The characters backwards; `None`: the bytes are no text.
fn reversed(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(std::str::from_utf8(bytes).ok()?.chars().rev().collect::<String>().into_bytes())
}

fn domain_reversed(bytes: &[u8]) -> Vec<u8> {
    let mut labels: Vec<&[u8]> = bytes.split(|byte| *byte == b'.').collect();
    labels.reverse();
    labels.join(&b'.')
}

pub(super) fn contains(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part == needle)
}

impl Coding {
    /// The bytes of a value; `stop`: what ends a text here, nothing at the end of the key.
    pub fn encode(&self, name: &str, value: &[u8], stop: &[u8]) -> Result<Vec<u8>> {
        let of = |e: Error| e.context(format!("field {name}"));
        let bytes = match self {
            Self::Number(number, direction) => {
                return number.encode(value, *direction == Direction::Descending).map_err(of);
            }
            Self::Fixed(width) => {
                if value.len() > *width || value.last() == Some(&0) {
                    let text = format!("{width} bytes at most, and no zero byte at the end");
                    return Err(of(wrong(format!("`{}`: {text}", to_string_binary(value)))));
                }
                let mut bytes = value.to_vec();
                bytes.resize(*width, 0);
                return Ok(bytes);
            }
            Self::Text(Order::AsItIs) => value.to_vec(),
            Self::Text(Order::Reverse) => {
                let no_text = || of(wrong(format!("`{}`: only UTF-8 is reversed", to_string_binary(value))));
                reversed(value).ok_or_else(no_text)?
            }
            Self::Text(Order::ReverseDomain) => domain_reversed(value),
        };
        // Not only in the value: its end may begin what ends it.
        let with_stop = [&bytes, stop].concat();
        if !stop.is_empty() && contains(&with_stop, stop) != Some(bytes.len()) {
            let (shown, stop) = (to_string_binary(value), to_string_binary(stop));
            return Err(of(wrong(format!("`{shown}`: `{stop}` ends it, and cannot be in it"))));
        }
        Ok(with_stop)
    }

    /// The value that stands in front of bytes, and how many it has with what ends it; `None`: none does.
    pub fn decode(&self, bytes: &[u8], stop: &[u8]) -> Option<(Vec<u8>, usize)> {
        let order = match self {
            Self::Number(number, direction) => {
                let own = bytes.get(..number.width())?;
                let text = number.decode(own, *direction == Direction::Descending)?;
                return Some((text.into_bytes(), own.len()));
            }
            Self::Fixed(width) => {
                let own = bytes.get(..*width)?;
                let len = own.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                return Some((own[..len].to_vec(), *width));
            }
            Self::Text(order) => *order,
        };
        let len = if stop.is_empty() { bytes.len() } else { contains(bytes, stop)? };
        let own = &bytes[..len];
        let value = match order {
            Order::AsItIs => own.to_vec(),
            Order::Reverse => reversed(own)?,
            Order::ReverseDomain => domain_reversed(own),
        };
        Some((value, len + stop.len()))
    }

    /// Whether a value ends where something else says so.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// Refuses a key that no row can have.
pub(super) fn checked(key: Vec<u8>) -> Result<Vec<u8>> {
    check_row(&key)?;
    Ok(key)
}
