//! Ruby's Time, as far as sessions use it. The clock is the store's.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};

use super::failure::{Failure, Outcome, no_method, ruby};
use super::value::{self, Value};
use crate::model::Timestamp;
use crate::shell::syntax::tree::Operator;

/// `Time.now`, `Time.at(seconds)`.
pub fn of_class(name: &str, arguments: &[Value], now: Timestamp, zone: &TimeZone) -> Outcome<Value> {
    let at = |ms: i64| {
        let time = jiff::Timestamp::from_millisecond(ms).map_err(|_| out_of_range())?;
        Ok(Value::Time(Box::new(time.to_zoned(zone.clone()))))
    };
    match (name, arguments) {
        ("now", []) => at(now.0),
        ("at", [Value::Integer(seconds)]) => at(seconds.saturating_mul(1000)),
        ("at", [Value::Float(seconds)]) => at((seconds * 1000.0) as i64),
        _ => ruby("NoMethodError", format!("undefined method `{name}' for Time:Class; there are Time.now and Time.at")),
    }
}

fn out_of_range() -> Failure {
    Failure::Ruby("RangeError", "the time is out of range".into())
}

/// Seconds since 1970 with their fraction.
fn seconds(time: &Zoned) -> f64 {
    time.timestamp().as_millisecond() as f64 / 1000.0
}

/// `time + seconds`, `time - seconds`, `time - time`.
pub fn joined(operator: Operator, time: &Zoned, other: &Value) -> Outcome<Value> {
    let by = match (operator, other) {
        (Operator::Subtract, Value::Time(other)) => return Ok(Value::Float(seconds(time) - seconds(other))),
        (Operator::Add | Operator::Subtract, Value::Integer(seconds)) => SignedDuration::from_secs(*seconds),
        (Operator::Add | Operator::Subtract, Value::Float(seconds)) => {
            SignedDuration::try_from_secs_f64(*seconds).map_err(|_| out_of_range())?
        }
        _ => return no_method("+", &Value::Time(Box::new(time.clone()))),
    };
    let done = if operator == Operator::Add { time.checked_add(by) } else { time.checked_sub(by) };
    done.map(|time| Value::Time(Box::new(time))).map_err(|_| out_of_range())
}

/// A method of a time.
pub fn call(time: &Zoned, name: &str, arguments: &[Value]) -> Outcome<Value> {
    Ok(match (name, arguments) {
        ("to_i", []) => Value::Integer(time.timestamp().as_second()),
        ("to_f", []) => Value::Float(seconds(time)),
        ("to_s" | "inspect", []) => Value::text(value::time(time)),
        ("year", []) => Value::Integer(i64::from(time.year())),
        ("month", []) => Value::Integer(i64::from(time.month())),
        ("day", []) => Value::Integer(i64::from(time.day())),
        ("hour", []) => Value::Integer(i64::from(time.hour())),
        ("min", []) => Value::Integer(i64::from(time.minute())),
        ("sec", []) => Value::Integer(i64::from(time.second())),
        ("utc", []) => Value::Time(Box::new(time.with_time_zone(TimeZone::UTC))),
        ("strftime", [pattern]) => {
            let text = jiff::fmt::strtime::format(pattern.to_text(), time);
            Value::text(text.map_err(|e| Failure::Ruby("ArgumentError", format!("strftime: {e}")))?)
        }
        _ => return no_method(name, &Value::Time(Box::new(time.clone()))),
    })
}
