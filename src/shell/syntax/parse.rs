//! Text of the shell's language to its tree. Knows the grammar, not what a command does.

use super::grammar::{Refusal, Rule, Tree, body, child, children, number, operator, plain, sign, tightest};
use super::literal::{bytes_of_double, bytes_of_single};
use super::tree::{Argument, Arm, Block, Call, Expression, Jump, Piece};

/// Parses a text of statements.
pub fn parse(text: &str) -> Result<Vec<Expression>, Refusal> {
    let plain = plain(text)?;
    body(&plain)?.map_or_else(|| Ok(Vec::new()), statements)
}

fn statements(body: Tree<'_>) -> Result<Vec<Expression>, Refusal> {
    body.into_inner().map(statement).collect()
}

/// A statement, and `if`, `unless`, `while`, `until` behind it.
fn statement(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let mut value = expression(parts.next().ok_or("syntax error, an empty statement")?)?;
    for modifier in parts {
        let mut parts = modifier.into_inner();
        let (word, condition) = parts.next().zip(parts.next()).ok_or("syntax error in a condition")?;
        value = conditional(word.as_str(), expression(condition)?, vec![value], Vec::new());
    }
    Ok(value)
}

/// `if`, `unless`, `while` or `until` of a condition.
fn conditional(word: &str, condition: Expression, body: Vec<Expression>, otherwise: Vec<Expression>) -> Expression {
    let condition = match word {
        "unless" | "until" => Expression::Not(Box::new(condition)),
        _ => condition,
    };
    match word {
        "while" | "until" => Expression::Repeat(Box::new(Arm { condition, body })),
        _ => Expression::Branch(vec![Arm { condition, body }], otherwise),
    }
}

fn branch(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let wrong = "syntax error in a condition";
    let mut parts = children(tree);
    let word = parts.next().ok_or(wrong)?.as_str().to_owned();
    let (condition, body) = parts.next().zip(parts.next()).ok_or(wrong)?;
    let (condition, body) = (expression(condition)?, statements(body)?);
    let (mut arms, mut otherwise) = (Vec::new(), Vec::new());
    for part in parts {
        let is_arm = part.as_rule() == Rule::elsif;
        let mut inner = children(part);
        if is_arm {
            let (condition, body) = inner.next().zip(inner.next()).ok_or(wrong)?;
            arms.push(Arm { condition: expression(condition)?, body: statements(body)? });
        } else {
            otherwise = statements(inner.next().ok_or(wrong)?)?;
        }
    }
    Ok(match conditional(&word, condition, body, Vec::new()) {
        Expression::Branch(first, _) => Expression::Branch([first, arms].concat(), otherwise),
        other => other,
    })
}

