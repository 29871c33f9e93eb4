//! Gets and scans over the visible cells of rows: HBase's filter language, and how a result is put together.
//!
//! Pure: cells come from a [`CellSource`](crate::visibility::CellSource), values from a [`ValueLoader`],
//! the time is given. Must not know how rows are found or stored.

mod build;
mod collect;
mod column_filters;
mod compare;
mod filter;
mod lent;
mod list_filters;
mod parse;
mod regex;
mod row;
mod row_filters;
mod scope;
mod value_filters;
mod wrap_filters;

pub use build::FILTER_NAMES;
pub use collect::{Taker, emit_stored};
pub use compare::condition_holds;
pub use filter::ValueLoader;
pub use lent::LentCell;
pub use parse::{Argument, Expression, parse};
pub use row::{InFamily, Onward, RowKeyVerdict, RowQuery, RowRequest, Step};
pub use scope::{Scope, scope};
