//! What is stored, as one value, and its owner: the only way to add files to it and take them away.

pub(super) mod blob_names;
pub(super) mod far;
pub(super) mod give_back;
pub(super) mod policy;
pub(super) mod runs;
pub(super) mod structure;
