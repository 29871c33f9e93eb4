//! The floor: the least that a FUSE filesystem can do, in memory, with the settings that cost least.
//!
//! Directories and files in two tables behind one lock; nothing is durable, nothing has versions.

#![allow(clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, ReplyXattr, Request, WriteFlags,
};

const TTL: Duration = Duration::from_secs(86_400);

struct Node {
    is_dir: bool,
    bytes: Vec<u8>,
    children: BTreeMap<Vec<u8>, u64>,
    /// Entries in listing order with their numbers: a cookie is a position.
    order: Vec<(Vec<u8>, u64)>,
}

struct MemoryFs {
    nodes: Mutex<Vec<Node>>,
    requests: AtomicU64,
}

/// Serves the floor at `mount_point` until it is unmounted.
pub fn serve(mount_point: &Path) {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::DefaultPermissions, MountOption::FSName("floor".into())];
    let root = || Node { is_dir: true, bytes: Vec::new(), children: BTreeMap::new(), order: Vec::new() };
    let fs = MemoryFs { nodes: Mutex::new(vec![root(), root()]), requests: AtomicU64::new(0) };
    fs.make(1, b".info", true);
    fs.make(2, b"requests", false);
    fuser::mount(fs, mount_point, &config).expect("mount the floor");
}

impl MemoryFs {
    fn nodes(&self) -> MutexGuard<'_, Vec<Node>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.nodes.lock().expect("nobody panics with the lock")
    }

    fn make(&self, parent: u64, name: &[u8], is_dir: bool) -> FileAttr {
        let mut nodes = self.nodes();
        let ino = nodes.len() as u64;
        nodes.push(Node { is_dir, bytes: Vec::new(), children: BTreeMap::new(), order: Vec::new() });
        nodes[parent as usize].children.insert(name.to_vec(), ino);
        nodes[parent as usize].order.push((name.to_vec(), ino));
        attr(ino, &nodes[ino as usize])
    }

    fn fill(nodes: &mut Vec<Node>, parent: u64, count: usize) {
        for n in 0..count {
            let (ino, name) = (nodes.len() as u64, format!("row{n:07}").into_bytes());
            nodes.push(Node { is_dir: true, bytes: Vec::new(), children: BTreeMap::new(), order: Vec::new() });
            nodes[parent as usize].children.insert(name.clone(), ino);
            nodes[parent as usize].order.push((name, ino));
        }
    }
}

fn attr(ino: u64, node: &Node) -> FileAttr {
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(ino),
        size: node.bytes.len() as u64,
        blocks: 1,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if node.is_dir { FileType::Directory } else { FileType::RegularFile },
        perm: if node.is_dir { 0o755 } else { 0o644 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for MemoryFs {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        for flag in [
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
        ] {
            let _ = config.add_capabilities(flag);
        }
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        use std::os::unix::ffi::OsStrExt;
        let nodes = self.nodes();
        match nodes[parent.0 as usize].children.get(name.as_bytes()) {
            Some(ino) if *ino == 3 => {
                let mut counted = attr(3, &nodes[3]);
                counted.size = 30;
                reply.entry(&Duration::ZERO, &counted, Generation(0));
            }
            Some(ino) => reply.entry(&TTL, &attr(*ino, &nodes[*ino as usize]), Generation(0)),
            None => {
                let mut absent = attr(0, &nodes[1]);
                absent.ino = INodeNo(0);
                reply.entry(&TTL, &absent, Generation(0));
            }
        }
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attr(ino.0, &self.nodes()[ino.0 as usize]));
    }

    fn mkdir(&self, _r: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        reply.entry(&TTL, &self.make(parent.0, name.as_encoded_bytes(), true), Generation(0));
    }

    fn create(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let attr = self.make(parent.0, name.as_encoded_bytes(), false);
        reply.created(&TTL, &attr, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn open(&self, _request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mut nodes = self.nodes();
        if ino.0 == 3 {
            return reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH);
        }
        if flags.0 & libc::O_TRUNC != 0 {
            nodes[ino.0 as usize].bytes.clear();
        }
        let mut open = FopenFlags::FOPEN_KEEP_CACHE;
        open.set(FopenFlags::FOPEN_NOFLUSH, flags.0 & libc::O_ACCMODE == libc::O_RDONLY);
        reply.opened(FileHandle(0), open);
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let nodes = self.nodes();
        if ino.0 == 3 {
            let text = format!("all {}\n", self.requests.load(Ordering::Relaxed));
            return reply.data(text.as_bytes().get(offset as usize..).unwrap_or_default());
        }
        let bytes = &nodes[ino.0 as usize].bytes;
        let start = (offset as usize).min(bytes.len());
        reply.data(&bytes[start..(start + size as usize).min(bytes.len())]);
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut nodes = self.nodes();
        let bytes = &mut nodes[ino.0 as usize].bytes;
        let end = offset as usize + data.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[offset as usize..end].copy_from_slice(data);
        let fill = bytes.len() < 10 && data.iter().all(u8::is_ascii_digit);
        let count = if fill { String::from_utf8_lossy(data).parse::<usize>().unwrap_or(0) } else { 0 };
        if count > 0 {
            let parent = nodes.iter().position(|node| node.children.get(&b".fill"[..]) == Some(&ino.0));
            if let Some(parent) = parent {
                Self::fill(&mut nodes, parent as u64, count);
            }
        }
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        drop(self.nodes());
        reply.ok();
    }

    fn flush(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        reply.ok();
    }

    fn release(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        reply.ok();
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut nodes = self.nodes();
        let Some(ino) = nodes[parent.0 as usize].children.remove(name.as_encoded_bytes()) else {
            return reply.error(Errno::ENOENT);
        };
        nodes[new_parent.0 as usize].children.insert(new_name.as_encoded_bytes().to_vec(), ino);
        reply.ok();
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.nodes()[parent.0 as usize].children.remove(name.as_encoded_bytes());
        reply.ok();
    }

    fn opendir(&self, _request: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn releasedir(&self, _r: &Request, _ino: INodeNo, _handle: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        reply.ok();
    }

    fn readdir(&self, _r: &Request, ino: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let nodes = self.nodes();
        for (index, (name, child)) in nodes[ino.0 as usize].order.iter().enumerate().skip(offset as usize) {
            let kind = if nodes[*child as usize].is_dir { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(*child), index as u64 + 1, kind, os_name(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(&self, _r: &Request, ino: INodeNo, _h: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let nodes = self.nodes();
        for (index, (name, child)) in nodes[ino.0 as usize].order.iter().enumerate().skip(offset as usize) {
            let attr = attr(*child, &nodes[*child as usize]);
            if reply.add(INodeNo(*child), index as u64 + 1, os_name(name), &TTL, &attr, Generation(0)) {
                break;
            }
        }
        reply.ok();
    }

    fn getxattr(&self, _request: &Request, _ino: INodeNo, _name: &OsStr, _size: u32, reply: ReplyXattr) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        reply.error(Errno::NO_XATTR);
    }
}

fn os_name(name: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}
