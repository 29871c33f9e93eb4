//! The operating system's files and clock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{DiskSpace, Env, EnvFile, LockGuard};
use crate::model::Timestamp;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealEnv;

struct RealFile(File);

struct RealLock {
    file: File,
}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Order: before the lock goes with the file; nobody is to read this process's number after that. A leftover
        // misleads only as long as this process lives.
        let _ = self.file.set_len(0);
    }
}

impl LockGuard for RealLock {}

impl EnvFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let len = i64::try_from(len).map_err(io::Error::other)?;
        Ok(nix::fcntl::posix_fallocate(&self.0, 0, len)?)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options
}

impl Env for RealEnv {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        Ok(Arc::new(RealFile(options().create_new(true).open(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        Ok(Arc::new(RealFile(options().open(path)?)))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove_tree(&self, dir: &Path) -> io::Result<()> {
        match fs::remove_dir_all(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // Our own names are ASCII; others are not ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn links(&self, dir: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut links = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_symlink() {
                links.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(links)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        if fs::symlink_metadata(dir)?.is_symlink() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a symbolic link, which is not followed"));
        }
        Ok(())
    }

    fn claim_dir(&self, dir: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(dir)?;
        let own = nix::unistd::geteuid().as_raw();
        if found.uid() != own && own != 0 {
            let text = format!("it belongs to user {}, this process is of user {own}", found.uid());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        if found.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path, holder: &str) -> io::Result<Box<dyn LockGuard>> {
        let file = options().create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        let named = file.write_all_at(holder.as_bytes(), 0).and_then(|()| file.set_len(holder.len() as u64));
        match named {
            // The lock holds on a full disk too; only its holder is not named.
            Err(e) if e.kind() == io::ErrorKind::StorageFull => {}
            other => other?,
        }
        Ok(Box::new(RealLock { file }))
    }

    fn index_dir(&self, store: &Path) -> io::Result<PathBuf> {
        let dir = store.join("index");
        self.create_dir(&dir)?;
        Ok(dir)
    }

    fn disk_space(&self, path: &Path) -> io::Result<DiskSpace> {
        let stat = nix::sys::statvfs::statvfs(path).map_err(io::Error::from)?;
        let unit = stat.fragment_size();
        Ok(DiskSpace {
            total: stat.blocks() * unit,
            free: stat.blocks_free() * unit,
            available: stat.blocks_available() * unit,
        })
    }

    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(Timestamp::MAX.0))
    }

    fn random(&self) -> io::Result<[u8; 32]> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_could_not_be_replaced_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("catalogue");
        std::fs::create_dir_all(path.join("in the way")).unwrap();
        RealEnv.replace_file(&path, b"text").unwrap_err();
        assert_eq!(RealEnv.list(directory.path()).unwrap(), ["catalogue"]);
    }

    #[test]
    fn links_are_found_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reserve");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(RealEnv.links(directory.path()).unwrap(), ["reserve"]);
        assert!(RealEnv.links(&directory.path().join("absent")).unwrap().is_empty());
        assert!(RealEnv.read_file(&path).is_err());
    }
}
