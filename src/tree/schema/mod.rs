//! `.schema`: what is declared, as directories of small texts.

pub mod constraint;
pub mod declared;
pub mod family;
pub mod free;
pub mod index;
pub mod place;
pub mod splits;
pub mod texts;
