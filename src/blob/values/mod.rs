//! Large values: trees of references to chunks, read, written and changed.

pub(super) mod draft;
pub(super) mod edit;
pub(super) mod lists;
pub(super) mod pages;
pub(super) mod read;
pub(super) mod root;
pub(super) mod spine;
pub(super) mod writer;
