//! After a crash, and after damage: what of the log counts, what is gone, and how far both had come.

pub(super) mod chunks;
pub(super) mod files;
pub(super) mod follow;
pub(super) mod old;
pub(super) mod recovery;
pub(super) mod replayed;
pub(super) mod rescue;
pub(super) mod write_again;
