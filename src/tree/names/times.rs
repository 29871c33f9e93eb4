//! Times as a path component: milliseconds, ISO 8601, an age such as `-1h`, or `yesterday`.

use jiff::{Span, Timestamp as Instant, civil::DateTime, tz::TimeZone};

use crate::model::Timestamp;

/// What is understood, for whoever wrote something else.
pub const FORMS: &str = "a time is milliseconds since 1970 (1416300000123), a date (2026-11-22), a date and time \
                         (2026-11-22T08:30:00, in UTC unless it ends in a zone such as +01:00), an age (-90s, -10min, -1h30m, \
                         -3d, -2w), or yesterday";

/// Reads `text` at the time `now`: milliseconds since 1970; ISO 8601 (UTC without a zone), a date alone is
/// its midnight; `-` and an age with its units; `yesterday`, which is a day ago.
pub fn parse_time(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(ts) = super::suffix::parse_timestamp(text.as_bytes()).filter(|_| !text.is_empty()) {
        return Some(ts);
    }
    if let Some(age) = text.strip_prefix('-').or((text == "yesterday").then_some("1d")) {
        return before(now, age);
    }
    let ms = parse_iso(text)?;
    (0..=Timestamp::MAX.0).contains(&ms).then_some(Timestamp(ms))
}

/// Whether it depends on when it is read.
pub fn is_relative(text: &[u8]) -> bool {
    text.starts_with(b"-") || text == b"yesterday"
}

fn before(now: Timestamp, age: &str) -> Option<Timestamp> {
    if !age.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let span: Span = age.parse().ok()?;
    let now = Instant::from_millisecond(now.0).ok()?.to_zoned(TimeZone::UTC);
    let then = now.checked_sub(span).ok()?;
    Some(Timestamp(then.timestamp().as_millisecond().max(0)))
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
        assert_eq!(parse("-10min"), Some(now.0 - 600_000));
        assert_eq!(parse("-1h30m"), Some(now.0 - 5_400_000));
        assert_eq!(parse("-90s"), Some(now.0 - 90_000));
        assert_eq!(parse("-250ms"), Some(now.0 - 250));
        assert_eq!(parse("-1w"), Some(now.0 - 7 * 86_400_000));
        assert_eq!(parse("yesterday"), Some(now.0 - 86_400_000));
        assert_eq!(parse("-1y"), Some(0));
        for wrong in ["", "-", "-1", "--1h", "-1 fortnight", "007", "tomorrow", "-99999999999999999d"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
