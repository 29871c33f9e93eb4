//! The command line's grammar: one table for parser, help, man pages and completions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod bulk;
mod cells;
mod change;
mod constraint;
mod copy;
mod index;
mod key;
mod operator;
mod shell;
mod snapshot;

pub use bulk::{ExportArgs, ImportArgs};
pub use cells::{CountArgs, DeleteArgs, DeleteallArgs, GetArgs, PutArgs, ReadArgs, ScanArgs};
pub use change::{AppendArgs, ConditionArgs, IncrArgs};
pub use constraint::{CreateCheckArgs, DropCheckArgs};
pub use copy::CopyArgs;
pub use index::{ByArgs, CreateIndexArgs, DropIndexArgs};
pub use key::{ByKeyArgs, FieldsArgs, KeyAction, KeyArgs, KeyCommandArgs};
pub use operator::{
    BenchArgs, CompactArgs, ConfigArgs, DemoArgs, DropArgs, FlushArgs, LOG_LIMIT, LogArgs, MvArgs, ProfileArgs,
    PurgeArgs, StatsArgs, TopArgs, UndeleteArgs, WatchArgs, WhyArgs,
};
pub use shell::ShellArgs;
pub use snapshot::{SnapshotAction, SnapshotArgs};

/// An HBase-model table store that is used with ls, cat, cp, rm and shell scripts.
#[derive(Parser)]
#[command(name = "cellfs", version, propagate_version = true)]
pub struct Cli {
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// As root, use a store that belongs to another user; what is made in it belongs to that user too
    #[arg(long, global = true)]
    pub other_owner: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Mount a store (made if it is absent or empty)
    Mount(MountArgs),
    /// Unmount, and wait until the daemon has ended
    Umount(UmountArgs),
    /// Show what a store holds and does
    ///
    /// Of a store on a read-only filesystem, which any number of mounts may read, all mount points are named; their daemons,
    /// which listen to no commands, are not. Exit status: 0 the store works, 1 a sync has failed and it takes no changes
    /// any more until it is restarted on a healthy disk, or the cluster of a mount does not answer, 2 it could not be asked.
    Status(StoreArgs),
    /// Create a table with its families
    Create(CreateArgs),
    /// List tables
    List(ListArgs),
    /// Show a table's attributes and families
    Describe(DescribeArgs),
    /// Change a table's attributes and families
    Alter(AlterArgs),
    CreateIndex(CreateIndexArgs),
    /// Drop a secondary index
    DropIndex(DropIndexArgs),
    CreateCheck(CreateCheckArgs),
    /// Make row keys of fields, read them, and look at those of a table
    ///
    /// A table may carry the recipe of its keys in .schema/.key (a line of METADATA, cellfs.key). Then put, get, delete,
    /// deleteall, incr, append, import and export take fields in the place of rows with --key, scan --by-key goes in their
    /// order, and TABLE/.key/NAME=VALUE,.../ of a mount shows the rows that have them. What is stored are the bytes.
    Key(KeyCommandArgs),
    /// Drop a constraint of a family
    DropCheck(DropCheckArgs),
    /// Drop all cells of a table; what they were is kept for a while, as a dropped table of that name
    Truncate(DropArgs),
    /// Drop a table with its cells; undrop brings it back for a while
    ///
    /// A file of it that a program has open in a mount is as one that was removed: what is written to it afterwards, or was
    /// and is not committed yet, goes when the file is closed.
    Drop(DropArgs),
    /// Bring back a table, or a family of one, that was dropped
    Undrop(UndropArgs),
    Undelete(UndeleteArgs),
    /// Show the last refusals of a mount, with what to do
    Why(WhyArgs),
    Watch(WatchArgs),
    /// Take deleted cells and their tombstones now, however long they are to be kept
    Purge(PurgeArgs),
    /// Show or change the settings of a store
    ///
    /// They are kept in the store and take effect at once, whether it is mounted or not. value_limit is the longest value
    /// in bytes, also given as 64K, 20M, 16G.
    /// changes_retain is how many bytes of the log stay for those who follow changes, beyond what a crash needs.
    /// default.ATTRIBUTE is what families have that are declared without the attribute from then on: by mkdir, by create
    /// and alter, and, once it is set, in the shell, which has HBase's defaults otherwise. Families that are there keep
    /// what they have. Without NAME every setting is shown, and whether it was set; with NAME its value alone.
    Config(ConfigArgs),
    /// Put a cell
    Put(PutArgs),
    /// Get a row, or some columns of it
    Get(GetArgs),
    /// Delete the versions of a column, or one version
    Delete(DeleteArgs),
    /// Delete a row, or a column of it
    Deleteall(DeleteallArgs),
    /// Add to a counter and print it
    Incr(IncrArgs),
    /// Append to a value
    Append(AppendArgs),
    /// Print the rows of a table
    Scan(ScanArgs),
    /// Write a table, or a part of it, to a file
    ///
    /// jsonl has a line a cell with all that is known of it: bytes, timestamp, TTL, mtime, mode; import brings all of that
    /// back. json is an array of rows; csv and tsv have a line of names, then a line a row, with quotes as in RFC 4180, or
    /// with a backslash before tabs, line ends and backslashes; each has the newest version of its columns. parquet has these
    /// as typed columns, in groups of 32 MiB or 131,072 rows, with zstd: text, bytes, numbers. What is written
    /// is one moment of the table, whoever writes to it meanwhile; with --history, each row is as it is when it is read.
    /// Memory does not grow with the table, but for the footer of parquet: 200 bytes a column and group.
    Export(ExportArgs),
    /// Read a file into a table
    ///
    /// It reads what export writes and what scan --json prints; csv and tsv as HBase's ImportTsv does. Lines go to the
    /// store in batches, each of which is there as a whole or not at all; behind the first MiB, into tables without indexes
    /// and checks, past the log in sorted files, which `watch` tells nothing of unless it follows already. What says no
    /// timestamp gets one for all of the import. How far it has come is kept in a file beside FILE, which goes when all is
    /// done: after Ctrl-C or a kill --resume goes on there, and without it the import begins anew. Exit status: 0 all is
    /// imported, 1 lines were left out as --on-error says, 2 it has stopped.
    Import(ImportArgs),
    Copy(CopyArgs),
    /// Count the rows of a table, or those that an index has
    Count(CountArgs),
    /// Keep the present state under a name, read it, bring tables of it back
    Snapshot(SnapshotArgs),
    /// Write what is in memory to segments
    Flush(FlushArgs),
    /// Compact a table
    ///
    /// A mounted store does it by itself, at half speed. Families with NEW_VERSION_BEHAVIOR, as the shell makes them, are
    /// merged four or more flushes of like size at a time, and as a whole once newer versions and tombstones hide three
    /// tenths of their cells, or by age. Others are merged by number and size, as CONFIGURATION of the family, else of the
    /// table, says: hbase.hstore.compaction.min 3, .max 10, .ratio 1.2, .min.size 134217728. Either is compacted as a whole
    /// after hbase.hregion.majorcompaction milliseconds (604800000, 0 = never), more or less by
    /// hbase.hregion.majorcompaction.jitter (0.5). COMPACTION_ENABLED false turns it off for a table. Segments in which
    /// everything has expired are deleted unread.
    ///
    /// In families without NEW_VERSION_BEHAVIOR a compaction may change what reads show, as HBase's do: it drops what is
    /// beyond VERSIONS among the cells that it merges, of which newer ones may be deleted and kept (KEEP_DELETED_CELLS).
    ///
    /// What a snapshot shows stays on the disk beside what a compaction makes of it: on a disk that is almost full it is
    /// refused, and not done by itself.
    Compact(CompactArgs),
    /// Show what a store and its daemon have counted: cells, bytes, requests with their latencies
    Stats(StatsArgs),
    /// Show what a mount does, live: requests, latencies, the paths that take the most time, memory, compactions
    ///
    /// On a terminal until q is typed, otherwise as text. It follows .info/access of the mount, which its owner may read.
    Top(TopArgs),
    /// Follow a mount for some time, and show which requests, paths and processes took it
    Profile(ProfileArgs),
    /// Show the history of a cell: every version and tombstone that is stored, newest first
    Log(LogArgs),
    /// Move a cell, a family of a row, a row or a table, with its history
    ///
    /// A cell, and what is too large for one step, go in parts; each part is at the one place or the other at every
    /// moment, or at both. A move that was interrupted goes on with --resume. The values of parts are copied, so the disk
    /// needs room for them. What the family at the target would not keep, for its VERSIONS or its TTL, is not moved. Programs
    /// that have open in a mount what moves go on at its new name, as after mv(1).
    Mv(MvArgs),
    /// Measure this machine, in about a minute: puts, gets, scans, and a mount beside plain files
    Bench(BenchArgs),
    /// Mount a store with some example tables
    ///
    /// The store is made if it is absent, and kept when it is unmounted.
    Demo(DemoArgs),
    /// Look for damage in a store
    ///
    /// Reads the journal, every block and value of every segment, every large value and the log. Exit status: 0 nothing
    /// is damaged, 1 something is, or a sync has failed and the store takes no changes any more, 2 it could not be
    /// checked. A mounted store is checked by its daemon, while it serves.
    Check(CheckArgs),
    /// Speak the HBase shell's language with a store
    ///
    /// As in HBase, what is given no timestamp has the millisecond of the clock, and a tombstone hides what has its own. So a
    /// session changes a row once a millisecond: what comes sooner waits for the next one.
    Shell(ShellArgs),
}

