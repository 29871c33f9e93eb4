//! Signals: the end of a mount, and a new file for the log.
//!
//! Told to end, the daemon commits what is open and takes the mount away. Programs that still use it are served for
//! a while; then they are cut off, for a service must end when it is told to.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::service::Service;
use crate::daemon::control::listening;
use crate::fs::Fs;
use crate::fs::ops::files::close;
use crate::fuse::{Detach, unmount};
use crate::{Error, Result};

/// How long programs that have files open are served after the end was asked for.
const GRACE: Duration = Duration::from_secs(5);

/// What ends when a signal says so.
pub struct Ending {
    pub fs: Arc<Fs>,
    pub mount_point: PathBuf,
    /// Where commands are listened to.
    pub socket: Option<PathBuf>,
    /// Where standard error goes, if it is a file of ours.
    pub log: Option<PathBuf>,
    pub service: Service,
}

/// Takes the signals from the default; they wait until [`obey`] runs.
pub fn signals() -> Result<Signals> {
    Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(|e| Error::io("wait for signals", &e))
}

/// Starts the thread that does what signals say.
pub fn obey(mut signals: Signals, ending: Ending) -> Result<()> {
    let ending = Arc::new(ending);
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut told = false;
        for signal in signals.forever() {
            match signal {
                SIGHUP if ending.log.is_some() => ending.reopen_log(),
                // A service's standard error is no terminal that could hang up.
                SIGHUP if !std::io::stderr().is_terminal() => {}
                _ if told => ending.cut_off(),
                _ => {
                    told = true;
                    end(&ending);
                }
            }
        }
    });
    thread.map(drop).map_err(|e| Error::io("start the signal thread", &e))
}

fn end(ending: &Arc<Ending>) {
    log::info!(target: super::told::TARGET, "a signal asks for the end of the mount at {}", ending.mount_point.display());
    ending.service.stopping();
    ending.commit();
    if let Err(e) = unmount(&ending.mount_point, Detach::Now) {
        log::error!("{}", e.message);
    }
    let ending = Arc::clone(ending);
    let thread = std::thread::Builder::new().name("grace".into()).spawn(move || {
        std::thread::sleep(GRACE);
        log::warn!("programs still use the mount {GRACE:?} after its end was asked for; they are cut off");
        ending.cut_off();
    });
    if let Err(e) = thread {
        log::error!("start the thread that ends the grace: {e}");
    }
}

impl Ending {
    fn commit(&self) {
        if let Err(e) = close::commit_all(&self.fs) {
            log::error!("at the end: {}", e.message);
        }
    }

    /// Ends the process; everything that was written by now is committed.
    fn cut_off(&self) -> ! {
        self.commit();
        if let Some(socket) = &self.socket {
            listening::remove(socket);
        }
        std::process::exit(0);
    }

    fn reopen_log(&self) {
        let Some(path) = &self.log else { return };
        match redirect_log(path) {
            Ok(()) => log::info!(target: super::told::TARGET, "the log goes on in a new file"),
            Err(e) => log::error!("the log stays in the old file: {}", e.message),
        }
    }
}

/// Opens a log file for appending; `shown` is its name for people.
pub fn open_log(path: &Path, shown: &Path) -> Result<File> {
    // Whoever may write to the store's directory is not to choose where its daemon writes.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = File::options().append(true).create(true).mode(0o640).custom_flags(flags).open(path);
    // A pipe whose reader goes away would end the daemon; one that has none cannot be opened (ENXIO).
    let pipe = || std::io::Error::other("it is a pipe, no regular file: take it away");
    let usable = match opened {
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) => Err(pipe()),
        opened => opened.and_then(|file| if file.metadata()?.file_type().is_fifo() { Err(pipe()) } else { Ok(file) }),
    };
    usable.map_err(|e| Error::io(format!("open the log {}", shown.display()), &e))
}

/// Sends standard error to a file.
pub fn redirect_log(path: &Path) -> Result<()> {
    let file = open_log(path, path)?;
    nix::unistd::dup2_stderr(&file).map_err(|e| Error::io(format!("write the log {}", path.display()), &e.into()))
}
