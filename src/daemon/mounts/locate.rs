//! From a path that a user gives to a store: its directory, a mount point of it, or the address of a cluster.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::{Error, ErrorKind, Result};

/// A mount of this filesystem, as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    pub mount_point: PathBuf,
    /// What of the tree is there; `/`: the whole of it.
    pub root: PathBuf,
    /// The store's directory.
    pub source: PathBuf,
    /// Users other than the owner are let in.
    pub allow_other: bool,
    /// The kernel judges by modes and owners who may do what.
    pub default_permissions: bool,
    /// Who has made it.
    pub user: Option<u32>,
    /// The number of its connection to the kernel.
    pub connection: Option<u32>,
}

impl MountEntry {
    /// Whether the whole tree is there, and not a part of it (mount --bind).
    pub fn is_whole(&self) -> bool {
        self.root == Path::new("/")
    }
}

/// All mounts of whole trees of this filesystem that this process can see.
pub fn mounts() -> Result<Vec<MountEntry>> {
    Ok(all_mounts()?.into_iter().filter(MountEntry::is_whole).collect())
}

/// As [`mounts`], of parts of trees as well.
pub fn all_mounts() -> Result<Vec<MountEntry>> {
    mounts_of("self")
}

/// Whether another process sees a mount: its mount namespace may not be ours.
pub fn is_seen_by(pid: u32, mount: &MountEntry) -> bool {
    mounts_of(&pid.to_string()).is_ok_and(|mounts| mounts.contains(mount))
}

/// Whether a process sees a mount on a directory, or of a store, which may have other names; true where nobody can say.
pub fn is_mounted_for(pid: u32, (mount_point, store): (&Path, &Path)) -> bool {
    let is_it = |mount: &MountEntry| mount.mount_point == mount_point || mount.source == store;
    mounts_of(&pid.to_string()).map_or(true, |mounts| mounts.iter().any(is_it))
}

/// Where a store is mounted, as the kernel has it, last made last; its daemons may be gone.
pub fn mount_points_of(store: &Path) -> Result<Vec<PathBuf>> {
    Ok(mounts()?.into_iter().filter(|mount| mount.source == store).map(|mount| mount.mount_point).collect())
}

fn mounts_of(process: &str) -> Result<Vec<MountEntry>> {
    Ok(mount_table(process)?.split(|b| *b == b'\n').filter_map(parse_line).collect())
}

fn mount_table(process: &str) -> Result<Vec<u8>> {
    let path = format!("/proc/{process}/mountinfo");
    std::fs::read(&path).map_err(|e| Error::io(format!("read {path}"), &e))
}

/// The device of the mount on a directory, or of one that is known and may have been moved, and whether it takes no changes by
/// itself or its filesystem takes none wherever it is mounted; `None`: there is none.
pub(super) fn is_read_only_in(table: &[u8], mount_point: &Path, known: Option<&[u8]>) -> Option<(Vec<u8>, bool)> {
    let device = |line: &[u8]| line.split(|b| *b == b' ').nth(2).map(<[u8]>::to_vec);
    let ours = |line: &&[u8]| match known {
        Some(known) => device(line).as_deref() == Some(known),
        None => parse_line(line).is_some_and(|mount| mount.mount_point == mount_point),
    };
    let lines = || table.split(|b| *b == b'\n').filter(ours);
    let is_there = |line: &&[u8]| mount_point_of(line).is_some_and(|point| point == mount_point);
    let line = lines().rfind(is_there).or_else(|| lines().next_back())?;
    let fields: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
    let options = [fields.get(5), fields.last()].into_iter().flatten();
    let is = options.flat_map(|options| options.split(|b| *b == b',')).any(|option| option == b"ro");
    device(line).map(|device| (device, is))
}

fn mount_point_of(line: &[u8]) -> Option<PathBuf> {
    let point = line.split(|b| *b == b' ').nth(4)?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(&unescape(point))))
}

