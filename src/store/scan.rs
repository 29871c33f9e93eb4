//! Gets and scans.

use super::engine::Engine;
use super::plan::Planner;
use crate::backend::Rows;
use crate::model::{Get, RowResult, Scan, TimeRange, Timestamp};
use crate::{Error, ErrorKind, Result};

impl Engine {
    pub fn get(&self, get: &Get) -> Result<RowResult> {
        let _ = get;
        Err(Error::new(ErrorKind::Unsupported, "get"))
    }

    pub fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        let _ = scan;
        Err(Error::new(ErrorKind::Unsupported, "scan"))
    }

    /// `Some` if the row, read through the filter, is not empty.
    pub fn filter_holds(&self, planner: &Planner<'_>, filter: &str, range: TimeRange) -> Result<Option<Timestamp>> {
        let _ = (planner, filter, range);
        Err(Error::new(ErrorKind::Unsupported, "filter"))
    }
}
