//! What runs statements more than once, or not at all: branches, loops, blocks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::failure::{Failure, Outcome, no_method, ruby};
use super::methods::sorted;
use super::operate::order;
use super::value::Value;
use crate::shell::session::Session;
use crate::shell::syntax::tree::{Arm, Block, Expression, Jump};

/// Most passes of one `each` or `times`.
const PASSES: i64 = 100_000_000;

/// Most values that `map` collects.
const COLLECTED: usize = 1_000_000;

/// How long `sleep` goes without a look at Ctrl-C.
const NAP: Duration = Duration::from_millis(50);

/// How a pass of a loop ended.
enum Pass {
    Done(Value),
    Broken,
}

/// Values that a block is given, one after another.
type Items = Box<dyn Iterator<Item = Vec<Value>>>;

impl Session<'_> {
    /// An error once Ctrl-C was pressed.
    pub(in crate::shell) fn check_interrupt(&self) -> Outcome<()> {
        if self.interrupt.swap(false, Ordering::AcqRel) { Err(Failure::Interrupted) } else { Ok(()) }
    }

    pub(in crate::shell) fn statements(&mut self, body: &[Expression]) -> Outcome<Value> {
        let mut last = Value::Nil;
        for statement in body {
            self.check_interrupt()?;
            last = self.value_of(statement)?;
        }
        Ok(last)
    }

    pub(in crate::shell) fn branch(&mut self, arms: &[Arm], otherwise: &[Expression]) -> Outcome<Value> {
        for arm in arms {
            if self.value_of(&arm.condition)?.is_truthy() {
                return self.statements(&arm.body);
            }
        }
        self.statements(otherwise)
    }

    /// `while`.
    pub(in crate::shell) fn repeat(&mut self, arm: &Arm) -> Outcome<Value> {
        while self.value_of(&arm.condition)?.is_truthy() {
            self.check_interrupt()?;
            let done = self.statements(&arm.body);
            if let Pass::Broken = pass(done)? {
                break;
            }
        }
        Ok(Value::Nil)
    }

    /// `loop`.
    pub(in crate::shell) fn forever(&mut self, block: Option<&Block>) -> Outcome<Value> {
        let Some(block) = block else { return Ok(Value::Nil) };
        loop {
            self.check_interrupt()?;
            if let Pass::Broken = pass(self.run_block(block, Vec::new()))? {
                return Ok(Value::Nil);
            }
        }
    }

    /// `for`: its variables stay when it has ended.
    pub(in crate::shell) fn walk(&mut self, block: &Block, of: Value) -> Outcome<Value> {
        for values in items_of(&of, "each", &[])?.into_iter().flatten() {
            self.check_interrupt()?;
            for (name, value) in block.parameters.iter().zip(opened(block, values)) {
                self.variables.insert(name.clone(), value);
            }
            if let Pass::Broken = pass(self.statements(&block.body))? {
                return Ok(Value::Nil);
            }
        }
        Ok(of)
    }

    /// A method with a block.
    pub(in crate::shell) fn iterate(
        &mut self,
        of: Value,
        name: &str,
        arguments: &[Value],
        block: &Block,
    ) -> Outcome<Value> {
        let Some(items) = items_of(&of, name, arguments)? else { return no_method(name, &of) };
        let mut results: Vec<(Value, Value)> = Vec::new();
        let collects = !matches!(name, "each" | "times" | "upto" | "downto" | "step" | "each_char" | "each_line");
        for values in items {
            self.check_interrupt()?;
            let item = values.first().cloned().unwrap_or(Value::Nil);
            match pass(self.run_block(block, values))? {
                Pass::Broken => return Ok(Value::Nil),
                Pass::Done(value) if collects && name != "each_with_index" => {
                    if results.len() >= COLLECTED {
                        return ruby("NoMemoryError", format!("more than {COLLECTED} values"));
                    }
                    results.push((item, value));
                }
                Pass::Done(_) => {}
            }
        }
        collected(of, name, results)
    }

    fn run_block(&mut self, block: &Block, values: Vec<Value>) -> Outcome<Value> {
        let hidden: Vec<_> = block.parameters.iter().map(|name| (name, self.variables.remove(name))).collect();
        for (name, value) in block.parameters.iter().zip(opened(block, values)) {
            self.variables.insert(name.clone(), value);
        }
        let last = self.statements(&block.body);
        for (name, value) in hidden {
            self.variables.remove(name);
            if let Some(value) = value {
                self.variables.insert(name.clone(), value);
            }
        }
        last
    }

    /// Seconds, whole or broken.
    pub(in crate::shell) fn sleep(&mut self, time: &Value) -> Outcome<Value> {
        let seconds = match time {
            Value::Integer(seconds) => *seconds as f64,
            Value::Float(seconds) => *seconds,
            other => return ruby("TypeError", format!("can't convert {} into time interval", other.class())),
        };
        self.printer.flush()?;
        let mut left = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        while !left.is_zero() {
            self.check_interrupt()?;
            let nap = left.min(NAP);
            std::thread::sleep(nap);
            left -= nap;
        }
        Ok(Value::Integer(seconds.round() as i64))
    }
}

