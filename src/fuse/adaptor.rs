//! `fuser::Filesystem` on top of `fs::Fs`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, INodeNo, IoctlFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow,
    WriteFlags,
};

use super::answer::{
    Adaptor, answer_attr, answer_created, answer_empty, answer_entry, answer_statfs, answer_xattr, caller, creator,
    negotiate, open_flags,
};
use super::apart::Waits;
use super::convert::{file_time, mode_bits, xattr_mode};
use crate::backend::RenameMode;
use crate::fs::ops::files::{close, create, io};
use crate::fs::ops::{directory, remove, rename, setattr, xattr};
use crate::fs::requests::refused;
use crate::fs::{Fs, Operation, SetAttr, Xattr};
use crate::model::FileChange;

impl Filesystem for Adaptor {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        negotiate(config);
        Ok(())
    }

    fn destroy(&mut self) {
        self.opens.finish();
        self.apart.finish();
        self.closes.finish();
        if let Err(e) = close::commit_all(&self.fs) {
            log::error!("at unmount: {}", e.message);
        }
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.look_up_apart(caller(request), parent, name.as_bytes(), reply);
    }

    fn forget(&self, _request: &Request, ino: INodeNo, nlookup: u64) {
        self.fs.forget(ino.0, nlookup);
    }

    fn getattr(&self, request: &Request, ino: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        self.tell_attributes(caller(request), (ino, handle), reply);
    }

    fn access(&self, request: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        self.tell_access(caller(request), ino, mask, reply);
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (atime, mtime) = (atime.map(file_time), mtime.map(file_time));
        let file = FileChange { mtime, mode: mode.map(mode_bits), uid, gid };
        let change = SetAttr { size, atime, file, handle: handle.map(|h| h.0) };
        let caller = caller(request);
        self.apart(Waits::AsChange, move |adaptor| {
            answer_attr(reply, adaptor.run(caller, Operation::SetAttr, |fs| setattr::setattr(fs, ino.0, change)));
        });
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let (name, creator) = (name.as_bytes().to_vec(), creator(request, mode, umask));
        let make = move |fs: &Fs| create::mknod(fs, parent.0, &name, creator);
        self.run_apart(Waits::In(parent), request, Operation::Mknod, make, |_, made| answer_entry(reply, made));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (name, creator) = (name.as_bytes().to_vec(), creator(request, mode, umask));
        let make = move |fs: &Fs| directory::mkdir(fs, parent.0, &name, creator);
        self.run_apart(Waits::Always, request, Operation::Mkdir, make, |_, made| answer_entry(reply, made));
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (caller, name) = (caller(request), name.as_bytes().to_vec());
        let unlink = move |fs: &Fs| remove::unlink(fs, parent.0, &name, caller);
        self.answer_apart(Waits::In(parent), request, Operation::Unlink, reply, unlink);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (caller, name) = (caller(request), name.as_bytes().to_vec());
        let rmdir = move |fs: &Fs| directory::rmdir(fs, parent.0, &name, caller);
        self.answer_apart(Waits::Always, request, Operation::Rmdir, reply, rmdir);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mode = match flags {
            RenameFlags::RENAME_NOREPLACE => RenameMode::NoReplace,
            RenameFlags::RENAME_EXCHANGE => RenameMode::Exchange,
            flags if flags.is_empty() => RenameMode::Replace,
            _ => return reply.error(Errno::EINVAL),
        };
        let (name, new_name) = (name.as_bytes().to_vec(), new_name.as_bytes().to_vec());
        let rename = move |fs: &Fs| rename::rename(fs, parent.0, &name, new_parent.0, &new_name, mode);
        self.answer_apart(Waits::In(parent), request, Operation::Rename, reply, rename);
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.open_behind(caller(request), ino, flags, reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (creator, flags) = (creator(request, mode, umask), open_flags(flags));
        let (caller, name) = (caller(request), name.as_bytes().to_vec());
        self.apart(self.to_make(parent, &name), move |adaptor| {
            let create = |fs: &Fs| create::create(fs, parent.0, &name, creator, flags);
            answer_created(reply, adaptor.run(caller, Operation::Create, create));
        });
    }

    fn read(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let caller = caller(request);
        self.apart(Waits::ToBeMade(handle), move |adaptor| {
            match adaptor.run(caller, Operation::Read, |fs| io::read(fs, handle.0, offset, size as usize)) {
                Ok(data) => reply.data(&data),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn write(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // A page of a mapping has its place, however its file was opened; fcntl(2) changes O_APPEND later.
        let from_page = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let append = !from_page && flags.0 & libc::O_APPEND != 0;
        self.write_apart(caller(request), (handle, offset, append), data, reply);
    }

    fn flush(&self, request: &Request, _ino: INodeNo, handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        let flush = move |fs: &Fs| close::flush(fs, handle.0);
        let answer = |adaptor: &Self, done| adaptor.answer_behind(reply, done);
        self.run_apart(Waits::By(handle), request, Operation::Flush, flush, answer);
    }

    fn release(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        let release = move |fs: &Fs| close::release(fs, handle.0);
        self.answer_apart(Waits::AtEndOf(handle), request, Operation::Release, reply, release);
    }

    fn fsync(&self, request: &Request, _ino: INodeNo, handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let fsync = move |fs: &Fs| close::fsync(fs, handle.0);
        let answer = |adaptor: &Self, done| adaptor.answer_behind(reply, done);
        self.run_apart(Waits::Always, request, Operation::Fsync, fsync, answer);
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.open_directory_apart(caller(request), ino, reply);
    }

    fn readdir(&self, request: &Request, _ino: INodeNo, handle: FileHandle, offset: u64, reply: ReplyDirectory) {
        self.list_apart(caller(request), handle, offset, reply);
    }

    fn readdirplus(
        &self,
        request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.list_with_attributes_apart(caller(request), handle, offset, reply);
    }

    fn releasedir(&self, request: &Request, _ino: INodeNo, handle: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        answer_empty(reply, self.run(caller(request), Operation::ReleaseDir, |fs| close::release(fs, handle.0)));
    }

    fn fsyncdir(&self, request: &Request, _ino: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.answer_apart(Waits::Always, request, Operation::FsyncDir, reply, |fs| fs.backend().sync());
    }

    fn statfs(&self, request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        answer_statfs(reply, self.run(caller(request), Operation::StatFs, |fs| fs.backend().status()));
    }

    fn setxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let name = name.to_string_lossy().into_owned();
        // chmod-like tools copy ACLs that are not there: no refusal worth a line.
        if name.starts_with("system.") {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let value = value.to_vec();
        let set = move |fs: &Fs| xattr::setxattr(fs, ino.0, &name, &value, xattr_mode(flags));
        self.answer_apart(Waits::AsChange, request, Operation::SetXattr, reply, set);
    }

    fn getxattr(&self, request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if self.fs.options().no_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let name = name.to_string_lossy();
        // Probes of other namespaces are everyday and no refusals worth a line.
        if !name.starts_with("user.") && !name.starts_with("security.") {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let value = self.run(caller(request), Operation::GetXattr, |fs| xattr::getxattr(fs, ino.0, &name));
        answer_xattr(reply, size, value);
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        if self.fs.options().no_xattr {
            return reply.error(Errno::ENOSYS);
        }
        let names = self.run(caller(request), Operation::ListXattr, |fs| xattr::listxattr(fs, ino.0)).map(Xattr::Value);
        answer_xattr(reply, size, names);
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let (caller, name) = (caller(request), name.to_string_lossy().into_owned());
        self.apart(Waits::AsChange, move |adaptor| {
            match adaptor.run(caller, Operation::RemoveXattr, |fs| xattr::removexattr(fs, ino.0, &name)) {
                Ok(true) => reply.ok(),
                Ok(false) => reply.error(Errno::NO_XATTR),
                Err(errno) => reply.error(errno),
            }
        });
    }

    /// Terminals ask every file whether it is one.
    fn ioctl(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _input: &[u8],
        _output_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    /// The kernel then copies by reading and writing.
    fn copy_file_range(
        &self,
        _request: &Request,
        _ino_in: INodeNo,
        _handle_in: FileHandle,
        _offset_in: u64,
        _ino_out: INodeNo,
        _handle_out: FileHandle,
        _offset_out: u64,
        _len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::ENOSYS);
    }

    /// The kernel then knows one extent: the whole file is data.
    fn lseek(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn fallocate(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode != 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let grow = |fs: &Fs| setattr::grow(fs, ino.0, handle.0, offset.saturating_add(length));
        answer_empty(reply, self.run(caller(request), Operation::Fallocate, grow));
    }

    fn link(&self, request: &Request, _ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let refused = "the tree has no hard links: a cell has one name";
        let refuse = |fs: &Fs| Err(refused::refuse_to_make(fs, parent.0, name.as_bytes(), refused));
        answer_entry(reply, self.run(caller(request), Operation::Link, refuse));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, _target: &std::path::Path, reply: ReplyEntry) {
        let refused = "the tree has no symbolic links";
        let refuse = |fs: &Fs| Err(refused::refuse_to_make(fs, parent.0, name.as_bytes(), refused));
        answer_entry(reply, self.run(caller(request), Operation::Symlink, refuse));
    }
}
