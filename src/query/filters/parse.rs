//! The text of a filter to its tree. Knows the grammar, not what a filter does.

use pest::Parser;
use pest::iterators::Pair;
use pest_derive::Parser;

use crate::{Error, ErrorKind, Result};

#[derive(Parser)]
#[grammar = "query/filters/filter.pest"]
struct FilterGrammar;

/// A parsed filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    AnyOf(Vec<Expression>),
    AllOf(Vec<Expression>),
    /// Drops the whole row if the filter rejects one of its cells.
    Skip(Box<Expression>),
    /// Ends the scan at the first cell or row that the filter rejects.
    While(Box<Expression>),
    Call {
        name: String,
        arguments: Vec<Argument>,
    },
}

/// An argument as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// In quotes; here without them.
    Quoted(Vec<u8>),
    /// Numbers, booleans, operators.
    Bare(String),
}

/// Levels of SKIP, WHILE and parentheses: who parses, runs and drops a filter goes down them on its stack.
const LEVELS_MAX: usize = 128;

/// Parses HBase's filter language.
pub fn parse(text: &[u8]) -> Result<Expression> {
    if levels(text) > LEVELS_MAX {
        let message = format!("Incorrect Filter String: more than {LEVELS_MAX} levels of SKIP, WHILE and parentheses");
        return Err(Error::new(ErrorKind::IllegalArgument, message));
    }
    // A character a byte: the grammar knows characters, literals are bytes.
    let characters: String = text.iter().copied().map(char::from).collect();
    let parsed = FilterGrammar::parse(Rule::filter, &characters);
    let mut pairs = parsed.map_err(|e| incorrect(&String::from_utf8_lossy(text), &e))?;
    pairs
        .next()
        .map(any_of)
        .ok_or_else(|| Error::new(ErrorKind::IllegalArgument, "Incorrect Filter String: it is empty"))
}

/// Bytes as an argument of a filter: in quotes, and those in it twice.
pub fn quoted(bytes: &[u8]) -> Vec<u8> {
    let doubled = bytes.iter().flat_map(|byte| std::iter::repeat_n(*byte, if *byte == b'\'' { 2 } else { 1 }));
    std::iter::once(b'\'').chain(doubled).chain([b'\'']).collect()
}

/// How deep it is nested; what is no filter has some number too.
fn levels(text: &[u8]) -> usize {
    // Levels at which the open parentheses begin.
    let mut outer = vec![0_usize];
    let (mut level, mut deepest, mut quoted, mut word) = (0, 0, false, 0);
    for (at, byte) in text.iter().enumerate() {
        let is_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        if !is_word && !quoted {
            level += usize::from(matches!(&text[word..at], b"SKIP" | b"WHILE"));
        }
        match byte {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => {
                level += 1;
                outer.push(level);
            }
            b')' if !quoted => {
                outer.pop();
                level = outer.last().copied().unwrap_or_default();
            }
            _ => {}
        }
        deepest = deepest.max(level);
        if !is_word {
            word = at + 1;
        }
    }
    deepest
}

fn incorrect(text: &str, e: &pest::error::Error<Rule>) -> Error {
    let column = match e.line_col {
        pest::error::LineColLocation::Pos((_, column)) | pest::error::LineColLocation::Span((_, column), _) => column,
    };
    let message = format!(
        "Incorrect Filter String: {text}: cannot be read from character {column} on. Filters look like \
         ValueFilter (=, 'binary:x'), joined by AND, OR, SKIP, WHILE and parentheses"
    );
    Error::new(ErrorKind::IllegalArgument, message)
}

fn any_of(pair: Pair<'_, Rule>) -> Expression {
    joined(pair, Rule::all_of, all_of, Expression::AnyOf)
}

fn all_of(pair: Pair<'_, Rule>) -> Expression {
    joined(pair, Rule::unary, unary, Expression::AllOf)
}

