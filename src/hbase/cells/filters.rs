//! Filters of HBase's language as its servers take them: every name of the language is a class there, so all of them are
//! judged by the server.

use crate::hbase::client::proto::data::Named;
use crate::hbase::client::proto::filter::{
    BinaryComparator, ColumnCountGetFilter, ColumnPaginationFilter, ColumnRangeFilter, ColumnValueFilter,
    CompareFilter, DependentColumnFilter, Join, KeyOnlyFilter, MultipleColumnPrefixFilter, OneKey, PageFilter,
    RegexStringComparator, SingleColumnValueExcludeFilter, SingleColumnValueFilter, SubstringComparator,
    TimestampsFilter, Wrapped, compared, first_key_only, list, named,
};
use crate::model::CompareOp;
use crate::query::parse;
use crate::query::{Argument, Expression, FILTER_NAMES};
use crate::{Error, ErrorKind, Result};

/// Flags of java.util.regex.Pattern: a dot is any character (as ParseFilter sets it).
const DOT_ALL: i32 = 32;
/// CompareType: nothing is compared.
const NO_OP: i32 = 6;

/// A text of the filter language.
pub(in crate::hbase) fn filter(text: &[u8]) -> Result<Named> {
    expression(&parse(text)?)
}

/// HBase's number of an operator.
pub(in crate::hbase) fn number(op: CompareOp) -> i32 {
    match op {
        CompareOp::Less => 0,
        CompareOp::LessOrEqual => 1,
        CompareOp::Equal => 2,
        CompareOp::NotEqual => 3,
        CompareOp::GreaterOrEqual => 4,
        CompareOp::Greater => 5,
    }
}

fn expression(of: &Expression) -> Result<Named> {
    let all = |parts: &[Expression]| parts.iter().map(expression).collect::<Result<Vec<_>>>();
    let wrapped = |inner: &Expression| Ok::<_, Error>(Wrapped { filter: expression(inner)? });
    Ok(match of {
        Expression::AllOf(parts) => list(Join::All, all(parts)?),
        Expression::AnyOf(parts) => list(Join::Any, all(parts)?),
        Expression::Skip(inner) => named("SkipFilter", &wrapped(inner)?),
        Expression::While(inner) => named("WhileMatchFilter", &wrapped(inner)?),
        Expression::Call { name, arguments } => call(&Arguments { name, list: arguments })?,
    })
}

fn call(args: &Arguments<'_>) -> Result<Named> {
    let name = args.name;
    let counts: &[usize] = match name {
        "KeyOnlyFilter" | "FirstKeyOnlyFilter" => &[0],
        "PrefixFilter" | "InclusiveStopFilter" | "PageFilter" | "ColumnPrefixFilter" | "ColumnCountGetFilter" => &[1],
        "RowFilter" | "FamilyFilter" | "QualifierFilter" | "ValueFilter" | "ColumnPaginationFilter" => &[2],
        "ColumnRangeFilter" | "ColumnValueFilter" => &[4],
        "SingleColumnValueFilter" | "SingleColumnValueExcludeFilter" => &[4, 6],
        "DependentColumnFilter" => &[2, 3, 5],
        "MultipleColumnPrefixFilter" | "TimestampsFilter" => return lists(args),
        _ => return Err(wrong(format!("Filter Name {name} not supported. There are {}", FILTER_NAMES.join(", ")))),
    };
    if !counts.contains(&args.list.len()) {
        return Err(wrong(format!("Incorrect filter string: {name} has {} arguments", args.list.len())));
    }
    Ok(match name {
        "FirstKeyOnlyFilter" => first_key_only(),
        "KeyOnlyFilter" => named(name, &KeyOnlyFilter { len_as_val: false }),
        "PrefixFilter" | "InclusiveStopFilter" | "ColumnPrefixFilter" => {
            named(name, &OneKey { key: Some(args.bytes(0)?) })
        }
        "PageFilter" => named(name, &PageFilter { page_size: args.number(0)? }),
        "ColumnCountGetFilter" => named(name, &ColumnCountGetFilter { limit: args.number(0)? }),
        "ColumnPaginationFilter" => {
            named(name, &ColumnPaginationFilter { limit: args.number(0)?, offset: Some(args.number(1)?) })
        }
        "ColumnRangeFilter" => named(
            name,
            &ColumnRangeFilter {
                min_column: args.bound(0)?,
                min_column_inclusive: Some(args.boolean(1)?),
                max_column: args.bound(2)?,
                max_column_inclusive: Some(args.boolean(3)?),
            },
        ),
        "RowFilter" | "FamilyFilter" | "QualifierFilter" | "ValueFilter" => {
            compared(name, number(args.op(0)?), args.comparator(1)?)
        }
        "DependentColumnFilter" => dependent(args)?,
        _ => of_value(args)?,
    })
}