fn repeat(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let parts: Vec<Tree<'_>> = children(tree).collect();
    let [word, condition, body] = <[Tree<'_>; 3]>::try_from(parts).map_err(|_| "syntax error in a loop")?;
    Ok(conditional(word.as_str(), expression(condition)?, statements(body)?, Vec::new()))
}

fn walk(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let (mut parameters, mut of, mut body) = (Vec::new(), None, Vec::new());
    for part in children(tree) {
        match part.as_rule() {
            Rule::word => parameters.push(part.as_str().to_owned()),
            Rule::body => body = statements(part)?,
            _ => of = Some(expression(part)?),
        }
    }
    Ok(Expression::Walk(Block { parameters, body }, Box::new(of.ok_or("syntax error in a loop")?)))
}

fn assignment(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let parts: Vec<Tree<'_>> = tree.into_inner().collect();
    let [target, sign, value] = <[Tree<'_>; 3]>::try_from(parts).map_err(|_| "syntax error in an assignment")?;
    let value = expression(value)?;
    let mut inner = target.clone().into_inner();
    let (name, key) = match inner.next().zip(inner.next()) {
        Some((name, key)) => (name.as_str().to_owned(), Some(Box::new(expression(key)?))),
        None => (target.as_str().trim().to_owned(), None),
    };
    let old = match &key {
        Some(key) => Expression::Index(Box::new(bare(&name)), key.clone()),
        None => bare(&name),
    };
    let value = Box::new(match sign.as_str().trim().trim_end_matches('=') {
        "" => value,
        "||" => Expression::Either(Box::new(old), Box::new(value)),
        sign => Expression::Joined(operator(sign), Box::new(old), Box::new(value)),
    });
    Ok(match key {
        Some(key) => Expression::Element(name, key, value),
        None => Expression::Assignment(name, value),
    })
}

/// Operands of `and`, `or`, `&&`, `||`, from the left.
fn junction(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut is_either = tree.as_rule() == Rule::either;
    let mut value = None;
    for part in tree.into_inner() {
        if part.as_rule() == Rule::join_word {
            is_either = part.as_str().trim() == "or";
            continue;
        }
        let next = expression(part)?;
        value = Some(match value {
            None => next,
            Some(first) if is_either => Expression::Either(Box::new(first), Box::new(next)),
            Some(first) => Expression::Both(Box::new(first), Box::new(next)),
        });
    }
    value.ok_or_else(|| "syntax error in a condition".to_owned())
}

fn negated(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let parts: Vec<Tree<'_>> = tree.into_inner().collect();
    let count = parts.len() - 1;
    let value = expression(parts.into_iter().next_back().ok_or("syntax error after not")?)?;
    Ok((0..count).fold(value, |value, _| Expression::Not(Box::new(value))))
}

fn comparison(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let first = expression(parts.next().ok_or("syntax error in a comparison")?)?;
    let Some((sign, second)) = parts.next().zip(parts.next()) else { return Ok(first) };
    let how = self::sign(sign.as_str().trim());
    Ok(Expression::Compared(how, Box::new(first), Box::new(expression(second)?)))
}

/// `a ? b : c`.
fn choice(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let parts = tree.into_inner().map(expression).collect::<Result<Vec<_>, _>>()?;
    match <[Expression; 3]>::try_from(parts) {
        Ok([condition, yes, no]) => Ok(Expression::Branch(vec![Arm { condition, body: vec![yes] }], vec![no])),
        Err(parts) => parts.into_iter().next().ok_or_else(|| "syntax error in a choice".to_owned()),
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
    for part in children(tree) {
        match part.as_rule() {
            Rule::parameters => block.parameters = part.into_inner().map(|word| word.as_str().to_owned()).collect(),
            _ => block.body = statements(part)?,
        }
    }
    Ok(block)
}

fn expression(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let tree = tightest(tree);
    match tree.as_rule() {
        Rule::joined | Rule::either | Rule::both => junction(tree),
        Rule::negated => negated(tree),
        Rule::assignment => assignment(tree),
        Rule::append => {
            let mut parts = tree.into_inner();
            let name = parts.next().ok_or("syntax error before <<")?.as_str().to_owned();
            Ok(Expression::Append(name, parts.map(expression).collect::<Result<_, _>>()?))
        }
        Rule::command => command(tree),
        Rule::jump => Ok(Expression::Jump(if tree.as_str() == "break" { Jump::Break } else { Jump::Next })),
        Rule::choice => choice(tree),
        Rule::comparison => comparison(tree),
        Rule::branch => branch(tree),
        Rule::repeat => repeat(tree),
        Rule::walk => walk(tree),
        Rule::words => {
            let text = tree.into_inner().next().map_or("", |text| text.as_str()).to_owned();
            let word = |word: &str| Argument::Plain(Expression::Text(vec![Piece::Bytes(word.as_bytes().to_vec())]));
            Ok(Expression::Array(text.split_whitespace().map(word).collect()))
        }
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
        let how = self::operator(operator.as_str().trim());
        left = Expression::Joined(how, Box::new(left), Box::new(expression(right)?));
    }
    Ok(left)
}

fn unary(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let first = parts.next().ok_or("syntax error in an expression")?;
    match parts.next() {
        Some(operand) => {
            let value = Box::new(expression(operand)?);
            Ok(match first.as_str().trim() {
                "-" => Expression::Negated(value),
                signs => (0..signs.len()).fold(*value, |value, _| Expression::Not(Box::new(value))),
            })
        }
        None => expression(first),
    }
}

fn postfix(tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner();
    let mut value = expression(parts.next().ok_or("syntax error in an expression")?)?;
    for part in parts {
        value = match part.as_rule() {
            Rule::index => index(value, part)?,
            _ => call(Some(Box::new(value)), part.into_inner())?,
        };
    }
    Ok(value)
}

/// `of[at]`, `of[from, length]`.
fn index(of: Expression, tree: Tree<'_>) -> Result<Expression, Refusal> {
    let mut parts = tree.into_inner().map(expression).collect::<Result<Vec<_>, _>>()?;
    let receiver = Box::new(of);
    match parts.pop() {
        Some(at) if parts.is_empty() => Ok(Expression::Index(receiver, Box::new(at))),
        length => {
            let arguments = parts.into_iter().chain(length).map(Argument::Plain).collect();
            let (receiver, name) = (Some(receiver), "slice".to_owned());
            Ok(Expression::Call(Call { receiver, name, arguments, block: None, bare: false }))
        }
    }
}

fn call<'i>(receiver: Option<Box<Expression>>, parts: impl Iterator<Item = Tree<'i>>) -> Result<Expression, Refusal> {
    let mut call = Call { receiver, name: String::new(), arguments: Vec::new(), block: None, bare: false };
    for part in parts {
        match part.as_rule() {
            Rule::word | Rule::name => call.name = part.as_str().to_owned(),
            Rule::paren_arguments => {
                let inner = part.into_inner().next();
                call.arguments = inner.map_or_else(|| Ok(Vec::new()), arguments)?;
            }
            _ => call.block = Some(block(part)?),
        }
    }
    Ok(Expression::Call(call))
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
            if crate::shell::input::lines::progress(&text) == crate::shell::input::lines::Progress::Complete {
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