#[derive(Args)]
pub struct MountArgs {
    /// Directory of the store; or the address of a cluster of HBase, hbase://ZOOKEEPER,..:2181/hbase or
    /// hbase+rpc://MASTER,..:16000, which all commands take in the place of STORE
    pub store: PathBuf,
    /// Where to mount it: an empty directory
    pub mount_point: PathBuf,
    /// Options, comma-separated: ro, allow_other, default_permissions, noexec, nonempty, uid=USER, gid=GROUP, umask=OCTAL,
    /// fmask=OCTAL, dmask=OCTAL, families=auto, names=raw, at=plain, history=inline, durability=sync|fsync, noxattr,
    /// temporary=GLOB[:GLOB...], cache=SECONDS (or attr=), threads=N, idle=auto|poll|halt, nodes=N (otherwise by the memory
    /// that there is), log=FILE, other_owner, remount; see mount.cellfs(8)
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    pub options: Vec<String>,
    /// Stay in the foreground
    #[arg(short, long)]
    pub foreground: bool,
}

#[derive(Args)]
pub struct UmountArgs {
    /// A mount point, or the directory of a mounted store
    pub path: PathBuf,
    /// Take the name away at once; programs that use the mount go on until they end
    #[arg(long)]
    pub lazy: bool,
}

