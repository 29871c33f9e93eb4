//! The shell's language: from text to its tree.

pub(super) mod grammar;
pub(super) mod literal;
pub(super) mod parse;
pub(super) mod tree;
