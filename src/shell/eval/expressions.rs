//! Evaluates expressions: literals, variables, calls of commands and of the few functions of Ruby that sessions use.

use super::constants::is_constant;
use super::failure::{Failure, Outcome, no_method, ruby};
use super::methods;
use super::operate::{compared, index, joined};
use super::value::Value;
use super::{clock, format};
use crate::shell::print::Form;
use crate::shell::registry;
use crate::shell::session::Session;
use crate::shell::syntax::tree::{Argument, Block, Call, Expression, Piece};

impl Session<'_> {
    pub(in crate::shell) fn value_of(&mut self, expression: &Expression) -> Outcome<Value> {
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
                joined(*operator, &left, &right)?
            }
            Expression::Compared(how, left, right) => {
                let (left, right) = (self.value_of(left)?, self.value_of(right)?);
                compared(*how, &left, &right)?
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
            Expression::Element(name, key, value) => {
                let (key, value) = (self.value_of(key)?, self.value_of(value)?);
                methods::set_element(self.variable(name)?, key, value.clone())?;
                value
            }
            Expression::Append(name, values) => {
                for value in values {
                    let value = self.value_of(value)?;
                    methods::append(self.variable(name)?, value)?;
                }
                // Shown would be the whole of it, each time.
                Value::Nil
            }
            Expression::Call(call) => self.call(call)?,
            condition => return self.condition(condition),
        })
    }

    /// What is evaluated in part, or more than once.
    fn condition(&mut self, expression: &Expression) -> Outcome<Value> {
        Ok(match expression {
            Expression::Not(operand) => Value::Boolean(!self.value_of(operand)?.is_truthy()),
            Expression::Both(left, right) => match self.value_of(left)? {
                value if value.is_truthy() => self.value_of(right)?,
                value => value,
            },
            Expression::Either(left, right) => match self.unless_unknown(left)? {
                value if value.is_truthy() => value,
                _ => self.value_of(right)?,
            },
            Expression::Branch(arms, otherwise) => self.branch(arms, otherwise)?,
            Expression::Repeat(arm) => self.repeat(arm)?,
            Expression::Walk(block, of) => {
                let of = self.value_of(of)?;
                self.walk(block, of)?
            }
            Expression::Jump(jump) => return Err(Failure::Jump(*jump)),
            other => return self.value_of(other),
        })
    }

    fn variable(&mut self, name: &str) -> Outcome<&mut Value> {
        self.variables.get_mut(name).ok_or_else(|| unknown(name))
    }

    /// The left side of `a ||= b`: a variable that is not there yet is nil.
    fn unless_unknown(&mut self, expression: &Expression) -> Outcome<Value> {
        match expression {
            Expression::Call(call) if call.bare && !self.variables.contains_key(&call.name) => match self.call(call) {
                Err(Failure::Ruby("NameError", _)) => Ok(Value::Nil),
                done => done,
            },
            other => self.value_of(other),
        }
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
            if let (Expression::Constant(class), None) = (receiver.as_ref(), &call.block)
                && class == "Time"
            {
                let arguments = self.arguments(&call.arguments)?;
                return clock::of_class(name, &arguments, self.backend()?.now(), &self.zone);
            }
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
            if self.printer.form() == Form::Full {
                self.printer.line("")?;
            }
            return Ok(value);
        }
        match (name, arguments.as_slice()) {
            ("exit" | "quit", []) => Err(Failure::Exit(0)),
            ("exit", [Value::Integer(status)]) => Err(Failure::Exit(u8::try_from(*status).unwrap_or(1))),
            ("help", topic) => self.help(topic.first().map(Value::to_text).as_deref()).map(|()| Value::Nil),
            ("tools", []) => self.help(Some("tools")).map(|()| Value::Nil),
            ("puts", values) => self.puts(values).map(|()| Value::Nil),
            ("print", values) => {
                let text: String = values.iter().map(Value::to_text).collect();
                self.printer.text(&text).map(|()| Value::Nil)
            }
            ("p", [value]) => self.printer.line(&value.inspect()).map(|()| value.clone()),
            ("format" | "sprintf", [pattern, values @ ..]) => format::filled(&pattern.to_bytes(), values),
            ("printf", [pattern, values @ ..]) => {
                let text = format::filled(&pattern.to_bytes(), values)?.to_text();
                self.printer.text(&text).map(|()| Value::Nil)
            }
            ("sleep", [time]) => self.sleep(time),
            ("raise", values) => ruby("RuntimeError", values.first().map(Value::to_text).unwrap_or_default()),
            ("loop", []) if call.block.is_some() => self.forever(call.block.as_ref()),
            (_, []) if call.bare => Err(unknown(name)),
            _ => ruby("NoMethodError", format!("undefined method `{name}' for #<HBaseReceiver:0x1>")),
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
                "get_all_columns" => return crate::shell::commands::all_columns(self, table),
                _ => {}
            }
            if let Some(entry) = registry::find(name).filter(|entry| takes_table(entry)) {
                arguments.insert(0, Value::text(table.to_string()));
                return self.command(entry, arguments);
            }
        }
        match block {
            Some(block) => self.iterate(of, name, &arguments, block),
            None => methods::call(&of, name, &arguments),
        }
    }
}

/// Whether a command's first argument is a table, so that a reference can be its receiver.
fn takes_table(entry: &registry::Entry) -> bool {
    let first_is_table = !matches!(entry.name, "list" | "show_filters" | "disable_all" | "enable_all" | "drop_all");
    entry.group == "dml" || (entry.group == "ddl" && first_is_table) || entry.help.contains("t1")
}

/// A word that is neither a variable nor a command.
fn unknown(name: &str) -> Failure {
    let java =
        if matches!(name, "java" | "org" | "com") { "; Java's classes are not offered by this shell" } else { "" };
    let text = format!("undefined local variable or method `{name}' for #<HBaseReceiver:0x1>{java}");
    Failure::Ruby("NameError", text)
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
