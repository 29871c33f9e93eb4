//! Arguments of a command, and what a hash of options holds.

use super::eval::failure::{Failure, Outcome, refuse};
use super::eval::value::Value;

/// Arguments in order; what is missing is nil.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Vec<Value>);

impl From<Vec<Value>> for Arguments {
    fn from(values: Vec<Value>) -> Self {
        Self(values)
    }
}

impl Arguments {
    pub fn get(&self, at: usize) -> &Value {
        self.0.get(at).unwrap_or(&Value::Nil)
    }

    pub fn text(&self, at: usize) -> String {
        self.get(at).to_text()
    }

    pub fn bytes(&self, at: usize) -> Vec<u8> {
        self.get(at).to_bytes()
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Those from `at` on, with arrays opened.
    pub fn flat_from(&self, at: usize) -> Vec<Value> {
        let mut flat = Vec::new();
        for value in self.0.iter().skip(at) {
            flatten(value, &mut flat);
        }
        flat
    }

    /// The options at a place; none if there is no hash.
    pub fn options(&self, at: usize) -> Options {
        match self.get(at) {
            Value::Hash(pairs) => Options::new(pairs),
            _ => Options::default(),
        }
    }
}

fn flatten(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, into)),
        Value::Nil => {}
        value => into.push(value.clone()),
    }
}

/// A hash whose keys are words.
#[derive(Clone, Debug, Default)]
pub struct Options(Vec<(String, Value)>);

impl Options {
    /// The pairs of a hash.
    pub fn new(pairs: &[(Value, Value)]) -> Self {
        Self(pairs.iter().map(|(key, value)| (key.to_text(), value.clone())).collect())
    }

    /// The value of a key; `None` if it is absent or nil.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(known, value)| known == key && *value != Value::Nil).map(|(_, value)| value)
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// Takes a key out.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1)
    }

    /// Keys that are left, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All pairs as text.
    pub fn texts(&self) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(|(key, value)| (key.clone(), value.to_text()))
    }

    /// Whether a flag is set.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(Value::is_truthy)
    }

    /// A whole number; `against` is what Ruby's sentence about another value compares with.
    pub fn integer(&self, key: &str, against: i64) -> Outcome<Option<i64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => Ok(Some(*number)),
            Some(other) => refuse(format!("comparison of {} with {against} failed", other.class())),
        }
    }

    /// `[from, to]` of TIMERANGE.
    pub fn time_range(&self) -> Outcome<Option<(i64, i64)>> {
        match self.get("TIMERANGE") {
            None => Ok(None),
            Some(Value::Array(ends)) => match ends.as_slice() {
                [Value::Integer(from), Value::Integer(to), ..] => Ok(Some((*from, *to))),
                _ => refuse(format!(
                    "TIMERANGE takes [from, to] in milliseconds, not {}",
                    Value::Array(ends.clone()).inspect()
                )),
            },
            Some(other) => Err(Failure::Ruby(
                "TypeError",
                format!("TIMERANGE takes [from, to] in milliseconds, not {}", other.inspect()),
            )),
        }
    }
}
