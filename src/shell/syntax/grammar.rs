//! Pairs of the grammar of the shell's language, before they are a tree. Knows no command.

use std::num::NonZeroUsize;

use pest::Parser;
use pest::iterators::Pair;
use pest_derive::Parser;

use super::tree::{Comparison, Expression, Operator};
use crate::shell::input::lines::{LoopWord, loop_words};

#[derive(Parser)]
#[grammar = "shell/syntax/shell.pest"]
struct ShellGrammar;

/// A pair and what is below it.
pub type Tree<'i> = Pair<'i, Rule>;
/// A sentence that says what cannot be read.
pub type Refusal = String;

/// Steps of the parser for one text: enough for a value of some MiB, some seconds at most.
const MOST_STEPS: usize = 50_000_000;

/// The text as the grammar takes it: the `do` of a loop is a `;`, for a `do` that begins a block is another one.
pub fn plain(text: &str) -> Result<String, Refusal> {
    let mut plain = text.to_owned();
    for word in loop_words(text) {
        match word {
            LoopWord::Do(at) => plain.replace_range(at..at + 2, "; "),
            LoopWord::NotOffered(word) => return Err(not_offered(&word)),
        }
    }
    Ok(plain)
}

/// The statements of a text, if it has any.
pub fn body(text: &str) -> Result<Option<Tree<'_>>, Refusal> {
    // A grammar of this kind can look at a text exponentially often.
    pest::set_call_limit(NonZeroUsize::new(MOST_STEPS));
    let mut pairs = ShellGrammar::parse(Rule::program, text).map_err(|e| unexpected(text, &e))?;
    Ok(pairs.next().and_then(|program| program.into_inner().next()))
}

fn unexpected(text: &str, error: &pest::error::Error<Rule>) -> Refusal {
    let at = match error.location {
        pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
    };
    let rest = text.get(at..).unwrap_or_default().lines().next().unwrap_or_default();
    if rest.trim().is_empty() {
        return "syntax error, unexpected end-of-file".to_owned();
    }
    let instead = match rest.chars().next() {
        Some('`') => "; programs are run outside of this shell: `cellfs scan` and its like print for scripts",
        Some('/') => "; regular expressions are none of this shell's: use include?, start_with?, sub, or a filter",
        _ => "",
    };
    format!("syntax error, unexpected {}{instead}", rest.chars().take(30).collect::<String>())
}

/// The only child of a tree.
pub fn child<'i>(tree: Tree<'i>) -> Result<Tree<'i>, Refusal> {
    let rule = tree.as_rule();
    tree.into_inner().next().ok_or_else(|| format!("syntax error, an empty {rule:?}"))
}

/// Why a word of Ruby is none here, and what does instead.
fn not_offered(word: &str) -> Refusal {
    let instead = match word {
        "def" | "class" | "module" | "lambda" | "proc" => {
            "use a block, or a script of another language and `cellfs put`"
        }
        "case" => "use if and elsif",
        "require" | "import" | "java_import" | "include" | "load" => "no library is loaded, Java's neither",
        "begin" | "rescue" | "retry" => "an error of a command is printed, and the next statement runs",
        _ => "use break and next in loops",
    };
    format!("`{word}` is not offered by this shell: {instead}")
}

/// The children of a tree without the words that only part them.
pub fn children(tree: Tree<'_>) -> impl Iterator<Item = Tree<'_>> {
    tree.into_inner().filter(|part| {
        use Rule::{do_word, else_word, elsif_word, end_word, for_word, in_word, then_word};
        !matches!(part.as_rule(), do_word | else_word | elsif_word | end_word | for_word | in_word | then_word)
    })
}

/// The tree below those that only say how tightly something might have been bound. Order: not by recursion, which
/// would take a dozen frames of the stack for each bracket.
pub fn tightest(mut tree: Tree<'_>) -> Tree<'_> {
    use Rule::{
        both, choice, comparison, either, joined, negated, postfix, primary, range, statement, sum, term, unary,
    };
    loop {
        let looser = matches!(
            tree.as_rule(),
            both | choice
                | comparison
                | either
                | joined
                | negated
                | postfix
                | primary
                | range
                | statement
                | sum
                | term
                | unary
                | Rule::expression
        );
        let mut inner = tree.clone().into_inner();
        match (looser, inner.next(), inner.next()) {
            (true, Some(only), None) => tree = only,
            _ => return tree,
        }
    }
}

/// How `a sign b` joins the two.
pub fn operator(sign: &str) -> Operator {
    match sign {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "**" => Operator::Power,
        _ => Operator::Remainder,
    }
}

/// How `a sign b` compares the two.
pub fn sign(sign: &str) -> Comparison {
    match sign {
        "==" => Comparison::Equal,
        "!=" => Comparison::Different,
        "<" => Comparison::Less,
        "<=" => Comparison::AtMost,
        ">" => Comparison::More,
        ">=" => Comparison::AtLeast,
        _ => Comparison::Order,
    }
}

/// A literal.
pub fn number(text: &str) -> Result<Expression, Refusal> {
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
