//! What the log has without being asked for: the beginning of a daemon, what it was told, what it recovered, its end.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::request::MountRequest;
use crate::Result;
use crate::store::StoreOptions;

/// The part of the log that is written where nothing else is asked for.
pub const TARGET: &str = "daemon";

/// What the log begins with.
pub fn beginning(request: &MountRequest) {
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    let (store, mount_point) = (request.store.path.display(), request.mount_point.display());
    let words: Vec<&str> = request.words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let words = if words.is_empty() { "none".to_owned() } else { words.join(",") };
    log::info!(target: TARGET, "cellfs {version}, pid {pid}: mounts {store} at {mount_point}; options: {words}");
}

/// What of the store's log was read again.
pub fn recovery(options: &StoreOptions, opening: Instant) {
    let (records, took) = (options.recovered.load(Ordering::Relaxed), opening.elapsed());
    log::info!(target: TARGET, "opened in {took:.1?}: {records} records of the log were read again");
}

/// How it ended.
pub fn end(mount_point: &Path, ended: Result<()>) -> Result<()> {
    match &ended {
        Ok(()) => log::info!(target: TARGET, "ended: {} is unmounted, and all is on the disk", mount_point.display()),
        Err(e) => log::error!("ended: {}", e.message),
    }
    ended
}
