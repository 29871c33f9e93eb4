//! A mount of a store whose filesystem takes no changes: nothing is written beside the store, and every change is refused
//! with a sentence. There is no control socket: commands read the store themselves.

use super::request::MountRequest;
use crate::Result;
use crate::store::Store;

/// Where a daemon's log goes that has no file.
pub(super) const NOWHERE: &str = "/dev/null";

/// Fits the request to the store's filesystem.
pub fn adapt(request: &mut MountRequest) -> Result<()> {
    let store = &request.store.path;
    if !store.exists() || !Store::is_read_only(store)? {
        return Ok(());
    }
    request.options.read_only = Some(Store::why_read_only(store));
    request.serves_commands = false;
    if request.options.spill_dir == *store {
        request.options.spill_dir = std::env::temp_dir();
    }
    if request.log.is_none() && !request.foreground {
        request.log = Some(NOWHERE.into());
    }
    Ok(())
}
