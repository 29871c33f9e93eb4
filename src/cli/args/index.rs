//! The grammar of secondary indexes: create-index, drop-index, scan --by.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
/// Make a secondary index of a table, and wait until it is complete
///
/// Writers go on meanwhile, and from now on each of their puts costs an entry of the index more. It is built by the
/// store: who does not wait for it any more (Ctrl-C) keeps it. Exit status 2, and no index: it is to be unique, and
/// two rows have the same values, or a value is longer than 16 KiB.
pub struct CreateIndexArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// What it is called
    pub name: String,
    /// FAMILY:QUALIFIER, more with commas: rows are found by the first one, the others narrow that. \xNN stands for a
    /// byte, \x2C for a comma
    #[arg(long, value_name = "COLUMNS")]
    pub columns: String,
    /// What answers show beside these columns, each FAMILY or FAMILY:QUALIFIER; everything if it is left out
    #[arg(long, value_name = "COLUMNS")]
    pub include: Option<String>,
    /// No two rows may have the same values
    #[arg(long, conflicts_with = "filter")]
    pub unique: bool,
    /// Only rows that pass this filter, in HBase's filter language
    #[arg(long = "where", value_name = "FILTER")]
    pub filter: Option<String>,
}

#[derive(Args)]
pub struct DropIndexArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// What it is called
    pub name: String,
}

#[derive(Args)]
pub struct ByArgs {
    /// Only rows that have VALUE in the column of a secondary index; of one of several columns VALUE,VALUE... from the
    /// first one on. \xNN stands for a byte, \x2C for a comma
    #[arg(long, value_name = "INDEX=VALUE")]
    pub by: Option<OsString>,
    /// Of --by INDEX: only values from this one on
    #[arg(long, value_name = "VALUE", requires = "by", allow_hyphen_values = true)]
    pub value_from: Option<OsString>,
    /// Of --by INDEX: only values before this one
    #[arg(long, value_name = "VALUE", requires = "by", allow_hyphen_values = true)]
    pub value_to: Option<OsString>,
    /// Of --by INDEX: only values that start with this
    #[arg(long, value_name = "VALUE", requires = "by", allow_hyphen_values = true)]
    pub value_prefix: Option<OsString>,
}
