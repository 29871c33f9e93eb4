//! Ruby's `format`: `%d`, `%05d`, `%s`, `%-8s`, `%x`, `%.2f`. Knows no store.

use super::failure::{Failure, Outcome, ruby};
use super::value::Value;

/// Widest column.
const WIDEST: usize = 10_000;

/// The pattern with values in their places.
pub fn filled(pattern: &[u8], values: &[Value]) -> Outcome<Value> {
    let pattern = String::from_utf8_lossy(pattern).into_owned();
    let (mut out, mut rest) = (String::new(), pattern.as_str());
    let mut values = values.iter();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let place = Place::read(&mut rest)?;
        let value = values.next().ok_or_else(|| Failure::Ruby("ArgumentError", "too few arguments".into()))?;
        out.push_str(&place.fill(value)?);
    }
    out.push_str(rest);
    Ok(Value::text(out))
}

/// What stands behind a `%`.
struct Place {
    flags: String,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Place {
    fn read(rest: &mut &str) -> Outcome<Self> {
        let mut taken = |wanted: fn(char) -> bool| {
            let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            *rest = after;
            part.to_owned()
        };
        let flags = taken(|c| "-+ 0#".contains(c));
        let width = taken(|c| c.is_ascii_digit());
        let point = taken(|c| c == '.');
        let precision = if point.is_empty() { None } else { Some(taken(|c| c.is_ascii_digit()).parse().unwrap_or(0)) };
        let kind = rest.chars().next().filter(|c| "dixXobsfegpcu".contains(*c));
        let Some(kind) = kind else { return ruby("ArgumentError", "malformed format string") };
        *rest = &rest[1..];
        Ok(Self { flags, width: width.parse().unwrap_or(0).min(WIDEST), precision, kind })
    }

    fn fill(&self, value: &Value) -> Outcome<String> {
        let precision = self.precision.map(|digits| digits.min(WIDEST));
        let text = match self.kind {
            's' | 'c' => value.to_text().chars().take(precision.unwrap_or(usize::MAX)).collect(),
            'p' => value.inspect(),
            'f' => format!("{:.*}", precision.unwrap_or(6), float(value)?),
            'e' => format!("{:.*e}", precision.unwrap_or(6), float(value)?),
            'g' => super::value::float(float(value)?),
            'x' => format!("{:x}", whole(value)?),
            'X' => format!("{:X}", whole(value)?),
            'o' => format!("{:o}", whole(value)?),
            'b' => format!("{:b}", whole(value)?),
            _ => whole(value)?.to_string(),
        };
        let text = if self.flags.contains('+') && !text.starts_with('-') { format!("+{text}") } else { text };
        let missing = self.width.saturating_sub(text.chars().count());
        let fill = |c: char| c.to_string().repeat(missing);
        let is_number = !"scp".contains(self.kind);
        Ok(if self.flags.contains('-') {
            text + &fill(' ')
        } else if self.flags.contains('0') && is_number {
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
            format!("{sign}{}{digits}", fill('0'))
        } else {
            fill(' ') + &text
        })
    }
}

fn whole(value: &Value) -> Outcome<i64> {
    match value {
        Value::Integer(number) => Ok(*number),
        Value::Float(number) => Ok(number.floor() as i64),
        Value::Text(_) if value.to_text().trim().parse::<i64>().is_ok() => {
            Ok(value.to_text().trim().parse().unwrap_or_default())
        }
        other => ruby("ArgumentError", format!("invalid value for Integer(): {}", other.inspect())),
    }
}

fn float(value: &Value) -> Outcome<f64> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        other => match other.to_text().trim().parse() {
            Ok(number) => Ok(number),
            Err(_) => ruby("ArgumentError", format!("invalid value for Float(): {}", other.inspect())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled() {
        let text = Value::text("ab");
        for (pattern, value, wanted) in [
            ("row%05d", Value::Integer(42), "row00042"),
            ("%x %%", Value::Integer(255), "ff %"),
            ("[%-4s]", text.clone(), "[ab  ]"),
            ("[%4s]", text, "[  ab]"),
            ("%.2f", Value::Float(1.0), "1.00"),
            ("%+d", Value::Integer(1), "+1"),
            ("%04d", Value::Integer(-5), "-005"),
        ] {
            assert_eq!(filled(pattern.as_bytes(), &[value]).unwrap(), Value::text(wanted), "{pattern}");
        }
        assert!(filled(b"%d", &[]).is_err() && filled(b"%y", &[Value::Nil]).is_err());
    }
}
