//! Arguments of `snapshot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArgs;

#[derive(Args)]
pub struct SnapshotArgs {
    #[command(subcommand)]
    pub action: SnapshotAction,
}

#[derive(Subcommand)]
pub enum SnapshotAction {
    /// Make a snapshot; read it below .snapshot/NAME of a mount
    Create {
        /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
        store: PathBuf,
        /// Letters, digits, `_`, `-` and `.`, at most 255
        name: String,
        /// Only this table: TABLE or NAMESPACE:TABLE
        #[arg(long)]
        table: Option<String>,
    },
    /// List snapshots
    List(StoreArgs),
    /// Delete a snapshot
    Delete {
        /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
        store: PathBuf,
        /// The snapshot
        name: String,
    },
    /// Make a new table of one that a snapshot has
    Clone {
        /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
        store: PathBuf,
        /// The snapshot
        name: String,
        /// The table in the snapshot: TABLE or NAMESPACE:TABLE
        table: String,
        /// The new table
        new: String,
    },
    /// Bring tables back as they were, all in one step; what they hold now goes for good
    Restore {
        /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
        store: PathBuf,
        /// The snapshot
        name: String,
        /// Only these tables; all of the snapshot if none is given
        #[arg(value_name = "TABLE")]
        tables: Vec<String>,
    },
}
