//! Constraints of a family: what is declared of one, and what it says of values.
//!
//! Attributes as texts: `columns` is a list of qualifiers of the family, without it all of them are meant; `type` is
//! `utf8`, `i64`, `u64`, `json` or `regex:PATTERN`; `length` is `MIN..MAX` in bytes, both inclusive, either left out, or one
//! number; `required` is a list `fam:qual,fam:qual`; `references` is a table. Bytes of qualifiers are written as HBase
//! prints them, a comma as `\x2C`.
//!
//! `type`, `length` and `references` are of each value that is put. `required` is of a row: whoever puts a cell of the
//! family leaves a row that has these columns. Deletes are not judged: expiry, which nobody asks, takes columns as well.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::index::{check_index_name, column_text, parse_indexed, parts};
use super::value_type::ValueType;
pub use crate::model::cells::text::shown_value;
use crate::model::{IndexColumn, MAX_ROW_BYTES, Qualifier, TableName, to_bytes_binary};
use crate::{Error, ErrorKind, Result};

/// The attributes of a constraint: names of its files.
pub const CONSTRAINT_ATTRIBUTES: [&str; 5] = ["columns", "length", "references", "required", "type"];
/// Longest value that is looked into, bytes: what a writer holds of it while it is judged.
pub const JUDGED_MAX: u64 = 16 << 20;

/// What a constraint asks for.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// None: all of the family.
    columns: BTreeSet<Qualifier>,
    pub value_type: Option<ValueType>,
    /// Least and most bytes.
    length: (u64, Option<u64>),
    pub required: Vec<IndexColumn>,
    /// Each value is the key of a row of this table.
    pub references: Option<TableName>,
}

/// A constraint of a family: its attributes as they were set, and what follows from them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConstraintSchema {
    pub name: String,
    attributes: BTreeMap<String, String>,
    /// Made of them once; copies share it.
    #[serde(skip)]
    rule: Arc<OnceLock<Result<Rule>>>,
}

impl PartialEq for ConstraintSchema {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.attributes) == (&other.name, &other.attributes)
    }
}

impl Eq for ConstraintSchema {}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

impl ConstraintSchema {
    /// One that asks for nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), attributes: BTreeMap::new(), rule: Arc::default() }
    }

    /// What is set, with its texts.
    pub fn attributes(&self) -> &BTreeMap<String, String> {
        &self.attributes
    }

    /// Sets an attribute, or with `None` unsets it. `IllegalArgument`: the text makes no sense; nothing is changed then.
    pub fn set_attribute(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        if !CONSTRAINT_ATTRIBUTES.contains(&name) {
            let all = CONSTRAINT_ATTRIBUTES.join(", ");
            return Err(wrong(format!("a check has no attribute {}; it has {all}", name.escape_debug())));
        }
        let mut attributes = self.attributes.clone();
        match text.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => attributes.insert(name.to_owned(), canonical(name, text)?),
            None => attributes.remove(name),
        };
        Rule::of(&attributes)?;
        (self.attributes, self.rule) = (attributes, Arc::default());
        Ok(())
    }

    /// What it asks for. `IllegalArgument`: its name or a text makes no sense.
    pub fn rule(&self) -> Result<&Rule> {
        let made = self.rule.get_or_init(|| {
            check_constraint_name(&self.name)?;
            Rule::of(&self.attributes)
        });
        made.as_ref().map_err(|e| e.clone().context(format!("check {}", self.name)))
    }
}

/// Refuses what cannot name a constraint.
pub fn check_constraint_name(name: &str) -> Result<()> {
    check_index_name(name).map_err(|e| wrong(e.message.replacen("an index", "a check", 1)))
}

/// How a text is kept.
fn canonical(name: &str, text: &str) -> Result<String> {
    Ok(match name {
        "columns" => {
            parts(text).map(|part| column_text(None, &to_bytes_binary(part.as_bytes()))).collect::<Vec<_>>().join(",")
        }
        "required" => {
            let of = |column: &IndexColumn| column_text(Some(&column.family), &column.qualifier);
            parse_indexed(text)?.iter().map(of).collect::<Vec<_>>().join(",")
        }
        "references" => parse_table(text)?.to_string(),
        _ => text.to_owned(),
    })
}

fn parse_table(text: &str) -> Result<TableName> {
    TableName::parse(&text.replacen('/', ":", 1)).map_err(|e| wrong(format!("references: {}", e.message)))
}

/// `MIN..MAX`, either left out, or one number for both.
fn parse_length(text: &str) -> Result<(u64, Option<u64>)> {
    let refused =
        || wrong(format!("`{}`: `length` is MIN..MAX in bytes, MIN.., ..MAX, or one number", text.escape_debug()));
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| refused());
    let (least, most) = match text.split_once("..") {
        None => (number(text)?, Some(number(text)?)),
        Some((least, most)) => {
            let most = Some(most).filter(|most| !most.trim().is_empty()).map(number).transpose()?;
            (if least.trim().is_empty() { 0 } else { number(least)? }, most)
        }
    };
    if most.is_some_and(|most| most < least) { Err(refused()) } else { Ok((least, most)) }
}

