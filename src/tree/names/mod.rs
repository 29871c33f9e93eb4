//! Names of keys, versions and times: from bytes to file names and back.

pub mod escape;
pub mod keys;
pub mod shortened;
pub mod spelling;
pub mod suffix;
pub mod times;