/// `id parent dev root MOUNTPOINT options... - TYPE SOURCE superoptions` (proc_pid_mountinfo(5)).
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let fields: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    if *fields.get(dash + 1)? != b"fuse.cellfs" {
        return None;
    }
    let path = |field: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(&unescape(field)));
    let mut options = fields.get(dash + 3)?.split(|b| *b == b',');
    let [allow_other, default_permissions] =
        ["allow_other", "default_permissions"].map(|word| options.clone().any(|option| option == word.as_bytes()));
    let user = options.find_map(|option| std::str::from_utf8(option.strip_prefix(b"user_id=")?).ok()?.parse().ok());
    let device = std::str::from_utf8(fields.get(2)?).ok()?;
    let connection = device.split_once(':').and_then(|(_, minor)| minor.parse().ok());
    let (root, mount_point, source) = (path(fields.get(3)?), path(fields.get(4)?), path(fields.get(dash + 2)?));
    Some(MountEntry { mount_point, root, source, allow_other, default_permissions, user, connection })
}

/// Undoes the kernel's `\ooo`.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let octal = field.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if field[at] == b'\\' => {
                bytes.push(byte);
                at += 4;
            }
            _ => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    bytes
}

/// The mount at exactly this path, which may be dead.
pub fn mount_at(path: &Path) -> Result<Option<MountEntry>> {
    let path = absolute(path)?;
    Ok(all_mounts()?.into_iter().rev().find(|mount| mount.mount_point == path))
}

/// Whether what stands in place of a path is the address of a cluster.
pub fn is_cluster(path: &Path) -> bool {
    path.to_str().is_some_and(crate::hbase::is_address)
}

/// The path without symbolic links and relative parts, as far as it exists. Nothing is asked of a mount in it: its daemon
/// may be gone, or stopped, and then whoever asks waits for ever.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    if is_cluster(path) {
        crate::hbase::check_address(&path.to_string_lossy())?;
        return Ok(path.to_owned());
    }
    let absolute = std::path::absolute(path).map_err(|e| Error::io(path.display(), &e))?;
    let mounts = all_mounts().unwrap_or_default();
    let in_mount = |path: &Path| mounts.iter().any(|mount| path.starts_with(&mount.mount_point));
    let has_parents = absolute.components().any(|part| part == Component::ParentDir);
    // There are no links in a mount.
    if in_mount(&absolute) && !has_parents {
        return Ok(absolute.components().collect());
    }
    if let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name())
        && let Ok(parent) = parent.canonicalize()
        && in_mount(&parent.join(name))
    {
        return Ok(parent.join(name));
    }
    for existing in absolute.ancestors() {
        if let (Ok(found), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing)) {
            return Ok(found.components().chain(rest.components()).collect());
        }
    }
    Ok(absolute)
}

/// As [`absolute`]; for a path where a part of a tree is (mount --bind) that in the mount of the whole.
///
/// Errors: that mount is not to be seen, or the part was removed.
pub fn in_whole_tree(path: &Path) -> Result<PathBuf> {
    let path = absolute(path)?;
    let Some(part) = mount_around(&path)?.filter(|mount| !mount.is_whole()) else { return Ok(path) };
    let is_same = |mount: &MountEntry| mount.connection.is_some() && mount.connection == part.connection;
    let whole = mounts()?.into_iter().rev().find(is_same);
    // The kernel's mark of what was removed (d_path).
    let is_there = !part.root.as_os_str().as_bytes().ends_with(b"//deleted");
    if let Some(whole) = whole.filter(|_| is_there) {
        let parts = part.root.components().skip(1).chain(path.components().skip(part.mount_point.components().count()));
        let found: PathBuf = whole.mount_point.components().chain(parts).collect();
        if mount_around(&found)? == Some(whole) {
            return Ok(found);
        }
    }
    let (path, root, store) = (path.display(), part.root.display(), part.source.display());
    let text = format!(
        "{path} is where {root} of a mounted tree is bound, whose own mount is not to be seen, or the directory was \
         removed: name the store instead, {store}, with the table, the row and the columns"
    );
    Err(Error::new(ErrorKind::NotFound, text))
}

