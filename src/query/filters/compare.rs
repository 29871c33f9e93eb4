//! Operators and comparators of filters (HBase: CompareFilter, ByteArrayComparable).

use std::cmp::Ordering;

use super::regex::Regex;
use crate::model::CompareOp;
use crate::{Error, ErrorKind, Result};

/// What stored bytes are compared with.
#[derive(Clone, Debug)]
pub(in crate::query) enum Comparator {
    Binary(Vec<u8>),
    BinaryPrefix(Vec<u8>),
    Regex(Regex),
    /// In lower case.
    Substring(String),
}

impl Comparator {
    /// Parses `type:value`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let Some(colon) = text.iter().position(|byte| *byte == b':') else {
            let text = String::from_utf8_lossy(text);
            return Err(illegal(format!("Incorrect comparator: '{text}' lacks a type. Write 'binary:{text}'")));
        };
        let (kind, value) = (&text[..colon], &text[colon + 1..]);
        match kind {
            b"binary" => Ok(Comparator::Binary(value.into())),
            b"binaryprefix" => Ok(Comparator::BinaryPrefix(value.into())),
            b"substring" => Ok(Comparator::Substring(String::from_utf8_lossy(value).to_lowercase())),
            b"regexstring" => Ok(Comparator::Regex(Regex::new(&String::from_utf8_lossy(value))?)),
            _ => Err(illegal(format!(
                "Incorrect comparatorType: {}. There are binary, binaryprefix, regexstring and substring",
                String::from_utf8_lossy(kind)
            ))),
        }
    }

    /// Whether it only knows equal and different.
    pub fn only_tells_equality(&self) -> bool {
        matches!(self, Comparator::Regex(_) | Comparator::Substring(_))
    }

    /// How stored bytes stand to the given ones.
    fn compare(&self, stored: &[u8]) -> Ordering {
        let matches = |yes: bool| if yes { Ordering::Equal } else { Ordering::Less };
        match self {
            Comparator::Binary(given) => stored.cmp(given),
            Comparator::BinaryPrefix(given) => stored[..stored.len().min(given.len())].cmp(given),
            Comparator::Regex(regex) => matches(regex.finds(&String::from_utf8_lossy(stored))),
            Comparator::Substring(part) => matches(String::from_utf8_lossy(stored).to_lowercase().contains(part)),
        }
    }
}

/// `stored OP given`.
#[derive(Clone, Debug)]
pub(in crate::query) struct Comparison {
    pub op: CompareOp,
    pub comparator: Comparator,
}

impl Comparison {
    pub fn holds(&self, stored: &[u8]) -> bool {
        op_holds(self.op, self.comparator.compare(stored))
    }
}

/// Whether `left OP right` holds, given how left stands to right.
pub fn op_holds(op: CompareOp, left_to_right: Ordering) -> bool {
    match op {
        CompareOp::Less => left_to_right.is_lt(),
        CompareOp::LessOrEqual => left_to_right.is_le(),
        CompareOp::Equal => left_to_right.is_eq(),
        CompareOp::NotEqual => left_to_right.is_ne(),
        CompareOp::GreaterOrEqual => left_to_right.is_ge(),
        CompareOp::Greater => left_to_right.is_gt(),
    }
}

/// Parses an operator of the filter language.
pub fn parse_op(text: &str) -> Result<CompareOp> {
    Ok(match text {
        "<" => CompareOp::Less,
        "<=" => CompareOp::LessOrEqual,
        "=" => CompareOp::Equal,
        "!=" => CompareOp::NotEqual,
        ">=" => CompareOp::GreaterOrEqual,
        ">" => CompareOp::Greater,
        _ => return Err(illegal(format!("Invalid compare operator: {text}. There are < <= = != > >="))),
    })
}

/// Whether a condition on one column holds (HBase: HRegion.checkAndMutate): `given OP stored`, `None` = no such cell.
///
/// An empty given value is like none: it asks whether the column exists with bytes in it.
pub fn condition_holds(op: CompareOp, given: Option<&[u8]>, stored: Option<&[u8]>) -> bool {
    let given = given.filter(|g| !g.is_empty());
    match (given, stored) {
        (None, None) => op != CompareOp::NotEqual,
        (Some(_), None) => false,
        (None, Some(stored)) => stored.is_empty() == (op != CompareOp::NotEqual),
        (Some(given), Some(stored)) => op_holds(op, given.cmp(stored)),
    }
}

fn illegal(message: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(op: &str, comparator: &str, stored: &str) -> bool {
        Comparison { op: parse_op(op).unwrap(), comparator: Comparator::parse(comparator.as_bytes()).unwrap() }
            .holds(stored.as_bytes())
    }

    #[test]
    fn the_stored_value_stands_left() {
        assert!(holds("<", "binary:b", "a"));
        assert!(!holds("<", "binary:a", "b"));
        assert!(holds(">=", "binary:a", "ab"));
    }

    #[test]
    fn prefixes_compare_only_their_length() {
        assert!(holds("=", "binaryprefix:ab", "abc"));
        assert!(holds("<", "binaryprefix:ab", "a"));
    }

    #[test]
    fn substrings_ignore_case_and_regexes_do_not() {
        assert!(holds("=", "substring:AB", "xaby"));
        assert!(holds("!=", "regexstring:^AB", "ab"));
        assert!(holds("=", "regexstring:a.b", "xa\nby"));
    }

    #[test]
    fn conditions_read_given_op_stored() {
        let b = Some(b"b".as_slice());
        assert!(condition_holds(CompareOp::Less, Some(b"a"), b));
        assert!(!condition_holds(CompareOp::Less, Some(b"a"), None));
        assert!(condition_holds(CompareOp::Less, None, None));
        assert!(!condition_holds(CompareOp::NotEqual, None, None));
        assert!(condition_holds(CompareOp::NotEqual, Some(b""), b));
        assert!(condition_holds(CompareOp::Equal, Some(b""), Some(b"")));
    }
}
