//! The arguments of scan paths: from the name of a directory to what it says.

use std::collections::BTreeSet;

use super::question::{Kind, Says, wrong};
use crate::Result;
use crate::model::row_key::{Recipe, parse_fields_by};
use crate::model::{Columns, Qualifier, TimeRange, Timestamp, check_family};
use crate::tree::names::spelling::escape_at_any;
use crate::tree::names::times;

/// Most versions of a column (HBase: an int).
const VERSIONS_MAX: u64 = i32::MAX as u64;
/// The empty qualifier, as its name is.
const EMPTY: &[u8] = b"%";
/// Largest sample: its keys are held.
pub const SAMPLE_MAX: u64 = 10_000;

/// What an argument says; times that are relative count from `now`.
///
/// `IllegalArgument`, with a sentence, for one that makes no sense.
pub fn of_rows(kind: Kind, text: &[u8], now: Timestamp) -> Result<Says> {
    match kind {
        Kind::Prefix | Kind::From | Kind::To => key(kind, text).map(Says::Key),
        Kind::ValuePrefix | Kind::ValueFrom | Kind::ValueTo => Ok(Says::Key(maybe_empty(text))),
        Kind::Value => Ok(Says::Values(text.split(|byte| *byte == b',').map(maybe_empty).collect())),
        Kind::First | Kind::Last => number(kind, text, u64::MAX).map(Says::Number),
        Kind::Sample => number(kind, text, SAMPLE_MAX).map(Says::Number),
        Kind::Versions => number(kind, text, VERSIONS_MAX).map(Says::Number),
        Kind::Columns => columns(text).map(Says::Columns),
        Kind::Times => range(text, now).map(Says::Times),
        Kind::Filter => {
            let filter = decode(text);
            // By itself: several are joined.
            crate::query::parse(&filter).map_err(|e| wrong(format!("`.filter/{}`: {}", shown(text), e.message)))?;
            Ok(Says::Filter(filter))
        }
        Kind::At | Kind::Raw | Kind::By | Kind::Key => Ok(Says::Nothing),
    }
}

/// As [`of_rows`], of a step over the qualifiers of a family.
pub fn of_cells(kind: Kind, text: &[u8], family: &str) -> Result<Says> {
    if kind == Kind::Columns {
        let qualifiers: BTreeSet<Qualifier> = text.split(|byte| *byte == b',').map(maybe_empty).collect();
        return Ok(Says::Columns(Columns::from([(family.to_owned(), Some(qualifiers))])));
    }
    match (kind, text) {
        (Kind::Prefix | Kind::From | Kind::To, EMPTY) => Ok(Says::Key(Vec::new())),
        _ => of_rows(kind, text, Timestamp::ZERO),
    }
}

/// `host=cnn.com,time=...`: the first fields of a recipe, or all of them.
pub fn of_fields(recipe: &Recipe, text: &[u8]) -> Result<Says> {
    let fields = parse_fields_by(text, decode)?;
    let is_whole = fields.len() == recipe.names().len();
    Ok(Says::Keys { prefixes: recipe.prefixes(&fields)?, is_whole })
}

/// A qualifier, or a value: what may be empty, as no key of a row is, whose `%` is the byte.
fn maybe_empty(text: &[u8]) -> Vec<u8> {
    if text == EMPTY { Vec::new() } else { decode(text) }
}

/// Each `%XX` is a byte.
fn decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let escaped = escape_at_any(text, at);
        bytes.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    bytes
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).escape_debug().to_string()
}

fn key(kind: Kind, text: &[u8]) -> Result<Vec<u8>> {
    let key = decode(text);
    if key.len() > crate::model::MAX_ROW_BYTES {
        return Err(wrong(format!("{}: no row key is that long", kind.word())));
    }
    Ok(key)
}

fn number(kind: Kind, text: &[u8], most: u64) -> Result<u64> {
    let is_plain = !text.starts_with(b"0") && text.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(text).ok().filter(|_| is_plain).and_then(|text| text.parse::<u64>().ok());
    let word = kind.word();
    number.filter(|number| *number <= most).ok_or_else(|| {
        let limit = if most == u64::MAX { String::new() } else { format!(" to {most}") };
        wrong(format!("`{word}/{}`: write a number from 1{limit}, without leading zeros", shown(text)))
    })
}

/// `fam,fam:qual`: a family with all its columns, or some of them.
fn columns(text: &[u8]) -> Result<Columns> {
    let mut columns = Columns::new();
    for part in text.split(|byte| *byte == b',') {
        let (family, qualifier) = match part.iter().position(|byte| *byte == b':') {
            Some(at) => (&part[..at], Some(maybe_empty(&part[at + 1..]))),
            None => (part, None),
        };
        let family = String::from_utf8(decode(family)).map_err(|_| wrong("a family's name is text"))?;
        check_family(&family).map_err(|e| wrong(format!("`.columns/{}`: {}", shown(text), e.message)))?;
        match (columns.get_mut(&family), qualifier) {
            (Some(Some(known)), Some(qualifier)) => drop(known.insert(qualifier)),
            // All of a family has each of its columns.
            (Some(None), _) => {}
            (_, qualifier) => drop(columns.insert(family, qualifier.map(|qualifier| BTreeSet::from([qualifier])))),
        }
    }
    Ok(columns)
}

