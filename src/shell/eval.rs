//! Evaluates expressions: literals, operators, variables, and the few methods of Ruby that sessions use.

use super::constants::is_constant;
use super::failure::{Failure, Outcome};
use super::registry;
use super::session::Session;
use super::syntax::{Argument, Block, Call, Expression, Operator, Piece};
use super::value::Value;

/// Most passes of one `each` or `times`.
const PASSES: i64 = 100_000_000;

/// Most values that `map` collects.
const COLLECTED: usize = 1_000_000;

/// Longest string that `*` makes, in bytes.
const LONGEST: usize = 1 << 30;

impl Session<'_> {
    pub(super) fn value_of(&mut self, expression: &Expression) -> Outcome<Value> {
        Ok(match expression {
            Expression::Nil => Value::Nil,
            Expression::Boolean(flag) => Value::Boolean(*flag),
            Expression::Integer(number) => Value::Integer(*number),
            Expression::Float(number) => Value::Float(*number),
            Expression::Text(pieces) => self.string(pieces)?,
            Expression::Symbol(name) => Value::Symbol(name.clone()),
            Expression::Array(arguments) => Value::Array(self.arguments(arguments)?),
            Expression::Hash(pairs) => self.hash(pairs)?,
            Expression::Range { first, last, exclusive } => match (self.value_of(first)?, self.value_of(last)?) {
                (Value::Integer(first), Value::Integer(last)) => Value::Range { first, last, exclusive: *exclusive },
                _ => return Err(Failure::Ruby("ArgumentError", "bad value for range".into())),
            },
            Expression::Joined(operator, left, right) => {
                let (left, right) = (self.value_of(left)?, self.value_of(right)?);
                join(*operator, &left, &right)?
            }
            Expression::Negated(operand) => match self.value_of(operand)? {
                Value::Integer(number) => Value::Integer(number.wrapping_neg()),
                Value::Float(number) => Value::Float(-number),
                other => return no_method("-@", &other),
            },
            Expression::Index(of, at) => {
                let (of, at) = (self.value_of(of)?, self.value_of(at)?);
                index(&of, &at)?
            }
            Expression::Constant(name) => constant(name)?,
            Expression::Assignment(name, value) => {
                let value = self.value_of(value)?;
                self.variables.insert(name.clone(), value.clone());
                value
            }
            Expression::Call(call) => self.call(call)?,
        })
    }

    fn string(&mut self, pieces: &[Piece]) -> Outcome<Value> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Bytes(part) => bytes.extend_from_slice(part),
                Piece::Interpolated(expression) => bytes.extend(self.value_of(expression)?.to_bytes()),
            }
        }
        Ok(Value::Text(bytes))
    }

    fn hash(&mut self, pairs: &[(Expression, Expression)]) -> Outcome<Value> {
        let mut hash = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let (key, value) = (self.value_of(key)?, self.value_of(value)?);
            Value::set(&mut hash, key, value);
        }
        Ok(Value::Hash(hash))
    }

    /// Values of arguments; pairs that follow one another are one hash.
    fn arguments(&mut self, arguments: &[Argument]) -> Outcome<Vec<Value>> {
        let mut values = Vec::with_capacity(arguments.len());
        let mut open = false;
        for argument in arguments {
            match argument {
                Argument::Plain(expression) => {
                    values.push(self.value_of(expression)?);
                    open = false;
                }
                Argument::Pair(key, value) => {
                    let (key, value) = (self.value_of(key)?, self.value_of(value)?);
                    match values.last_mut() {
                        Some(Value::Hash(pairs)) if open => Value::set(pairs, key, value),
                        _ => values.push(Value::Hash(vec![(key, value)])),
                    }
                    open = true;
                }
            }
        }
        Ok(values)
    }

    fn call(&mut self, call: &Call) -> Outcome<Value> {
        let name = call.name.as_str();
        if let Some(receiver) = &call.receiver {
            let receiver = self.value_of(receiver)?;
            let arguments = self.arguments(&call.arguments)?;
            return self.method(receiver, name, arguments, call.block.as_ref());
        }
        if let Some(value) = self.variables.get(name).filter(|_| call.bare) {
            return Ok(value.clone());
        }
        let arguments = self.arguments(&call.arguments)?;
        if let Some(entry) = registry::find(name) {
            let value = self.command(entry, arguments)?;
            self.printer.line("")?;
            return Ok(value);
        }
        match (name, arguments.as_slice()) {
            ("exit" | "quit", []) => Err(Failure::Exit(0)),
            ("exit", [Value::Integer(status)]) => Err(Failure::Exit(u8::try_from(*status).unwrap_or(1))),
            ("help", topic) => self.help(topic.first().map(Value::to_text).as_deref()).map(|()| Value::Nil),
            ("tools", []) => self.help(Some("tools")).map(|()| Value::Nil),
            ("puts", values) => self.puts(values).map(|()| Value::Nil),
            ("p", [value]) => self.printer.line(&value.inspect()).map(|()| value.clone()),
            (_, []) if call.bare => {
                let text = format!("undefined local variable or method `{name}' for #<HBaseReceiver:0x1>");
                Err(Failure::Ruby("NameError", text))
            }
            _ => {
                let text = format!("undefined method `{name}' for #<HBaseReceiver:0x1>");
                Err(Failure::Ruby("NoMethodError", text))
            }
        }
    }

    fn puts(&mut self, values: &[Value]) -> Outcome<()> {
        if values.is_empty() {
            return self.printer.line("");
        }
        for value in values {
            match value {
                Value::Array(values) => self.puts(values)?,
                value => self.printer.puts(&value.to_text())?,
            }
        }
        Ok(())
    }

    fn method(&mut self, of: Value, name: &str, mut arguments: Vec<Value>, block: Option<&Block>) -> Outcome<Value> {
        if let Value::Table(table) = &of {
            match name {
                "name" => return Ok(Value::text(table.to_string())),
                "help" => {
                    let topic = arguments.first().map_or_else(|| "table_help".to_owned(), Value::to_text);
                    return self.help(Some(&topic)).map(|()| Value::Nil);
                }
                "get_all_columns" => return super::commands::all_columns(self, table),
                _ => {}
            }
            if let Some(entry) = registry::find(name).filter(|entry| takes_table(entry)) {
                arguments.insert(0, Value::text(table.to_string()));
                return self.command(entry, arguments);
            }
        }
        match block {
            Some(block) => self.iterate(of, name, block),
            None => simple_method(&of, name, &arguments),
        }
    }

    /// `each`, `map`, `times` with a block.
    fn iterate(&mut self, of: Value, name: &str, block: &Block) -> Outcome<Value> {
        let items: Box<dyn Iterator<Item = Vec<Value>>> = match (&of, name) {
            (Value::Range { first, last, exclusive }, "each" | "map") => {
                let last = if *exclusive { last.saturating_sub(1) } else { *last };
                if last.saturating_sub(*first) > PASSES {
                    return Err(Failure::Ruby("RangeError", format!("more than {PASSES} passes")));
                }
                Box::new((*first..=last).map(|number| vec![Value::Integer(number)]))
            }
            (Value::Integer(times), "times") => {
                Box::new((0..(*times).min(PASSES)).map(|number| vec![Value::Integer(number)]))
            }
            (Value::Array(items), "each" | "map") => Box::new(items.clone().into_iter().map(|item| vec![item])),
            (Value::Hash(pairs), "each" | "map") => Box::new(pairs.clone().into_iter().map(|(k, v)| vec![k, v])),
            _ => return no_method(name, &of),
        };
        let mut results = Vec::new();
        for values in items {
            let value = self.run_block(block, values)?;
            if name == "map" {
                if results.len() >= COLLECTED {
                    return Err(Failure::Ruby("NoMemoryError", format!("more than {COLLECTED} values")));
                }
                results.push(value);
            }
        }
        Ok(if name == "map" { Value::Array(results) } else { of })
    }

    fn run_block(&mut self, block: &Block, mut values: Vec<Value>) -> Outcome<Value> {
        if let ([Value::Array(items)], true) = (values.as_slice(), block.parameters.len() > 1) {
            values = items.clone();
        }
        let hidden: Vec<_> = block.parameters.iter().map(|name| (name, self.variables.remove(name))).collect();
        for (name, value) in block.parameters.iter().zip(values) {
            self.variables.insert(name.clone(), value);
        }
        let mut last = Ok(Value::Nil);
        for statement in &block.body {
            last = self.value_of(statement);
            if last.is_err() {
                break;
            }
        }
        for (name, value) in hidden {
            self.variables.remove(name);
            if let Some(value) = value {
                self.variables.insert(name.clone(), value);
            }
        }
        last
    }
}

