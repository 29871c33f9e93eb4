//! The grammar of what operators use: stats, top, profile, log, mv, drop, purge, undelete, why, config, bench, flush,
//! compact.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct StatsArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// Print Prometheus' text format
    #[arg(long)]
    pub prometheus: bool,
    /// Again and again, every SECONDS; 2 if they are left out
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    #[arg(value_parser = seconds, conflicts_with = "prometheus")]
    pub watch: Option<f64>,
    /// So often, with --watch
    #[arg(short = 'n', long, requires = "watch")]
    pub count: Option<u64>,
}

#[derive(Args)]
pub struct TopArgs {
    /// A mount point, a path in a mount (only what is asked about it and what is below), or a mounted store
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Seconds from one look to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub interval: f64,
    /// End after so many looks
    #[arg(short = 'n', long)]
    pub count: Option<u64>,
}

#[derive(Args)]
pub struct ProfileArgs {
    /// A mount point, a path in a mount (only what is asked about it and what is below), or a mounted store
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// How long; Ctrl-C ends it before
    #[arg(short, long, default_value = "10", value_parser = seconds)]
    pub seconds: f64,
    /// So many paths and processes: those that took the most time
    #[arg(short = 'n', long, default_value_t = 10)]
    pub count: usize,
}

/// A number of seconds that can be waited for: a day at most.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "seconds, from 0.1 to 86400".to_owned())
}

/// Of who does not say how many lines are wanted.
pub const LOG_LIMIT: u32 = 1000;