fn lists(args: &Arguments<'_>) -> Result<Named> {
    let places = 0..args.list.len();
    Ok(match args.name {
        "TimestampsFilter" => {
            let timestamps = places.map(|at| args.number(at)).collect::<Result<_>>()?;
            named(args.name, &TimestampsFilter { timestamps, can_hint: None })
        }
        _ => {
            let mut sorted_prefixes: Vec<Vec<u8>> = places.map(|at| args.bytes(at)).collect::<Result<_>>()?;
            sorted_prefixes.sort();
            named(args.name, &MultipleColumnPrefixFilter { sorted_prefixes })
        }
    })
}

fn of_value(args: &Arguments<'_>) -> Result<Named> {
    let (family, qualifier) = (args.bytes(0)?, args.bytes(1)?);
    let (compare_op, comparator) = (number(args.op(2)?), args.comparator(3)?);
    if args.name == "ColumnValueFilter" {
        return Ok(named(args.name, &ColumnValueFilter { family, qualifier, compare_op, comparator }));
    }
    let flags = if args.list.len() == 6 { (args.boolean(4)?, args.boolean(5)?) } else { (false, true) };
    let single_column_value_filter = SingleColumnValueFilter {
        column_family: Some(family),
        column_qualifier: Some(qualifier),
        compare_op,
        comparator,
        filter_if_missing: Some(flags.0),
        latest_version_only: Some(flags.1),
    };
    Ok(match args.name {
        "SingleColumnValueFilter" => named(args.name, &single_column_value_filter),
        name => named(name, &SingleColumnValueExcludeFilter { single_column_value_filter }),
    })
}

fn dependent(args: &Arguments<'_>) -> Result<Named> {
    let count = args.list.len();
    let compare_filter = match count {
        5 => CompareFilter { compare_op: number(args.op(3)?), comparator: Some(args.comparator(4)?) },
        _ => CompareFilter { compare_op: NO_OP, comparator: None },
    };
    Ok(named(
        args.name,
        &DependentColumnFilter {
            compare_filter,
            column_family: Some(args.bytes(0)?),
            column_qualifier: Some(args.bytes(1)?),
            drop_dependent_column: Some(count > 2 && args.boolean(2)?),
        },
    ))
}

struct Arguments<'a> {
    name: &'a str,
    list: &'a [Argument],
}

