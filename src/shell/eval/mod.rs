//! What the tree means: values, their methods and operators, what ends a statement.

pub(super) mod clock;
pub(super) mod constants;
pub(super) mod control;
pub(super) mod convert;
pub(super) mod expressions;
pub(super) mod failure;
pub(super) mod format;
pub(super) mod methods;
pub(super) mod operate;
pub(super) mod text_methods;
pub(super) mod value;
