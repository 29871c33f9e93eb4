//! What is declared: namespaces, tables, families, their attributes, indexes and checks.

pub mod attributes;
pub(super) mod catalogue;
pub mod constraint;
pub mod describe;
pub(super) mod index;
pub mod region;
pub(super) mod schema;
pub(super) mod settings;
pub(super) mod value_type;
