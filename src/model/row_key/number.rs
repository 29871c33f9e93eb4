//! Numbers, times and dates of a key: from texts to bytes of a fixed width that sort alike, and back.

use jiff::civil::Date;

use crate::{Error, ErrorKind, Result};

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Of so many bytes.
    Unsigned(usize),
    Signed(usize),
    Float,
    /// Milliseconds since 1970, not before.
    Time,
    /// Days since 1970.
    Date,
    /// So many decimal digits.
    Digits(usize),
}

const EPOCH: Date = jiff::civil::date(1970, 1, 1);
/// Digits of the longest number.
pub(super) const DIGITS_MAX: usize = 38;

impl Number {
    /// From the name of its part.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "u8" => Self::Unsigned(1),
            "u16" => Self::Unsigned(2),
            "u32" => Self::Unsigned(4),
            "u64" => Self::Unsigned(8),
            "i8" => Self::Signed(1),
            "i16" => Self::Signed(2),
            "i32" => Self::Signed(4),
            "i64" => Self::Signed(8),
            "f64" => Self::Float,
            "time" => Self::Time,
            "date" => Self::Date,
            _ => return None,
        })
    }

    /// Bytes of all its keys.
    pub fn width(self) -> usize {
        match self {
            Self::Unsigned(width) | Self::Signed(width) | Self::Digits(width) => width,
            Self::Float | Self::Time => 8,
            Self::Date => 4,
        }
    }

    /// The bytes of a text; `descending`: they sort backwards.
    pub fn encode(self, text: &[u8], descending: bool) -> Result<Vec<u8>> {
        let given = std::str::from_utf8(text).ok().map(str::trim).filter(|text| !text.is_empty());
        let sortable = given.and_then(|text| self.sortable(text)).ok_or_else(|| self.wrong(text))?;
        let turned = if descending { self.greatest() - sortable } else { sortable };
        Ok(match self {
            Self::Digits(width) => format!("{turned:0width$}").into_bytes(),
            _ => turned.to_be_bytes()[16 - self.width()..].to_vec(),
        })
    }

    /// The text of bytes; `None`: they are of no such number.
    pub fn decode(self, bytes: &[u8], descending: bool) -> Option<String> {
        let turned = match self {
            Self::Digits(_) if !bytes.iter().all(u8::is_ascii_digit) => return None,
            Self::Digits(_) => std::str::from_utf8(bytes).ok()?.parse().ok()?,
            _ => bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte)),
        };
        let sortable = if descending { self.greatest().checked_sub(turned)? } else { turned };
        self.text(sortable).filter(|_| sortable <= self.greatest())
    }

    /// The greatest number that [`Number::sortable`] gives.
    fn greatest(self) -> u128 {
        match self {
            Self::Digits(width) => 10_u128.pow(u32::try_from(width).unwrap_or(0)) - 1,
            Self::Time => i64::MAX as u128,
            _ => (1_u128 << (8 * self.width())) - 1,
        }
    }

    /// The sign bit alone.
    fn sign(self) -> u128 {
        1 << (8 * self.width() - 1)
    }

    /// A whole number that is not negative and sorts as what the text says.
    fn sortable(self, text: &str) -> Option<u128> {
        let signed = |number: i64| {
            let bits = u128::from(number.cast_unsigned()) & self.greatest();
            let fits = number == self.signed_of(bits);
            fits.then_some(bits ^ self.sign())
        };
        match self {
            Self::Unsigned(_) | Self::Digits(_) => text.parse().ok().filter(|number| *number <= self.greatest()),
            Self::Signed(_) => signed(text.parse().ok()?),
            Self::Float => {
                let number: f64 = text.parse().ok()?;
                // Neither sorts, nor is it one number.
                let bits = Some(number).filter(|number| !number.is_nan())?.to_bits();
                let turned = if number.is_sign_negative() { !bits } else { bits | 1 << 63 };
                Some(u128::from(turned))
            }
            Self::Time => milliseconds(text).and_then(|time| u128::try_from(time).ok()),
            Self::Date => {
                let date: Date = text.parse().ok()?;
                signed(i64::from(date.since(EPOCH).ok()?.get_days()))
            }
        }
    }

    fn signed_of(self, bits: u128) -> i64 {
        let shift = 128 - 8 * self.width();
        ((bits << shift).cast_signed() >> shift) as i64
    }

    fn text(self, sortable: u128) -> Option<String> {
        Some(match self {
            Self::Unsigned(_) | Self::Digits(_) => sortable.to_string(),
            Self::Signed(_) => self.signed_of(sortable ^ self.sign()).to_string(),
            Self::Float => {
                let turned = u64::try_from(sortable).ok()?;
                let number = f64::from_bits(if turned >> 63 == 1 { turned ^ 1 << 63 } else { !turned });
                Some(number).filter(|number| !number.is_nan())?.to_string()
            }
            Self::Time => {
                let time = i64::try_from(sortable).ok()?;
                // Later than what a calendar has.
                jiff::Timestamp::from_millisecond(time).map_or_else(|_| time.to_string(), |time| time.to_string())
            }
            Self::Date => {
                let days = self.signed_of(sortable ^ self.sign());
                EPOCH.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?.to_string()
            }
        })
    }

    fn wrong(self, text: &[u8]) -> Error {
        let what = match self {
            Self::Unsigned(width) => format!("a whole number of {} bits, not negative", 8 * width),
            Self::Signed(width) => format!("a whole number of {} bits", 8 * width),
            Self::Float => "a number".to_owned(),
            Self::Time => "a time since 1970, in milliseconds or as 2014-11-18T05:20:00Z".to_owned(),
            Self::Date => "a date as 2014-11-18".to_owned(),
            Self::Digits(width) => format!("a whole number of {width} digits at most"),
        };
        let shown = crate::model::to_string_binary(text);
        Error::new(ErrorKind::IllegalArgument, format!("`{shown}` is not {what}"))
    }
}

/// Milliseconds since 1970 of a number, a time with its zone, or one without, which is UTC.
fn milliseconds(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    let zoned = text.parse::<jiff::Timestamp>().ok();
    let civil =
        || Some(text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
    let time = zoned.or_else(civil)?;
    // What is finer than a millisecond would not come back.
    (time.subsec_nanosecond() % 1_000_000 == 0).then(|| time.as_millisecond())
}
