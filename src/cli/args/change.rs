//! Arguments of the commands that change a value in place.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct IncrArgs {
    /// Directory of the store, or a mount point of it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY:QUALIFIER
    pub column: OsString,
    /// What is added
    #[arg(default_value_t = 1, allow_negative_numbers = true)]
    pub amount: i64,
    /// Time to live of the cell, milliseconds
    #[arg(long)]
    pub ttl: Option<u64>,
}

#[derive(Args)]
pub struct AppendArgs {
    /// Directory of the store, or a mount point of it
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
    /// Time to live of the cell, milliseconds
    #[arg(long)]
    pub ttl: Option<u64>,
}
