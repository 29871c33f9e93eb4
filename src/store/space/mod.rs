//! A disk that fills: what is reserved of it, what is still written, and what gives room back.

pub(super) mod backlog;
pub(super) mod level;
pub(super) mod merge_room;
pub(super) mod reserve;
pub(super) mod room;
