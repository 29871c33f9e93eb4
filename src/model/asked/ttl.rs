//! TTLs of cells, as people and programs write them.

use crate::{Error, ErrorKind, Result};

/// Longest TTL that is shown whole in a refusal, characters.
const SHOWN: usize = 40;

/// Reads the TTL of a cell that is to be written, milliseconds (HBase: a long). One of 0 would hide the cell at once and
/// for good; the store keeps it where others have written it.
pub fn parse_cell_ttl(text: &str) -> Result<u64> {
    let ms = text.trim().parse::<i64>().ok().filter(|ms| *ms > 0);
    ms.map(i64::unsigned_abs).ok_or_else(|| {
        let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        let text = format!(
            "`{shown}` is no TTL of a cell, which is milliseconds from 1 to {}: leave it out to set none, and \
             delete the cell to have it gone",
            i64::MAX
        );
        Error::new(ErrorKind::IllegalArgument, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_lives_for_a_millisecond_at_least() {
        for (text, ms) in [("1", 1), (" 60\n", 60), ("9223372036854775807", i64::MAX.unsigned_abs())] {
            assert_eq!(parse_cell_ttl(text).unwrap(), ms);
        }
        for text in ["0", "-0", "-1", "", "soon", "1.5", "9223372036854775808", &"9".repeat(1000)] {
            let refused = parse_cell_ttl(text).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::IllegalArgument);
            assert!(refused.message.contains("leave it out") && refused.message.len() < 250, "{refused:?}");
        }
    }
}
