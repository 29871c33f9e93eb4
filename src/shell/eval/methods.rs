//! Methods of Ruby's values that sessions use. Knows no store.

use super::failure::{Failure, Outcome, no_method, ruby};
use super::operate::{equal, index, joined, order, slice};
use super::value::Value;
use super::{clock, text_methods};
use crate::shell::syntax::tree::Operator;

/// Most values that a range becomes.
const COLLECTED: i64 = 1_000_000;

/// A method without a block.
pub fn call(of: &Value, name: &str, arguments: &[Value]) -> Outcome<Value> {
    match (name, arguments) {
        ("to_s", []) => return Ok(Value::Text(of.to_bytes())),
        ("inspect", []) => return Ok(Value::text(of.inspect())),
        ("class", []) => return Ok(Value::text(of.class())),
        ("nil?", []) => return Ok(Value::Boolean(*of == Value::Nil)),
        ("dup" | "freeze" | "clone", []) => return Ok(of.clone()),
        _ => {}
    }
    match of {
        Value::Text(bytes) => text_methods::call(bytes, name, arguments),
        Value::Symbol(word) if name != "to_sym" => text_methods::call(word.as_bytes(), name, arguments),
        Value::Symbol(_) => Ok(of.clone()),
        Value::Integer(number) => integer(*number, name, arguments),
        Value::Float(number) => float(*number, name, arguments),
        Value::Array(items) => array(items, name, arguments),
        Value::Hash(pairs) => hash(pairs, name, arguments),
        Value::Range { .. } => range(of, name, arguments),
        Value::Time(time) => clock::call(time, name, arguments),
        Value::Nil => match (name, arguments) {
            ("to_i", []) => Ok(Value::Integer(0)),
            ("to_a", []) => Ok(Value::Array(Vec::new())),
            _ => no_method(name, of),
        },
        Value::Boolean(_) | Value::Table(_) => no_method(name, of),
    }
}

/// A place or a length.
fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn integer(number: i64, name: &str, arguments: &[Value]) -> Outcome<Value> {
    Ok(match (name, arguments) {
        ("to_i" | "round" | "floor" | "ceil", []) => Value::Integer(number),
        ("to_f", []) => Value::Float(number as f64),
        ("to_s", [Value::Integer(16)]) => Value::text(format!("{number:x}")),
        ("to_s", [Value::Integer(2)]) => Value::text(format!("{number:b}")),
        ("succ" | "next", []) => return joined(Operator::Add, &Value::Integer(number), &Value::Integer(1)),
        ("pred", []) => return joined(Operator::Subtract, &Value::Integer(number), &Value::Integer(1)),
        ("abs", []) => Value::Integer(number.saturating_abs()),
        ("even?", []) => Value::Boolean(number % 2 == 0),
        ("odd?", []) => Value::Boolean(number % 2 != 0),
        ("zero?", []) => Value::Boolean(number == 0),
        ("chr", []) => match u8::try_from(number) {
            Ok(byte) => Value::Text(vec![byte]),
            Err(_) => return ruby("RangeError", format!("{number} out of char range")),
        },
        _ => return no_method(name, &Value::Integer(number)),
    })
}

fn float(number: f64, name: &str, arguments: &[Value]) -> Outcome<Value> {
    Ok(match (name, arguments) {
        ("to_f", []) => Value::Float(number),
        ("to_i", []) => Value::Integer(number as i64),
        ("round", []) => Value::Integer(number.round() as i64),
        ("round", [Value::Integer(digits)]) => {
            let scale = 10f64.powi(i32::try_from(*digits).unwrap_or(0));
            Value::Float((number * scale).round() / scale)
        }
        ("floor", []) => Value::Integer(number.floor() as i64),
        ("ceil", []) => Value::Integer(number.ceil() as i64),
        ("abs", []) => Value::Float(number.abs()),
        _ => return no_method(name, &Value::Float(number)),
    })
}

fn array(items: &[Value], name: &str, arguments: &[Value]) -> Outcome<Value> {
    let list = |values: Vec<Value>| Ok(Value::Array(values));
    Ok(match (name, arguments) {
        ("length" | "size" | "count", []) => Value::Integer(items.len() as i64),
        ("first", []) => items.first().cloned().unwrap_or(Value::Nil),
        ("last", []) => items.last().cloned().unwrap_or(Value::Nil),
        ("first" | "take", [Value::Integer(most)]) => {
            return list(items.iter().take(count(*most)).cloned().collect());
        }
        ("last", [Value::Integer(most)]) => {
            return list(items[items.len().saturating_sub(count(*most))..].to_vec());
        }
        ("slice", [Value::Integer(from), Value::Integer(length)]) => {
            return slice(&Value::Array(items.to_vec()), *from, *length);
        }
        ("drop", [Value::Integer(few)]) => return list(items.iter().skip(count(*few)).cloned().collect()),
        ("include?", [item]) => Value::Boolean(items.iter().any(|known| equal(known, item))),
        ("index", [item]) => {
            let at = items.iter().position(|known| equal(known, item));
            at.map_or(Value::Nil, |at| Value::Integer(at as i64))
        }
        ("empty?", []) => Value::Boolean(items.is_empty()),
        ("to_a", []) => return list(items.to_vec()),
        ("reverse", []) => return list(items.iter().rev().cloned().collect()),
        ("compact", []) => return list(items.iter().filter(|item| **item != Value::Nil).cloned().collect()),
        ("flatten", []) => return list(flat(items)),
        ("uniq", []) => {
            let mut found: Vec<Value> = Vec::new();
            for item in items {
                if !found.contains(item) {
                    found.push(item.clone());
                }
            }
            return list(found);
        }
        ("sort", []) => return sorted(items).map(Value::Array),
        ("min", []) => sorted(items)?.first().cloned().unwrap_or(Value::Nil),
        ("max", []) => sorted(items)?.last().cloned().unwrap_or(Value::Nil),
        ("sum", []) => {
            let add = |sum: Value, item: &Value| joined(Operator::Add, &sum, item);
            return items.iter().try_fold(Value::Integer(0), add);
        }
        ("join", rest) => {
            let between = rest.first().map(Value::to_bytes).unwrap_or_default();
            Value::Text(flat(items).iter().map(Value::to_bytes).collect::<Vec<_>>().join(&between[..]))
        }
        _ => return no_method(name, &Value::Array(items.to_vec())),
    })
}

