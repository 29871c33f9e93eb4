//! What programs set on files, kept beside a version: modification time, mode, owner, group, and what later
//! releases keep there.

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// The bits of a mode that chmod(2) sets.
pub const MODE_BITS: u16 = 0o7777;

/// A point in time as files have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileTime {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

impl FileTime {
    /// A nanosecond later.
    pub fn following(self) -> Self {
        let nanos = (self.nanos + 1) % 1_000_000_000;
        Self { seconds: self.seconds.saturating_add(i64::from(nanos == 0)), nanos }
    }
}

impl From<Timestamp> for FileTime {
    fn from(t: Timestamp) -> Self {
        Self { seconds: t.0.div_euclid(1000), nanos: (t.0.rem_euclid(1000) * 1_000_000) as u32 }
    }
}

impl From<FileTime> for Timestamp {
    /// The millisecond that it lies in.
    fn from(t: FileTime) -> Self {
        Self(t.seconds.saturating_mul(1000).saturating_add(i64::from(t.nanos / 1_000_000)))
    }
}

/// What was set on a file; what never was comes from the options of a mount. One word where nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttributes(Option<Box<FileRecord>>);

/// The attributes that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Modification time.
    pub mtime: Option<FileTime>,
    /// Permission bits, see [`MODE_BITS`].
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// When something of a stored version was set last.
    pub changed: Option<Timestamp>,
    /// Fields of later releases, by number ascending: carried as they are.
    pub others: Vec<(u64, Vec<u8>)>,
}

/// What is to be set; `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Modification time.
    pub mtime: Option<FileTime>,
    /// Permission bits.
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
}

/// A change of one stored version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeChange {
    /// Of what files have.
    pub file: FileChange,
    /// The cell TTL in ms that is set (inner `Some`) or taken away.
    pub ttl_ms: Option<Option<u64>>,
}

impl FileChange {
    /// A change of the modification time, if there is one.
    pub fn of_time(mtime: Option<FileTime>) -> Self {
        Self { mtime, ..Self::default() }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This, and then `later`.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            mtime: later.mtime.or(self.mtime),
            mode: later.mode.or(self.mode),
            uid: later.uid.or(self.uid),
            gid: later.gid.or(self.gid),
        }
    }
}

impl From<FileRecord> for FileAttributes {
    fn from(record: FileRecord) -> Self {
        // Without anything set there is one form, so that equal attributes compare equal.
        Self((record != FileRecord::default()).then(|| Box::new(record)))
    }
}

impl From<FileChange> for FileAttributes {
    fn from(change: FileChange) -> Self {
        Self::default().with(&change)
    }
}

impl FileAttributes {
    /// What is set, if anything is.
    pub fn record(&self) -> Option<&FileRecord> {
        self.0.as_deref()
    }

    /// Bytes that they take beside themselves.
    pub fn held(&self) -> usize {
        let others =
            |record: &FileRecord| record.others.iter().map(|one| size_of_val(one) + one.1.len()).sum::<usize>();
        self.record().map_or(0, |record| size_of_val(record) + others(record))
    }

    /// The modification time that was set.
    pub fn mtime(&self) -> Option<FileTime> {
        self.record()?.mtime
    }

    /// The permission bits that were set.
    pub fn mode(&self) -> Option<u16> {
        self.record()?.mode
    }

    /// The owner that was set.
    pub fn uid(&self) -> Option<u32> {
        self.record()?.uid
    }

    /// The group that was set.
    pub fn gid(&self) -> Option<u32> {
        self.record()?.gid
    }

    /// When something of a stored version was set last.
    pub fn changed(&self) -> Option<Timestamp> {
        self.record()?.changed
    }

    /// Set at this time on a stored version.
    #[must_use]
    pub fn changed_at(&self, at: Timestamp) -> Self {
        FileRecord { changed: Some(at), ..self.0.as_deref().cloned().unwrap_or_default() }.into()
    }

    /// With a change made.
    #[must_use]
    pub fn with(&self, change: &FileChange) -> Self {
        if change.is_empty() {
            return self.clone();
        }
        let mut record = self.0.as_deref().cloned().unwrap_or_default();
        record.mtime = change.mtime.or(record.mtime);
        record.mode = change.mode.or(record.mode);
        record.uid = change.uid.or(record.uid);
        record.gid = change.gid.or(record.gid);
        record.into()
    }

    /// What stays when the file gets another value: all but the times of the one before.
    #[must_use]
    pub fn of_next_version(&self) -> Self {
        match self.record() {
            Some(record) if record.mtime.is_some() || record.changed.is_some() => {
                FileRecord { mtime: None, changed: None, ..record.clone() }.into()
            }
            _ => self.clone(),
        }
    }

    /// As if no modification time had been set.
    #[must_use]
    pub fn without_mtime(&self) -> Self {
        self.record().map_or_else(Self::default, |record| FileRecord { mtime: None, ..record.clone() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_anything_set_have_one_form() {
        let time = Some(FileTime { seconds: 7, nanos: 0 });
        let timed = FileAttributes::from(FileChange::of_time(time));
        assert_eq!(timed.of_next_version(), FileAttributes::default());
        assert_eq!(timed.without_mtime(), FileAttributes::default());
        let changed = timed.changed_at(Timestamp(9));
        assert_eq!((changed.without_mtime().changed(), changed.mtime()), (Some(Timestamp(9)), time));
        assert_eq!(changed.of_next_version(), FileAttributes::default());
        assert_eq!(FileAttributes::from(FileRecord::default()), FileAttributes::default());
        let change = FileChange { mode: Some(0o600), ..FileChange::default() };
        let both = timed.with(&change);
        assert_eq!((both.mtime(), both.mode(), both.uid()), (time, Some(0o600), None));
        assert_eq!(both.of_next_version().mode(), Some(0o600));
    }
}
