//! What a mount is asked to be.

use std::path::PathBuf;

use crate::fs::Options;
use crate::fuse::MountSettings;
use crate::store::StoreOptions;

/// Everything that a mount needs to know.
pub struct MountRequest {
    pub store: StoreOptions,
    pub mount_point: PathBuf,
    pub settings: MountSettings,
    pub options: Options,
    /// The options as they were given, for the log.
    pub words: Vec<String>,
    /// Serve in this process instead of a daemon.
    pub foreground: bool,
    /// Mount over a directory that has entries.
    pub nonempty: bool,
    /// Where the log is written; `None`: standard error, or for a daemon `cellfs.log` in the store.
    pub log: Option<PathBuf>,
    /// This program, which is started once more to guard the mount; `None`: nobody does.
    pub program: Option<PathBuf>,
    /// Listens to commands on a socket in the store.
    pub serves_commands: bool,
}
