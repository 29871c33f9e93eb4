//! Locks on files of the machine: who has them holds the directory, too.

use std::fs::File;
use std::path::PathBuf;

use super::{LockGuard, RealEnv};

/// Of who writes.
pub(super) struct RealLock {
    file: File,
    env: RealEnv,
    dir: PathBuf,
}

impl RealLock {
    pub(super) fn new(file: File, env: RealEnv, dir: PathBuf) -> Self {
        Self { file, env, dir }
    }
}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Order: before the lock goes with the file; nobody is to read this process's number after that. A leftover
        // misleads only as long as this process lives.
        let _ = self.file.set_len(0);
        self.env.let_go(&self.dir);
    }
}

impl LockGuard for RealLock {}

/// As [`RealLock`], of who only reads.
pub(super) struct ReadLock {
    _file: Option<File>,
    env: RealEnv,
    dir: PathBuf,
}

impl ReadLock {
    pub(super) fn new(file: Option<File>, env: RealEnv, dir: PathBuf) -> Self {
        Self { _file: file, env, dir }
    }
}

impl Drop for ReadLock {
    fn drop(&mut self) {
        self.env.let_go(&self.dir);
    }
}

impl LockGuard for ReadLock {}
