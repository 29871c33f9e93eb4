//! What every handler shares: running an operation, and answering with its outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{
    AccessFlags, Errno, FileHandle, Generation, INodeNo, InitFlags, KernelConfig, OpenAccMode, OpenFlags, ReplyAttr,
    ReplyCreate, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyXattr, Request,
};

use super::behind::Behind;
use super::convert::{BLOCK_SIZE, absent_attr, file_attr, fopen_flags};
use super::idling::{Idle, Idling};
use super::threads::Apart;
use crate::backend::Status;
use crate::fs::errno::errno;
use crate::fs::ops::attr::{self, Wanted};
use crate::fs::ops::files::asked;
use crate::fs::ops::files::asked::{CLOSE_PATIENCE, OPEN_PATIENCE};
use crate::fs::requests::{measured, refused};
use crate::fs::{Attr, Caller, Creator, EntryReply, Fs, Lookup, Opened, Operation, Xattr};
use crate::tree::names::escape::NAME_MAX;
use crate::{Error, ErrorKind, Result};

/// Largest write that the kernel is to send, bytes.
const MAX_WRITE: u32 = 1 << 20;
/// Wanted where the kernel offers it.
const CAPABILITIES: [InitFlags; 8] = [
    // A mask of the mount takes the place of the umask.
    InitFlags::FUSE_DONT_MASK,
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    InitFlags::FUSE_HANDLE_KILLPRIV_V2,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
];

/// Passes requests on to the operations.
#[derive(Clone)]
pub struct Adaptor {
    pub fs: Arc<Fs>,
    idling: Arc<Idling>,
    /// Where requests wait.
    pub(super) apart: Apart,
    pub(super) closes: Behind,
    pub(super) opens: Behind,
}

/// Who asks.
pub fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid(), pid: request.pid() }
}

/// Who makes something, and with which mode.
pub fn creator(request: &Request, mode: u32, umask: u32) -> Creator {
    Creator { caller: caller(request), mode, umask }
}

impl Adaptor {
    pub fn new(fs: &Arc<Fs>, idle: Idle) -> Self {
        let (closes, opens) = (Behind::new(CLOSE_PATIENCE), Behind::new(OPEN_PATIENCE));
        Self { fs: Arc::clone(fs), idling: Idling::new(idle), apart: Apart::default(), closes, opens }
    }

    /// Runs one operation. Its error becomes an errno and, unless a name was only looked for, a line of
    /// `.info/errors`; its panic becomes EIO.
    pub fn run<T>(
        &self,
        caller: Caller,
        what: Operation,
        operation: impl FnOnce(&Fs) -> Result<T>,
    ) -> Result<T, Errno> {
        self.idling.request();
        measured::count(&self.fs, caller, what);
        let started = Instant::now();
        let _stays = self.fs.stay(what);
        let outcome = catch_unwind(AssertUnwindSafe(|| operation(&self.fs))).unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Io,
                format!("{}: the daemon met a fault of its own; its log has the place", what.name()),
            ))
        });
        measured::measure(&self.fs, caller, what, started.elapsed(), outcome.as_ref().err());
        outcome.map_err(|error| {
            if error.kind != ErrorKind::NotFound {
                log::info!("{} refused to pid {}: {}", what.name(), caller.pid, error.message);
                refused::record_refusal(&self.fs, caller, what.name(), &error);
            }
            Errno::from_i32(errno(&error))
        })
    }

    /// A file that is gone is looked up again by who has asked by its name: there may be another, or one may be made.
    pub fn tell_attributes(&self, caller: Caller, (ino, handle): (INodeNo, Option<FileHandle>), reply: ReplyAttr) {
        // stat(2) of an open file comes without its handle.
        let wanted = if handle.is_some() { Wanted::ToRead } else { Wanted::ToShow };
        match self.run(caller, Operation::GetAttr, |fs| attr::getattr_wanted(fs, ino.0, wanted)) {
            Err(Errno::ENOENT) if asked::is_file(&self.fs, ino.0) => reply.error(Errno::ESTALE),
            told => answer_attr(reply, told),
        }
    }

    /// The kernel asks only where it does not judge itself. That nobody may execute a file is no refusal worth a line.
    pub fn tell_access(&self, caller: Caller, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let execute = mask.contains(AccessFlags::X_OK);
        match self.run(caller, Operation::Access, |fs| attr::may_access(fs, ino.0, execute)) {
            Ok(true) => reply.ok(),
            Ok(false) => reply.error(Errno::EACCES),
            Err(Errno::ENOENT) if asked::is_file(&self.fs, ino.0) => reply.error(Errno::ESTALE),
            Err(errno) => reply.error(errno),
        }
    }

    /// What is not there is told to the kernel as an entry where it may remember that, and counts as refused all the same.
    pub fn look_up(&self, parent: u64, name: &[u8], caller: Caller, reply: ReplyEntry) {
        let mut remembered = Duration::ZERO;
        let found = self.run(caller, Operation::Lookup, |fs| match attr::lookup(fs, parent, name, caller)? {
            Lookup::Found(entry) => Ok(entry),
            Lookup::Absent(ttl) => {
                remembered = ttl;
                Err(Error::new(ErrorKind::NotFound, ""))
            }
        });
        match found {
            Err(_) if !remembered.is_zero() => reply.entry(&remembered, &absent_attr(), Generation(0)),
            found => answer_entry(reply, found),
        }
    }
}

