//! From a parsed filter to one that runs: names, arguments, their number and kind.

use std::collections::BTreeSet;

use super::columns::{
    ColumnCount, ColumnPagination, ColumnPrefix, ColumnPrefixes, ColumnRange, Family, FirstKeyOnly, KeyOnly, Qualifier,
    Timestamps,
};
use super::compare::{Comparator, Comparison, parse_op};
use super::filter::{Direction, Filter};
use super::lists::{AllOf, AnyOf};
use super::parse::{Argument, Expression};
use super::rows::{InclusiveStop, Page, Prefix, Row};
use super::values::{ColumnValue, DependentColumn, NamedColumn, SingleColumnValue, Tested, Value};
use super::wrapped::{Skip, WhileMatch};
use crate::{Error, ErrorKind, Result};

/// Names of the filters of the language, for help and completion (HBase: show_filters).
pub const FILTER_NAMES: [&str; 19] = [
    "ColumnCountGetFilter",
    "ColumnPaginationFilter",
    "ColumnPrefixFilter",
    "ColumnRangeFilter",
    "ColumnValueFilter",
    "DependentColumnFilter",
    "FamilyFilter",
    "FirstKeyOnlyFilter",
    "InclusiveStopFilter",
    "KeyOnlyFilter",
    "MultipleColumnPrefixFilter",
    "PageFilter",
    "PrefixFilter",
    "QualifierFilter",
    "RowFilter",
    "SingleColumnValueExcludeFilter",
    "SingleColumnValueFilter",
    "TimestampsFilter",
    "ValueFilter",
];

/// A filter ready to run over a scan of this direction.
pub(in crate::query) fn build(expression: &Expression, direction: Direction) -> Result<Box<dyn Filter>> {
    let all = |parts: &[Expression]| parts.iter().map(|p| build(p, direction)).collect::<Result<Vec<_>>>();
    // As in HBase filters inside SKIP and WHILE are not told that a scan is reversed.
    let wrapped = |inner: &Expression| build(inner, Direction::Forward);
    Ok(match expression {
        Expression::AllOf(parts) => Box::new(AllOf::new(all(parts)?, direction)),
        Expression::AnyOf(parts) => Box::new(AnyOf::new(all(parts)?, direction)),
        Expression::Skip(inner) => Box::new(Skip::new(wrapped(inner)?)),
        Expression::While(inner) => Box::new(WhileMatch::new(wrapped(inner)?)),
        Expression::Call { name, arguments } => call(&Arguments { name, list: arguments }, direction)?,
    })
}

fn call(args: &Arguments<'_>, direction: Direction) -> Result<Box<dyn Filter>> {
    match args.name {
        "PrefixFilter" | "InclusiveStopFilter" | "RowFilter" | "PageFilter" => row_filter(args, direction),
        "ValueFilter"
        | "ColumnValueFilter"
        | "SingleColumnValueFilter"
        | "SingleColumnValueExcludeFilter"
        | "DependentColumnFilter" => value_filter(args),
        _ => column_filter(args),
    }
}

fn row_filter(args: &Arguments<'_>, direction: Direction) -> Result<Box<dyn Filter>> {
    if args.name == "RowFilter" {
        args.expect(&[2])?;
        return Ok(Box::new(Row::new(args.comparison(0)?)));
    }
    args.expect(&[1])?;
    Ok(match args.name {
        "PrefixFilter" => Box::new(Prefix::new(args.bytes(0)?, direction)),
        "InclusiveStopFilter" => Box::new(InclusiveStop::new(args.bytes(0)?, direction)),
        _ => Box::new(Page::new(args.count(0, i64::MAX)?)),
    })
}

fn column_filter(args: &Arguments<'_>) -> Result<Box<dyn Filter>> {
    let expected: &[usize] = match args.name {
        "KeyOnlyFilter" | "FirstKeyOnlyFilter" => &[0],
        "ColumnPrefixFilter" | "ColumnCountGetFilter" => &[1],
        "FamilyFilter" | "QualifierFilter" | "ColumnPaginationFilter" => &[2],
        "ColumnRangeFilter" => &[4],
        "MultipleColumnPrefixFilter" | "TimestampsFilter" => return listing_filter(args),
        _ => {
            return Err(illegal(format!(
                "Filter Name {} not supported. There are {}",
                args.name,
                FILTER_NAMES.join(", ")
            )));
        }
    };
    args.expect(expected)?;
    Ok(match args.name {
        "KeyOnlyFilter" => Box::new(KeyOnly),
        "FirstKeyOnlyFilter" => Box::<FirstKeyOnly>::default(),
        "ColumnPrefixFilter" => Box::new(ColumnPrefix(args.bytes(0)?)),
        "ColumnCountGetFilter" => Box::new(ColumnCount::new(args.count(0, i64::from(i32::MAX))?)),
        "FamilyFilter" => Box::new(Family(args.comparison(0)?)),
        "QualifierFilter" => Box::new(Qualifier(args.comparison(0)?)),
        "ColumnPaginationFilter" => {
            let most = i64::from(i32::MAX);
            Box::new(ColumnPagination::new(args.count(0, most)?, args.count(1, most)?))
        }
        _ => Box::new(ColumnRange {
            min: args.bytes(0)?,
            min_inclusive: args.boolean(1)?,
            max: args.bytes(2)?,
            max_inclusive: args.boolean(3)?,
        }),
    })
}

