//! From the command to a serving process: checks, daemonizing, readiness, signals, the end.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemonize::{Daemonize, Outcome};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::locate;
use super::server::{self, Control};
use crate::backend::Backend;
use crate::fs::{Fs, Invalidations, Options};
use crate::fuse::{Detach, MountSettings, Mounted, unmount};
use crate::store::{Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// Everything that a mount needs to know.
pub struct MountRequest {
    pub store: StoreOptions,
    pub mount_point: PathBuf,
    pub settings: MountSettings,
    pub options: Options,
    /// Serve in this process instead of a daemon.
    pub foreground: bool,
    /// Mount over a directory that has entries.
    pub nonempty: bool,
}

/// Mounts; returns when the mount answers, or in the foreground when it has ended.
pub fn mount(request: MountRequest) -> Result<()> {
    check_mount_point(&request)?;
    if request.foreground {
        return serve(request, |_| ());
    }
    let (mut reader, writer) = pipe()?;
    let log = request.store.path.join("cellfs.log");
    let log = File::options().append(true).create(true).open(&log).map_err(|e| Error::io(log.display(), &e))?;
    match Daemonize::new().working_directory("/").umask(0o077).stderr(log).execute() {
        Outcome::Parent(Ok(_)) => {
            drop(writer);
            wait_until_ready(&mut reader)
        }
        Outcome::Parent(Err(e)) => Err(Error::new(ErrorKind::Io, format!("cannot start the daemon: {e}"))),
        Outcome::Child(Err(e)) => {
            report(writer, &Error::new(ErrorKind::Io, format!("cannot start the daemon: {e}")));
            std::process::exit(2);
        }
        Outcome::Child(Ok(_)) => run_child(request, writer),
    }
}

fn pipe() -> Result<(File, File)> {
    let (reader, writer) = nix::unistd::pipe().map_err(|e| Error::io("make a pipe", &e.into()))?;
    Ok((reader.into(), writer.into()))
}

fn run_child(request: MountRequest, writer: File) -> ! {
    let mut writer = Some(writer);
    let served = serve(request, |()| {
        if let Some(mut writer) = writer.take() {
            // The parent may have been killed; the mount lives on.
            let _ = writer.write_all(b"+");
        }
    });
    if let Err(error) = served {
        // The log is that of the daemon which holds the store.
        if error.kind != ErrorKind::Locked {
            log::error!("{}", error.message.escape_debug());
        }
        if let Some(writer) = writer {
            report(writer, &error);
        }
        std::process::exit(2);
    }
    std::process::exit(0);
}

fn report(mut writer: File, error: &Error) {
    if let Ok(message) = postcard::to_allocvec(error) {
        // Without a parent there is nobody to tell.
        let _ = writer.write_all(b"-").and_then(|()| writer.write_all(&message));
    }
}

fn wait_until_ready(reader: &mut File) -> Result<()> {
    let mut words = Vec::new();
    reader.read_to_end(&mut words).map_err(|e| Error::io("wait for the daemon", &e))?;
    match words.split_first() {
        Some((b'+', _)) => Ok(()),
        Some((_, message)) => Err(postcard::from_bytes(message)
            .unwrap_or_else(|_| Error::new(ErrorKind::Io, "the daemon failed; its log is cellfs.log in the store"))),
        None => {
            Err(Error::new(ErrorKind::Io, "the daemon ended before the mount answered; see cellfs.log in the store"))
        }
    }
}

/// The mount point must be an empty directory; a dead mount of ours there is cleaned up.
fn check_mount_point(request: &MountRequest) -> Result<()> {
    let path = &request.mount_point;
    let shown = path.display();
    if locate::mount_at(path)?.is_some() {
        if !locate::is_dead(path) {
            let text = format!("{shown} is mounted already; unmount it with: cellfs umount {shown}");
            return Err(Error::new(ErrorKind::Busy, text));
        }
        log::warn!("{shown}: cleaning up a mount whose daemon is gone");
        unmount(path, Detach::Now)?;
    }
    let entries = std::fs::read_dir(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("mount point {shown} does not exist; make it with: mkdir {shown}"))
        }
        std::io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::IllegalArgument, format!("mount point {shown} is not a directory"))
        }
        _ => Error::io(format!("mount point {shown}"), &e),
    })?;
    if !request.nonempty && entries.take(1).count() > 0 {
        let text =
            format!("mount point {shown} is not empty; its files would be hidden (-o nonempty mounts all the same)");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    Ok(())
}

/// Opens the store, mounts it, tells `ready`, and serves until the unmount.
fn serve(request: MountRequest, ready: impl FnOnce(())) -> Result<()> {
    let directory = request.store.path.clone();
    let store = Arc::new(Store::open(request.store)?);
    let backend: Arc<dyn Backend> = Arc::clone(&store) as Arc<dyn Backend>;
    let invalidations = Invalidations::default();
    let fs = Fs::new(Arc::clone(&backend), request.options, invalidations.clone())?;
    let closing = fs.closing();
    let mounted = Mounted::new(fs, invalidations.clone(), &request.mount_point, &request.settings)?;
    let mount_point = request.mount_point.clone();
    server::listen(&directory, Control { backend, invalidations, closing, mount_point: mount_point.clone() })?;
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT]).map_err(|e| Error::io("wait for signals", &e))?;
    let at = mount_point.clone();
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some()
            && let Err(e) = unmount(&at, Detach::Now)
        {
            log::error!("{}", e.message.escape_debug());
        }
    });
    thread.map_err(|e| Error::io("start the signal thread", &e))?;
    log::info!("serving {} at {}", directory.display(), mount_point.display());
    ready(());
    let served = mounted.serve().or_else(|e| match locate::mount_at(&mount_point) {
        // Two threads may see the end of one unmount differently.
        Ok(None) => {
            log::warn!("at the end of the mount: {}", e.message.escape_debug());
            Ok(())
        }
        _ => Err(e),
    });
    server::remove(&directory);
    served.and(close(store))
}

/// Everything acknowledged is on the disk afterwards; clients that are still connected are cut off by the end
/// of the process.
fn close(store: Arc<Store>) -> Result<()> {
    store.sync()?;
    Arc::try_unwrap(store).map_or(Ok(()), Store::close)
}

/// Opens a store for one command: through its daemon where it is mounted, else directly.
pub fn open_backend(path: &Path, absent: Absent) -> Result<Arc<dyn Backend>> {
    let directory = locate::store_directory(path)?;
    let shown = directory.display();
    if !Store::exists(&directory) && absent == Absent::Refuse {
        let text =
            format!("there is no store in {shown}; `cellfs mount {shown} MOUNTPOINT` or `cellfs create` makes one");
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    // Order: the daemon's lock is held before its socket listens, so a store that is locked and does not
    // listen is asked again for a while.
    let mut last = None;
    for _ in 0..50 {
        if directory.exists()
            && let Some(client) = super::client::Client::connect(&directory)?
        {
            return Ok(Arc::new(client));
        }
        match Store::open(StoreOptions::new(&directory)) {
            Ok(store) => return Ok(Arc::new(store)),
            Err(e) if e.kind == ErrorKind::Locked => last = Some(e),
            Err(e) => return Err(e),
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Err(last.unwrap_or_else(|| Error::new(ErrorKind::Locked, format!("{shown} is in use"))))
}

/// What to do where there is no store yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Make,
    Refuse,
}
