//! The thread that tells the kernel what changed, and the one that has it drop attributes. They hold no lock meanwhile.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{INodeNo, Notifier};
use rustc_hash::FxHashSet;

use crate::fs::events::notices;
use crate::fs::{Fs, Invalidation, Invalidations, Message};

/// Runs until the queue's owners are gone.
pub fn run(fs: &Arc<Fs>, notifier: &Notifier, queue: &Invalidations) {
    let mut told = FxHashSet::default();
    while let Some(messages) = queue.receive() {
        // What these are about is committed: the kernel need not be told twice of one name, however many cells of a row
        // came with it.
        told.clear();
        let mut tell = |notice: Invalidation| {
            if !told.contains(&notice) {
                send(notifier, &notice);
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

fn send(notifier: &Notifier, notice: &Invalidation) {
    let sent = match notice {
        Invalidation::Inode(ino) => notifier.inval_inode(INodeNo(*ino), 0, 0),
        Invalidation::Entry { parent, name } => notifier.inval_entry(INodeNo(*parent), OsStr::from_bytes(name)),
    };
    is_taken(sent);
}

fn is_taken(sent: std::io::Result<()>) {
    if let Err(e) = sent {
        log::warn!("the kernel did not take an invalidation: {e}");
    }
}
