//! Files beside the attributes that are none: editors and rsync write there and rename.

use std::collections::BTreeMap;

use crate::env::sync::Mutex;
use crate::model::FileTime;
use crate::tree::place::SchemaPlace;
use crate::{Error, ErrorKind, Result};

/// Most scratch files beside the attributes.
const SCRATCH_MAX: usize = 1000;

/// Most bytes of all of them.
const SCRATCH_BYTES_MAX: usize = 16 << 20;

/// Bytes, and the mtime if one was set.
pub(in crate::fs) type ScratchText = (Vec<u8>, Option<FileTime>);

/// Unlisted files in schema directories, gone at unmount: editors and rsync write there and rename.
#[derive(Default)]
pub(in crate::fs) struct Scratch {
    files: Mutex<BTreeMap<String, ScratchText>>,
}

impl Scratch {
    pub(in crate::fs) fn get(&self, place: &SchemaPlace) -> Option<ScratchText> {
        self.files.lock().get(&scratch_name(place)?).cloned()
    }

    /// Sets the mtime of a scratch file; nothing if there is none.
    pub(in crate::fs) fn set_mtime(&self, place: &SchemaPlace, time: FileTime) {
        if let Some(name) = scratch_name(place)
            && let Some((_, mtime)) = self.files.lock().get_mut(&name)
        {
            *mtime = Some(time);
        }
    }

    pub(in crate::fs) fn set(&self, place: &SchemaPlace, bytes: Vec<u8>) -> Result<()> {
        let Some(name) = scratch_name(place) else { return Ok(()) };
        let mut files = self.files.lock();
        if files.len() >= SCRATCH_MAX && !files.contains_key(&name) {
            let text = format!("{SCRATCH_MAX} scratch files are the most that schema directories hold; remove some");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        let others: usize = files.iter().filter(|(other, _)| **other != name).map(|(_, (bytes, _))| bytes.len()).sum();
        if others + bytes.len() > SCRATCH_BYTES_MAX {
            let text = format!("scratch files in schema directories hold {SCRATCH_BYTES_MAX} bytes at the most");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        files.entry(name).or_default().0 = bytes;
        Ok(())
    }

    /// Removes a scratch file; whether it was there.
    pub(in crate::fs) fn remove(&self, place: &SchemaPlace) -> bool {
        scratch_name(place).is_some_and(|name| self.files.lock().remove(&name).is_some())
    }
}

fn scratch_name(place: &SchemaPlace) -> Option<String> {
    matches!(place, SchemaPlace::Scratch { .. }).then(|| format!("{place:?}"))
}
