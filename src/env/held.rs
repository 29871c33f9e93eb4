//! Directories that are held: a name is looked up in the directory itself, so that nobody who exchanges a part of its
//! path for a link leads this process elsewhere.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{Mode, fstat};

/// How often a look-up is tried again beside which directories were renamed.
const TRIES: u32 = 100;

/// A directory under a path that leads to it whatever becomes of its names, as long as this value or a clone lives.
#[derive(Clone, Debug)]
pub struct HeldDir {
    path: PathBuf,
    shown: PathBuf,
    handle: Option<Arc<OwnedFd>>,
}

impl Deref for HeldDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for HeldDir {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl HeldDir {
    /// A directory that is reached by its name every time: nobody else has hands in it.
    pub fn by_name(path: PathBuf) -> Self {
        Self { shown: path.clone(), path, handle: None }
    }

    /// Holds the directory at a path, whose last part is no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(Self::of(nix::fcntl::open(path, flags, Mode::empty())?, path.to_owned()))
    }

    fn of(handle: OwnedFd, shown: PathBuf) -> Self {
        let path = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        Self { path, shown, handle: Some(Arc::new(handle)) }
    }

    /// Its name, for people.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// A directory below this one; a link on the way to it is an error.
    pub fn below(&self, relative: &Path) -> io::Result<Self> {
        let (shown, Some(handle)) = (self.shown.join(relative), &self.handle) else {
            return Ok(Self::by_name(self.path.join(relative)));
        };
        if relative.as_os_str().is_empty() {
            return Ok(self.clone());
        }
        if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        let open = || openat2(handle.as_fd(), relative, how);
        let mut opened = open();
        for _ in 0..TRIES {
            // The kernel cannot say whether a directory that is being moved is still below this one.
            match opened {
                Err(Errno::EAGAIN) => opened = open(),
                _ => break,
            }
        }
        match opened {
            Ok(opened) => Ok(Self::of(opened, shown)),
            Err(Errno::ELOOP) => {
                let text = "it leads through a symbolic link, and none is followed in a store";
                Err(io::Error::new(io::ErrorKind::NotADirectory, text))
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Its user and group.
    pub fn owner(&self) -> io::Result<(u32, u32)> {
        let found = match &self.handle {
            Some(handle) => fstat(handle.as_fd()).map(|found| (found.st_uid, found.st_gid))?,
            None => self.path.metadata().map(|found| (found.uid(), found.gid()))?,
        };
        Ok(found)
    }

    /// Gives what this process has made in the directory to the directory's owner, where root works in the store of
    /// another.
    pub fn give(&self, name: &str) -> io::Result<()> {
        let (user, group) = self.owner()?;
        if self.handle.is_none() || user == nix::unistd::geteuid().as_raw() {
            return Ok(());
        }
        lchown(self.join(name), Some(user), Some(group))
    }
}
