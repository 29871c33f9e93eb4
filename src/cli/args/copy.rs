//! The grammar of copy.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
/// Copy tables, or rows of one, between stores and clusters, and compare them
///
/// Every version goes along with its timestamp, its TTL where the source tells it (a cluster does not), and the tombstones
/// that the source has still, but for versions that nobody is to see again; tables and families that are not there are
/// made like those of the source, at a cluster with the same regions. What is there already stays. Checks that both sides
/// have are not asked: the source has asked them. At the end the checksums of all that plain reads show, with all its
/// versions, are compared, range by range. Nobody should write to the source meanwhile: of a store that is written to, make
/// a snapshot and restore it under another name first. Exit status 1: a range of rows differs, and the first one is
/// told; or tables that are disabled were left out.
pub struct CopyArgs {
    /// Directory of a store, or a mount point of it, or the address of a cluster
    pub from: PathBuf,
    /// Likewise: where it goes
    pub to: PathBuf,
    /// TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE, as often as there are such; all tables if it is left out
    #[arg(long, value_name = "TABLE")]
    pub table: Vec<String>,
    /// Its name at the target
    #[arg(long = "as", value_name = "TABLE", requires = "table")]
    pub name: Option<String>,
    /// First row; \xNN stands for a byte
    #[arg(long, value_name = "ROW", requires = "table")]
    pub start: Option<OsString>,
    /// The row before which it ends
    #[arg(long, value_name = "ROW", requires = "table")]
    pub stop: Option<OsString>,
    /// Keep in FILE how far it has come: the same command goes on from there. It goes when all is done
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    pub state: Option<PathBuf>,
    /// Copy nothing, compare only
    #[arg(long)]
    pub verify: bool,
    /// Make the store that is copied to if there is none
    #[arg(long)]
    pub make: bool,
}