/// `FROM..TO`, inclusive and exclusive (HBase: TIMERANGE); either may be left out.
fn range(text: &[u8], now: Timestamp) -> Result<TimeRange> {
    let refused = || {
        let text = shown(text);
        wrong(format!(
            "`.times/{text}`: write FROM..TO, from inclusive, to exclusive, either may be left out: {}",
            times::FORMS
        ))
    };
    let text = std::str::from_utf8(text).map_err(|_| refused())?;
    let (from, to) = text.split_once("..").ok_or_else(refused)?;
    let time = |text: &str, none: i64| match text {
        "" => Ok(none),
        _ => times::parse_time(text, now).map(|time| time.0).ok_or_else(refused),
    };
    let (min, max) = (time(from, 0)?, time(to, i64::MAX)?);
    if min >= max {
        return Err(wrong(format!("`.times/{}`: nothing is from {min} on and before {max}", shown(text.as_bytes()))));
    }
    TimeRange::new(min, max)
}

/// Whether a range of times depends on when it is read.
pub fn is_relative(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.split_once("..").is_some_and(|(from, to)| [from, to].iter().any(|time| times::is_relative(time.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(10_000_000);

    fn says(kind: Kind, text: &str) -> Option<Says> {
        of_rows(kind, text.as_bytes(), NOW).ok()
    }

    #[test]
    fn keys_are_decoded_whatever_is_escaped() {
        let key = |text| says(Kind::Prefix, text);
        assert_eq!(key("a%2Fb%20c%2fd"), Some(Says::Key(b"a/b c/d".to_vec())));
        assert_eq!(key("100%"), Some(Says::Key(b"100%".to_vec())));
        assert_eq!(key("%25%2"), Some(Says::Key(b"%%2".to_vec())));
        assert_eq!(key("%FF%00"), Some(Says::Key(vec![0xFF, 0])));
    }

    #[test]
    fn a_percent_sign_alone_is_the_empty_qualifier_or_value() {
        let key = |key: &[u8]| Some(Says::Key(key.to_vec()));
        for kind in [Kind::Prefix, Kind::From, Kind::To] {
            assert_eq!(of_cells(kind, b"%", "f").ok(), key(b""));
            assert_eq!(of_cells(kind, b"%25", "f").ok(), key(b"%"));
            assert_eq!(says(kind, "%"), key(b"%"), "no row has an empty key");
        }
        for kind in [Kind::ValuePrefix, Kind::ValueFrom, Kind::ValueTo] {
            assert_eq!((says(kind, "%"), says(kind, "%25")), (key(b""), key(b"%")));
        }
        let values = |values: &[&[u8]]| Some(Says::Values(values.iter().map(|value| value.to_vec()).collect()));
        assert_eq!(says(Kind::Value, "%"), values(&[b""]));
        assert_eq!(says(Kind::Value, "%,a%,%25"), values(&[b"", b"a%", b"%"]));
        let columns = |names: &[&[u8]]| {
            let names = names.iter().map(|name| name.to_vec()).collect();
            Some(Says::Columns(Columns::from([("f".to_owned(), Some(names))])))
        };
        assert_eq!(says(Kind::Columns, "f:%,f:%25"), columns(&[b"", b"%"]));
        assert_eq!(of_cells(Kind::Columns, b"%,q%,%25", "f").ok(), columns(&[b"", b"q%", b"%"]));
    }

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(says(Kind::First, "12"), Some(Says::Number(12)));
        for wrong in ["0", "01", "x", "-1", "+1", "1x", "99999999999999999999"] {
            assert_eq!(says(Kind::Last, wrong), None, "{wrong}");
        }
        assert_eq!(says(Kind::Sample, "10001"), None);
        assert_eq!(says(Kind::Versions, "2147483648"), None);
    }

    #[test]
    fn a_filter_is_whole_by_itself() {
        assert!(says(Kind::Filter, "KeyOnlyFilter() AND FirstKeyOnlyFilter()").is_some());
        assert_eq!(says(Kind::Filter, "KeyOnlyFilter()) OR (FirstKeyOnlyFilter()"), None);
    }

    #[test]
    fn columns_are_families_and_columns_of_them() {
        let columns = |text| match says(Kind::Columns, text) {
            Some(Says::Columns(columns)) => columns,
            other => panic!("{other:?}"),
        };
        let some = |names: &[&[u8]]| Some(names.iter().map(|name| name.to_vec()).collect::<BTreeSet<_>>());
        let found = columns("f,g:a,g:b%2Cc,g:,h:x,h");
        assert_eq!(found.get("f"), Some(&None));
        assert_eq!(found.get("g"), Some(&some(&[b"", b"a", b"b,c"])));
        assert_eq!(found.get("h"), Some(&None));
        assert_eq!(says(Kind::Columns, "f,,g"), None);
        let of_family = of_cells(Kind::Columns, b"a:b,c%2Cd", "f").unwrap();
        assert_eq!(of_family, Says::Columns(Columns::from([("f".to_owned(), some(&[b"a:b", b"c,d"]))])));
    }

    #[test]
    fn times_are_half_open() {
        let range = |text| match says(Kind::Times, text) {
            Some(Says::Times(range)) => Some((range.min, range.max)),
            _ => None,
        };
        assert_eq!(range("5..7"), Some((5, 7)));
        assert_eq!(range("5.."), Some((5, i64::MAX)));
        assert_eq!(range("..7"), Some((0, 7)));
        assert_eq!(range("-1h.."), Some((NOW.0 - 3_600_000, i64::MAX)));
        for wrong in ["5", "7..5", "5..5", "x..7", ""] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
        assert!(is_relative(b"-1h..") && is_relative(b"5..yesterday") && !is_relative(b"5..7"));
    }
}
