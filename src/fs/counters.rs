//! How often each request was made: a message that the kernel need not send costs nothing.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! operations {
    ($($variant:ident => $name:literal),+ $(,)?) => {
        /// A kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($variant),+
        }

        impl Operation {
            const ALL: &[Operation] = &[$(Operation::$variant),+];

            /// The name that refusals and statistics show.
            pub fn name(self) -> &'static str {
                match self {
                    $(Operation::$variant => $name),+
                }
            }
        }
    };
}

operations! {
    Lookup => "lookup",
    GetAttr => "getattr",
    SetAttr => "setattr",
    Mknod => "mknod",
    Mkdir => "mkdir",
    Unlink => "unlink",
    Rmdir => "rmdir",
    Rename => "rename",
    Open => "open",
    Create => "create",
    Read => "read",
    Write => "write",
    Flush => "close",
    Release => "release",
    Fsync => "fsync",
    OpenDir => "opendir",
    ReadDir => "readdir",
    ReadDirPlus => "readdirplus",
    ReleaseDir => "releasedir",
    FsyncDir => "fsyncdir",
    StatFs => "statfs",
    SetXattr => "setxattr",
    GetXattr => "getxattr",
    ListXattr => "listxattr",
    RemoveXattr => "removexattr",
    Fallocate => "fallocate",
    Link => "link",
    Symlink => "symlink",
}

/// One counter a kind of request.
pub(super) struct Counters([AtomicU64; Operation::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Counters {
    pub(super) fn count(&self, operation: Operation) {
        self.0[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// `name count`, a line each, for those that were made.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = String::new();
        for operation in Operation::ALL {
            let count = self.0[*operation as usize].load(Ordering::Relaxed);
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{} {count}", operation.name());
            }
        }
        text.into_bytes()
    }
}
