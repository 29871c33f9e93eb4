//! Arguments of `shell`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct ShellArgs {
    /// Directory of the store, a mount point of it or a path in that mount, or the address of a cluster, hbase://..
    pub store: PathBuf,
    /// A file of statements; standard input if it is left out
    #[arg(conflicts_with = "execute")]
    pub script: Option<PathBuf>,
    /// Run this statement and end; may be given again
    #[arg(short = 'e', long, value_name = "STATEMENT")]
    pub execute: Vec<String>,
    /// End with status 1 at the first error
    #[arg(short = 'n', long = "noninteractive")]
    pub stop: bool,
    /// Print only what commands find: no greeting, no echo of a script, no times
    #[arg(short, long)]
    pub quiet: bool,
    /// Make the store if it is absent
    #[arg(long)]
    pub make: bool,
}
