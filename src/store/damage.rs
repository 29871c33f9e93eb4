//! What was found to be damaged: while the store was opened, and by reads since then. Both go to the log and to the
//! status.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::{Error, ErrorKind};

/// What is the same error again is told this often.
const AGAIN: Duration = Duration::from_secs(60);

/// Damage that reads have met since the store was opened; its snapshots count in the same.
#[derive(Debug)]
pub struct Met {
    store: PathBuf,
    count: AtomicU64,
    last: Mutex<Option<Told>>,
}

#[derive(Debug)]
struct Told {
    text: String,
    at: Instant,
    /// How many were counted by then.
    count: u64,
}

impl Met {
    /// Nothing yet, of the store in a directory.
    pub fn new(store: &Path) -> Self {
        Self { store: store.to_owned(), count: AtomicU64::new(0), last: Mutex::default() }
    }

    /// How many reads met damage.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// For the status; `None`: none did.
    pub fn sentence(&self) -> Option<String> {
        Some(format!("{}. For all of it: cellfs check {}", self.last.lock().as_ref()?.text, self.store.display()))
    }

    /// Counts the error if it tells of damage. The log has one line for it, and one a minute if that is all there is.
    pub fn note(&self, error: &Error) {
        if error.kind != ErrorKind::Corrupt {
            return;
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last = self.last.lock();
        let again =
            last.as_ref().filter(|told| told.text == error.message || told.at.elapsed() < Duration::from_secs(1));
        if let Some(told) = again.filter(|told| told.at.elapsed() < AGAIN) {
            // The status names the latest all the same.
            let told = Told { text: error.message.clone(), ..*told };
            *last = Some(told);
            return;
        }
        let silent = count - last.as_ref().map_or(0, |told| told.count) - 1;
        let more = if silent > 0 { format!(" ({silent} reads more met damage meanwhile)") } else { String::new() };
        log::error!("damage: {}{more}. For all of it: cellfs check {}", error.message, self.store.display());
        *last = Some(Told { text: error.message.clone(), at: Instant::now(), count });
    }
}

/// What was found while the store was opened: each goes to the log, the first to the status.
#[derive(Debug, Default)]
pub struct Damages {
    count: u64,
    first: Option<String>,
}

impl Damages {
    /// Reports one.
    pub fn add(&mut self, text: &str) {
        log::error!("{text}");
        self.count += 1;
        self.first.get_or_insert_with(|| text.to_owned());
    }

    /// Whether there was any.
    pub fn any(&self) -> bool {
        self.count > 0
    }

    /// For the status; `None`: nothing was found.
    pub fn sentence(&self, store: &Path) -> Option<String> {
        let first = self.first.as_ref()?;
        let more = if self.count > 1 { format!(" (and {} more)", self.count - 1) } else { String::new() };
        Some(format!("{first}{more}. For all of it: cellfs check {}", store.display()))
    }
}
