//! In which run of the machine all of the log was written or replayed: the file `boot`.
//!
//! Who finds its own there knows that no power cut has left less of the log than was written. It is not synced: what a power
//! cut leaves of it is another run's in any case. A copy of a store is in another directory, and says nothing.

use std::path::{Path, PathBuf};

use crate::env::Env;

/// The file.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("boot")
}

/// Whether nothing but a kill can have ended what wrote the log of a store; by the holder of its lock.
pub fn is_same(env: &dyn Env, dir: &Path) -> bool {
    let Some(boot) = env.boot(dir) else { return false };
    env.read_file(&path(dir)).is_ok_and(|noted| noted == text(&boot).as_bytes())
}

/// Notes that all of the log is of this run, as it is from the replay on; by the holder of the lock.
pub fn note(env: &dyn Env, dir: &Path) {
    let Some(boot) = env.boot(dir).filter(|_| !is_same(env, dir)) else { return };
    let (path, text) = (path(dir), text(&boot));
    let opened = if env.exists(&path).unwrap_or(false) { env.open(&path) } else { env.create_new(&path) };
    let noted =
        opened.and_then(|file| file.write_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64)));
    if let Err(e) = noted {
        // After a kill, damage may be taken for what a power cut leaves.
        log::debug!("note in {} which run of the machine this is: {e}", path.display());
    }
}

fn text(boot: &str) -> String {
    format!("{boot}\n")
}
