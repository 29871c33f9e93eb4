//! The kinds of files: cells, generated texts and attributes, versions of the history, streams.

pub(super) mod accesses;
pub(super) mod cell_io;
pub(super) mod feed;
pub(super) mod history;
pub(super) mod import;
pub(super) mod judge;
pub(super) mod stream;
pub(super) mod text;