/// What a pass comes to: `next` ends it, `break` the loop.
fn pass(done: Outcome<Value>) -> Outcome<Pass> {
    match done {
        Ok(value) => Ok(Pass::Done(value)),
        Err(Failure::Jump(Jump::Next)) => Ok(Pass::Done(Value::Nil)),
        Err(Failure::Jump(Jump::Break)) => Ok(Pass::Broken),
        Err(other) => Err(other),
    }
}

/// An array is given to several parameters one by one.
fn opened(block: &Block, values: Vec<Value>) -> Vec<Value> {
    match (values.as_slice(), block.parameters.len() > 1) {
        ([Value::Array(items)], true) => items.clone(),
        _ => values,
    }
}

/// What a method gives its block; `None` if it takes none.
fn items_of(of: &Value, name: &str, arguments: &[Value]) -> Outcome<Option<Items>> {
    let numbers = |first: i64, last: i64, step: i64| -> Outcome<Option<Items>> {
        if (last.saturating_sub(first) / step.max(1)) > PASSES {
            return ruby("RangeError", format!("more than {PASSES} passes"));
        }
        let step = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
        Ok(Some(Box::new((first..=last).step_by(step).map(|number| vec![Value::Integer(number)]))))
    };
    let is_list = matches!(
        name,
        "each"
            | "map"
            | "collect"
            | "select"
            | "filter"
            | "reject"
            | "each_with_index"
            | "find"
            | "any?"
            | "all?"
            | "none?"
            | "count"
            | "sort_by"
            | "sum"
    );
    let items: Items = match (of, name, arguments) {
        (Value::Range { first, last, exclusive }, _, []) if is_list && name != "each_with_index" => {
            return numbers(*first, last.saturating_sub(i64::from(*exclusive)), 1);
        }
        (Value::Range { first, last, exclusive }, "step", [Value::Integer(step)]) => {
            return numbers(*first, last.saturating_sub(i64::from(*exclusive)), *step);
        }
        (Value::Integer(times), "times", []) => return numbers(0, (*times).min(PASSES) - 1, 1),
        (Value::Integer(first), "upto", [Value::Integer(last)]) => return numbers(*first, *last, 1),
        (Value::Integer(first), "downto", [Value::Integer(last)]) if first.saturating_sub(*last) <= PASSES => {
            Box::new((*last..=*first).rev().map(|number| vec![Value::Integer(number)]))
        }
        (Value::Array(items), "each_with_index", []) => {
            let items = items.clone().into_iter().enumerate();
            Box::new(items.map(|(at, item)| vec![item, Value::Integer(at as i64)]))
        }
        (Value::Array(items), "each_slice", [Value::Integer(len)]) if *len > 0 => {
            let slices: Vec<_> = items.chunks(*len as usize).map(|part| vec![Value::Array(part.to_vec())]).collect();
            Box::new(slices.into_iter())
        }
        (Value::Array(items), _, []) if is_list => Box::new(items.clone().into_iter().map(|item| vec![item])),
        (Value::Hash(pairs), _, []) if is_list => Box::new(pairs.clone().into_iter().map(|(k, v)| vec![k, v])),
        (Value::Text(_), "each_char" | "each_line", []) => {
            let method = if name == "each_char" { "chars" } else { "lines" };
            let Value::Array(parts) = super::methods::call(of, method, &[])? else { return Ok(None) };
            Box::new(parts.into_iter().map(|part| vec![part]))
        }
        _ => return Ok(None),
    };
    Ok(Some(items))
}

/// What a method makes of its items and what the block said of each.
fn collected(of: Value, name: &str, results: Vec<(Value, Value)>) -> Outcome<Value> {
    let chosen = |wanted: bool| -> Vec<Value> {
        results.iter().filter(|(_, said)| said.is_truthy() == wanted).map(|(item, _)| item.clone()).collect()
    };
    Ok(match name {
        "map" | "collect" => Value::Array(results.into_iter().map(|(_, value)| value).collect()),
        "select" | "filter" => Value::Array(chosen(true)),
        "reject" => Value::Array(chosen(false)),
        "find" => chosen(true).into_iter().next().unwrap_or(Value::Nil),
        "any?" => Value::Boolean(!chosen(true).is_empty()),
        "all?" => Value::Boolean(chosen(false).is_empty()),
        "none?" => Value::Boolean(chosen(true).is_empty()),
        "count" => Value::Integer(chosen(true).len() as i64),
        "sum" => {
            let values: Vec<Value> = results.into_iter().map(|(_, value)| value).collect();
            return super::methods::call(&Value::Array(values), "sum", &[]);
        }
        "sort_by" => {
            let keys: Vec<Value> = results.iter().map(|(_, key)| key.clone()).collect();
            sorted(&keys)?;
            let mut results = results;
            results.sort_by(|(_, a), (_, b)| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
            Value::Array(results.into_iter().map(|(item, _)| item).collect())
        }
        _ => of,
    })
}