/// Whether a command's first argument is a table, so that a reference can be its receiver.
fn takes_table(entry: &registry::Entry) -> bool {
    let first_is_table = !matches!(entry.name, "list" | "show_filters" | "disable_all" | "enable_all" | "drop_all");
    entry.group == "dml" || (entry.group == "ddl" && first_is_table) || entry.help.contains("t1")
}

fn no_method(name: &str, of: &Value) -> Outcome<Value> {
    let text = format!("undefined method `{name}' for {}:{}", of.inspect(), of.class());
    Err(Failure::Ruby("NoMethodError", text))
}

fn constant(name: &str) -> Outcome<Value> {
    match name {
        "TRUE" => Ok(Value::Boolean(true)),
        "FALSE" => Ok(Value::Boolean(false)),
        "NIL" => Ok(Value::Nil),
        "ENDKEY" | "ENDROW" => Ok(Value::text("STOPROW")),
        "STARTKEY" => Ok(Value::text("STARTROW")),
        name if is_constant(name) => Ok(Value::text(name)),
        name => Err(Failure::Ruby("NameError", format!("uninitialized constant HBaseReceiver::{name}"))),
    }
}

fn index(of: &Value, at: &Value) -> Outcome<Value> {
    match (of, at) {
        (Value::Array(items), Value::Integer(at)) => {
            let at = if *at < 0 { at + items.len() as i64 } else { *at };
            Ok(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().unwrap_or(Value::Nil))
        }
        (Value::Hash(pairs), key) => {
            Ok(pairs.iter().find(|(known, _)| known == key).map_or(Value::Nil, |(_, value)| value.clone()))
        }
        _ => no_method("[]", of),
    }
}

