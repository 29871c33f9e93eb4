//! POSIX test suites on a mount. `tests/posix/tools.sh` builds them; where that was not done they are
//! skipped with a sentence.

mod fsx;
mod messages;
mod pjdfstest;
mod sequences;

use std::path::{Path, PathBuf};

/// A program that `tools.sh` built; `None` tells on the way what to do.
fn tool(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = std::env::var_os("CELLFS_TOOLS").map_or_else(|| root.join("target/tools"), PathBuf::from);
    let path = directory.join("bin").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {name}; run tests/posix/tools.sh target/tools");
    None
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/posix").join(name)
}
