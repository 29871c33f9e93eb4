//! The thread that tells the kernel what changed, and the one that has it drop attributes. They hold no lock meanwhile.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{INodeNo, Notifier};
use nix::errno::Errno;
use nix::unistd::write;
use rustc_hash::FxHashSet;

use crate::fs::events::notices;
use crate::fs::{Fs, Invalidation, Invalidations, Message};

/// `fuse_notify_code` and flag of uapi/linux/fuse.h; a kernel before 6.2 (protocol 7.38) ignores the flag, and drops the name.
const FUSE_NOTIFY_INVAL_ENTRY: i32 = 3;
const FUSE_EXPIRE_ONLY: u32 = 1;

/// Takes what it is told of old names and inodes.
pub struct Kernel {
    notifier: Notifier,
    /// What the notifier writes to as well, for what it has no call for.
    device: OwnedFd,
}

impl Kernel {
    pub fn new(notifier: Notifier, device: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { notifier, device: device.try_clone_to_owned()? })
    }

    fn send(&self, notice: &Invalidation) {
        let sent = match notice {
            Invalidation::Inode(ino) => self.notifier.inval_inode(INodeNo(*ino), 0, 0),
            Invalidation::Entry { parent, name } => {
                self.notifier.inval_entry(INodeNo(*parent), OsStr::from_bytes(name))
            }
            Invalidation::Expiry { parent, name } => self.expire(*parent, name),
        };
        is_taken(sent);
    }

    /// Has a name looked up again before it is used; who works in its directory stays there.
    fn expire(&self, parent: u64, name: &[u8]) -> io::Result<()> {
        match write(&self.device, &expiry_message(parent, name)) {
            // It does not know the name.
            Ok(_) | Err(Errno::ENOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// `fuse_out_header`, `fuse_notify_inval_entry_out` and the name with its end.
fn expiry_message(parent: u64, name: &[u8]) -> Vec<u8> {
    let len = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes();
    let body = [&parent.to_ne_bytes()[..], &len(name.len()), &FUSE_EXPIRE_ONLY.to_ne_bytes(), name, &[0]].concat();
    let unique = 0_u64;
    [&len(16 + body.len())[..], &FUSE_NOTIFY_INVAL_ENTRY.to_ne_bytes(), &unique.to_ne_bytes(), &body].concat()
}

/// Runs until the queue's owners are gone.
pub fn run(fs: &Arc<Fs>, kernel: &Kernel, queue: &Invalidations) {
    let mut told = FxHashSet::default();
    while let Some(messages) = queue.receive() {
        // What these are about is committed: the kernel need not be told twice of one name, however many cells of a row
        // came with it.
        told.clear();
        let mut tell = |notice: Invalidation| {
            if !told.contains(&notice) {
                kernel.send(&notice);
                told.insert(notice);
            }
        };
        for message in messages {
            match message {
                Message::Changed(event) => {
                    notices::notices(fs, &event).into_iter().for_each(&mut tell);
                    queue.taken();
                }
                Message::Send(notice) => {
                    tell(notice);
                    queue.taken();
                }
                // The one who waits may have given up.
                Message::Barrier(done) => drop(done.send(())),
            }
        }
    }
}

/// Has the kernel drop attributes for those who wait for that; does not return.
pub fn drop_attributes(notifier: &Notifier, queue: &Invalidations) {
    for (ino, done) in queue.attributes() {
        // Of a negative offset the pages stay, for which the kernel might wait.
        is_taken(notifier.inval_inode(INodeNo(ino), -1, 0));
        // The one who waits may have given up.
        let _ = done.send(());
    }
}

fn is_taken(sent: std::io::Result<()>) {
    if let Err(e) = sent {
        log::warn!("the kernel did not take an invalidation: {e}");
    }
}
