//! Bytes that are in no cell: those that are being written, and of files that no cell is.

pub(super) mod content;
pub(super) mod held_text;
pub(super) mod kept_pages;
pub(super) mod scratch;
pub(super) mod scratch_texts;
