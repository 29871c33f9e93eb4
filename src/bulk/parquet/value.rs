//! A value of a Parquet file as a cell has it.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp};
use num_bigint::{BigInt, Sign};
use parquet::basic::{LogicalType, TimeUnit};
use parquet::record::Field as Value;
use parquet::schema::types::Type;

/// What the numbers of a column are, where the library does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    AsTold,
    Counter,
    /// Nanoseconds since 1970.
    Instant,
    /// Nanoseconds since midnight.
    TimeOfDay,
}

impl Kind {
    /// Of a column, by its type.
    pub fn of(column: &Type) -> Self {
        match column.get_basic_info().logical_type_ref() {
            Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => Self::Instant,
            Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => Self::TimeOfDay,
            _ => Self::AsTold,
        }
    }
}

/// `None`: it is null. `is_time`: it is wanted as a timestamp of cells.
pub(super) fn bytes(value: &Value, kind: Kind, is_time: bool) -> Option<Vec<u8>> {
    let text = |text: String| Some(text.into_bytes());
    match (value, kind) {
        (Value::Long(number), Kind::Counter) => return Some(number.to_be_bytes().to_vec()),
        (Value::ULong(number), Kind::Counter) => return Some(number.to_be_bytes().to_vec()),
        (Value::Int(number), Kind::Counter) => return Some(i64::from(*number).to_be_bytes().to_vec()),
        (Value::Long(ns), Kind::Instant) if is_time => return text(ns.div_euclid(1_000_000).to_string()),
        (Value::Long(ns), Kind::Instant) => return text(iso(Timestamp::from_nanosecond(i128::from(*ns)), *ns)),
        (Value::Long(ns), Kind::TimeOfDay) => return text(time_of_day(SignedDuration::from_nanos(*ns), *ns)),
        _ => {}
    }
    match value {
        Value::Null => None,
        Value::Str(text) => Some(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => Some(bytes.data().to_vec()),
        Value::TimestampMillis(ms) if is_time => text(ms.to_string()),
        Value::TimestampMicros(us) if is_time => text(us.div_euclid(1000).to_string()),
        Value::TimestampMillis(ms) => text(iso(Timestamp::from_millisecond(*ms), *ms)),
        Value::TimestampMicros(us) => text(iso(Timestamp::from_microsecond(*us), *us)),
        Value::TimeMillis(ms) => text(time_of_day(SignedDuration::from_millis(i64::from(*ms)), i64::from(*ms))),
        Value::TimeMicros(us) => text(time_of_day(SignedDuration::from_micros(*us), *us)),
        Value::Date(days) => text(date(*days)),
        Value::Bool(is) => text(is.to_string()),
        Value::Byte(number) => text(number.to_string()),
        Value::Short(number) => text(number.to_string()),
        Value::Int(number) => text(number.to_string()),
        Value::Long(number) => text(number.to_string()),
        Value::UByte(number) => text(number.to_string()),
        Value::UShort(number) => text(number.to_string()),
        Value::UInt(number) => text(number.to_string()),
        Value::ULong(number) => text(number.to_string()),
        Value::Float16(number) => text(number.to_string()),
        Value::Float(number) => text(number.to_string()),
        Value::Double(number) => text(number.to_string()),
        Value::Decimal(number) => text(decimal(number.data(), usize::try_from(number.scale()).unwrap_or_default())),
        // Refused when the file was opened.
        Value::Group(_) | Value::ListInternal(_) | Value::MapInternal(_) => None,
    }
}

/// A time, or its number where no calendar has it.
fn iso(time: Result<Timestamp, jiff::Error>, number: i64) -> String {
    time.map_or_else(|_| number.to_string(), |time| time.to_string())
}

/// A time of day, or its number where no day has it.
fn time_of_day(since_midnight: SignedDuration, number: i64) -> String {
    Time::midnight().checked_add(since_midnight).map_or_else(|_| number.to_string(), |time| time.to_string())
}

fn date(days: i32) -> String {
    let seconds = i64::from(days).saturating_mul(86_400);
    let time = Timestamp::from_second(seconds);
    time.map_or_else(|_| days.to_string(), |time| time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

/// A whole number in two's complement, of which so many digits stand behind the point. What the library makes of it has a
/// point behind one that has no such digits, and gives up where it has none before it.
fn decimal(bytes: &[u8], scale: usize) -> String {
    let number = BigInt::from_signed_bytes_be(bytes);
    let digits = format!("{:0>width$}", number.magnitude().to_string(), width = scale + 1);
    let (whole, behind) = digits.split_at(digits.len() - scale);
    let (sign, point) = (if number.sign() == Sign::Minus { "-" } else { "" }, if scale > 0 { "." } else { "" });
    format!("{sign}{whole}{point}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_people_do() {
        for (number, scale, wanted) in [
            (12_i64, 0, "12"),
            (-12, 0, "-12"),
            (0, 0, "0"),
            (0, 2, "0.00"),
            (1234, 2, "12.34"),
            (-5, 2, "-0.05"),
            (12, 2, "0.12"),
            (i64::MIN, 3, "-9223372036854775.808"),
            (i64::MAX, 0, "9223372036854775807"),
        ] {
            assert_eq!(decimal(&number.to_be_bytes(), scale), wanted);
            assert_eq!(decimal(&i128::from(number).to_be_bytes(), scale), wanted);
        }
        assert_eq!(decimal(&[], 0), "0");
        assert_eq!(decimal(&[0x80], 0), "-128");
    }

    #[test]
    fn times_that_no_calendar_has_stay_numbers() {
        assert_eq!(time_of_day(SignedDuration::from_millis(3_723_500), 3_723_500), "01:02:03.5");
        assert_eq!(time_of_day(SignedDuration::from_secs(86_400), 86_400), "86400");
        assert_eq!(time_of_day(SignedDuration::from_millis(-1), -1), "-1");
        assert_eq!(bytes(&Value::Long(-1), Kind::Instant, true), Some(b"-1".to_vec()));
        assert_eq!(bytes(&Value::Long(1), Kind::Instant, false), Some(b"1970-01-01T00:00:00.000000001Z".to_vec()));
    }
}