#[derive(Args)]
pub struct StoreArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
}

#[derive(Args)]
pub struct CheckArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// Mend what has a second copy, and acknowledge what is lost. The store must not be mounted; no segment is changed
    #[arg(long)]
    pub repair: bool,
}

#[derive(Args)]
pub struct ListArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// What was dropped or truncated and can be brought back
    #[arg(long)]
    pub dropped: bool,
}

#[derive(Args)]
pub struct UndropArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// A family of that table
    pub family: Option<String>,
}

#[derive(Args)]
pub struct DescribeArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Show each column instead: how many puts of it are stored (versions that no compaction has dropped yet among
    /// them), bytes of their values, and bounds of their timestamps, exact until a version was dropped. A family
    /// with more than 10,000 qualifiers is walked over once for each 10,000
    #[arg(long)]
    pub columns: bool,
}

#[derive(Args)]
pub struct CreateArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Families, each NAME or NAME,ATTRIBUTE=VALUE,...  for example f1,VERSIONS=3,TTL=86400
    #[arg(required = true, value_name = "FAMILY")]
    pub families: Vec<String>,
    /// Make the store if it is absent
    #[arg(long)]
    pub make: bool,
}

#[derive(Args)]
pub struct AlterArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..; or the
    /// path of the table in a mount, and no TABLE behind it
    pub store: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE
    pub table: String,
    /// Families to change or to add, each NAME,ATTRIBUTE=VALUE,...  for example f1,VERSIONS=3,TTL=86400
    #[arg(value_name = "FAMILY")]
    pub families: Vec<String>,
    /// Set an attribute or a setting of the table, for example READONLY=true
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Unset an attribute or a setting of the table
    #[arg(long, value_name = "NAME")]
    pub unset: Vec<String>,
    /// Drop a family with its cells; undrop brings it back for a while
    #[arg(long, value_name = "FAMILY")]
    pub delete: Vec<String>,
}
