//! A mount of a store that takes no changes where it is: every change is refused with a sentence. On a read-only filesystem
//! nothing is written beside the store either, and there is no control socket: commands read the store themselves.

use super::request::MountRequest;
use crate::Result;
use crate::daemon::find::open::Opened;
use crate::store::{NoChanges, Store};

/// Where a daemon's log goes that has no file.
pub(in crate::daemon) const NOWHERE: &str = "/dev/null";

/// Fits the request to the store's filesystem.
pub fn adapt(request: &mut MountRequest) -> Result<()> {
    let store = &request.store.path;
    if !store.exists() || !Store::is_read_only(store)? {
        return Ok(());
    }
    request.options.read_only = Some(NoChanges::ReadOnly.refusal(store).message);
    request.serves_commands = false;
    if request.options.spill_dir == *store {
        request.options.spill_dir = std::env::temp_dir();
    }
    if request.log.is_none() && !request.foreground {
        request.log = Some(NOWHERE.into());
    }
    Ok(())
}

/// Fits the request to its store once that is open, which may be read alone because its disk is full; what is to be said
/// of the mount.
pub(in crate::daemon) fn fit(request: &mut MountRequest, store: &Opened) -> Option<String> {
    let why = store.no_changes()?;
    request.options.read_only = Some(why.refusal(&request.store.path).message);
    let said = why.of_mount(&request.store.path);
    log::warn!("{said}");
    Some(said)
}
