//! What programs were seen to do, by which they are told what goes on with it.

pub(super) mod copies;
pub(super) mod moments;
pub(super) mod removals;
pub(super) mod told;
pub(super) mod walks;
