//! The one place where an error becomes an errno.

use crate::{Error, ErrorKind};

/// The errno of an error (SPEC of the tree: see `cellfs-tree(7)`).
pub fn errno(error: &Error) -> i32 {
    match error.kind {
        ErrorKind::NoSuchNamespace | ErrorKind::NoSuchTable | ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::NamespaceExists | ErrorKind::TableExists | ErrorKind::FamilyExists | ErrorKind::AlreadyExists => {
            libc::EEXIST
        }
        ErrorKind::Stale => libc::ESTALE,
        ErrorKind::Executing => libc::ETXTBSY,
        ErrorKind::TableDisabled | ErrorKind::AccessDenied => libc::EACCES,
        ErrorKind::NoSuchFamily | ErrorKind::NotPermitted | ErrorKind::Constraint => libc::EPERM,
        ErrorKind::NoAttribute => libc::ENODATA,
        ErrorKind::NotEmpty => libc::ENOTEMPTY,
        ErrorKind::IllegalArgument
        | ErrorKind::Refused
        | ErrorKind::FailedSanityCheck
        | ErrorKind::IncompatibleFilter
        | ErrorKind::TableEnabled => libc::EINVAL,
        ErrorKind::ValueTooLarge => libc::EFBIG,
        ErrorKind::NameTooLong => libc::ENAMETOOLONG,
        ErrorKind::ReadOnlyTable | ErrorKind::ReadOnlyStore | ErrorKind::NewerFormat => libc::EROFS,
        ErrorKind::QuotaExceeded => libc::EDQUOT,
        ErrorKind::NoSpace => libc::ENOSPC,
        ErrorKind::TooMany => libc::ENFILE,
        ErrorKind::CrossDevice => libc::EXDEV,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::Busy | ErrorKind::Locked | ErrorKind::Overtaken => libc::EBUSY,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::Corrupt | ErrorKind::Poisoned | ErrorKind::Disconnected | ErrorKind::Io => libc::EIO,
    }
}
