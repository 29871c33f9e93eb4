//! The files of the log as a start finds them.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::env::Env;
use crate::format::StoreId;
use crate::log::{self as cells, Bytes, Damage, HEADER, Record, Walk};
use crate::model::SeqNo;
use crate::store::health::boot;
use crate::store::health::damage::Damages;

/// A record, or what stands in its place.
pub type Found = std::result::Result<Record, Damage>;

/// A file of the log, read.
pub struct Read {
    pub number: u64,
    /// The number of the last record before it; `None`: nothing of it can be read.
    pub before: Option<SeqNo>,
    pub is_headless: bool,
    pub is_unreadable: bool,
    pub path: PathBuf,
    pub found: Vec<Found>,
}

/// The files of the log, oldest first.
#[derive(Default)]
pub struct Files {
    pub read: Vec<Read>,
    /// Numbers of those that nothing was written to.
    pub empty: Vec<u64>,
    /// Numbers of those that make no sense.
    pub damaged: Vec<u64>,
}

/// When a log was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// In this run of the machine: nothing but a kill has ended what wrote it. All that was written is there, but a record
    /// that was being written.
    ThisBoot,
    /// A power cut may have left less than was written.
    Before,
}

impl Written {
    /// By the holder of the lock.
    pub fn of(env: &dyn Env, store: &Path) -> Self {
        if boot::is_same(env, store) { Self::ThisBoot } else { Self::Before }
    }
}

/// Tells of a file that makes no sense. One of which nothing is needed may have been removed before a power cut, which
/// brought its name back and not its contents.
fn tell_damaged(files: &Files, (number, text): (u64, String), covered: SeqNo, damages: &mut Damages) {
    let later = files.read.iter().filter(|file| file.number > number);
    match later.filter_map(|file| file.before).min() {
        Some(upto) if upto <= covered => log::info!("{text}; nothing of it is needed"),
        _ => damages.add(&text),
    }
}

/// Reads all files of the log.
pub fn read_files(
    env: &dyn Env,
    (dir, store): (&Path, &StoreId),
    (covered, written): (SeqNo, Written),
    damages: &mut Damages,
) -> Result<Files> {
    let mut told = Vec::new();
    let mut files = Files::default();
    let mut is_last = true;
    for number in cells::list(env, dir)?.into_iter().rev() {
        let path = cells::path_of(dir, number);
        // What it has may be there all the same: nothing that was acknowledged is said to be absent.
        let bytes = Bytes::of(env, dir, number)?;
        let (is_void, unreadable) = (bytes.is_void(), bytes.refused());
        // Of earlier files the later ones tell what is missing, but for one that was made ahead.
        let hides = bytes.may_hide_records() || is_last && written == Written::ThisBoot && bytes.has_begun();
        is_last &= is_void;
        let is_unreadable = unreadable.is_some();
        match Walk::of(bytes, number, store) {
            Ok(Some(mut walk)) => {
                let (before, is_headless) = (Some(walk.header.before), walk.is_headless);
                if is_headless {
                    damages.add(&format!("{}: its header is damaged; its records are used", path.display()));
                }
                let found = std::iter::from_fn(|| walk.next_found()).collect();
                files.read.push(Read { number, before, is_headless, is_unreadable, path, found });
            }
            // Made ahead, or its header was never on the disk.
            Ok(None) if is_void => files.empty.push(number),
            Ok(None) if hides => {
                let damage = Damage { offset: HEADER, unreadable, nameless: true, ..Damage::default() };
                let (before, found) = (None, vec![Err(damage)]);
                files.read.push(Read { number, before, is_headless: true, is_unreadable: true, path, found });
            }
            // It is left for whoever can make something of it.
            Ok(None) => {
                told.push((number, format!("{}: it is no file of this log, or damaged all over", path.display())));
                files.damaged.push(number);
            }
            Err(e) if e.kind == crate::ErrorKind::Corrupt => {
                told.push((number, e.message));
                files.damaged.push(number);
            }
            Err(e) => return Err(e),
        }
    }
    files.read.reverse();
    told.into_iter().rev().for_each(|one| tell_damaged(&files, one, covered, damages));
    Ok(files)
}

/// The greatest number that the records say was on the disk; the headers of damaged ones too.
pub fn known_synced(files: &[Read]) -> SeqNo {
    let found = files.iter().flat_map(|file| &file.found);
    found
        .map(|found| found.as_ref().map_or_else(|damage| damage.synced, |record| record.synced))
        .max()
        .unwrap_or_default()
}

/// The greatest number of a record that is whole. What stands in a file behind the number from which a later one has all
/// was left out by the start that made that one.
pub fn greatest_whole(files: &[Read]) -> SeqNo {
    let mut takes_over = SeqNo(u64::MAX);
    let mut greatest = SeqNo(0);
    for file in files.iter().rev() {
        let records = file.found.iter().filter_map(|found| found.as_ref().ok()).map(|record| record.seq);
        greatest = records.filter(|seq| *seq <= takes_over).fold(greatest, SeqNo::max);
        takes_over = file.before.map_or(takes_over, |before| takes_over.min(before));
    }
    greatest
}

pub fn greatest(files: &[Read]) -> SeqNo {
    let records = files.iter().flat_map(|file| &file.found);
    let numbers = records.filter_map(|found| match found {
        Ok(record) => Some(record.seq),
        Err(damage) => damage.seq,
    });
    numbers.max().unwrap_or_default()
}