fn joined(
    pair: Pair<'_, Rule>,
    part: Rule,
    read: fn(Pair<'_, Rule>) -> Expression,
    join: fn(Vec<Expression>) -> Expression,
) -> Expression {
    let mut parts: Vec<Expression> = pair.into_inner().filter(|p| p.as_rule() == part).map(read).collect();
    if parts.len() == 1 { parts.remove(0) } else { join(parts) }
}

fn unary(pair: Pair<'_, Rule>) -> Expression {
    let mut wrap: Option<fn(Box<Expression>) -> Expression> = None;
    let mut inner = Expression::AllOf(Vec::new());
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::skip => wrap = Some(Expression::Skip),
            Rule::while_match => wrap = Some(Expression::While),
            Rule::unary => inner = unary(part),
            Rule::any_of => inner = any_of(part),
            _ => inner = simple(part),
        }
    }
    match wrap {
        Some(wrap) => wrap(Box::new(inner)),
        None => inner,
    }
}

fn simple(pair: Pair<'_, Rule>) -> Expression {
    let mut name = String::new();
    let mut arguments = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => name = part.as_str().to_owned(),
            _ => arguments.extend(part.into_inner().map(argument)),
        }
    }
    Expression::Call { name, arguments }
}

fn argument(pair: Pair<'_, Rule>) -> Argument {
    let text = pair.as_str();
    match pair.as_rule() {
        Rule::quoted => {
            let inner = text[1..text.len() - 1].replace("''", "'");
            // Each is a byte's.
            Argument::Quoted(inner.chars().filter_map(|c| u8::try_from(c).ok()).collect())
        }
        _ => Argument::Bare(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> Expression {
        Expression::Call { name: name.into(), arguments: Vec::new() }
    }

    #[test]
    fn skip_binds_before_and_before_or() {
        let parsed = parse(b"A() OR SKIP B() AND C()").unwrap();
        let skip = Expression::Skip(Box::new(call("B")));
        assert_eq!(parsed, Expression::AnyOf(vec![call("A"), Expression::AllOf(vec![skip, call("C")])]));
    }

    #[test]
    fn parentheses_group() {
        let parsed = parse(b"(A() OR B()) AND C()").unwrap();
        let group = Expression::AnyOf(vec![call("A"), call("B")]);
        assert_eq!(parsed, Expression::AllOf(vec![group, call("C")]));
    }

    #[test]
    fn quotes_are_doubled_in_arguments() {
        let parsed = parse(b"ValueFilter (!=, 'binary:it''s')").unwrap();
        let arguments = vec![Argument::Bare("!=".into()), Argument::Quoted(b"binary:it's".to_vec())];
        assert_eq!(parsed, Expression::Call { name: "ValueFilter".into(), arguments });
    }

    #[test]
    fn literals_are_bytes() {
        let parsed = parse(b"PrefixFilter('\xFFa\xC3\xA9')").unwrap();
        let arguments = vec![Argument::Quoted(b"\xFFa\xC3\xA9".to_vec())];
        assert_eq!(parsed, Expression::Call { name: "PrefixFilter".into(), arguments });
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let nested = |open: &str, count: usize, close: &str| {
            parse(format!("{}A('((((SKIP'){}", open.repeat(count), close.repeat(count)).as_bytes())
        };
        for (open, close) in [("(", ")"), ("SKIP ", ""), ("WHILE\t", ""), ("SKIP(", ")"), ("(A() AND ", ")")] {
            assert!(nested(open, LEVELS_MAX / 2 - 1, close).is_ok(), "{open}");
            let told = nested(open, 100_000, close).unwrap_err();
            assert_eq!(told.kind, ErrorKind::IllegalArgument, "{open}");
            assert!(told.message.contains("128 levels") && told.message.len() < 100, "{}", told.message);
        }
        for flat in ["SKIP A() AND ", "(A()) OR ", "(SKIP WHILE A()) OR "] {
            assert!(parse(format!("{}A()", flat.repeat(1000)).as_bytes()).is_ok(), "{flat}");
        }
    }

    #[test]
    fn a_wrong_text_is_an_illegal_argument() {
        for text in ["", "A(", "A() AND", "(A()", "A() B()", "A('x)"] {
            assert_eq!(parse(text.as_bytes()).unwrap_err().kind, ErrorKind::IllegalArgument, "{text}");
        }
    }
}