impl Arguments<'_> {
    fn bytes(&self, at: usize) -> Result<Vec<u8>> {
        match self.list.get(at) {
            Some(Argument::Quoted(bytes)) => Ok(bytes.clone()),
            _ => Err(self.wrong(at, "stands in quotes")),
        }
    }

    /// An empty one is none: HBase's parser leaves it out, and its server would take it for a bound.
    fn bound(&self, at: usize) -> Result<Option<Vec<u8>>> {
        Ok(Some(self.bytes(at)?).filter(|bound| !bound.is_empty()))
    }

    fn bare(&self, at: usize) -> Result<&str> {
        match self.list.get(at) {
            Some(Argument::Bare(text)) => Ok(text),
            _ => Err(self.wrong(at, "stands without quotes")),
        }
    }

    fn number<N: std::str::FromStr + PartialOrd + Default>(&self, at: usize) -> Result<N> {
        let number = self.bare(at)?.parse().ok().filter(|number| *number >= N::default());
        number.ok_or_else(|| self.wrong(at, "is a number from 0 on"))
    }

    fn boolean(&self, at: usize) -> Result<bool> {
        match self.bare(at)?.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong(at, "is true or false")),
        }
    }

    fn op(&self, at: usize) -> Result<CompareOp> {
        Ok(match self.bare(at)? {
            "<" => CompareOp::Less,
            "<=" => CompareOp::LessOrEqual,
            "=" => CompareOp::Equal,
            "!=" => CompareOp::NotEqual,
            ">=" => CompareOp::GreaterOrEqual,
            ">" => CompareOp::Greater,
            _ => return Err(self.wrong(at, "is one of < <= = != >= >")),
        })
    }

    /// `type:value`.
    fn comparator(&self, at: usize) -> Result<Named> {
        let text = self.bytes(at)?;
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let value = text.get(colon + 1..).unwrap_or_default();
        let words = || String::from_utf8_lossy(value).into_owned();
        Ok(match &text[..colon] {
            b"binary" => named("BinaryComparator", &BinaryComparator::of(value)),
            b"binaryprefix" => named("BinaryPrefixComparator", &BinaryComparator::of(value)),
            b"substring" => named("SubstringComparator", &SubstringComparator { substr: words().to_lowercase() }),
            b"regexstring" => named(
                "RegexStringComparator",
                &RegexStringComparator {
                    pattern: words(),
                    pattern_flags: DOT_ALL,
                    charset: "UTF-8".to_owned(),
                    engine: Some("JAVA".to_owned()),
                },
            ),
            _ => return Err(self.wrong(at, "begins with binary:, binaryprefix:, regexstring: or substring:")),
        })
    }

    fn wrong(&self, at: usize, what: &str) -> Error {
        wrong(format!("Incorrect filter string: argument {} of {} {what}", at + 1, self.name))
    }
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_of_the_language_has_its_class_and_wrong_ones_are_refused() {
        let texts = [
            "KeyOnlyFilter() AND FirstKeyOnlyFilter()",
            "PrefixFilter('a') OR InclusiveStopFilter('b') OR ColumnPrefixFilter('c')",
            "PageFilter(3) AND ColumnCountGetFilter(2) AND ColumnPaginationFilter(1, 2)",
            "ColumnRangeFilter('a', true, 'b', false) AND MultipleColumnPrefixFilter('b', 'a')",
            "SKIP ValueFilter(!=, 'binary:x') AND WHILE RowFilter(>=, 'binaryprefix:y')",
            "FamilyFilter(=, 'regexstring:f.*') AND QualifierFilter(=, 'substring:Q')",
            "TimestampsFilter(1, 2) AND ColumnValueFilter('f', 'q', =, 'binary:x')",
            "SingleColumnValueFilter('f', 'q', =, 'binary:x', true, false)",
            "SingleColumnValueExcludeFilter('f', 'q', =, 'binary:x') AND DependentColumnFilter('f', 'q')",
            "DependentColumnFilter('f', 'q', true, =, 'binary:x')",
        ];
        for text in texts {
            let found = filter(text.as_bytes()).unwrap();
            assert!(found.name.starts_with("org.apache.hadoop.hbase.filter."), "{text}: {}", found.name);
        }
        for name in FILTER_NAMES {
            assert!(texts.iter().any(|text| text.contains(name)), "{name} is not tried");
        }
        let bounds = filter(b"ColumnRangeFilter('', true, '', true)").unwrap();
        let none = ColumnRangeFilter {
            min_column: None,
            min_column_inclusive: Some(true),
            max_column: None,
            max_column_inclusive: Some(true),
        };
        assert_eq!(bounds, named("ColumnRangeFilter", &none), "an empty bound is none");
        for text in ["PageFilter('3')", "PageFilter(-1)", "NoFilter()", "PrefixFilter()", "ValueFilter(~, 'binary:x')"]
        {
            assert_eq!(filter(text.as_bytes()).unwrap_err().kind, ErrorKind::IllegalArgument, "{text}");
        }
    }
}
