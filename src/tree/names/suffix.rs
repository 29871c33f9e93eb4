//! Suffixes of cell names: `@ts`, `@`, `@ts.deleted.T`, `@counter`, `@key`.
//!
//! Works on names alone; must not know how a stem is escaped.

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// What a suffix asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// `q@ts`: one version.
    Version(Timestamp),
    /// `q@`: the directory of versions.
    Versions,
    /// `q@ts.deleted.T`: a deleted version that is kept.
    Deleted(Timestamp, Timestamp),
    /// `q@counter`.
    Counter,
    /// `q@key`.
    Key,
}

/// What `NAME@DIGITS` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    /// A version of `NAME`.
    #[default]
    Version,
    /// A name (`at=plain`).
    Plain,
}

/// Whether what follows an `@` makes it a suffix, well formed or not (leading zeros, too large a number).
pub fn is_suffix(tail: &[u8], at: At) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    tail.is_empty()
        || tail == b"counter"
        || tail == b"key"
        || at == At::Version && digits(tail)
        || split_deleted(tail).is_some_and(|(ts, end)| digits(ts) && digits(end))
}

fn split_deleted(tail: &[u8]) -> Option<(&[u8], &[u8])> {
    const WORD: &[u8] = b".deleted.";
    let at = tail.windows(WORD.len()).position(|window| window == WORD)?;
    Some((&tail[..at], &tail[at + WORD.len()..]))
}

/// Splits a name into stem and suffix. `None` when it has no suffix; `Some((stem, None))` when what looks
/// like a timestamp is not one (leading zeros, past 2^63-2).
pub fn split(name: &[u8], at: At) -> Option<(&[u8], Option<Suffix>)> {
    let position = name.iter().rposition(|b| *b == b'@')?;
    let (stem, tail) = (&name[..position], &name[position + 1..]);
    if !is_suffix(tail, at) {
        return None;
    }
    let suffix = match tail {
        b"" => Some(Suffix::Versions),
        b"counter" => Some(Suffix::Counter),
        b"key" => Some(Suffix::Key),
        _ => match split_deleted(tail) {
            // No tombstone ends what is later than itself.
            Some((ts, end)) => parse_timestamp(ts)
                .zip(parse_timestamp(end))
                .filter(|(ts, end)| ts <= end)
                .map(|(ts, end)| Suffix::Deleted(ts, end)),
            None => parse_timestamp(tail).map(Suffix::Version),
        },
    };
    Some((stem, suffix))
}

/// Digits without leading zeros, 0 to 2^63-2.
pub fn parse_timestamp(text: &[u8]) -> Option<Timestamp> {
    let plain = text == b"0" || !text.starts_with(b"0");
    if !plain || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (value <= Timestamp::MAX.0).then_some(Timestamp(value))
}

/// The text of a suffix.
pub fn render(suffix: Suffix) -> String {
    match suffix {
        Suffix::Version(ts) => format!("@{ts}"),
        Suffix::Versions => "@".to_owned(),
        Suffix::Deleted(ts, end) => format!("@{ts}.deleted.{end}"),
        Suffix::Counter => "@counter".to_owned(),
        Suffix::Key => "@key".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_each_form() {
        let split_text = |name: &'static str| split(name.as_bytes(), At::Version);
        assert_eq!(split_text("q"), None);
        assert_eq!(split_text("q@x"), None);
        assert_eq!(split_text("q@"), Some((&b"q"[..], Some(Suffix::Versions))));
        assert_eq!(split_text("q@5"), Some((&b"q"[..], Some(Suffix::Version(Timestamp(5))))));
        assert_eq!(split_text("q@0"), Some((&b"q"[..], Some(Suffix::Version(Timestamp(0))))));
        assert_eq!(split_text("q@05"), Some((&b"q"[..], None)));
        assert_eq!(split_text("q@9223372036854775806"), Some((&b"q"[..], Some(Suffix::Version(Timestamp::MAX)))));
        assert_eq!(split_text("q@9223372036854775807"), Some((&b"q"[..], None)));
        assert_eq!(split_text("q@5.deleted.7"), Some((&b"q"[..], Some(Suffix::Deleted(Timestamp(5), Timestamp(7))))));
        assert_eq!(split_text("q@7.deleted.5"), Some((&b"q"[..], None)));
        assert_eq!(split_text("q@5.deleted."), None);
        assert_eq!(split_text("q@counter"), Some((&b"q"[..], Some(Suffix::Counter))));
        assert_eq!(split_text("q@key"), Some((&b"q"[..], Some(Suffix::Key))));
    }

    #[test]
    fn renders_what_it_splits() {
        for name in ["q@", "q@7", "q@5.deleted.7", "q@counter", "q@key"] {
            let (stem, suffix) = split(name.as_bytes(), At::Version).unwrap();
            assert_eq!(format!("{}{}", std::str::from_utf8(stem).unwrap(), render(suffix.unwrap())), name);
        }
    }
}
