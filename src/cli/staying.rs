//! The end of a command through which others read the store: it stays until they are served.

use std::fs::File;
use std::io::IsTerminal;

use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::daemon::{serve_to_the_end, serves_others};

/// Returns when nobody is served from here any more.
pub fn stay_for_others() {
    if !serves_others() {
        return;
    }
    if std::io::stderr().is_terminal() {
        super::complain(
            "this is done, but another command goes on with the store through this one, which ends with it (Ctrl-C \
             ends both)",
        );
    }
    // Order: whoever reads our output to its end may be what the other waits for.
    if let Err(e) = let_go() {
        log::debug!("the streams stay open: {e}");
    }
    serve_to_the_end();
}

/// Closes the ends of pipes.
fn let_go() -> std::io::Result<()> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    if !std::io::stdin().is_terminal() {
        dup2_stdin(&nowhere)?;
    }
    if !std::io::stdout().is_terminal() {
        dup2_stdout(&nowhere)?;
    }
    if !std::io::stderr().is_terminal() {
        dup2_stderr(&nowhere)?;
    }
    Ok(())
}
