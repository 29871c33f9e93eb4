//! Whether a path can be a store that this process may look into.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Error, ErrorKind, Result};

/// Refuses what is no directory, and one that this user may not look into; what is not there is nothing yet.
pub fn check_directory(store: &Path) -> Result<()> {
    let is_denied = |e: &io::Error| e.kind() == io::ErrorKind::PermissionDenied;
    match std::fs::metadata(store) {
        Ok(there) if !there.is_dir() => {
            let text = format!("{} is not a directory. A store is one: name that", store.display());
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        Ok(_) => {}
        Err(e) if is_denied(&e) => return Err(denied(store, &e)),
        Err(_) => return Ok(()),
    }
    let looked = std::fs::File::open(store).and_then(|_| std::fs::metadata(store.join("format")));
    match looked {
        Err(e) if is_denied(&e) => Err(denied(store, &e)),
        _ => Ok(()),
    }
}

fn denied(store: &Path, e: &io::Error) -> Error {
    let own = nix::unistd::geteuid().as_raw();
    let why = match std::fs::metadata(store).map(|there| there.uid()) {
        Ok(owner) if owner != own => {
            format!("it belongs to user {owner}, this process is of user {own}: run it as that user")
        }
        Ok(_) => "it is this user's own, with a mode that keeps it out: chmod u+rwx it".to_owned(),
        Err(_) => format!("a directory above it keeps user {own} out, of whom this process is"),
    };
    let Error { kind, message } = Error::io(format!("open the store in {}", store.display()), e);
    Error::new(kind, format!("{message}; {why}"))
}
