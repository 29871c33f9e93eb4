//! Mounting: settings, the session and its threads, unmounting.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{Config, MountOption, Session, SessionACL};
use nix::mount::MsFlags;

use super::unmount::{Detach, unmount};
use crate::fs::{Fs, Invalidations};
use crate::fuse::answer::Adaptor;
use crate::fuse::idling::Idle;
use crate::fuse::notify;
use crate::{Error, ErrorKind, Result};

/// What `mount -o` can say about the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSettings {
    /// The source that `mount` and /proc/mounts show: the store's directory.
    pub source: PathBuf,
    pub allow_other: bool,
    /// The kernel judges also where only root is let in, who may do everything.
    pub default_permissions: bool,
    pub read_only: bool,
    pub threads: usize,
    pub no_exec: bool,
    pub idle: Idle,
}

/// A mount whose kernel handshake is done and whose requests wait for [`Mounted::serve`].
pub struct Mounted {
    session: Session<Adaptor>,
    fs: Arc<Fs>,
    queue: Invalidations,
}

impl Mounted {
    /// Mounts `fs` at `path`.
    pub fn new(fs: Arc<Fs>, queue: Invalidations, path: &Path, settings: &MountSettings) -> Result<Self> {
        let session = match mount_directly(&fs, path, settings)? {
            Some(session) => session,
            None => Session::new(Adaptor::new(&fs, settings.idle), path, &config(settings))
                .map_err(|e| explain(path, &e))?,
        };
        Ok(Self { session, fs, queue })
    }

    /// Answers requests until the unmount; returns when everything is committed.
    pub fn serve(self) -> Result<()> {
        let kernel = notify::Kernel::new(self.session.notifier(), self.session.as_fd())
            .map_err(|e| Error::io("keep the device of the mount", &e))?;
        let (fs, queue) = (self.fs, self.queue);
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(run).map_err(|e| Error::io(format!("start the thread {name}"), &e))
        };
        let attributes = (self.session.notifier(), queue.clone());
        start("attributes", Box::new(move || notify::drop_attributes(&attributes.0, &attributes.1)))?;
        start("notifier", Box::new(move || notify::run(&fs, &kernel, &queue)))?;
        self.session.run().map_err(|e| Error::io("serve the mount", &e))
    }
}

/// Whether the kernel judges by modes and owners who may do what. It then asks for the attributes of a directory after each
/// change in it, a third of the messages of a rename(2); root, where nobody else is let in, may do everything anyway.
fn kernel_judges(settings: &MountSettings) -> bool {
    settings.default_permissions || settings.allow_other || !nix::unistd::getuid().is_root()
}

/// Mounts by system call and does the handshake; `None` where the caller may not, and fusermount3 must.
///
/// The type is then `fuse.cellfs`, by which tools and fstab know the mount.
fn mount_directly(fs: &Arc<Fs>, path: &Path, settings: &MountSettings) -> Result<Option<Session<Adaptor>>> {
    let device = match File::options().read(true).write(true).open("/dev/fuse") {
        Ok(device) => device,
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(e) => return Err(explain(path, &e)),
    };
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={}",
        device.as_raw_fd(),
        nix::unistd::getuid(),
        nix::unistd::getgid()
    );
    if settings.allow_other {
        data.push_str(",allow_other");
    }
    if kernel_judges(settings) {
        data.push_str(",default_permissions");
    }
    let mut flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    flags.set(MsFlags::MS_RDONLY, settings.read_only);
    flags.set(MsFlags::MS_NOEXEC, settings.no_exec);
    match nix::mount::mount(Some(&settings.source), path, Some("fuse.cellfs"), flags, Some(data.as_str())) {
        Ok(()) => {}
        Err(nix::errno::Errno::EPERM) => return Ok(None),
        Err(e) => return Err(explain(path, &e.into())),
    }
    let config = config(settings);
    let session = Session::from_fd(Adaptor::new(fs, settings.idle), device.into(), config.acl, config);
    session.map(Some).map_err(|e| {
        // What failed is already an error; the half-made mount goes.
        let _ = unmount(path, Detach::Now);
        explain(path, &e)
    })
}

fn config(settings: &MountSettings) -> Config {
    let mut config = Config::default();
    // fusermount3 reads options between commas, which addresses of clusters have.
    let source = settings.source.display().to_string().replace('\\', "\\\\").replace(',', "\\,");
    config.mount_options = vec![
        MountOption::FSName(source),
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
    // What fusermount3 says ends with its line, and may have several.
    let said = source.to_string();
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let advice = match source.raw_os_error() {
        Some(libc::ENOENT) => {
            "fusermount3 or /dev/fuse is missing: install the package fuse3 (apt install fuse3), and load the module fuse"
        }
        Some(libc::EACCES | libc::EPERM) => {
            "mounting is not allowed: /dev/fuse must be readable for you, and allow_other needs user_allow_other in \
             /etc/fuse.conf"
        }
        Some(libc::EBUSY) => "the mount point is in use",
        _ if said.contains("user_allow_other") => {
            "write a line user_allow_other into /etc/fuse.conf, or mount without the option allow_other"
        }
        _ if said.contains("fusermount") => {
            "fusermount3 refused that; the mount point must be yours and writable for you"
        }
        _ => "mount.cellfs(8) has what a mount needs",
    };
    Error::new(ErrorKind::Io, format!("cannot mount at {at}: {said} ({advice})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_fusermount_are_told_in_one_line() {
        let words = "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
        for source in [io::Error::new(io::ErrorKind::PermissionDenied, words), io::Error::other(words)] {
            let told = explain(Path::new("/mnt"), &source).message;
            assert!(told.contains("allow_other only allowed") && told.contains("write a line"), "{told}");
            assert!(!told.contains('\n') && !told.contains("above"), "{told}");
        }
        let told = explain(Path::new("/mnt"), &io::Error::other("fusermount3: one\nfusermount3: two\n")).message;
        assert!(told.contains("fusermount3: one; fusermount3: two"), "{told}");
    }
}
