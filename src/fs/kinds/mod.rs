//! The kinds of files: generated texts and attributes, versions of the history, streams.

pub(super) mod accesses;
pub(super) mod attribute;
pub(super) mod declare;
pub(super) mod history;
pub(super) mod import;
pub(super) mod judge;
pub(super) mod stream;
pub(super) mod text;