fn flat(items: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    for item in items {
        match item {
            Value::Array(inner) => found.extend(flat(inner)),
            other => found.push(other.clone()),
        }
    }
    found
}

/// In ascending order, if all have one.
pub fn sorted(items: &[Value]) -> Outcome<Vec<Value>> {
    let mut items = items.to_vec();
    let unlike = items.windows(2).find(|pair| order(&pair[0], &pair[1]).is_none());
    if let Some([one, other]) = unlike {
        let (one, other) = (one.class(), other.inspect());
        return ruby("ArgumentError", format!("comparison of {one} with {other} failed"));
    }
    items.sort_by(|a, b| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
    Ok(items)
}

fn hash(pairs: &[(Value, Value)], name: &str, arguments: &[Value]) -> Outcome<Value> {
    let all = |pick: fn(&(Value, Value)) -> Value| Value::Array(pairs.iter().map(pick).collect());
    Ok(match (name, arguments) {
        ("keys", []) => all(|(key, _)| key.clone()),
        ("values", []) => all(|(_, value)| value.clone()),
        ("to_a", []) => all(|(key, value)| Value::Array(vec![key.clone(), value.clone()])),
        ("length" | "size" | "count", []) => Value::Integer(pairs.len() as i64),
        ("empty?", []) => Value::Boolean(pairs.is_empty()),
        ("key?" | "has_key?" | "include?", [wanted]) => Value::Boolean(pairs.iter().any(|(key, _)| key == wanted)),
        ("fetch", [wanted, otherwise]) => match index(&Value::Hash(pairs.to_vec()), wanted)? {
            Value::Nil => otherwise.clone(),
            found => found,
        },
        _ => return no_method(name, &Value::Hash(pairs.to_vec())),
    })
}

fn range(of: &Value, name: &str, arguments: &[Value]) -> Outcome<Value> {
    let Value::Range { first, last, exclusive } = of else { return no_method(name, of) };
    let last = last.saturating_sub(i64::from(*exclusive));
    let len = last.saturating_sub(*first).saturating_add(1).max(0);
    Ok(match (name, arguments) {
        ("first" | "min" | "begin", []) => Value::Integer(*first),
        ("last" | "max" | "end", []) => Value::Integer(last),
        ("size" | "count" | "length", []) => Value::Integer(len),
        ("include?" | "member?", [Value::Integer(number)]) => Value::Boolean((*first..=last).contains(number)),
        (_, _) if len > COLLECTED => return ruby("NoMemoryError", format!("more than {COLLECTED} values")),
        ("to_a", []) => Value::Array((*first..=last).map(Value::Integer).collect()),
        _ => {
            let items: Vec<Value> = (*first..=last).map(Value::Integer).collect();
            return array(&items, name, arguments).or_else(|_| no_method(name, of));
        }
    })
}

/// `of[key] = value`.
pub fn set_element(of: &mut Value, key: Value, value: Value) -> Outcome<()> {
    match (of, key) {
        (Value::Hash(pairs), key) => Value::set(pairs, key, value),
        (Value::Array(items), Value::Integer(at)) => {
            let place = if at < 0 { at + items.len() as i64 } else { at };
            let Some(place) = usize::try_from(place).ok().filter(|place| *place as i64 <= COLLECTED) else {
                return ruby("IndexError", format!("index {at} is out of the array"));
            };
            if items.len() <= place {
                items.resize(place + 1, Value::Nil);
            }
            items[place] = value;
        }
        (of, _) => return no_method("[]=", of),
    }
    Ok(())
}

/// `of << value`.
pub fn append(of: &mut Value, value: Value) -> Outcome<()> {
    match of {
        Value::Array(items) if items.len() as i64 >= COLLECTED => {
            return Err(Failure::Ruby("NoMemoryError", format!("more than {COLLECTED} values")));
        }
        Value::Array(items) => items.push(value),
        Value::Text(bytes) => bytes.extend(value.to_bytes()),
        of => return no_method("<<", of),
    }
    Ok(())
}
