//! Values of the shell's language, and how Ruby shows them. Knows no store.

use crate::model::{TableName, json_bytes};

/// What an expression yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// A string: any bytes.
    Text(Vec<u8>),
    Symbol(String),
    Array(Vec<Value>),
    /// Pairs in the order in which they were given; keys are unique.
    Hash(Vec<(Value, Value)>),
    Range {
        first: i64,
        last: i64,
        exclusive: bool,
    },
    /// A table reference.
    Table(TableName),
    Time(Box<jiff::Zoned>),
}

impl Value {
    /// A string.
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        Value::Text(text.as_ref().to_vec())
    }

    /// Ruby's `to_s`, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Value::Nil => Vec::new(),
            Value::Text(bytes) => bytes.clone(),
            Value::Symbol(name) => name.clone().into_bytes(),
            other => other.inspect().into_bytes(),
        }
    }

    /// Ruby's `to_s`, as text.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.to_bytes()).into_owned()
    }

    /// Ruby's `inspect`.
    pub fn inspect(&self) -> String {
        match self {
            Value::Nil => "nil".into(),
            Value::Boolean(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => float(*number),
            Value::Text(bytes) => quoted(bytes),
            Value::Symbol(name) => format!(":{name}"),
            Value::Array(values) => {
                format!("[{}]", values.iter().map(Value::inspect).collect::<Vec<_>>().join(", "))
            }
            Value::Hash(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{}=>{}", k.inspect(), v.inspect())).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            Value::Range { first, last, exclusive } => {
                format!("{first}{}{last}", if *exclusive { "..." } else { ".." })
            }
            Value::Table(name) => format!("Hbase::Table - {name}"),
            Value::Time(time) => self::time(time),
        }
    }

    /// For programs: numbers, texts, lists, objects; what is not UTF-8 as base64.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Nil => serde_json::Value::Null,
            Value::Boolean(flag) => (*flag).into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Text(bytes) => json_bytes(bytes),
            Value::Array(values) => values.iter().map(Value::to_json).collect(),
            Value::Hash(pairs) => pairs.iter().map(|(key, value)| (key.to_text(), value.to_json())).collect(),
            Value::Table(name) => name.to_string().into(),
            Value::Symbol(_) | Value::Range { .. } | Value::Time(_) => self.to_text().into(),
        }
    }

    /// Name of the Ruby class.
    pub fn class(&self) -> &'static str {
        match self {
            Value::Nil => "NilClass",
            Value::Boolean(true) => "TrueClass",
            Value::Boolean(false) => "FalseClass",
            Value::Integer(_) => "Integer",
            Value::Float(_) => "Float",
            Value::Text(_) => "String",
            Value::Symbol(_) => "Symbol",
            Value::Array(_) => "Array",
            Value::Hash(_) => "Hash",
            Value::Range { .. } => "Range",
            Value::Table(_) => "Hbase::Table",
            Value::Time(_) => "Time",
        }
    }

    /// Everything but nil and false.
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Boolean(false))
    }

    /// Sets a key of a hash, keeping its place.
    pub fn set(pairs: &mut Vec<(Value, Value)>, key: Value, value: Value) {
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => pairs.push((key, value)),
        }
    }
}

/// `1.5`, `2.0`, `1.0e+20`.
pub fn float(number: f64) -> String {
    if number.is_finite() && (number == 0.0 || (1e-4..1e16).contains(&number.abs())) {
        return format!("{number:?}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) => {
            let digits = if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") };
            let (sign, power) = power.strip_prefix('-').map_or(("+", power), |power| ("-", power));
            format!("{digits}e{sign}{power:0>2}")
        }
        None if number.is_nan() => "NaN".into(),
        None => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
    }
}

/// As Ruby shows a time.
pub fn time(time: &jiff::Zoned) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S %z").to_string()
}

fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\u{1b}' => out.push_str("\\e"),
                c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02X}"));
        }
    }
    out.push('"');
    out
}