fn listing_filter(args: &Arguments<'_>) -> Result<Box<dyn Filter>> {
    let places = 0..args.list.len();
    if args.name == "TimestampsFilter" {
        let times: BTreeSet<i64> = places.map(|at| args.count(at, i64::MAX)).collect::<Result<_>>()?;
        return Ok(Box::new(Timestamps(times)));
    }
    let prefixes: BTreeSet<Vec<u8>> = places.map(|at| args.bytes(at)).collect::<Result<_>>()?;
    Ok(Box::new(ColumnPrefixes::new(prefixes)))
}

fn value_filter(args: &Arguments<'_>) -> Result<Box<dyn Filter>> {
    match args.name {
        "ValueFilter" => {
            args.expect(&[2])?;
            Ok(Box::new(Value(args.comparison(0)?)))
        }
        "ColumnValueFilter" => {
            args.expect(&[4])?;
            Ok(Box::new(ColumnValue::new(args.column()?, args.comparison(2)?)))
        }
        "DependentColumnFilter" => dependent_column(args),
        "SingleColumnValueFilter" => single_column(args, Tested::Shown),
        _ => single_column(args, Tested::Hidden),
    }
}

fn single_column(args: &Arguments<'_>, tested: Tested) -> Result<Box<dyn Filter>> {
    args.expect(&[4, 6])?;
    let mut filter = SingleColumnValue::new(args.column()?, args.comparison(2)?, tested);
    if args.list.len() == 6 {
        filter.filter_if_missing = args.boolean(4)?;
        filter.latest_version_only = args.boolean(5)?;
    }
    Ok(Box::new(filter))
}

fn dependent_column(args: &Arguments<'_>) -> Result<Box<dyn Filter>> {
    args.expect(&[2, 3, 5])?;
    let count = args.list.len();
    let tested = if count > 2 && args.boolean(2)? { Tested::Hidden } else { Tested::Shown };
    let comparison = if count == 5 { Some(args.any_comparison(3)?) } else { None };
    Ok(Box::new(DependentColumn::new(args.column()?, tested, comparison)))
}

struct Arguments<'a> {
    name: &'a str,
    list: &'a [Argument],
}

impl Arguments<'_> {
    fn expect(&self, counts: &[usize]) -> Result<()> {
        if counts.contains(&self.list.len()) {
            return Ok(());
        }
        let wanted: Vec<String> = counts.iter().map(usize::to_string).collect();
        Err(self.wrong(format!("takes {} arguments, but got {}", wanted.join(" or "), self.list.len())))
    }

    fn bytes(&self, at: usize) -> Result<Vec<u8>> {
        self.quoted(at).map(<[u8]>::to_vec)
    }

    fn quoted(&self, at: usize) -> Result<&[u8]> {
        match self.list.get(at) {
            Some(Argument::Quoted(text)) => Ok(text),
            Some(Argument::Bare(text)) => Err(self.wrong(format!("needs quotes: '{text}'"))),
            None => Err(self.wrong(format!("lacks argument {}", at + 1))),
        }
    }

    fn bare(&self, at: usize) -> Result<&str> {
        match self.list.get(at) {
            Some(Argument::Bare(text)) => Ok(text),
            Some(Argument::Quoted(text)) => {
                Err(self.wrong(format!("takes {} without quotes", String::from_utf8_lossy(text))))
            }
            None => Err(self.wrong(format!("lacks argument {}", at + 1))),
        }
    }

    /// A number from 0 to `most`.
    fn count(&self, at: usize, most: i64) -> Result<i64> {
        let text = self.bare(at)?;
        match text.parse::<i64>() {
            Ok(number) if (0..=most).contains(&number) => Ok(number),
            _ => Err(self.wrong(format!("takes a number from 0 to {most}, not {text}"))),
        }
    }

    fn boolean(&self, at: usize) -> Result<bool> {
        let text = self.bare(at)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong(format!("takes true or false, not {text}"))),
        }
    }

    fn column(&self) -> Result<NamedColumn> {
        let family = String::from_utf8_lossy(self.quoted(0)?).into_owned();
        Ok(NamedColumn { family, qualifier: self.bytes(1)? })
    }

    fn comparison(&self, at: usize) -> Result<Comparison> {
        use crate::model::CompareOp::{Equal, NotEqual};
        let comparison = self.any_comparison(at)?;
        if comparison.comparator.only_tells_equality() && !matches!(comparison.op, Equal | NotEqual) {
            let text = "A regexstring comparator and substring comparator can only be used with = and !=";
            return Err(illegal(format!("{}: {text}", self.name)));
        }
        Ok(comparison)
    }

    fn any_comparison(&self, at: usize) -> Result<Comparison> {
        Ok(Comparison { op: parse_op(self.bare(at)?)?, comparator: Comparator::parse(self.quoted(at + 1)?)? })
    }

    fn wrong(&self, what: String) -> Error {
        illegal(format!("Incorrect filter string: {} {what}", self.name))
    }
}

fn illegal(message: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, message)
}
