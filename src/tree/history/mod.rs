//! `.history`: every version by its own name.

pub mod deleted;
pub mod inline;
pub mod judge;
pub mod judged;
pub mod list;
pub mod places;
pub mod unmade;
