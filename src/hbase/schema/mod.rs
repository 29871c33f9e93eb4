//! What a cluster declares, and its changes.

pub(super) mod altering;
pub(super) mod described;
pub(super) mod schemas;
pub(super) mod told_schema;
