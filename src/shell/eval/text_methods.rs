//! Methods of Ruby's strings. A string is bytes; what counts letters takes it for UTF-8.

use super::failure::{Outcome, no_method, ruby};
use super::operate::{index, slice};
use super::value::Value;

/// Widest text that is padded.
const WIDEST: i64 = 1 << 20;

/// A method without a block.
pub fn call(bytes: &[u8], name: &str, arguments: &[Value]) -> Outcome<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.as_ref();
    if let Some(value) = changed(text, name, arguments) {
        return Ok(value);
    }
    Ok(match (name, arguments) {
        ("to_i", []) => Value::Integer(leading(text, |c| c.is_ascii_digit()).parse().unwrap_or(0)),
        ("to_i", [Value::Integer(16)]) => {
            Value::Integer(i64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap_or(0))
        }
        ("to_f", []) => Value::Float(leading(text, |c| c.is_ascii_digit() || c == '.').parse().unwrap_or(0.0)),
        ("to_sym", []) => Value::Symbol(text.to_owned()),
        ("length" | "size", []) => Value::Integer(text.chars().count() as i64),
        ("bytesize", []) => Value::Integer(bytes.len() as i64),
        ("empty?", []) => Value::Boolean(bytes.is_empty()),
        ("hex", []) => Value::Integer(i64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap_or(0)),
        ("ord", []) => match text.chars().next() {
            Some(c) => Value::Integer(i64::from(u32::from(c))),
            None => return ruby("ArgumentError", "empty string"),
        },
        ("include?", [Value::Text(part)]) => Value::Boolean(find(bytes, part).is_some()),
        ("index", [Value::Text(part)]) => find(bytes, part).map_or(Value::Nil, |at| Value::Integer(at as i64)),
        ("start_with?", parts) => Value::Boolean(parts.iter().any(|part| bytes.starts_with(&part.to_bytes()))),
        ("end_with?", parts) => Value::Boolean(parts.iter().any(|part| bytes.ends_with(&part.to_bytes()))),
        ("bytes", []) => Value::Array(bytes.iter().map(|byte| Value::Integer(i64::from(*byte))).collect()),
        ("chars", []) => Value::Array(text.chars().map(|c| Value::text(c.to_string())).collect()),
        ("lines", []) => Value::Array(text.split_inclusive('\n').map(Value::text).collect()),
        ("split", []) => Value::Array(text.split_whitespace().map(Value::text).collect()),
        ("split", [Value::Text(at)]) if !at.is_empty() => {
            let at = String::from_utf8_lossy(at).into_owned();
            let mut parts: Vec<&str> = text.split(at.as_str()).collect();
            while parts.last().is_some_and(|part| part.is_empty()) {
                parts.pop();
            }
            Value::Array(parts.into_iter().map(Value::text).collect())
        }
        ("slice", [Value::Integer(from), Value::Integer(length)]) => {
            return slice(&Value::Text(bytes.to_vec()), *from, *length);
        }
        ("slice", [at]) => return index(&Value::Text(bytes.to_vec()), at),
        ("concat", parts) => {
            Value::Text(parts.iter().fold(bytes.to_vec(), |all, part| [all, part.to_bytes()].concat()))
        }
        ("ljust" | "rjust" | "center", [Value::Integer(width), rest @ ..]) => {
            let fill = rest.first().map_or_else(|| " ".to_owned(), Value::to_text);
            return padded(text, name, *width, &fill);
        }
        _ => return no_method(name, &Value::Text(bytes.to_vec())),
    })
}

/// Methods that yield another text.
fn changed(text: &str, name: &str, arguments: &[Value]) -> Option<Value> {
    let given = |at: usize| arguments.get(at).map(Value::to_text).unwrap_or_default();
    Some(Value::text(match (name, arguments.len()) {
        ("upcase", 0) => text.to_uppercase(),
        ("downcase", 0) => text.to_lowercase(),
        ("capitalize", 0) => {
            let mut letters = text.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            first + &letters.as_str().to_lowercase()
        }
        ("reverse", 0) => text.chars().rev().collect(),
        ("strip", 0) => text.trim().to_owned(),
        ("lstrip", 0) => text.trim_start().to_owned(),
        ("rstrip", 0) => text.trim_end().to_owned(),
        ("chomp", 0) => text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text)).to_owned(),
        ("chomp", 1) => text.strip_suffix(given(0).as_str()).unwrap_or(text).to_owned(),
        ("chop", 0) => {
            let mut letters = text.chars();
            letters.next_back();
            letters.as_str().to_owned()
        }
        ("sub", 2) => text.replacen(&given(0), &given(1), 1),
        ("gsub", 2) => text.replace(&given(0), &given(1)),
        ("delete", 1) => text.replace(|c| given(0).contains(c), ""),
        _ => return None,
    }))
}

/// What a number begins with.
fn leading(text: &str, wanted: fn(char) -> bool) -> &str {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = text[sign..].find(|c| !wanted(c)).map_or(text.len(), |at| at + sign);
    &text[..end]
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() { Some(0) } else { bytes.windows(part.len()).position(|found| found == part) }
}

fn padded(text: &str, name: &str, width: i64, fill: &str) -> Outcome<Value> {
    if width > WIDEST {
        return ruby("ArgumentError", "argument too big");
    }
    if fill.is_empty() {
        return ruby("ArgumentError", "zero width padding");
    }
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(text.chars().count());
    let fill = |len: usize| fill.chars().cycle().take(len).collect::<String>();
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2,
    };
    Ok(Value::text(format!("{}{text}{}", fill(left), fill(missing - left))))
}
