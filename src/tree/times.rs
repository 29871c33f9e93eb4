//! Times as a path component: milliseconds, ISO 8601, or an age such as `-1h`.

use jiff::{Timestamp as Instant, civil::DateTime, tz::TimeZone};

use crate::model::Timestamp;

/// Reads `text` at the time `now`: milliseconds since 1970; ISO 8601 (UTC without a zone), a date alone is
/// its midnight; or `-N` with a unit of ms, s, m, h, d, w.
pub fn parse_time(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(ts) = super::suffix::parse_timestamp(text.as_bytes()).filter(|_| !text.is_empty()) {
        return Some(ts);
    }
    if let Some(age) = text.strip_prefix('-') {
        return parse_age_ms(age).map(|ms| Timestamp((now.0 - ms).max(0)));
    }
    let ms = parse_iso(text)?;
    (0..=Timestamp::MAX.0).contains(&ms).then_some(Timestamp(ms))
}

fn parse_age_ms(age: &str) -> Option<i64> {
    let split = age.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = age.split_at(split);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(factor)
}

fn parse_iso(text: &str) -> Option<i64> {
    if let Ok(instant) = text.parse::<Instant>() {
        return Some(instant.as_millisecond());
    }
    let civil: DateTime = text.parse().ok()?;
    civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_form() {
        let now = Timestamp(10 * 86_400_000);
        let parse = |text| parse_time(text, now).map(|t| t.0);
        assert_eq!(parse("1416300000123"), Some(1_416_300_000_123));
        assert_eq!(parse("2014-11-18T08:40:00.123Z"), Some(1_416_300_000_123));
        assert_eq!(parse("2014-11-18T08:40:00.123"), Some(1_416_300_000_123));
        assert_eq!(parse("2014-11-18T09:40:00.123+01:00"), Some(1_416_300_000_123));
        assert_eq!(parse("2014-11-18"), Some(1_416_268_800_000));
        assert_eq!(parse("-1h"), Some(now.0 - 3_600_000));
        assert_eq!(parse("-3d"), Some(now.0 - 3 * 86_400_000));
        for wrong in ["", "-", "-1", "-1y", "007", "yesterday", "-99999999999999999d"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