impl Rule {
    fn of(attributes: &BTreeMap<String, String>) -> Result<Self> {
        let get = |name: &str| attributes.get(name).map(String::as_str);
        Ok(Self {
            columns: get("columns").into_iter().flat_map(parts).map(|part| to_bytes_binary(part.as_bytes())).collect(),
            value_type: get("type").map(ValueType::parse).transpose()?,
            length: get("length").map(parse_length).transpose()?.unwrap_or_default(),
            required: get("required").map(parse_indexed).transpose()?.unwrap_or_default(),
            references: get("references").map(parse_table).transpose()?,
        })
    }

    /// Whether values of a column are judged by it.
    pub fn is_of(&self, qualifier: &[u8]) -> bool {
        self.columns.is_empty() || self.columns.contains(qualifier)
    }

    /// Whether the bytes of a value matter, and not its length alone.
    pub fn looks_inside(&self) -> bool {
        self.value_type.is_some() || self.references.is_some()
    }

    /// Why a value cannot have so many bytes.
    pub fn wrong_len(&self, len: u64) -> Option<String> {
        let (least, most) = self.length;
        if len < least {
            return Some(format!("it has {len} bytes, and {least} is the least"));
        }
        if self.looks_inside() && len > JUDGED_MAX {
            return Some(format!("it has {len} bytes, and what is looked into has {JUDGED_MAX} at most"));
        }
        most.filter(|most| len > *most).map(|most| format!("it has {len} bytes, and {most} is the most"))
    }

    /// Why these bytes cannot be a value, whatever other rows hold.
    pub fn wrong_value(&self, bytes: &[u8]) -> Option<String> {
        let by_type = self.value_type.as_ref().and_then(|of| of.wrong(bytes));
        by_type.or_else(|| self.references.as_ref().and_then(|table| wrong_key(table, bytes)))
    }

    /// Why a value of `len` bytes or more that begins with these breaks the rule, whatever is written behind them.
    pub fn wrong_start(&self, bytes: &[u8], len: u64) -> Option<String> {
        let most = self.length.1.filter(|most| len > *most);
        let too_long = most.map(|most| format!("it has more than {most} bytes"));
        too_long.or_else(|| self.value_type.as_ref().and_then(|of| of.wrong_start(bytes)))
    }
}

/// What can be the key of no row.
fn wrong_key(table: &TableName, bytes: &[u8]) -> Option<String> {
    match bytes.len() {
        0 => Some(format!("it is empty, and is to be the key of a row of {table}")),
        1..=MAX_ROW_BYTES => None,
        len => Some(format!("it has {len} bytes, and is to be the key of a row of {table}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(attributes: &[(&str, &str)]) -> ConstraintSchema {
        let mut made = ConstraintSchema::new("c");
        attributes.iter().for_each(|(name, text)| made.set_attribute(name, Some(text)).unwrap());
        made
    }

    #[test]
    fn attributes_are_kept_in_one_spelling_and_refused_whole() {
        let mut made = check(&[
            ("columns", " a, b\\x2Cc\n"),
            ("type", "regex:[a-z]+"),
            ("length", "1..20"),
            ("required", "f:a, g:\\x00"),
            ("references", "ns/t"),
        ]);
        let texts: Vec<&str> = made.attributes().values().map(String::as_str).collect();
        assert_eq!(texts, ["a,b\\x2Cc", "1..20", "ns:t", "f:a,g:\\x00", "regex:[a-z]+"]);
        for (name, text) in [
            ("length", "3..2"),
            ("length", "x"),
            ("length", ".."),
            ("type", "i32"),
            ("type", "regex:("),
            ("required", "a"),
            ("references", "a b"),
            ("other", "1"),
        ] {
            let before = made.clone();
            let done = made.set_attribute(name, Some(text));
            assert!(done.is_err() || text == "..", "{name} {text}");
            assert!(done.is_ok() || made == before);
        }
        assert!(ConstraintSchema::new("a/b").rule().is_err());
        let bytes = rmp_serde::to_vec_named(&made).unwrap();
        assert_eq!(rmp_serde::from_slice::<ConstraintSchema>(&bytes).unwrap(), made);
    }

    #[test]
    fn lengths_and_columns_are_as_declared() {
        let made = check(&[("columns", "a"), ("length", "2..3")]);
        let rule = made.rule().unwrap();
        assert!(rule.is_of(b"a") && !rule.is_of(b"b") && !rule.looks_inside());
        let fits: Vec<u64> = (0..6).filter(|len| rule.wrong_len(*len).is_none()).collect();
        assert_eq!(fits, [2, 3]);
        assert!(rule.wrong_start(b"a", 1).is_none() && rule.wrong_start(b"", 4).is_some());
        let inside = check(&[("type", "utf8")]);
        assert!(inside.rule().unwrap().wrong_len(JUDGED_MAX).is_none());
        assert!(inside.rule().unwrap().wrong_len(JUDGED_MAX + 1).is_some());
    }

    #[test]
    fn a_key_of_a_row_is_no_empty_value() {
        let made = check(&[("references", "t")]);
        let rule = made.rule().unwrap();
        assert!(rule.wrong_value(b"").is_some() && rule.wrong_value(b"r").is_none());
        assert!(rule.wrong_value(&[b'x'; MAX_ROW_BYTES + 1]).is_some());
    }
}
