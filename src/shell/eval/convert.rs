//! Cells as the shell shows them: timestamps as local times, and the converters of `FORMATTER` and `column:toInt`.

use jiff::tz::TimeZone;

use super::failure::{Failure, Outcome, refuse};
use super::value::float;
use crate::model::{Timestamp, to_string_binary};

const DAY_MS: i64 = 86_400_000;

/// Java's LocalDateTime.toString of a timestamp in a time zone.
pub fn local_time(timestamp: Timestamp, zone: &TimeZone) -> String {
    let offset = offset_seconds(timestamp, zone);
    let local = i128::from(timestamp.0) + i128::from(offset) * 1000;
    let day = local.div_euclid(i128::from(DAY_MS)) as i64;
    let ms = local.rem_euclid(i128::from(DAY_MS)) as i64;
    let (year, month, date) = civil(day);
    let year = if year > 9999 { format!("+{year}") } else { format!("{year:04}") };
    let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    let tail = match (second, milli) {
        (0, 0) => String::new(),
        (_, 0) => format!(":{second:02}"),
        _ => format!(":{second:02}.{milli:03}"),
    };
    format!("{year}-{month:02}-{date:02}T{hour:02}:{minute:02}{tail}")
}

/// The zone's offset; times beyond what time zones cover have the last one's.
fn offset_seconds(timestamp: Timestamp, zone: &TimeZone) -> i32 {
    let instant = jiff::Timestamp::from_millisecond(timestamp.0).unwrap_or(jiff::Timestamp::MAX);
    zone.to_offset(instant).seconds()
}

/// Year, month and day of a number of days since 1970 (proleptic Gregorian, eras of 400 years from March).
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, date)
}

/// Bytes as a method of HBase's class Bytes shows them.
pub fn convert(bytes: &[u8], method: &str) -> Outcome<String> {
    Ok(match method {
        "toStringBinary" => to_string_binary(bytes),
        "toString" => String::from_utf8_lossy(bytes).into_owned(),
        "toHex" => hex::encode(bytes),
        "toInt" => i32::from_be_bytes(leading(bytes)?).to_string(),
        "toLong" => i64::from_be_bytes(leading(bytes)?).to_string(),
        "toShort" => i16::from_be_bytes(leading(bytes)?).to_string(),
        "toFloat" => float(f64::from(f32::from_be_bytes(leading(bytes)?))),
        "toDouble" => float(f64::from_be_bytes(leading(bytes)?)),
        "toBoolean" => match bytes {
            [flag] => (*flag != 0).to_string(),
            _ => return refuse(format!("Array has wrong size: {}", bytes.len())),
        },
        "len" => bytes.len().to_string(),
        _ => {
            let class = "#<Class:Java::OrgApacheHadoopHbaseUtil::Bytes>";
            return Err(Failure::Ruby("NameError", format!("undefined method `{method}' for class `{class}'")));
        }
    })
}

fn leading<const N: usize>(bytes: &[u8]) -> Outcome<[u8; N]> {
    match bytes.first_chunk::<N>() {
        Some(first) => Ok(*first),
        None => {
            let len = bytes.len();
            refuse(format!("offset (0) + length ({N}) exceed the capacity of the array: {len}"))
        }
    }
}

/// Bytes.toLong of a whole value.
pub fn counter(bytes: &[u8]) -> Outcome<i64> {
    match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => Ok(i64::from_be_bytes(bytes)),
        Err(_) => refuse(format!("Wrong length: {}, expected 8", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_675), (2023, 11, 14));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(i64::MAX / DAY_MS), (292_278_994, 8, 17));
    }

    #[test]
    fn converters_are_those_of_bytes() {
        assert_eq!(convert(&[0, 0, 0, 5, 9], "toInt").unwrap(), "5");
        assert_eq!(convert(b"r\xff", "toStringBinary").unwrap(), "r\\xFF");
        assert_eq!(convert(b"r1", "toHex").unwrap(), "7231");
        let short = Failure::Refused("offset (0) + length (8) exceed the capacity of the array: 4".into());
        assert_eq!(convert(&[0, 0, 0, 5], "toLong"), Err(short));
        assert!(matches!(convert(b"", "nope"), Err(Failure::Ruby("NameError", _))));
    }
}
