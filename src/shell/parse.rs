//! Text of the shell's language to its tree. Knows the grammar, not what a command does.

use std::num::NonZeroUsize;

use pest::Parser;
use pest::iterators::Pair;
use pest_derive::Parser;

use super::literal::{bytes_of_double, bytes_of_single};
use super::syntax::{Argument, Block, Call, Expression, Operator, Piece};

#[derive(Parser)]
#[grammar = "shell/shell.pest"]
struct ShellGrammar;

type Tree<'i> = Pair<'i, Rule>;
/// A sentence that says what cannot be read.
type Refusal = String;

/// Steps of the parser for one text: enough for a value of some MiB, some seconds at most.
const MOST_STEPS: usize = 50_000_000;

/// Parses a text of statements.
pub fn parse(text: &str) -> Result<Vec<Expression>, Refusal> {
    // A grammar of this kind can look at a text exponentially often.
    pest::set_call_limit(NonZeroUsize::new(MOST_STEPS));
    let mut pairs = ShellGrammar::parse(Rule::program, text).map_err(|e| unexpected(text, &e))?;
    let body = pairs.next().and_then(|program| program.into_inner().next());
    body.map_or_else(|| Ok(Vec::new()), statements)
}

fn unexpected(text: &str, error: &pest::error::Error<Rule>) -> Refusal {
    let at = match error.location {
        pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
    };
    let rest = text.get(at..).unwrap_or_default().lines().next().unwrap_or_default();
    if rest.trim().is_empty() {
        return "syntax error, unexpected end-of-file".to_owned();
    }
    format!("syntax error, unexpected {}", rest.chars().take(30).collect::<String>())
}

fn statements(body: Tree<'_>) -> Result<Vec<Expression>, Refusal> {
    body.into_inner().map(statement).collect()
}

/// The only child of a tree.
fn child<'i>(tree: Tree<'i>) -> Result<Tree<'i>, Refusal> {
    let rule = tree.as_rule();
    tree.into_inner().next().ok_or_else(|| format!("syntax error, an empty {rule:?}"))
}

fn statement(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let inner = child(tree)?;
    match inner.as_rule() {
        Rule::assignment => {
            let mut parts = inner.into_inner();
            let (name, value) = parts.next().zip(parts.next()).ok_or("syntax error in an assignment")?;
            Ok(Expression::Assignment(name.as_str().to_owned(), Box::new(statement(value)?)))
        }
        Rule::command => command(inner),
        _ => expression(inner),
    }
}

fn command(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut call = Call { receiver: None, name: String::new(), arguments: Vec::new(), block: None, bare: false };
    for part in tree.into_inner() {
        match part.as_rule() {
            Rule::callee => {
                for word in part.into_inner() {
                    match word.as_rule() {
                        Rule::receiver => call.receiver = Some(Box::new(bare(word.as_str()))),
                        _ => call.name = word.as_str().to_owned(),
                    }
                }
            }
            Rule::arguments => call.arguments = arguments(part)?,
            _ => call.block = Some(block(part)?),
        }
    }
    Ok(Expression::Call(call))
}

fn bare(word: &str) -> Expression {
    let name = word.to_owned();
    Expression::Call(Call { receiver: None, name, arguments: Vec::new(), block: None, bare: true })
}

fn arguments(tree: Tree<'_>) -> Result<Vec<Argument>, Refusal> {
    tree.into_inner().map(argument).collect()
}

fn argument(tree: Tree<'_>) -> Result<Argument, Refusal> {
    let parts: Vec<Tree<'_>> = tree.into_inner().filter(|part| part.as_rule() != Rule::arrow).collect();
    let mut parts = parts.into_iter();
    let first = parts.next().ok_or("syntax error in an argument")?;
    match parts.next() {
        Some(value) => Ok(Argument::Pair(key(first)?, expression(value)?)),
        None => Ok(Argument::Plain(expression(first)?)),
    }
}

/// `NAME:` stands for the word, as the constant does.
fn key(tree: Tree<'_>) -> Result<Expression, Refusal> {
    if tree.as_rule() == Rule::label {
        let word = tree.as_str().trim_end_matches(':').as_bytes().to_vec();
        return Ok(Expression::Text(vec![Piece::Bytes(word)]));
    }
    expression(tree)
}

fn block(tree: Tree<'_>) -> Result<Block, Refusal> {
    let mut block = Block { parameters: Vec::new(), body: Vec::new() };
    for part in tree.into_inner() {
        match part.as_rule() {
            Rule::parameters => block.parameters = part.into_inner().map(|word| word.as_str().to_owned()).collect(),
            _ => block.body = statements(part)?,
        }
    }
    Ok(block)
}