/// The directory of the store (or the cluster) that a path names: itself, or the source of the mount that it is in.
pub fn store_directory(path: &Path) -> Result<PathBuf> {
    let path = absolute(path)?;
    Ok(mount_around(&path)?.map_or(path, |mount| mount.source))
}

/// The mount that serves an absolute path, if that is one of this filesystem.
pub fn mount_around(path: &Path) -> Result<Option<MountEntry>> {
    let table = mount_table("self")?;
    let lines = table.split(|b| *b == b'\n');
    let around = lines.filter(|line| mount_point_of(line).is_some_and(|point| path.starts_with(point)));
    // Of one depth the last hides the others.
    let deepest = around.max_by_key(|line| mount_point_of(line).map_or(0, |point| point.components().count()));
    Ok(deepest.and_then(parse_line))
}

/// Whether the mount's daemon is gone ("Transport endpoint is not connected"). Names and attributes may
/// still be cached; the numbers of the filesystem never are.
pub fn is_dead(mount_point: &Path) -> bool {
    use nix::errno::Errno;
    // The second is the answer to who asked while the daemon was dying.
    matches!(nix::sys::statfs::statfs(mount_point), Err(Errno::ENOTCONN | Errno::ECONNABORTED))
}

/// What is at a mount point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A FUSE mount that has answered.
    Answers,
    /// No FUSE mount (any more).
    Gone,
}

/// Asks a mount for the numbers of its filesystem, which the kernel never answers itself; waits as long as it takes.
pub fn ask(mount_point: &Path) -> Result<Presence> {
    use nix::sys::statfs::{FUSE_SUPER_MAGIC, statfs};
    match statfs(mount_point) {
        Ok(numbers) if numbers.filesystem_type() == FUSE_SUPER_MAGIC => Ok(Presence::Answers),
        Ok(_) | Err(nix::errno::Errno::ENOENT) => Ok(Presence::Gone),
        Err(e) => Err(Error::io(mount_point.display(), &e.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_its_device_when_it_is_moved() {
        let line = |point: &str, own: &str, all: &str| {
            format!("36 35 0:52 / {point} {own},nosuid shared:1 - fuse.cellfs /s {all},user_id=0\n")
        };
        let is = |table: &str, known: Option<&[u8]>| is_read_only_in(table.as_bytes(), Path::new("/m"), known);
        let found = |is: bool| Some((b"0:52".to_vec(), is));
        assert_eq!((is("", None), is(&line("/n", "rw", "rw"), None)), (None, None));
        assert_eq!(is(&line("/m", "rw", "rw"), None), found(false));
        assert_eq!((is(&line("/m", "ro", "rw"), None), is(&line("/m", "rw", "ro"), None)), (found(true), found(true)));
        let known = Some(b"0:52".as_slice());
        assert_eq!((is(&line("/n", "ro", "ro"), known), is("", known)), (found(true), None));
        let bound = line("/m", "rw", "rw") + &line("/elsewhere", "ro", "rw");
        assert_eq!(is(&bound, known), found(false));
    }

    #[test]
    fn reads_the_kernels_table() {
        let line =
            br"36 35 0:52 / /mnt/a\040b rw,nosuid shared:1 - fuse.cellfs /var/st\134ore rw,user_id=0,allow_other";
        let (mount_point, source) = ("/mnt/a b".into(), r"/var/st\ore".into());
        let expected = MountEntry {
            mount_point,
            root: "/".into(),
            source,
            allow_other: true,
            default_permissions: false,
            user: Some(0),
            connection: Some(52),
        };
        assert_eq!(parse_line(line), Some(expected));
        assert_eq!(parse_line(b"36 35 8:1 / / rw - ext4 /dev/sda rw"), None);
        assert_eq!(parse_line(b""), None);
    }
}
