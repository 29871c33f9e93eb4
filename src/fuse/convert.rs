//! Between plain results and `fuser`'s types.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, FopenFlags, INodeNo, TimeOrNow};

use crate::fs::{Attr, Kind, Opened};
use crate::model::FileTime;

/// Size of a block in `stat`, bytes.
pub const BLOCK_SIZE: u32 = 4096;

pub fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::File => FileType::RegularFile,
    }
}

pub fn file_attr(attr: &Attr) -> FileAttr {
    let mtime = system_time(attr.mtime);
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.size.div_ceil(512),
        atime: mtime,
        mtime,
        ctime: mtime,
        crtime: mtime,
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
    let attr =
        Attr { ino: 0, kind: Kind::File, size: 0, mtime: FileTime::default(), mode: 0, nlink: 0, uid: 0, gid: 0 };
    file_attr(&attr)
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
        Err(before) => before_epoch(before.duration()),
    }
}

fn before_epoch(before: Duration) -> FileTime {
    let (seconds, nanos) = (before.as_secs().cast_signed(), before.subsec_nanos());
    if nanos == 0 {
        FileTime { seconds: -seconds, nanos: 0 }
    } else {
        FileTime { seconds: -seconds - 1, nanos: 1_000_000_000 - nanos }
    }
}

pub fn fopen_flags(opened: Opened) -> FopenFlags {
    let mut flags = FopenFlags::empty();
    flags.set(FopenFlags::FOPEN_KEEP_CACHE, opened.keep_cache);
    flags.set(FopenFlags::FOPEN_NOFLUSH, opened.no_flush);
    flags.set(FopenFlags::FOPEN_DIRECT_IO, opened.direct);
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip_on_both_sides_of_1970() {
        for time in [
            FileTime { seconds: 0, nanos: 0 },
            FileTime { seconds: 1, nanos: 999_999_999 },
            FileTime { seconds: -1, nanos: 1 },
            FileTime { seconds: -2, nanos: 0 },
        ] {
            assert_eq!(file_time(TimeOrNow::SpecificTime(system_time(time))), time);
        }
    }
}
