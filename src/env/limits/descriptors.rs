//! How many descriptors this process may have open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many from now on as may be without a right: shells give few, for programs that take numbers up to 1024 only.
pub fn raise_descriptors() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return Ok(());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}
