//! The operating system's files and clock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::interrupted::uninterrupted;
use super::overlay::{Below, OverlayEnv};
use super::sync::RwLock;

use super::real_lock::{ReadLock, RealLock};
use super::spare::Spare;
use super::{DiskSpace, Env, EnvFile, HeldDir, LockGuard, Window, mapped};
use crate::model::Timestamp;

/// Whether this process may use directories of other users: root alone has a use for it.
static OTHER_OWNERS: AtomicBool = AtomicBool::new(false);

/// From now on this process takes stores that belong to other users; said once, when it starts.
pub fn admit_other_owners() {
    OTHER_OWNERS.store(true, Ordering::Relaxed);
}

/// See the module. Clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct RealEnv {
    /// Directories of stores, from [`Env::claim_dir`] until their lock is given up.
    held: Arc<RwLock<Vec<HeldDir>>>,
    spare: Arc<Spare>,
}

struct RealFile(File);

impl EnvFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    /// Into memory that is not filled with zeros before.
    fn read_new(&self, len: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            match rustix::io::pread(&self.0, rustix::buffer::spare_capacity(&mut bytes), at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        bytes.truncate(len);
        Ok(bytes)
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
        Ok(uninterrupted(|| nix::fcntl::posix_fallocate(&self.0, 0, len))?)
    }

    fn window(&self, from: u64, to: u64) -> io::Result<Option<Box<dyn Window>>> {
        mapped::window(&self.0, from, to)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        use nix::fcntl::FallocateFlags;
        let (offset, len) = (i64::try_from(offset), i64::try_from(len));
        let (offset, len) = (offset.map_err(io::Error::other)?, len.map_err(io::Error::other)?);
        let mode = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        match uninterrupted(|| nix::fcntl::fallocate(&self.0, mode, offset, len)) {
            Err(nix::Error::EOPNOTSUPP | nix::Error::ENOSYS) => Err(io::ErrorKind::Unsupported.into()),
            punched => Ok(punched?),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn is_named(&self) -> io::Result<bool> {
        Ok(self.0.metadata()?.nlink() > 0)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A pipe that someone has put there is not waited for.
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

/// Opens a file, and refuses what is no regular one.
fn open_regular(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let odd =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("it is {what}, no regular file: take it away"));
    let file = match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::IsADirectory => return Err(odd("a directory")),
        opened => opened?,
    };
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    let what = match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_dir() => "a directory",
        () => "a device",
    };
    Err(odd(what))
}

/// A name in a directory, which is held while this lives.
struct Place {
    path: PathBuf,
    dir: Option<HeldDir>,
}

impl Place {
    /// What was made here belongs to whom the directory belongs.
    fn give(&self) -> io::Result<()> {
        match (&self.dir, self.path.file_name().and_then(|name| name.to_str())) {
            (Some(dir), Some(name)) => dir.give(name),
            _ => Ok(()),
        }
    }
}

impl RealEnv {
    /// The held directory that a path is in, and the rest of the path.
    fn held_for<'p>(&self, path: &'p Path) -> Option<(HeldDir, &'p Path)> {
        let held = self.held.read();
        held.iter().find_map(|dir| Some((dir.clone(), path.strip_prefix(dir.shown()).ok()?)))
    }

    /// Where the operating system finds a path: in the directory that it is in, held.
    fn place(&self, path: &Path) -> io::Result<Place> {
        let Some((root, rest)) = self.held_for(path) else { return Ok(Place { path: path.to_owned(), dir: None }) };
        let Some(name) = rest.file_name() else { return Ok(Place { path: root.to_path_buf(), dir: Some(root) }) };
        let dir = root.below(rest.parent().unwrap_or(Path::new("")))?;
        Ok(Place { path: dir.join(name), dir: Some(dir) })
    }

    /// A directory itself, held.
    fn directory(&self, path: &Path) -> io::Result<HeldDir> {
        match self.held_for(path) {
            Some((root, rest)) => root.below(rest),
            None => Ok(HeldDir::by_name(path.to_owned())),
        }
    }

    pub(super) fn let_go(&self, dir: &Path) {
        self.held.write().retain(|held| held.shown() != dir);
    }

    /// Makes the directories of a path below one that is held.
    fn create_below(&self, root: HeldDir, rest: &Path) -> io::Result<()> {
        let mut dir = root;
        for name in rest.components() {
            let name = name.as_os_str();
            match fs::DirBuilder::new().mode(0o700).create(dir.join(name)) {
                Ok(()) => dir.give(&name.to_string_lossy())?,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            dir = dir.below(name.as_ref())?;
        }
        Ok(())
    }
}

impl Below for RealEnv {
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        self.spare.open(|| {
            let place = self.place(path)?;
            let file = open_regular(options().write(false), &place.path)?;
            Ok(Arc::new(RealFile(file)) as Arc<dyn EnvFile>)
        })
    }

    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let place = self.place(path)?;
        let dir = path.parent().unwrap_or(path).to_owned();
        let file = match open_regular(options().write(false), &place.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        match file.as_ref().map(File::try_lock_shared) {
            Some(Err(TryLockError::WouldBlock)) => Err(io::ErrorKind::WouldBlock.into()),
            Some(Err(TryLockError::Error(e))) => Err(e),
            Some(Ok(())) | None => Ok(Box::new(ReadLock::new(file, self.clone(), dir))),
        }
    }
}

