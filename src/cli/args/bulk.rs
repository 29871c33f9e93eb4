//! import, export.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FieldsArgs, ScanArgs};
use crate::bulk::Format;

/// A format of a file. Its values are told in the help of the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Jsonl,
    Json,
    Csv,
    Tsv,
    Parquet,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Jsonl => Self::Jsonl,
            FormatArg::Json => Self::Json,
            FormatArg::Csv => Self::Csv,
            FormatArg::Tsv => Self::Tsv,
            FormatArg::Parquet => Self::Parquet,
        }
    }
}

// An export goes in the order of the rows.
#[derive(Args)]
#[command(mut_arg("by_key", |arg| arg.hide(true)))]
pub struct ExportArgs {
    #[command(flatten)]
    pub scan: ScanArgs,
    /// What is written; by the name of FILE if it is left out, else jsonl
    #[arg(long, value_enum, value_name = "jsonl|json|csv|tsv|parquet", hide_possible_values = true)]
    pub format: Option<FormatArg>,
    /// Of parquet: a file of lines `FAMILY:QUALIFIER TYPE`, TYPE is utf8, binary, json, i64 or u64 (counters); of the columns
    /// that it names these alone, with `HBASE_TS_KEY i64` the newest timestamp of each row. Without it checks, then the
    /// first rows, say which columns are text
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// Write to FILE, which is replaced once all of it is written, and is this user's alone where it is new; standard
    /// output if it is left out
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub key: FieldsArgs,
    /// Every version that is stored, also deleted ones that are kept, and tombstones, as jsonl
    #[arg(long)]
    #[arg(conflicts_with_all = ["raw", "reversed", "limit", "versions", "timestamp", "timerange", "filter", "key", "by"])]
    pub history: bool,
}

#[derive(Args)]
pub struct ImportArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// What is read; - is standard input
    pub file: PathBuf,
    /// What FILE is; by its name if it is left out, standard input is jsonl then. jsonl also reads what scan --json prints
    #[arg(long, value_enum, value_name = "jsonl|json|csv|tsv|parquet", hide_possible_values = true)]
    pub format: Option<FormatArg>,
    /// Of parquet: a file of lines `FAMILY:QUALIFIER TYPE`; a number of a column that is u64 becomes a counter's eight
    /// bytes, else a decimal
    #[arg(long, value_name = "SCHEMA")]
    pub schema: Option<PathBuf>,
    /// What the fields of csv, tsv and parquet are, as HBase's ImportTsv has it: HBASE_ROW_KEY, FAMILY:QUALIFIER, HBASE_TS_KEY,
    /// HBASE_CELL_TTL; \xNN stands for a byte. The first line says it if this is left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<OsString>,
    /// An empty field of csv and tsv is an empty value; otherwise the row has no such cell
    #[arg(long)]
    pub keep_empty: bool,
    /// Of what says no timestamp; now, but later than all that is in the table, if it is left out
    #[arg(long)]
    pub timestamp: Option<i64>,
    #[command(flatten)]
    pub key: FieldsArgs,
    /// What becomes of a line that cannot be taken: stop, skip, or a file that it is appended to
    #[arg(long, value_name = "stop|skip|FILE", default_value = "stop")]
    pub on_error: OsString,
    /// Go on where an import of FILE into this table has stopped, or was killed
    #[arg(long)]
    pub resume: bool,
}
