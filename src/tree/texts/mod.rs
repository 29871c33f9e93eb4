//! Texts that are made when they are read.

pub mod complete;
pub mod info;
pub mod json;
pub mod qualifiers;