impl Env for RealEnv {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        self.spare.open(|| {
            let place = self.place(path)?;
            let file = options().create_new(true).open(&place.path)?;
            place.give()?;
            Ok(Arc::new(RealFile(file)) as Arc<dyn EnvFile>)
        })
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        self.spare.open(|| {
            let place = self.place(path)?;
            Ok(Arc::new(RealFile(open_regular(&options(), &place.path)?)) as Arc<dyn EnvFile>)
        })
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match self.spare.open(|| self.place(path)).and_then(|place| fs::symlink_metadata(&place.path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found.map(|_| true),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.spare.open(|| self.place(from))?, self.spare.open(|| self.place(to))?);
        fs::rename(&from.path, &to.path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let place = self.spare.open(|| self.place(path))?;
        fs::remove_file(&place.path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        fs::hard_link(&from.path, &to.path)
    }

    fn remove_tree(&self, dir: &Path) -> io::Result<()> {
        if let Some((root, _)) = self.held_for(dir).filter(|(_, rest)| rest.as_os_str().is_empty()) {
            for entry in fs::read_dir(&*root)? {
                let entry = entry?;
                let is_dir = entry.file_type()?.is_dir();
                if is_dir { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
            }
            // What it is called by now, if that is not what it was called, is not empty, or no directory.
            return fs::remove_dir(dir);
        }
        match self.place(dir).and_then(|place| fs::remove_dir_all(&place.path)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.spare.open(|| fs::read_dir(&*self.directory(dir)?))? {
            // Our own names are ASCII; others are not ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn links(&self, dir: &Path) -> io::Result<Vec<String>> {
        let held = self.directory(dir);
        let entries = match held.as_ref().map(|dir| fs::read_dir(&**dir)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Ok(Err(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(_) => return held.map(|_| Vec::new()),
            Ok(entries) => entries?,
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
        if let Some((root, rest)) = self.held_for(dir) {
            return self.create_below(root, rest);
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        if fs::symlink_metadata(dir)?.is_symlink() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a symbolic link, which is not followed"));
        }
        Ok(())
    }

    fn claim_dir(&self, dir: &Path) -> io::Result<()> {
        let held = HeldDir::open(dir)?;
        let ((user, _), own) = (held.owner()?, nix::unistd::geteuid().as_raw());
        if user != own && !(own == 0 && OTHER_OWNERS.load(Ordering::Relaxed)) {
            let way = if own == 0 { ". Run it as that user, or with --other-owner" } else { "" };
            let text = format!("it belongs to user {user}, this process is of user {own}{way}");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        if held.metadata()?.permissions().mode() & 0o077 != 0 {
            match fs::set_permissions(&*held, fs::Permissions::from_mode(0o700)) {
                Err(e) if e.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                set => set?,
            }
        }
        self.let_go(dir);
        self.held.write().push(held);
        Ok(())
    }

    fn hold(&self, dir: &Path) -> io::Result<HeldDir> {
        self.directory(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.spare.open(|| File::open(&*self.directory(dir)?))?.sync_all()
    }

    fn lock(&self, path: &Path, holder: &str) -> io::Result<Box<dyn LockGuard>> {
        let place = self.place(path)?;
        let file = open_regular(options().create(true).truncate(false), &place.path)?;
        place.give()?;
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
        let dir = path.parent().unwrap_or(path).to_owned();
        Ok(Box::new(RealLock::new(file, self.clone(), dir)))
    }

    fn boot(&self, dir: &Path) -> Option<String> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let directory = fs::metadata(&*self.directory(dir).ok()?).ok()?;
        let mounted = mounted(directory.dev());
        Some(format!("{} {} {}{mounted}", id.trim(), directory.dev(), directory.ino()))
    }

    fn disk_space(&self, path: &Path) -> io::Result<DiskSpace> {
        super::space::of(&self.directory(path)?)
    }

    fn over_read_only(&self, dir: &Path) -> io::Result<Option<Arc<dyn Env>>> {
        let flags = match nix::sys::statvfs::statvfs(&*self.directory(dir)?) {
            Err(nix::Error::ENOENT) => return Ok(None),
            stat => stat?.flags(),
        };
        let is_read_only = flags.contains(nix::sys::statvfs::FsFlags::ST_RDONLY);
        // What its owner has write-protected is read as it is, too.
        let is_protected = nix::unistd::eaccess(dir, nix::unistd::AccessFlags::W_OK) == Err(nix::Error::EACCES);
        Ok(if is_read_only || is_protected { self.in_memory_over() } else { None })
    }

    fn in_memory_over(&self) -> Option<Arc<dyn Env>> {
        Some(Arc::new(OverlayEnv::over(self.clone())))
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

/// What tells this mounting of a device from those before it, as ` NUMBER`: where it was unmounted meanwhile, or shut down
/// before that, less may be on it than was written. Empty where the kernel does not tell: it does of ext4 and XFS.
fn mounted(device: u64) -> String {
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let Ok(link) = fs::read_link(format!("/sys/dev/block/{major}:{minor}")) else { return String::new() };
    let Some(name) = link.file_name() else { return String::new() };
    let of = |kind: &str| fs::metadata(Path::new("/sys/fs").join(kind).join(name)).ok();
    // A directory that is made when a filesystem is mounted has a number that no other had.
    ["ext4", "xfs"].into_iter().find_map(of).map_or_else(String::new, |dir| format!(" {}", dir.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_could_not_be_replaced_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("catalogue");
        std::fs::create_dir_all(path.join("in the way")).unwrap();
        RealEnv::default().replace_file(&path, b"text").unwrap_err();
        assert_eq!(RealEnv::default().list(directory.path()).unwrap(), ["catalogue"]);
    }

    #[test]
    fn nothing_outside_a_claimed_directory_is_reached_by_links() {
        let directory = tempfile::tempdir().unwrap();
        let (store, outside) = (directory.path().join("store"), directory.path().join("outside"));
        let env = RealEnv::default();
        env.create_dir(&store.join("segments")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "someone's").unwrap();
        env.claim_dir(&store).unwrap();
        let held = env.hold(&store.join("segments")).unwrap();
        fs::rename(store.join("segments"), store.join("before")).unwrap();
        std::os::unix::fs::symlink(&outside, store.join("segments")).unwrap();
        // What is held stays what it was.
        fs::write(held.join("file.seg"), "ours").unwrap();
        assert_eq!(fs::read(store.join("before/file.seg")).unwrap(), b"ours");
        let file = store.join("segments/file");
        assert!(env.open(&file).is_err() && env.remove(&file).is_err() && env.list(&store.join("segments")).is_err());
        assert!(
            env.create_new(&store.join("segments/new")).is_err() && env.create_dir(&store.join("segments/d")).is_err()
        );
        assert!(env.remove_tree(&store.join("segments/file")).is_err() && env.hold(&store.join("segments")).is_err());
        assert_eq!(env.links(&store).unwrap(), ["segments"]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[test]
    fn what_is_read_anew_is_what_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = RealEnv::default().create_new(&directory.path().join("file")).unwrap();
        let bytes: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).collect();
        file.write_at(&bytes, 0).unwrap();
        for (offset, len) in [(0, 40_000), (1, 8191), (39_999, 1), (40_000, 0)] {
            assert_eq!(file.read_new(len, offset as u64).unwrap(), bytes[offset..offset + len]);
        }
        for (offset, len) in [(0, 40_001), (40_000, 1), (50_000, 5)] {
            assert_eq!(file.read_new(len, offset).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let refused = RealEnv::default().open(&path).err().unwrap();
        assert!(refused.to_string().contains("a pipe"), "{refused}");
        assert!(RealEnv::default().read_file(&path).is_err());
    }

    #[test]
    fn links_are_found_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reserve");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(RealEnv::default().links(directory.path()).unwrap(), ["reserve"]);
        assert!(RealEnv::default().links(&directory.path().join("absent")).unwrap().is_empty());
        assert!(RealEnv::default().read_file(&path).is_err());
    }
}
