//! Recipes of row keys: from named fields to the bytes of a key and back, so that keys sort as their fields do.
//!
//! A recipe is a list of parts, separated by blanks:
//!
//! | part | bytes |
//! |---|---|
//! | `NAME`, `text(NAME)` | the text as it is; not at the end, a zero byte behind it |
//! | `text(NAME, W)` | W bytes, zeros behind a shorter text |
//! | `reverse(NAME)` | the characters backwards |
//! | `reverse_domain(NAME)` | `www.cnn.com` as `com.cnn.www` |
//! | `digits(NAME, W)` | W decimal digits |
//! | `u8` `u16` `u32` `u64` `i8` `i16` `i32` `i64` `(NAME)` | big-endian, the sign bit turned, so that negative numbers come first |
//! | `f64(NAME)` | as `i64`, of negative numbers all bits turned |
//! | `time(NAME)` | milliseconds since 1970, eight bytes big-endian (Bytes.toBytes of a long) |
//! | `date(NAME)` | days since 1970, as `i32` |
//! | `desc(PART)` | backwards; of a time, or of a bare name, Long.MAX_VALUE - time |
//! | `'x'` | these bytes; a text in front of them ends there |
//! | `salt(N)` | in front: one byte, 0 to N-1, of the bytes behind it |
//! | `hash(N)`, `hash(NAME, N)` | in front: N hexadecimal digits of a digest of the bytes behind it, or of a field |
//!
//! Fields are texts: `host=cnn.com,time=2014-11-18T05:20:00Z`, bytes as HBase prints them, a comma as `\x2C`.

mod digest;
mod fields;
mod number;
mod part;
mod recipe;

use super::TableSchema;
use crate::{Error, ErrorKind, Result};

pub use fields::{Fields, fields_text, parse_fields, parse_fields_by};
pub use recipe::Recipe;

/// Key of a table's METADATA that holds its recipe.
pub const RECIPE: &str = "cellfs.key";

impl TableSchema {
    /// The recipe of its keys. `IllegalArgument`: it has none, or one that makes no sense.
    pub fn recipe(&self) -> Result<Recipe> {
        let Some(text) = self.metadata.get(RECIPE) else {
            let text = format!(
                "table {} has no recipe of keys: write one into .schema/.key, for example `salt(8) reverse_domain(host) \
                 desc(time)`",
                self.name
            );
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        };
        Recipe::parse(text).map_err(|e| e.context(format!("table {}, recipe of keys", self.name)))
    }
}