fn expression(tree: Tree<'_>) -> Result<Expression, Refusal> {
    match tree.as_rule() {
        Rule::range => range(tree),
        Rule::sum | Rule::term => joined(tree),
        Rule::unary => unary(tree),
        Rule::postfix => postfix(tree),
        Rule::statement => statement(tree),
        Rule::number => number(tree.as_str()),
        Rule::strings => {
            let parts = tree.into_inner().map(string).collect::<Result<Vec<_>, _>>()?;
            Ok(Expression::Text(parts.concat()))
        }
        Rule::symbol => Ok(Expression::Symbol(tree.as_str().trim_start_matches(':').to_owned())),
        Rule::array => Ok(Expression::Array(arguments(tree)?)),
        Rule::hash => Ok(Expression::Hash(tree.into_inner().map(entry).collect::<Result<_, _>>()?)),
        Rule::keyword => Ok(match tree.as_str() {
            "nil" => Expression::Nil,
            word => Expression::Boolean(word == "true"),
        }),
        Rule::call => call(None, tree.into_inner()),
        Rule::constant => Ok(Expression::Constant(tree.as_str().to_owned())),
        Rule::variable => Ok(bare(tree.as_str().trim())),
        _ => expression(child(tree)?),
    }
}

fn entry(tree: Tree<'_>) -> Result<(Expression, Expression), Refusal> {
    let mut parts = tree.into_inner();
    let (name, value) = parts.next().zip(parts.next()).ok_or("syntax error in a hash")?;
    Ok((key(name)?, expression(value)?))
}

fn range(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let first = expression(parts.next().ok_or("syntax error in a range")?)?;
    match parts.next().zip(parts.next()) {
        None => Ok(first),
        Some((operator, last)) => Ok(Expression::Range {
            first: Box::new(first),
            last: Box::new(expression(last)?),
            exclusive: operator.as_str().starts_with("..."),
        }),
    }
}

fn joined(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let mut left = expression(parts.next().ok_or("syntax error in a sum")?)?;
    while let Some((operator, right)) = parts.next().zip(parts.next()) {
        let operator = match operator.as_str().trim() {
            "+" => Operator::Add,
            "-" => Operator::Subtract,
            "*" => Operator::Multiply,
            "/" => Operator::Divide,
            _ => Operator::Remainder,
        };
        left = Expression::Joined(operator, Box::new(left), Box::new(expression(right)?));
    }
    Ok(left)
}

fn unary(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let first = parts.next().ok_or("syntax error in an expression")?;
    match parts.next() {
        Some(operand) => Ok(Expression::Negated(Box::new(expression(operand)?))),
        None => expression(first),
    }
}

fn postfix(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let mut value = expression(parts.next().ok_or("syntax error in an expression")?)?;
    for part in parts {
        value = match part.as_rule() {
            Rule::index => Expression::Index(Box::new(value), Box::new(expression(child(part)?)?)),
            _ => call(Some(Box::new(value)), part.into_inner())?,
        };
    }
    Ok(value)
}

fn call<'i>(receiver: Option<Box<Expression>>, parts: impl Iterator<Item = Tree<'i>>) -> Result<Expression, Refusal> {
    let mut call = Call { receiver, name: String::new(), arguments: Vec::new(), block: None, bare: false };
    for part in parts {
        match part.as_rule() {
            Rule::word => call.name = part.as_str().to_owned(),
            Rule::paren_arguments => {
                let inner = part.into_inner().next();
                call.arguments = inner.map_or_else(|| Ok(Vec::new()), arguments)?;
            }
            _ => call.block = Some(block(part)?),
        }
    }
    Ok(Expression::Call(call))
}

fn number(text: &str) -> Result<Expression, Refusal> {
    let plain = text.replace('_', "");
    if let Some(digits) = plain.strip_prefix("0x") {
        let value = i64::from_str_radix(digits, 16).map_err(|_| too_large(text))?;
        return Ok(Expression::Integer(value));
    }
    if plain.contains(['.', 'e', 'E']) {
        return plain.parse().map(Expression::Float).map_err(|_| too_large(text));
    }
    plain.parse().map(Expression::Integer).map_err(|_| too_large(text))
}

fn too_large(text: &str) -> Refusal {
    format!("the number {text} does not fit 64 bits")
}

