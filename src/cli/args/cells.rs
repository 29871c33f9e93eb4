//! The grammar of commands about cells: put, get, delete, deleteall, scan, count.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::change::cell_ttl;
use super::{ByArgs, ByKeyArgs, ConditionArgs, KeyArgs};

#[derive(Args)]
pub struct PutArgs {
    /// Store directory, mount point or cluster address; or the path of a table, a row, a family of it or a cell in a
    /// mount, in the place of STORE and of the arguments that it says
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row; with --json, a lone - reads cells from standard input, one a line, as scan --json prints them
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY:QUALIFIER
    pub column: Option<OsString>,
    /// The value; - reads standard input. Behind -- it may begin with -
    #[arg(allow_negative_numbers = true)]
    pub value: Option<OsString>,
    /// Milliseconds since 1970; now (but after the newest version) if it is left out
    pub timestamp: Option<i64>,
    /// Time to live of the cell, milliseconds, 1 at least
    #[arg(long, allow_negative_numbers = true, value_parser = cell_ttl)]
    pub ttl: Option<u64>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

#[derive(Args)]
pub struct GetArgs {
    /// Store directory, mount point or cluster address; or the path of a row, a family of it, a cell or a version in a
    /// mount, behind which only columns are left
    pub store: PathBuf,
    /// The table, TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE; the key of the row; columns, each FAMILY or
    /// FAMILY:QUALIFIER. \xNN stands for a byte
    #[arg(value_name = "TABLE ROW COLUMN", allow_negative_numbers = true)]
    pub rest: Vec<OsString>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print the newest value alone, byte for byte
    #[arg(long)]
    pub value: bool,
    /// Another row; may be given again
    #[arg(long = "row", value_name = "ROW", allow_hyphen_values = true, conflicts_with = "value")]
    pub rows: Vec<OsString>,
}

#[derive(Args)]
pub struct ReadArgs {
    /// Versions a column
    #[arg(long, default_value_t = 1)]
    pub versions: u32,
    /// Only this timestamp
    #[arg(long)]
    pub timestamp: Option<i64>,
    /// Only timestamps from FROM (inclusive) to TO (exclusive)
    #[arg(long, value_name = "FROM,TO", conflicts_with = "timestamp")]
    pub timerange: Option<String>,
    /// A filter in HBase's filter language; \xNN in it stands for a byte
    #[arg(long)]
    pub filter: Option<OsString>,
}

#[derive(Args)]
pub struct DeleteArgs {
    /// Store directory, mount point or cluster address; or the path of a table, a row, a family of it or a cell in a
    /// mount, in the place of STORE and of the arguments that it says
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY:QUALIFIER; a FAMILY alone stands for all its columns, at a timestamp
    pub column: OsString,
    /// Only the version of this timestamp
    pub timestamp: Option<i64>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

#[derive(Args)]
pub struct DeleteallArgs {
    /// Store directory, mount point or cluster address; or the path of a table, a row, a family of it or a cell in a
    /// mount, in the place of STORE and of the arguments that it says
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: OsString,
    /// FAMILY or FAMILY:QUALIFIER; the whole row if it is left out, or empty
    pub column: Option<OsString>,
    /// Only what is not newer than this timestamp
    pub timestamp: Option<i64>,
    #[command(flatten)]
    pub key: KeyArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

#[derive(Args)]
pub struct ScanArgs {
    /// Store directory, mount point or cluster address; or the path of a table or a row in a mount, behind which only
    /// columns are left
    pub store: PathBuf,
    /// The table, TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE; columns, each FAMILY or FAMILY:QUALIFIER
    #[arg(value_name = "TABLE COLUMN")]
    pub rest: Vec<OsString>,
    /// First row
    #[arg(long, value_name = "ROW", allow_hyphen_values = true)]
    pub start: Option<OsString>,
    /// Row to stop before
    #[arg(long, value_name = "ROW", allow_hyphen_values = true)]
    pub stop: Option<OsString>,
    /// Only rows that start with this
    #[arg(long, conflicts_with_all = ["start", "stop"], allow_hyphen_values = true)]
    pub prefix: Option<OsString>,
    /// From the last row to the first
    #[arg(long)]
    pub reversed: bool,
    /// At most so many rows
    #[arg(long)]
    pub limit: Option<u64>,
    /// Show tombstones and what they hide
    #[arg(long)]
    pub raw: bool,
    #[command(flatten)]
    pub by_key: ByKeyArgs,
    #[command(flatten)]
    pub by: ByArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args)]
pub struct CountArgs {
    /// Store directory, mount point or cluster address; or the path of a table in a mount, in the place of STORE and
    /// TABLE
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: Option<String>,
    /// Only rows that start with this
    #[arg(long, allow_hyphen_values = true)]
    pub prefix: Option<OsString>,
    #[command(flatten)]
    pub by: ByArgs,
}
