//! Operators of the shell's language: arithmetic, comparison, elements of arrays, hashes and texts. Knows no store.

use std::cmp::Ordering;

use super::failure::{Failure, Outcome, no_method, ruby};
use super::value::Value;
use super::{clock, format};
use crate::shell::syntax::tree::{Comparison, Operator};

/// Longest string that `*` makes, in bytes.
const LONGEST: usize = 1 << 30;

/// The value of `left operator right`.
pub fn joined(operator: Operator, left: &Value, right: &Value) -> Outcome<Value> {
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => whole(operator, *a, *b),
        (Value::Float(_) | Value::Integer(_), Value::Float(_) | Value::Integer(_)) => {
            let (a, b) = (number(left), number(right));
            Ok(Value::Float(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
                Operator::Remainder => a.rem_euclid(b),
                Operator::Power => a.powf(b),
            }))
        }
        (Value::Text(a), Value::Text(b)) if operator == Operator::Add => {
            Ok(Value::Text([a.clone(), b.clone()].concat()))
        }
        (Value::Text(a), Value::Integer(times)) if operator == Operator::Multiply => {
            let Ok(times) = usize::try_from(*times) else { return ruby("ArgumentError", "negative argument") };
            if a.len().saturating_mul(times) > LONGEST {
                return ruby("ArgumentError", "argument too big");
            }
            Ok(Value::Text(a.repeat(times)))
        }
        (Value::Text(pattern), Value::Array(values)) if operator == Operator::Remainder => {
            format::filled(pattern, values)
        }
        (Value::Text(pattern), value) if operator == Operator::Remainder => {
            format::filled(pattern, std::slice::from_ref(value))
        }
        (Value::Text(_), other) if operator == Operator::Add => {
            ruby("TypeError", format!("no implicit conversion of {} into String", other.class()))
        }
        (Value::Array(a), Value::Array(b)) if operator == Operator::Add => {
            Ok(Value::Array([a.clone(), b.clone()].concat()))
        }
        (Value::Array(a), Value::Array(b)) if operator == Operator::Subtract => {
            Ok(Value::Array(a.iter().filter(|value| !b.contains(value)).cloned().collect()))
        }
        (Value::Time(time), other) => clock::joined(operator, time, other),
        _ => no_method(symbol(operator), left),
    }
}

/// Of whole numbers; the remainder has the divisor's sign, as in Ruby.
fn whole(operator: Operator, a: i64, b: i64) -> Outcome<Value> {
    let value = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder if b == 0 => return ruby("ZeroDivisionError", "divided by 0"),
        Operator::Divide => Some(a.wrapping_div(b) - i64::from(a.wrapping_rem(b) != 0 && (a < 0) != (b < 0))),
        Operator::Remainder => Some(a.wrapping_rem(b).wrapping_add(b).wrapping_rem(b)),
        Operator::Power => match u32::try_from(b) {
            Ok(power) => a.checked_pow(power),
            Err(_) => return Ok(Value::Float((a as f64).powf(b as f64))),
        },
    };
    let overflow = || Failure::Ruby("RangeError", "the result does not fit 64 bits".into());
    value.map(Value::Integer).ok_or_else(overflow)
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
        Operator::Power => "**",
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Integer(number) => *number as f64,
        _ => f64::NAN,
    }
}

/// Ruby's `==`: a whole number equals the same broken one.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Integer(_), Value::Float(_)) | (Value::Float(_), Value::Integer(_)) => number(left) == number(right),
        _ => left == right,
    }
}

/// Ruby's `<=>`; `None` where the two have no order.
pub fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Float(_) | Value::Integer(_), Value::Float(_) | Value::Integer(_)) => {
            number(left).partial_cmp(&number(right))
        }
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Symbol(a), Value::Symbol(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Array(a), Value::Array(b)) => {
            let different = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|found| *found != Some(Ordering::Equal));
            different.unwrap_or(Some(a.len().cmp(&b.len())))
        }
        _ => None,
    }
}

/// The value of a comparison.
pub fn compared(how: Comparison, left: &Value, right: &Value) -> Outcome<Value> {
    let found = match how {
        Comparison::Equal => return Ok(Value::Boolean(equal(left, right))),
        Comparison::Different => return Ok(Value::Boolean(!equal(left, right))),
        Comparison::Order => {
            return Ok(order(left, right).map_or(Value::Nil, |found| Value::Integer(found as i64)));
        }
        _ => order(left, right),
    };
    let Some(found) = found else {
        let shown =
            if matches!(right, Value::Nil | Value::Integer(_)) { right.inspect() } else { right.class().into() };
        return ruby("ArgumentError", format!("comparison of {} with {shown} failed", left.class()));
    };
    Ok(Value::Boolean(match how {
        Comparison::Less => found.is_lt(),
        Comparison::AtMost => found.is_le(),
        Comparison::More => found.is_gt(),
        _ => found.is_ge(),
    }))
}

/// `of[at]`.
pub fn index(of: &Value, at: &Value) -> Outcome<Value> {
    match (of, at) {
        (Value::Array(items), Value::Integer(at)) => {
            let at = if *at < 0 { at + items.len() as i64 } else { *at };
            Ok(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().unwrap_or(Value::Nil))
        }
        (Value::Array(items), Value::Range { first, last, exclusive }) => {
            Ok(part(items.len(), *first, *last, *exclusive).map_or(Value::Nil, |at| Value::Array(items[at].to_vec())))
        }
        (Value::Hash(pairs), key) => {
            Ok(pairs.iter().find(|(known, _)| known == key).map_or(Value::Nil, |(_, value)| value.clone()))
        }
        (Value::Text(bytes), Value::Integer(at)) => text_part(bytes, *at, *at, false),
        (Value::Text(bytes), Value::Range { first, last, exclusive }) => text_part(bytes, *first, *last, *exclusive),
        _ => no_method("[]", of),
    }
}

/// `of[from, length]`; nil where `from` lies beyond it.
pub fn slice(of: &Value, from: i64, length: i64) -> Outcome<Value> {
    // An end before the beginning is none, one behind the last is the last.
    let last = match from.saturating_add(length) {
        _ if length < 0 => return Ok(Value::Nil),
        last if from < 0 && last >= 0 => i64::MAX - 1,
        last => last,
    };
    index(of, &Value::Range { first: from, last, exclusive: true })
}

/// Characters of a text.
fn text_part(bytes: &[u8], first: i64, last: i64, exclusive: bool) -> Outcome<Value> {
    let letters: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
    let found = part(letters.len(), first, last, exclusive).filter(|at| first != last || !at.is_empty());
    Ok(found.map_or(Value::Nil, |at| Value::text(letters[at].iter().collect::<String>())))
}

/// The places `first..last` of `len`, negative ones from the end; `None` if the first lies beyond it.
fn part(len: usize, first: i64, last: i64, exclusive: bool) -> Option<std::ops::Range<usize>> {
    let from_end = |at: i64| if at < 0 { at + len as i64 } else { at };
    let first = usize::try_from(from_end(first)).ok().filter(|first| *first <= len)?;
    let last = from_end(last) + i64::from(!exclusive);
    Some(first..usize::try_from(last).unwrap_or(0).clamp(first, len))
}
