//! What may wait for room on a full disk, for the disk's sync, for what is made or for the kernel, and what may look at much
//! for one answer, apart from the threads that answer everything else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{
    Errno, FileHandle, FopenFlags, Generation, INodeNo, OpenFlags, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request,
};

use super::answer::{Adaptor, answer_empty, caller, open_flags};
use super::convert::{file_attr, file_type, fopen_flags};
use crate::Result;
use crate::fs::ops::files::{asked, io, open};
use crate::fs::ops::{list_ahead, listing};
use crate::fs::{Caller, Fs, Operation};

/// When a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// For the disk, as what syncs and what changes the catalogue does.
    Always,
    /// As a change of cells does: where there is no room, or the disk is at a sync.
    AsChange,
    /// As a change in this directory does: of cells, or of the catalogue.
    In(INodeNo),
    /// As a change by this open file does: a cell's, or one of the catalogue's.
    By(FileHandle),
    /// As a read of this open file does, if it is made while it is read.
    ToBeMade(FileHandle),
    /// As the next page of this open directory does, if it is of an answer: for a name many rows may be looked at.
    ToList(FileHandle),
    /// As the last change by this open file does, if there is one.
    AtEndOf(FileHandle),
    /// As a look into this directory does, which shows what is just being closed: that ends with messages that come
    /// after the close(2), and are answered by those who answer everything.
    Into(INodeNo),
}

impl Adaptor {
    /// Has the next page of an open directory fetched by a thread of its own, if it is to be: on one processor only where
    /// the store is elsewhere, and is waited for.
    pub fn list_ahead(&self, handle: FileHandle) {
        if !self.apart.helps() && self.fs.backend().is_prompt() {
            return;
        }
        let Some(dir) = list_ahead::to_list_ahead(&self.fs, handle.0) else { return };
        let Some(waiting) = self.apart.begin() else { return };
        let fs = Arc::clone(&self.fs);
        self.apart.run(Box::new(move || {
            list_ahead::list_ahead(&fs, &dir);
            drop(waiting);
        }));
    }

    fn waits(&self, when: Waits) -> bool {
        let change = || !self.fs.backend().is_prompt();
        match when {
            Waits::Always => true,
            Waits::AsChange => change(),
            Waits::In(directory) => !asked::holds_cells(&self.fs, directory.0) || change(),
            Waits::Into(directory) => asked::directory_waits_for_closing(&self.fs, directory.0),
            Waits::ToBeMade(handle) => asked::is_made_by_reads(&self.fs, handle.0),
            Waits::ToList(handle) => asked::lists_answer(&self.fs, handle.0),
            Waits::AtEndOf(handle) if !asked::commits_at_release(&self.fs, handle.0) => false,
            Waits::By(handle) | Waits::AtEndOf(handle) => asked::is_text(&self.fs, handle.0) || change(),
        }
    }

    /// Runs `action` at once, or on a thread of its own where it may wait.
    pub fn apart(&self, when: Waits, action: impl FnOnce(&Self) + Send + 'static) {
        if !self.waits(when) {
            return action(self);
        }
        let Some(waiting) = self.apart.begin() else { return action(self) };
        let apart = self.clone();
        self.apart.run(Box::new(move || {
            action(&apart);
            drop(waiting);
        }));
    }

    /// As [`Adaptor::apart`], of an operation; `answer` is given its outcome.
    pub fn run_apart<T>(
        &self,
        when: Waits,
        request: &Request,
        what: Operation,
        operation: impl FnOnce(&Fs) -> Result<T> + Send + 'static,
        answer: impl FnOnce(&Self, Result<T, Errno>) + Send + 'static,
    ) {
        let caller = caller(request);
        self.apart(when, move |adaptor| answer(adaptor, adaptor.run(caller, what, operation)));
    }

    /// As [`Adaptor::run_apart`], for an operation that only succeeds or fails.
    pub fn answer_apart(
        &self,
        when: Waits,
        request: &Request,
        what: Operation,
        reply: ReplyEmpty,
        operation: impl FnOnce(&Fs) -> Result<()> + Send + 'static,
    ) {
        self.run_apart(when, request, what, operation, |_, done| answer_empty(reply, done));
    }

    /// Answers when the kernel has taken the notices of what was done: of a close(2), or an fsync(2).
    pub fn answer_behind(&self, reply: ReplyEmpty, done: Result<(), Errno>) {
        match asked::notices_taken(&self.fs) {
            None => answer_empty(reply, done),
            Some(taken) => self.closes.run(taken, Box::new(move || answer_empty(reply, done))),
        }
    }

