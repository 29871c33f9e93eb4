//! Gets and scans over the visible cells of rows: HBase's filter language, and how a result is put together.
//!
//! Pure: cells come from a [`CellSource`](crate::visibility::CellSource), values from a [`ValueLoader`],
//! the time is given. Must not know how rows are found or stored.

mod collect;
mod filters;
mod lent;
mod row;
mod scope;

pub use collect::{Taker, emit_stored};
pub use filters::build::FILTER_NAMES;
pub use filters::compare::condition_holds;
pub use filters::filter::ValueLoader;
pub use filters::parse::{Argument, Expression, parse, quoted};
pub use lent::LentCell;
pub use row::{InFamily, Onward, RowKeyVerdict, RowQuery, RowRequest, Step};
pub use scope::{Scope, scope};
