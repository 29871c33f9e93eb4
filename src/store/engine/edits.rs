//! The one way to change what is stored: an edit of the journal, after which nothing else counts.

use std::sync::Arc;

use crate::journal::{Edit, Unsaved};
use crate::store::engine::Engine;
use crate::store::layout::runs::Layout;
use crate::{Error, ErrorKind, Result};

/// As [`crate::store::layout::structure::Structure::commit`]; an outcome that is not known ends all acknowledgements.
pub fn commit<T>(
    engine: &Engine,
    edit: impl FnOnce(&Layout) -> Result<Edit>,
    publish: impl FnOnce(&Arc<Layout>) -> T,
) -> Result<T> {
    let done = engine.structure.commit(edit, publish).map_err(|error| unsaved(engine, error));
    engine.structure.collect();
    done
}

/// A change that may or may not be found at the next start: nothing more is acknowledged that could depend on it.
fn unsaved(engine: &Engine, Unsaved { error, is_unknown }: Unsaved) -> Error {
    if !is_unknown {
        return error;
    }
    #[cfg(test)]
    if engine.breaks(crate::store::options::Broken::ForgetsUnknown) {
        return error;
    }
    let reason = format!("{error}; nothing is acknowledged before");
    engine.log.set_poison(reason.clone());
    Error::new(ErrorKind::Poisoned, reason)
}