    /// When a request waits that makes a file, which is looked up before.
    pub fn to_make(&self, parent: INodeNo, name: &[u8]) -> Waits {
        if asked::name_waits_for_closing(&self.fs, parent.0, name) { Waits::Always } else { Waits::In(parent) }
    }

    /// As [`Adaptor::apart`], for a name that is looked up, which is copied only if it waits.
    pub fn look_up_apart(&self, caller: Caller, parent: INodeNo, name: &[u8], reply: ReplyEntry) {
        let waits = asked::name_waits_for_closing(&self.fs, parent.0, name) || asked::picks(&self.fs, parent.0);
        if !waits {
            return self.look_up(parent.0, name, caller, reply);
        }
        let name = name.to_vec();
        self.apart(Waits::Always, move |adaptor| adaptor.look_up(parent.0, &name, caller, reply));
    }

    /// As [`Adaptor::apart`], for an opendir(3).
    pub fn open_directory_apart(&self, caller: Caller, ino: INodeNo, reply: ReplyOpen) {
        self.apart(Waits::Into(ino), move |adaptor| {
            match adaptor.run(caller, Operation::OpenDir, |fs| listing::opendir(fs, ino.0, caller)) {
                Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
                // As for open(2): what is looked up again may be another.
                Err(Errno::ENOENT) => reply.error(Errno::ESTALE),
                Err(errno) => reply.error(errno),
            }
        });
    }

    /// As [`Adaptor::apart`], for the next page of a directory.
    pub fn list_apart(&self, caller: Caller, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.apart(Waits::ToList(handle), move |adaptor| {
            let listed = adaptor.run(caller, Operation::ReadDir, |fs| {
                listing::readdir(fs, handle.0, offset, |e| {
                    reply.add(INodeNo(e.ino), e.offset, file_type(e.kind), OsStr::from_bytes(e.name))
                })
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(errno),
            }
            adaptor.list_ahead(handle);
        });
    }

    /// The same with what a look-up of each name tells.
    pub fn list_with_attributes_apart(
        &self,
        caller: Caller,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        self.apart(Waits::ToList(handle), move |adaptor| {
            let listed = adaptor.run(caller, Operation::ReadDirPlus, |fs| {
                listing::readdirplus(fs, handle.0, offset, |e, entry| {
                    let (name, attr) = (OsStr::from_bytes(e.name), file_attr(&entry.attr));
                    reply.add(INodeNo(e.ino), e.offset, name, &entry.entry_ttl, &attr, Generation(0))
                })
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(errno),
            }
            adaptor.list_ahead(handle);
        });
    }

    /// An open(2), when the kernel has taken the notices of what was changed before.
    pub fn open_behind(&self, caller: Caller, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let open = move |adaptor: &Self| {
            match adaptor.run(caller, Operation::Open, |fs| open::open(fs, ino.0, open_flags(flags.0))) {
                Ok(opened) => reply.opened(FileHandle(opened.handle), fopen_flags(opened)),
                // The kernel looks the name up again: who makes what is not there makes it then.
                Err(Errno::ENOENT) => reply.error(Errno::ESTALE),
                Err(errno) => reply.error(errno),
            }
        };
        let Some(taken) = asked::notices_taken(&self.fs) else { return open(self) };
        let adaptor = self.clone();
        self.opens.run(taken, Box::new(move || adaptor.apart(Waits::Always, open)));
    }

    /// As [`Adaptor::apart`], for bytes that are copied only if it waits.
    pub fn write_apart(
        &self,
        caller: Caller,
        (handle, offset, append): (FileHandle, u64, bool),
        data: &[u8],
        reply: ReplyWrite,
    ) {
        let write = move |adaptor: &Self, data: &[u8]| {
            adaptor.run(caller, Operation::Write, |fs| io::write(fs, handle.0, offset, data, append))
        };
        let answer = |written: Result<u32, Errno>, reply: ReplyWrite| match written {
            Ok(taken) => reply.written(taken),
            Err(errno) => reply.error(errno),
        };
        let takes_long = asked::takes_long(&self.fs, handle.0);
        if self.fs.backend().is_prompt() && !takes_long {
            return answer(write(self, data), reply);
        }
        let data = data.to_vec();
        let when = if takes_long { Waits::Always } else { Waits::AsChange };
        self.apart(when, move |adaptor| answer(write(adaptor, &data), reply));
    }
}
