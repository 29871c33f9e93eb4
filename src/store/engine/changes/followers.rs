//! Those who follow changes: where they are, and what is kept for them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use lru::LruCache;

use crate::env::sync::Mutex;
use crate::model::{SeqNo, Timestamp};

/// Followers whose places are remembered; others look their place up in the log.
const PLACES: NonZeroUsize = NonZeroUsize::new(64).expect("is more than none");

/// Files of the log whose first numbers are remembered; others are opened to be asked.
const FILES: NonZeroUsize = NonZeroUsize::new(16 << 10).expect("is more than none");

/// What followers need to know at each look.
pub struct Followers {
    /// Where they are: the number up to which all was looked at, and the file and offset of what follows.
    places: Mutex<LruCache<SeqNo, (u64, u64)>>,
    /// By a file's number: the one that its records come after.
    befores: Mutex<LruCache<u64, SeqNo>>,
    /// When somebody has looked last, ms since 1970.
    asked: AtomicI64,
    /// Something of the log's past is kept for followers, who may leave.
    keeps: AtomicBool,
}

impl Default for Followers {
    fn default() -> Self {
        Self {
            places: LruCache::new(PLACES).into(),
            befores: LruCache::new(FILES).into(),
            asked: AtomicI64::new(i64::MIN),
            keeps: AtomicBool::new(false),
        }
    }
}

impl Followers {
    /// Somebody looks.
    pub fn note_asked(&self, now: Timestamp) {
        self.asked.store(now.0, Ordering::Release);
    }

    /// Milliseconds since somebody has looked.
    pub fn last_asked_ms(&self, now: Timestamp) -> u64 {
        self.asked.load(Ordering::Acquire).abs_diff(now.0)
    }

    /// The file and offset of what follows a number, if somebody was there.
    pub fn place_of(&self, after: SeqNo) -> Option<(u64, u64)> {
        self.places.lock().get(&after).copied()
    }

    /// All up to a number was looked at; what follows is at this offset of this file.
    pub fn note_place(&self, upto: SeqNo, place: (u64, u64)) {
        self.places.lock().put(upto, place);
    }

    /// The number that the records of a file come after, if it was asked for lately.
    pub fn before(&self, file: u64) -> Option<SeqNo> {
        self.befores.lock().get(&file).copied()
    }

    pub fn note_before(&self, file: u64, before: SeqNo) {
        self.befores.lock().put(file, before);
    }

    /// Something of the log's past is kept for them.
    pub fn note_kept(&self) {
        self.keeps.store(true, Ordering::Release);
    }

    /// Whether something may be kept for them.
    pub fn may_keep(&self) -> bool {
        self.keeps.load(Ordering::Acquire)
    }

    /// What was kept goes.
    pub fn note_released(&self) {
        self.keeps.store(false, Ordering::Release);
    }
}