fn join(operator: Operator, left: &Value, right: &Value) -> Outcome<Value> {
    let overflow = || Failure::Ruby("RangeError", "the result does not fit 64 bits".into());
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => {
            let value = match operator {
                Operator::Add => a.checked_add(*b),
                Operator::Subtract => a.checked_sub(*b),
                Operator::Multiply => a.checked_mul(*b),
                Operator::Divide | Operator::Remainder if *b == 0 => {
                    return Err(Failure::Ruby("ZeroDivisionError", "divided by 0".into()));
                }
                Operator::Divide => {
                    Some(a.wrapping_div(*b) - i64::from(a.wrapping_rem(*b) != 0 && (a < &0) != (b < &0)))
                }
                Operator::Remainder => Some(a.wrapping_rem(*b).wrapping_add(*b).wrapping_rem(*b)),
            };
            value.map(Value::Integer).ok_or_else(overflow)
        }
        (Value::Float(_) | Value::Integer(_), Value::Float(_) | Value::Integer(_)) => {
            let (a, b) = (number(left), number(right));
            Ok(Value::Float(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
                Operator::Remainder => a.rem_euclid(b),
            }))
        }
        (Value::Text(a), Value::Text(b)) if operator == Operator::Add => {
            Ok(Value::Text([a.clone(), b.clone()].concat()))
        }
        (Value::Text(a), Value::Integer(times)) if operator == Operator::Multiply => {
            let times =
                usize::try_from(*times).map_err(|_| Failure::Ruby("ArgumentError", "negative argument".into()))?;
            if a.len().saturating_mul(times) > LONGEST {
                return Err(Failure::Ruby("ArgumentError", "argument too big".into()));
            }
            Ok(Value::Text(a.repeat(times)))
        }
        (Value::Array(a), Value::Array(b)) if operator == Operator::Add => {
            Ok(Value::Array([a.clone(), b.clone()].concat()))
        }
        _ => no_method(symbol(operator), left),
    }
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Integer(number) => *number as f64,
        _ => f64::NAN,
    }
}

/// Methods without a block.
fn simple_method(of: &Value, name: &str, arguments: &[Value]) -> Outcome<Value> {
    Ok(match (of, name, arguments) {
        (of, "to_s", []) => Value::Text(of.to_bytes()),
        (of, "inspect", []) => Value::text(of.inspect()),
        (of, "class", []) => Value::text(of.class()),
        (of, "nil?", []) => Value::Boolean(*of == Value::Nil),
        (Value::Text(bytes), "to_i", []) => {
            let text = String::from_utf8_lossy(bytes);
            let digits: String = text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
            Value::Integer(digits.parse().unwrap_or(0))
        }
        (Value::Integer(number), "to_i", []) => Value::Integer(*number),
        (Value::Text(bytes), "length" | "size", []) => {
            Value::Integer(String::from_utf8_lossy(bytes).chars().count() as i64)
        }
        (Value::Text(bytes), "upcase", []) => Value::text(String::from_utf8_lossy(bytes).to_uppercase()),
        (Value::Text(bytes), "downcase", []) => Value::text(String::from_utf8_lossy(bytes).to_lowercase()),
        (Value::Array(items), "length" | "size" | "count", []) => Value::Integer(items.len() as i64),
        (Value::Array(items), "first", []) => items.first().cloned().unwrap_or(Value::Nil),
        (Value::Array(items), "last", []) => items.last().cloned().unwrap_or(Value::Nil),
        (Value::Array(items), "include?", [item]) => Value::Boolean(items.contains(item)),
        (Value::Array(items), "empty?", []) => Value::Boolean(items.is_empty()),
        (Value::Hash(pairs), "keys", []) => Value::Array(pairs.iter().map(|(key, _)| key.clone()).collect()),
        (Value::Hash(pairs), "values", []) => Value::Array(pairs.iter().map(|(_, value)| value.clone()).collect()),
        (Value::Hash(pairs), "length" | "size", []) => Value::Integer(pairs.len() as i64),
        _ => return no_method(name, of),
    })
}