#[derive(Args)]
pub struct LogArgs {
    /// The path of a cell, a row or a family of a row in a mount; or the directory of a store, or a mount point of it
    pub path: PathBuf,
    /// What in that store: [NAMESPACE/]TABLE/ROW[/FAMILY[/QUALIFIER]], spelt as in a mount
    pub cell: Option<OsString>,
    /// At most so many stored versions and tombstones a column, newest first
    #[arg(short = 'n', long, default_value_t = LOG_LIMIT, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

#[derive(Args)]
pub struct MvArgs {
    /// Store directory, mount point or cluster address; or the path in a mount of what is moved, behind which only the
    /// path is left that it gets
    pub store: PathBuf,
    /// What is moved: TABLE, TABLE/ROW, TABLE/ROW/FAMILY or TABLE/ROW/FAMILY/QUALIFIER, spelt as in a mount; before
    /// it NAMESPACE/ if that is not default
    pub from: OsString,
    /// Where to, likewise
    pub to: Option<OsString>,
    /// Go on with a move that was interrupted: what is at the target stays and gets the rest
    #[arg(long)]
    pub resume: bool,
}

#[derive(Args)]
pub struct PurgeArgs {
    /// A path in a mount, at whatever level; or the directory of a store, with a TABLE behind it
    pub path: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: Option<String>,
    /// Key of the row
    #[arg(allow_negative_numbers = true)]
    pub row: Option<OsString>,
    /// FAMILY or FAMILY:QUALIFIER
    pub column: Option<OsString>,
}

#[derive(Args)]
/// Bring back what was deleted or dropped, as it was
///
/// Each cell that is not there gets its last version again; a table or family that was dropped comes back with all
/// that it had; with a table or a row the families of its table that were dropped, for all rows. A table that has no rows
/// and none to bring back, as after a truncation, goes into the trash for the one that was dropped or truncated before
/// it. What is there stays. Of a table that went with `rm -r`, which removes its cells one by one first, also those come
/// back that had been removed before; --at leaves them out. A version that was removed by itself (`rm q@TIMESTAMP`) comes back at its own time when it is
/// named so, and by the name of its cell where it was the newest. With --at cells get the version of that time, where
/// they have another, and tables and families that were there then take the place of those without cells that have their
/// names now; what was dropped before that stays dropped. A family of that time whose name another one with cells has now
/// keeps all of the table as it is. With --list a namespace shows all that is kept of its tables. Exit status 1: there is
/// nothing to bring back, or a family stays dropped.
pub struct UndeleteArgs {
    /// The path in a mount of what is to come back: a cell, a family of a row, a row, a table, a namespace; or the
    /// directory of a store, or a mount point of it
    pub path: PathBuf,
    /// What in that store: [NAMESPACE/]TABLE[/ROW[/FAMILY[/QUALIFIER]]], spelt as in a mount, or NAMESPACE: with all its
    /// tables
    pub what: Option<OsString>,
    /// As it was at that time: milliseconds since 1970, ISO 8601, an age such as -1h, or yesterday
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,
    /// Only show what would come back
    #[arg(long)]
    pub list: bool,
}

#[derive(Args)]
/// Follow changes as they are committed
///
/// Every cell that is written, once, in the order of the commits: a version that came, or a tombstone. A line has the
/// number of the commit, table, row, column, timestamp and value, separated by tabs; with --json an object, as export
/// has them. A deleted version that is kept, and comes with a directory that is moved or from a history, is told with the
/// time of its end (deleted). A value of more than 16 KiB is told by its length. What is told is on the disk: an fsync is
/// told at once, anything else within a second or two. Without --since it begins now; --since NUMBER goes on behind all
/// changes of that number, and fails where the log does not reach back so far: it reaches to the last flush, and as many bytes further as
/// the setting changes_retain says. A commit of several cells, as of an import, has one number: with --json each has its
/// place among them (part, of parts), and who was stopped in the middle goes on with --since NUMBER:PART, for the same
/// table, rows and columns. Drops, truncations and restores of tables are no changes of cells, and are not told; cells
/// of what was dropped are not told any more. A store that is not mounted does not change: what is there is told, and
/// that is all.
pub struct WatchArgs {
    /// Directory of the store, or a mount point of it: of all its tables; or the path of a table, a row, a family of a row
    /// or a cell in a mount
    pub store: PathBuf,
    /// The table, TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE; columns, each FAMILY or FAMILY:QUALIFIER
    #[arg(value_name = "TABLE COLUMN")]
    pub rest: Vec<OsString>,
    /// Only rows that start with this
    #[arg(long, allow_hyphen_values = true)]
    pub prefix: Option<OsString>,
    /// Begin behind this number (and part), 0 for all that the log has; or at a time: ISO 8601, an age such as -1h, or
    /// yesterday
    #[arg(long, value_name = "NUMBER[:PART]|TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// End when all that is there was told
    #[arg(long)]
    pub once: bool,
}

#[derive(Args)]
pub struct WhyArgs {
    /// A path in a mount, or a mounted store: only refusals about it and what is below it
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// At most so many, the last ones
    #[arg(short = 'n', long, default_value_t = 10)]
    pub count: usize,
}

#[derive(Args)]
pub struct ConfigArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// The setting: value_limit, changes_retain, or default.ATTRIBUTE, for example default.VERSIONS
    pub name: Option<String>,
    /// What it is to be
    #[arg(allow_negative_numbers = true)]
    pub value: Option<String>,
    /// Make it what it is by default
    #[arg(long, requires = "name", conflicts_with = "value")]
    pub unset: bool,
}

#[derive(Args)]
pub struct BenchArgs {
    /// A directory on the disk to measure; what is made there is removed again
    #[arg(default_value = ".")]
    pub directory: PathBuf,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Where the store and its mount point are: DIRECTORY/store, DIRECTORY/mnt
    #[arg(default_value = "cellfs-demo")]
    pub directory: PathBuf,
}

#[derive(Args)]
pub struct DropArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// At once and for good, also what was dropped under that name before; asked for on a terminal
    #[arg(long)]
    pub now: bool,
}

#[derive(Args)]
pub struct FlushArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE; all tables if it is left out
    pub table: Option<String>,
}

#[derive(Args)]
pub struct CompactArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// One family only
    pub family: Option<String>,
    /// Drop deleted cells and their tombstones too
    #[arg(long)]
    pub major: bool,
}
