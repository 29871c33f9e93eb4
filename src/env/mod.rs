//! The only door to files, clock and sync: real, and simulated for crash tests.
//!
//! Must not know what the files mean.

mod careless;
mod held;
mod interrupted;
mod limits;
mod mapped;
mod overlay;
mod partial;
mod process;
mod real;
mod real_lock;
#[expect(clippy::disallowed_types, reason = "the simulated disk is no part of what is scheduled")]
mod sim;
mod space;
mod spare;
pub mod sync;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::Timestamp;

pub use careless::{CarelessEnv, Forgets};
pub use held::HeldDir;
pub use limits::{memory, raise_descriptors};
pub use partial::Partial;
pub use process::{is_ending, is_stopped, lives, process_of};
pub use real::{RealEnv, admit_other_owners};
pub use sim::{CrashMode, FailMode, Fault, FaultPlan, SimEnv, Untold};

/// Most bytes of a file that is read as a whole; those that are written so have some MiB at most.
const SMALL_FILE_MAX: u64 = 256 << 20;

/// Whether a read has failed because the disk does not give what is there.
pub fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

/// Whether nothing was opened because there are too many open files: nothing else was done, either.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Bytes of a filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSpace {
    pub total: u64,
    pub free: u64,
    /// Free for everybody.
    pub available: u64,
    /// Free for this process, which may have a share of its own.
    pub usable: u64,
}

/// An open file. Positions are given, so that a failed write leaves no doubt about the next one's place.
pub trait EnvFile: Send + Sync {
    /// Fills `buf` from `offset`; `UnexpectedEof` past the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// So many bytes from `offset`; `UnexpectedEof` past the end.
    fn read_new(&self, len: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read_at(&mut bytes, offset)?;
        Ok(bytes)
    }
    /// Writes all of `data` at `offset`; after an error any part of it may be there.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;
    /// Returns when the contents and the length are on the disk (fdatasync).
    fn sync(&self) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Takes room on the disk for an empty file to have so many bytes.
    fn allocate(&self, len: u64) -> io::Result<()> {
        let zeros = vec![0; 1 << 20];
        let mut at = 0;
        while at < len {
            let part = zeros.len().min((len - at) as usize);
            self.write_at(&zeros[..part], at)?;
            at += part as u64;
        }
        Ok(())
    }
    /// Room on the disk for the bytes behind the end of the file, `from` up to about `to`, in memory: for small records,
    /// each of which is there after a kill as if it had been written. `None`: this filesystem does not promise as much.
    /// After an error, and after `None`, the file may be longer.
    fn window(&self, _from: u64, _to: u64) -> io::Result<Option<Box<dyn Window>>> {
        Ok(None)
    }
    /// Gives the room of `len` bytes back to the filesystem, which read as zeros from then on; the length stays.
    /// `Unsupported` where that cannot be.
    fn punch(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Whether some directory still has it.
    fn is_named(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// First bytes of a record, which a window puts last.
const WINDOW_HEAD: usize = 4;

/// See [`EnvFile::window`]. It ends before the file is cut.
pub trait Window: Send {
    /// Where it ends in the file; up to there the file has zeros behind what was put.
    fn end(&self) -> u64;
    /// Puts a record: what its first 32 bytes have behind four, then what follows them, then those four. Where they are
    /// zeros, a kill came first. After an error any part of the record may be there.
    fn put(&mut self, record: &[u8], offset: u64) -> io::Result<()>;
}

/// Holds a lock until it is dropped.
pub trait LockGuard: Send + Sync {}

/// Files, directories, clock and randomness. Errors are the operating system's.
pub trait Env: Send + Sync {
    /// A new empty file; `AlreadyExists` if there is one.
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>>;
    /// An existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>>;
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Replaces a file that is there. Durable after [`Env::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Another name of a file. Durable after [`Env::sync_dir`].
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a directory and everything below it; fine if there is none.
    fn remove_tree(&self, dir: &Path) -> io::Result<()>;
    /// Names of files and directories in a directory, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Makes the directory and its parents; fine if it exists.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Names in a directory that are symbolic links; fine if there is no directory.
    fn links(&self, _dir: &Path) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Makes sure that a directory is this user's and nobody else can look into it. Until the lock in it is given up,
    /// it is held: every path below it is looked up in it, and no link on the way is followed.
    fn claim_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
    /// A directory below one that was claimed, held.
    fn hold(&self, dir: &Path) -> io::Result<HeldDir> {
        Ok(HeldDir::by_name(dir.to_owned()))
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes an exclusive lock on a file, which it makes if absent; `WouldBlock` if another holds it.
    fn lock(&self, path: &Path, holder: &str) -> io::Result<Box<dyn LockGuard>>;
    /// What tells this run of the machine, and a directory, from all others: what was written there is read back as it was
    /// written, whoever is killed meanwhile. `None`: that is not known.
    fn boot(&self, _dir: &Path) -> Option<String> {
        None
    }
    fn disk_space(&self, path: &Path) -> io::Result<DiskSpace>;
    /// Where the filesystem of a directory takes no changes: the same files, of which every change stays in memory.
    fn over_read_only(&self, _dir: &Path) -> io::Result<Option<Arc<dyn Env>>> {
        Ok(None)
    }
    /// The same files, of which every change stays in memory; `None`: that is not known to be possible.
    fn in_memory_over(&self) -> Option<Arc<dyn Env>> {
        None
    }
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Bytes that nobody can guess.
    fn random(&self) -> io::Result<[u8; 32]>;

    /// The whole of a (small) file. `InvalidData` for one that is too large to be any of ours.
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let len = file.len()?;
        if len > SMALL_FILE_MAX {
            let text = format!("it has {len} bytes, more than any such file");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mut data = vec![0; len as usize];
        file.read_at(&mut data, 0)?;
        Ok(data)
    }

    /// Replaces a file so that a crash leaves the old or the new contents.
    fn replace_file(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // Order: contents before the name, the name before anyone relies on it.
        let temporary = self.write_beside(path, data)?;
        if let Err(e) = self.rename(&temporary, path) {
            // A leftover would take room where there may be none.
            let _ = self.remove(&temporary);
            return Err(e);
        }
        match path.parent() {
            Some(dir) => self.sync_dir(dir),
            None => Ok(()),
        }
    }

    /// Writes what is to become the contents of a file beside it, and syncs it; where.
    fn write_beside(&self, path: &Path, data: &[u8]) -> io::Result<PathBuf> {
        let temporary = path.with_extension("new");
        if self.exists(&temporary)? {
            self.remove(&temporary)?;
        }
        let file = self.create_new(&temporary)?;
        if let Err(e) = file.write_at(data, 0).and_then(|()| file.sync()) {
            let _ = self.remove(&temporary);
            return Err(e);
        }
        Ok(temporary)
    }
}
