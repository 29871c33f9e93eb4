//! Mounting: settings, the session and its threads, unmounting.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};

use super::adaptor::Adaptor;
use crate::fs::{Fs, Invalidations};
use crate::{Error, ErrorKind, Result};

/// What `mount -o` can say about the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSettings {
    /// The source that `mount` and /proc/mounts show: the store's directory.
    pub source: PathBuf,
    pub allow_other: bool,
    pub read_only: bool,
    pub threads: usize,
    pub no_exec: bool,
}

/// A mount whose kernel handshake is done and whose requests wait for [`Mounted::serve`].
pub struct Mounted {
    session: Session<Adaptor>,
    fs: Arc<Fs>,
    queue: Invalidations,
    path: PathBuf,
}

impl Mounted {
    /// Mounts `fs` at `path`.
    pub fn new(fs: Arc<Fs>, queue: Invalidations, path: &Path, settings: &MountSettings) -> Result<Self> {
        let config = config(settings);
        let session = Session::new(Adaptor { fs: Arc::clone(&fs) }, path, &config).map_err(|e| explain(path, &e))?;
        Ok(Self { session, fs, queue, path: path.to_owned() })
    }

    /// What unmounts from another thread.
    pub fn unmounter(&mut self) -> Unmounter {
        Unmounter { inner: self.session.unmount_callable(), path: self.path.clone() }
    }

    /// Answers requests until the unmount; returns when everything is committed.
    pub fn serve(self) -> Result<()> {
        let notifier = self.session.notifier();
        let (fs, queue) = (self.fs, self.queue);
        let thread = std::thread::Builder::new().name("notifier".into());
        thread
            .spawn(move || super::notify::run(&fs, &notifier, &queue))
            .map_err(|e| Error::io("start the notifier thread", &e))?;
        self.session.run().map_err(|e| Error::io("serve the mount", &e))
    }
}

/// Unmounts; may be sent to another thread.
pub struct Unmounter {
    inner: SessionUnmounter,
    path: PathBuf,
}

impl Unmounter {
    /// Unmounts; a busy mount is detached, so that its last user ends it.
    pub fn unmount(&mut self) -> Result<()> {
        if self.inner.unmount().is_ok() {
            return Ok(());
        }
        nix::mount::umount2(&self.path, nix::mount::MntFlags::MNT_DETACH)
            .map_err(|e| Error::io(format!("unmount {}", self.path.display()), &e.into()))
    }
}

fn config(settings: &MountSettings) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(settings.source.display().to_string()),
        MountOption::Subtype("cellfs".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoAtime,
    ];
    if settings.read_only {
        config.mount_options.push(MountOption::RO);
    }
    if settings.no_exec {
        config.mount_options.push(MountOption::NoExec);
    }
    config.acl = if settings.allow_other { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(settings.threads.max(1));
    config
}

fn explain(path: &Path, source: &io::Error) -> Error {
    let at = path.display();
    let advice = match source.raw_os_error() {
        Some(libc::ENOENT) => {
            "fusermount3 or /dev/fuse is missing: install the package fuse3 (apt install fuse3), and load the module fuse"
        }
        Some(libc::EACCES | libc::EPERM) => {
            "mounting is not allowed: /dev/fuse must be readable for you, and allow_other needs user_allow_other in \
             /etc/fuse.conf"
        }
        Some(libc::EBUSY) => "the mount point is in use",
        _ if source.to_string().contains("fusermount") => {
            "fusermount3 refused: see its words above; allow_other needs user_allow_other in /etc/fuse.conf"
        }
        _ => "see `man cellfs`",
    };
    Error::new(ErrorKind::Io, format!("cannot mount at {at}: {source} ({advice})"))
}
