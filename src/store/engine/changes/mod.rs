//! Who is told of changes, and what is kept for those who ask for them later.

pub mod followers;
pub mod past;
pub mod subscribers;
