//! The grammar of constraints: create-check, drop-check.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
/// Add a constraint to a family: what its values and rows have to be
///
/// A write that breaks it is refused, with the whole step that it is of: a row's mutations, a batch of an import. What is
/// stored already is judged first, while writers go on; exit status 2, and nothing changed, if something breaks it: the
/// first rows, columns and reasons are told. No two rows with one value: create-index --unique.
pub struct CreateCheckArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// The family
    pub family: String,
    /// What it is called
    pub name: String,
    /// Qualifiers of the family whose values are judged, with commas; all of them if it is left out. \xNN stands for a
    /// byte, \x2C for a comma
    #[arg(long, value_name = "QUALIFIERS")]
    pub columns: Option<String>,
    /// What each value is: utf8, i64 (a decimal), u64 (an 8-byte counter), json, or regex:PATTERN for all of the value
    #[arg(long = "type", value_name = "TYPE")]
    pub value_type: Option<String>,
    /// Bytes of each value: MIN..MAX, MIN.., ..MAX, or one number
    #[arg(long, value_name = "MIN..MAX")]
    pub length: Option<String>,
    /// FAMILY:QUALIFIER, more with commas: who puts a cell of the family leaves a row that has these columns
    #[arg(long, value_name = "COLUMNS")]
    pub required: Option<String>,
    /// Each value is the key of a row of this table when it is put
    #[arg(long, value_name = "TABLE")]
    pub references: Option<String>,
}

#[derive(Args)]
pub struct DropCheckArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// The family
    pub family: String,
    /// What it is called
    pub name: String,
}
