//! The mtime by which the kernel keeps the pages of a file that is written.
//!
//! It drops all of them where it is told another one (FUSE_AUTO_INVAL_DATA). Among them may be one that a write has filled
//! and that is still on its way here: whoever reads then fetches the bytes of before, and the kernel keeps those behind the
//! write. So who is about to read (FUSE_GETATTR_FH) is told the mtime of before as long as nothing but writes through the
//! kernel has changed the bytes. Who asks by stat(2) is told the true one, of a file that several have open as precisely as
//! the clocks of other filesystems go; what was written soon after that is in doubt, and the next reader's pages are dropped
//! once more when it is here.

use crate::model::{FileTime, Timestamp};

/// No write is on its way for longer, unless the machine is stopped; ms.
const ON_ITS_WAY_MS: u64 = 1000;
/// Most are here by then. Elsewhere, too, an mtime is the time of the kernel's last tick; ms.
const TICK_MS: u64 = 10;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct KeptPages {
    /// What the kernel was told last, and when.
    mtime: FileTime,
    told_at: Timestamp,
    /// Of bytes: an empty file has no pages.
    of_bytes: bool,
    is_doubtful: bool,
    /// It was told to a reader because of a doubt.
    is_settled: bool,
    is_shared: bool,
}

impl KeptPages {
    /// The kernel was told of some bytes.
    pub fn told(mtime: FileTime) -> Self {
        let (of_bytes, is_doubtful, is_settled, is_shared) = (true, false, false, false);
        Self { mtime, told_at: Timestamp(i64::MIN), of_bytes, is_doubtful, is_settled, is_shared }
    }

    /// Several have the file open that is written now: what was on its way before is not known.
    pub fn share(&mut self, now: Timestamp) {
        if !self.is_shared {
            (self.is_shared, self.told_at, self.is_settled) = (true, now, false);
        }
    }

    /// What is told of this mtime now.
    pub fn tell(&mut self, mtime: FileTime, now: Timestamp, of_bytes: bool) -> FileTime {
        // One that somebody has set tells of no tick.
        let ticks = Timestamp::from(mtime).0.abs_diff(Timestamp::from(self.mtime).0);
        let is_soon = self.is_shared && self.age(now).max(ticks) < TICK_MS;
        if self.mtime == mtime || !is_soon {
            self.set(mtime, now, of_bytes);
        }
        self.mtime
    }

    /// The kernel is told this mtime now, as somebody has set it.
    pub fn set(&mut self, mtime: FileTime, now: Timestamp, of_bytes: bool) {
        if self.mtime != mtime {
            (self.mtime, self.told_at, self.is_doubtful, self.is_settled) = (mtime, now, false, false);
        }
        self.of_bytes = of_bytes;
    }

    /// What the kernel is told before it reads of a file that is being written, or was.
    pub fn tell_reader(&mut self, mtime: FileTime, now: Timestamp, is_being_written: bool) -> FileTime {
        let patience = if self.is_settled { ON_ITS_WAY_MS } else { TICK_MS };
        if (self.is_doubtful || !is_being_written) && self.age(now) >= patience {
            self.set(mtime, now, true);
            self.is_settled = true;
        }
        self.mtime
    }

    /// The mtime of bytes that are changed now, `before` until then: another than the one that was told of others.
    pub fn change(&mut self, before: FileTime, now: FileTime) -> FileTime {
        self.is_doubtful |= self.age(now.into()) < ON_ITS_WAY_MS;
        let is_of_now = before >= now && Timestamp::from(before) == Timestamp::from(now);
        match (is_of_now, self.of_bytes && self.mtime == before) {
            (true, true) => before.following(),
            (true, false) => before,
            (false, _) => now,
        }
    }

    pub fn is_told(&self, mtime: FileTime) -> bool {
        self.mtime == mtime
    }

    /// Whether several had the file open while it was written.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// How long ago something was told, ms.
    fn age(&self, now: Timestamp) -> u64 {
        now.0.abs_diff(self.told_at.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> FileTime {
        Timestamp(ms).into()
    }

    #[test]
    fn who_reads_is_told_of_no_write_through_the_kernel_unless_it_was_on_its_way_when_another_mtime_was_told() {
        let mut kept = KeptPages::told(at(5));
        let mut mtime = kept.change(at(5), at(2000));
        assert_eq!(mtime, at(2000));
        for now in [2000, 9000] {
            assert_eq!(kept.tell_reader(mtime, Timestamp(now), true), at(5));
        }
        kept.tell(mtime, Timestamp(9000), true);
        assert_eq!(kept.tell_reader(mtime, Timestamp(9000), true), at(2000));
        mtime = kept.change(mtime, at(9005));
        assert_eq!(kept.tell_reader(mtime, Timestamp(9009), true), at(2000), "others may be on their way still");
        assert_eq!(kept.tell_reader(mtime, Timestamp(9010), true), at(9005));
        mtime = kept.change(mtime, at(9500));
        assert_eq!(kept.tell_reader(mtime, Timestamp(10_009), true), at(9005), "and then seldom");
        assert_eq!(kept.tell_reader(mtime, Timestamp(10_010), true), at(9500));
        mtime = kept.change(mtime, at(12_000));
        assert_eq!(kept.tell_reader(mtime, Timestamp(12_000), true), at(9500));
        kept.share(Timestamp(12_000));
        mtime = kept.change(mtime, at(12_001));
        assert!(!kept.is_told(mtime));
        assert_eq!(kept.tell(at(9505), Timestamp(12_009), true), at(9500), "there are ticks");
        assert_eq!(kept.tell_reader(mtime, Timestamp(12_010), true), at(12_001), "what was on its way is not known");
        mtime = kept.change(mtime, at(15_000));
        assert_eq!(kept.tell_reader(mtime, Timestamp(15_000), true), at(12_001));
        assert_eq!(kept.tell_reader(mtime, Timestamp(15_000), false), at(15_000), "nobody writes any more");
    }

    #[test]
    fn what_is_changed_within_the_millisecond_that_was_told_has_another_mtime() {
        let mut kept = KeptPages::told(at(5));
        let first = kept.change(at(5), at(5));
        assert_eq!(first, FileTime { seconds: 0, nanos: 5_000_001 });
        assert_eq!(kept.change(first, at(5)), first, "nobody was told");
        kept.tell(first, Timestamp(5), true);
        assert_eq!(kept.change(first, at(5)).nanos, 5_000_002);
        kept.tell(at(6), Timestamp(6), false);
        assert_eq!(kept.change(at(6), at(6)), at(6), "of an empty file there are no pages");
        let set = FileTime { seconds: 0, nanos: 999_999_999 };
        kept.tell(set, Timestamp(999), true);
        assert_eq!(kept.change(set, at(999)), FileTime { seconds: 1, nanos: 0 });
    }
}
