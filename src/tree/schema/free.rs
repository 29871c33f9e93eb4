//! Names of keys that anybody may choose: of METADATA, CONFIGURATION and a namespace's properties. They are spelt as those
//! of rows are, so that `.` begins scratch files alone.

use crate::Result;
use crate::tree::found::{absent, misspelt};
use crate::tree::names::escape::{Level, Parsed, Spelling, shown};

/// The name of a key.
pub fn name(key: &str) -> String {
    shown(Level::Row, key.as_bytes())
}

/// The key of a name.
pub fn key(name: &str) -> Result<String> {
    match Spelling::default().parse(Level::Row, name.as_bytes()) {
        Parsed::Key(key) => String::from_utf8(key).map_err(|_| absent(name.as_bytes())),
        Parsed::Refused { canonical } => Err(misspelt(name.as_bytes(), &canonical)),
        Parsed::Short { .. } => Err(absent(name.as_bytes())),
    }
}
