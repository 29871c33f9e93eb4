//! The grammar of row keys: key encode, decode, advise; --key, scan --by-key.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
pub struct KeyCommandArgs {
    #[command(subcommand)]
    pub action: KeyAction,
}

#[derive(Subcommand)]
pub enum KeyAction {
    /// Print the key that a recipe makes of fields
    ///
    /// A recipe is a list of parts with blanks between them: NAME or text(NAME), text(NAME, WIDTH), reverse(NAME),
    /// reverse_domain(NAME), digits(NAME, WIDTH), u8 to u64, i8 to i64, f64, time and date of a NAME, desc(PART), 'literal';
    /// in front salt(BUCKETS), hash(DIGITS) or hash(NAME, DIGITS). desc(NAME) is a time, newest first. Keys sort as their
    /// fields do. A text that does not stand at the end is ended by the literal behind it, else by a zero byte.
    Encode {
        /// The recipe
        recipe: String,
        /// NAME=VALUE,NAME=VALUE...; \xNN stands for a byte, \x2C for a comma
        fields: OsString,
    },
    /// Print the fields of a key
    Decode {
        /// The recipe
        recipe: String,
        /// The key; \xNN stands for a byte
        #[arg(allow_hyphen_values = true)]
        key: OsString,
    },
    /// Look at the keys of a table, and tell what will be slow
    ///
    /// Some rows at random are looked at: whether keys rise with the time of their writing, whether the newest rows lie
    /// beside each other, whether names weigh more than values, whether rows are very wide, whether numbers are written as
    /// texts. Exit status 1: there is something to tell.
    Advise {
        /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
        store: PathBuf,
        /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
        table: String,
        /// Rows that are looked at
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
        sample: u64,
    },
}

#[derive(Args)]
pub struct KeyArgs {
    /// ROW is given by the fields of the table's recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)
    #[arg(long)]
    pub key: bool,
}

#[derive(Args)]
pub struct FieldsArgs {
    /// Rows stand in the file as the fields of the table's recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)
    #[arg(long)]
    pub key: bool,
}

#[derive(Args)]
pub struct ByKeyArgs {
    /// In the order of the fields of the table's recipe of keys, whatever salt stands before them, and keys shown as
    /// fields; only rows that have these first FIELDS: NAME=VALUE,NAME=VALUE..., and from the first fields on that --start
    /// gives, up to those of --stop
    #[arg(long, value_name = "FIELDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["prefix", "by"])]
    pub by_key: Option<OsString>,
}
