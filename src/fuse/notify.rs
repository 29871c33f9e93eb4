//! The one thread that tells the kernel what changed. Holds no lock while it does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{INodeNo, Notifier};

use crate::fs::{Fs, Invalidation, Invalidations, Message};

/// Runs until the queue's owners are gone.
pub fn run(fs: &Arc<Fs>, notifier: &Notifier, queue: &Invalidations) {
    while let Some(messages) = queue.receive() {
        for message in messages {
            match message {
                Message::Changed(event) => fs.notices(&event).iter().for_each(|notice| send(notifier, notice)),
                Message::Send(notice) => send(notifier, &notice),
                // The one who waits may have given up.
                Message::Barrier(done) => drop(done.send(())),
            }
            queue.taken();
        }
    }
}

fn send(notifier: &Notifier, notice: &Invalidation) {
    let sent = match notice {
        Invalidation::Inode(ino) => notifier.inval_inode(INodeNo(*ino), 0, 0),
        Invalidation::Entry { parent, name } => notifier.inval_entry(INodeNo(*parent), OsStr::from_bytes(name)),
    };
    if let Err(e) = sent {
        log::warn!("the kernel did not take an invalidation: {e}");
    }
}
