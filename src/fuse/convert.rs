//! Between plain results and `fuser`'s types.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, FopenFlags, INodeNo, TimeOrNow};

use crate::fs::{Attr, Kind, Opened, SetXattr};
use crate::model::{FileTime, MODE_BITS};

/// Size of a block in `stat`, bytes.
pub const BLOCK_SIZE: u32 = 4096;

pub fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::File => FileType::RegularFile,
    }
}

pub fn file_attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.filled.div_ceil(512),
        atime: system_time(attr.atime),
        mtime: system_time(attr.mtime),
        ctime: system_time(attr.ctime),
        crtime: system_time(attr.ctime),
        kind: file_type(attr.kind),
        perm: attr.mode,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: 0,
        blksize: BLOCK_SIZE,
        flags: 0,
    }
}

/// Attributes of inode 0: with them a reply says "nothing there, and you may remember it".
pub fn absent_attr() -> FileAttr {
    let (atime, mtime, ctime) = Default::default();
    file_attr(&Attr {
        ino: 0,
        kind: Kind::File,
        size: 0,
        filled: 0,
        atime,
        mtime,
        ctime,
        mode: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
    })
}

pub fn system_time(time: FileTime) -> SystemTime {
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let second = if time.seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    second + Duration::from_nanos(u64::from(time.nanos))
}

pub fn file_time(time: TimeOrNow) -> FileTime {
    let time = match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => FileTime { seconds: after.as_secs().cast_signed(), nanos: after.subsec_nanos() },
        // fuser 0.18 makes `1970 - (-seconds + nanos)` of the kernel's seconds and nanoseconds; undone here.
        Err(before) => {
            let before = before.duration();
            FileTime { seconds: -before.as_secs().cast_signed(), nanos: before.subsec_nanos() }
        }
    }
}

/// The bits of a mode that chmod(2) sets.
pub fn mode_bits(mode: u32) -> u16 {
    mode as u16 & MODE_BITS
}

pub fn fopen_flags(opened: Opened) -> FopenFlags {
    let mut flags = FopenFlags::empty();
    flags.set(FopenFlags::FOPEN_KEEP_CACHE, opened.keep_cache);
    flags.set(FopenFlags::FOPEN_NOFLUSH, opened.no_flush);
    flags.set(FopenFlags::FOPEN_DIRECT_IO, opened.direct);
    flags
}

/// What setxattr(2) asks of what is there.
pub fn xattr_mode(flags: i32) -> SetXattr {
    match flags {
        libc::XATTR_CREATE => SetXattr::Create,
        libc::XATTR_REPLACE => SetXattr::Replace,
        _ => SetXattr::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_kernel_meant_them() {
        /// What fuser 0.18 makes of the kernel's numbers.
        fn from_kernel(seconds: i64, nanos: u32) -> SystemTime {
            let time = Duration::new(seconds.unsigned_abs(), nanos);
            if seconds >= 0 { UNIX_EPOCH + time } else { UNIX_EPOCH - time }
        }
        for (seconds, nanos) in [(0, 0), (1, 999_999_999), (-1, 1), (-2, 0), (-6, 999_999_750)] {
            let time = file_time(TimeOrNow::SpecificTime(from_kernel(seconds, nanos)));
            assert_eq!(time, FileTime { seconds, nanos });
        }
        assert_eq!(system_time(FileTime { seconds: -6, nanos: 999_999_750 }), UNIX_EPOCH - Duration::new(5, 250));
    }
}
