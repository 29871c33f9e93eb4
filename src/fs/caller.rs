//! Who makes a request.

/// Who makes a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub uid: u32,
    pub gid: u32,
    pub pid: u32,
}

/// Who makes a file or directory, and with which permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creator {
    pub caller: Caller,
    /// What open(2) or mkdir(2) were given.
    pub mode: u32,
    pub umask: u32,
}