pub fn answer_empty(reply: ReplyEmpty, outcome: Result<(), Errno>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

pub fn answer_entry(reply: ReplyEntry, outcome: Result<EntryReply, Errno>) {
    match outcome {
        Ok(e) => reply.entry_with_ttls(&e.attr_ttl, &e.entry_ttl, &file_attr(&e.attr), Generation(0)),
        Err(errno) => reply.error(errno),
    }
}

pub fn answer_attr(reply: ReplyAttr, outcome: Result<(Attr, Duration), Errno>) {
    match outcome {
        Ok((attr, ttl)) => reply.attr(&ttl, &file_attr(&attr)),
        Err(errno) => reply.error(errno),
    }
}

pub fn answer_created(reply: ReplyCreate, outcome: Result<(EntryReply, Opened), Errno>) {
    match outcome {
        Ok((e, opened)) => {
            // One time for both: the kernel drops the attributes by itself at the first write.
            let handle = FileHandle(opened.handle);
            reply.created(&e.entry_ttl, &file_attr(&e.attr), Generation(0), handle, fopen_flags(opened));
        }
        Err(errno) => reply.error(errno),
    }
}

/// Numbers of the disk under the store; in place of inodes, cells and how many small ones would still fit.
pub fn answer_statfs(reply: ReplyStatfs, outcome: Result<Status, Errno>) {
    let status = match outcome {
        Ok(status) => status,
        Err(errno) => return reply.error(errno),
    };
    let blocks = |bytes: u64| bytes / u64::from(BLOCK_SIZE);
    let free_cells = status.disk_writable / 64;
    reply.statfs(
        blocks(status.disk_total),
        blocks(status.disk_free),
        blocks(status.disk_writable),
        status.cells + free_cells,
        free_cells,
        BLOCK_SIZE,
        NAME_MAX as u32,
        BLOCK_SIZE,
    );
}

pub fn answer_xattr(reply: ReplyXattr, size: u32, outcome: Result<Xattr, Errno>) {
    match outcome {
        Ok(Xattr::Absent) => reply.error(Errno::NO_XATTR),
        Ok(Xattr::Value(value)) if size == 0 => reply.size(u32::try_from(value.len()).unwrap_or(u32::MAX)),
        Ok(Xattr::Value(value)) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(Xattr::Value(value)) => reply.data(&value),
        Err(errno) => reply.error(errno),
    }
}

/// How the kernel opens what it executes: FMODE_EXEC of its linux/fs.h.
const EXECUTE: i32 = 0x20;

pub fn open_flags(flags: i32) -> crate::fs::OpenFlags {
    crate::fs::OpenFlags {
        write: !matches!(OpenFlags(flags).acc_mode(), OpenAccMode::O_RDONLY),
        append: flags & libc::O_APPEND != 0,
        truncate: flags & libc::O_TRUNC != 0,
        exclusive: flags & libc::O_EXCL != 0,
        execute: flags & EXECUTE != 0,
    }
}

/// Asks the kernel for what it offers and we want.
pub fn negotiate(config: &mut KernelConfig) {
    for capability in CAPABILITIES {
        if config.add_capabilities(capability).is_err() {
            log::info!("the kernel does not offer {capability:?}; going on without it");
        }
    }
    if let Err(nearest) = config.set_max_write(MAX_WRITE) {
        log::info!("the kernel sends at most {nearest} bytes a write");
    }
}