fn string(tree: Tree<'_>) -> Result<Vec<Piece>, Refusal> {
    let literal = child(tree)?;
    let plain = matches!(literal.as_rule(), Rule::single | Rule::curly_single);
    let mut pieces = Vec::new();
    for part in literal.into_inner() {
        pieces.push(match part.as_rule() {
            Rule::interpolation => Piece::Interpolated(Box::new(statement(child(part)?)?)),
            _ if plain => Piece::Bytes(bytes_of_single(part.as_str())),
            _ => Piece::Bytes(bytes_of_double(part.as_str())),
        });
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Expression {
        Expression::Text(vec![Piece::Bytes(text.as_bytes().to_vec())])
    }

    fn one(source: &str) -> Expression {
        let mut statements = parse(source).unwrap();
        assert_eq!(statements.len(), 1, "{source}");
        statements.remove(0)
    }

    fn arguments_of(source: &str) -> Vec<Argument> {
        match one(source) {
            Expression::Call(call) => call.arguments,
            other => panic!("{source}: {other:?}"),
        }
    }

    fn name(word: &str) -> Expression {
        Expression::Constant(word.into())
    }

    #[test]
    fn calls_have_parentheses_or_not() {
        let plain = Argument::Plain;
        let expected = vec![
            plain(text("t")),
            plain(Expression::Integer(5)),
            plain(Expression::Negated(Box::new(Expression::Integer(3)))),
        ];
        for source in
            ["incr 't', 5, -3", "incr('t', 5, -3)", "t.incr 't', 5, -3", "t.incr('t',\n 5, -3)", "incr 't',\n5,\n-3"]
        {
            assert_eq!(arguments_of(source), expected, "{source}");
        }
        assert_eq!(arguments_of("list"), vec![]);
    }

    #[test]
    fn hashes_have_braces_or_not() {
        let pairs = [(name("NAME"), text("f")), (name("VERSIONS"), Expression::Integer(5))];
        let bare = pairs.iter().cloned().map(|(key, value)| Argument::Pair(key, value)).collect::<Vec<_>>();
        assert_eq!(arguments_of("alter NAME => 'f', VERSIONS => 5"), bare);
        let braced = vec![Argument::Plain(Expression::Hash(pairs.to_vec()))];
        assert_eq!(arguments_of("alter {NAME => 'f',\n VERSIONS => 5,\n}"), braced);
        assert_eq!(arguments_of("alter {NAME=>\"f\", VERSIONS=>5}"), braced);
        let labelled = vec![Argument::Pair(text("NAME"), text("f"))];
        assert_eq!(arguments_of("alter NAME: 'f'"), labelled);
    }

    #[test]
    fn typographic_quotes_are_quotes() {
        let expected = vec![Argument::Plain(text("t1")), Argument::Plain(text("r"))];
        assert_eq!(arguments_of("get ‘t1′, “r”"), expected);
        assert_eq!(arguments_of("get ’t1’, 'r'"), expected);
        assert_eq!(one("'a' \"b\""), Expression::Text(vec![Piece::Bytes(b"a".to_vec()), Piece::Bytes(b"b".to_vec())]));
    }

    #[test]
    fn literals_are_rubys() {
        assert_eq!(one("0x1F"), Expression::Integer(31));
        assert_eq!(one("1_000"), Expression::Integer(1000));
        assert_eq!(one("1.5e3"), Expression::Float(1500.0));
        assert_eq!(one(":sym"), Expression::Symbol("sym".into()));
        assert_eq!(one("nil # nothing"), Expression::Nil);
        assert_eq!(
            one("[1, 'a',]"),
            Expression::Array(vec![Argument::Plain(Expression::Integer(1)), Argument::Plain(text("a"))])
        );
        assert!(matches!(one("1..3"), Expression::Range { exclusive: false, .. }));
        assert!(matches!(one("x = get_table 't'"), Expression::Assignment(name, _) if name == "x"));
        assert!(matches!(one("\"a#{1 + 1}\""), Expression::Text(pieces) if pieces.len() == 2));
        assert!(parse("99999999999999999999").is_err());
    }

    #[test]
    fn statements_are_separated_and_refused() {
        assert_eq!(parse("list; version\nlist # x\n\n").unwrap().len(), 3);
        assert_eq!(parse("# nothing\n").unwrap(), vec![]);
        for bad in ["put 't',", "scan { A => 'x' B => 30}", "get 't' )", "'", "1 +"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn malformed_nesting_ends() {
        let text = format!("{} ) {}", "f [".repeat(60), "]".repeat(60));
        assert!(parse(&text).is_err());
        assert!(parse(&format!("{}1{}", "[".repeat(60), "]".repeat(60))).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[a-zA-Z0-9 '\"#{}()\\[\\],.|=>:;\n‘’“\\\\-]{0,60}") {
            if crate::shell::lines::progress(&text) == crate::shell::lines::Progress::Complete {
                let _ = parse(&text);
            }
        }
    }

    #[test]
    fn blocks_have_parameters() {
        let source = "(1..3).each { |i| put 't', \"r#{i}\", 'f:q', i }";
        let Expression::Call(call) = one(source) else { panic!("{source}") };
        let block = call.block.unwrap();
        assert_eq!((block.parameters.as_slice(), block.body.len()), (["i".to_owned()].as_slice(), 1));
        let Expression::Call(call) = one("[1].each do |i|\n  puts i\n  list\nend") else { panic!("do") };
        assert_eq!(call.block.unwrap().body.len(), 2);
    }
}
