//! Cells, their names, times and bytes.

pub(super) mod cell;
pub(super) mod file;
pub(super) mod json;
pub(super) mod key_list;
pub(super) mod name;
pub(super) mod shared;
pub(super) mod text;
pub(super) mod time;
