//! Arguments of the commands that change a value in place.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::KeyArgs;
use crate::model::parse_cell_ttl;

#[derive(Args)]
pub struct IncrArgs {
    /// Store directory, mount point or cluster address; or the path of a table, a row, a family of it or a cell in a
    /// mount, in the place of STORE and of the arguments that it says
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY:QUALIFIER
    pub column: OsString,
    /// What is added
    #[arg(default_value_t = 1, allow_negative_numbers = true, value_parser = whole)]
    pub amount: i64,
    /// Time to live of the cell, milliseconds, 1 at least
    #[arg(long, allow_negative_numbers = true, value_parser = cell_ttl)]
    pub ttl: Option<u64>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

/// What a counter can take.
fn whole(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("a whole number, from {} to {}", i64::MIN, i64::MAX))
}

#[derive(Args)]
pub struct AppendArgs {
    /// Store directory, mount point or cluster address; or the path of a table, a row, a family of it or a cell in a
    /// mount, in the place of STORE and of the arguments that it says
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY:QUALIFIER
    pub column: OsString,
    /// What is appended; - reads standard input. Behind -- it may begin with -
    #[arg(allow_negative_numbers = true)]
    pub value: OsString,
    /// Time to live of the cell, milliseconds, 1 at least
    #[arg(long, allow_negative_numbers = true, value_parser = cell_ttl)]
    pub ttl: Option<u64>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

pub(super) fn cell_ttl(text: &str) -> Result<u64, String> {
    parse_cell_ttl(text).map_err(|e| e.message)
}

/// What must hold of the row when the change is made; both happen in one step.
#[derive(Args)]
pub struct ConditionArgs {
    /// Only if the column holds this value now
    #[arg(long, value_name = "VALUE", conflicts_with = "if_absent", allow_hyphen_values = true)]
    pub if_value: Option<OsString>,
    /// Only if the column has no value
    #[arg(long)]
    pub if_absent: bool,
    /// FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out
    #[arg(long, value_name = "COLUMN")]
    pub if_column: Option<OsString>,
}
