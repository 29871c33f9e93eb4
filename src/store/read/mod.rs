//! The ways out: columns, rows, scans, counts and listings, over what one view of memtables and extents has.

pub(super) mod columns;
pub(super) mod count;
pub(super) mod draw;
pub(super) mod get;
pub(super) mod history;
pub(super) mod judged;
pub(super) mod lean;
pub(super) mod lookup;
pub(super) mod plain;
pub(super) mod point;
pub(super) mod stats;
