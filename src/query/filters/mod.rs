//! HBase's filters and their language.

pub(super) mod build;
pub(super) mod columns;
pub(super) mod compare;
pub(super) mod filter;
pub(super) mod lists;
pub(super) mod parse;
pub(super) mod regex;
pub(super) mod rows;
pub(super) mod values;
pub(super) mod wrapped;
