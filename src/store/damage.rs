//! What was found to be damaged: while the store was opened, by reads since then, and by the last check. All of it goes
//! to the status, the first two to the log.
//!
//! The file `damage` is there while the last check has found some: JSON, when that was, how many, and the first.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::env::sync::{Instant, Mutex};

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::model::{CheckEvent, Severity, Timestamp};
use crate::{Error, ErrorKind};

/// What is the same error again is told this often.
const AGAIN: Duration = Duration::from_secs(60);

/// Damage that reads have met since the store was opened; its snapshots count in the same.
#[derive(Debug)]
pub struct Met {
    store: PathBuf,
    count: AtomicU64,
    last: Mutex<Option<Told>>,
    /// What the last check has found.
    checked: Mutex<Option<String>>,
}

/// The contents of the file `damage`.
#[derive(Serialize, Deserialize)]
struct Stored {
    cellfs_damage_format: u32,
    checked_at_ms: i64,
    damages: u64,
    first: String,
}

impl Stored {
    fn sentence(&self) -> String {
        let time = Timestamp(self.checked_at_ms);
        format!("the check of {} found {} damages, the first: {}", time.iso(), self.damages, self.first)
    }
}

/// Takes what a check tells, and keeps the first damage for the note.
#[derive(Debug, Default)]
pub struct FirstDamage(Option<String>);

impl FirstDamage {
    pub fn look(&mut self, event: &CheckEvent) {
        if let CheckEvent::Finding(finding) = event
            && finding.severity == Severity::Damage
            && self.0.is_none()
        {
            self.0 = Some(finding.to_string());
        }
    }

    /// Notes in the store what a check has found, or that it has found nothing; what the status says of it then.
    pub fn note(&self, env: &dyn Env, store: &Path, damages: u64) -> Option<String> {
        let path = store.join(FILE);
        let Some(first) = self.0.clone().filter(|_| damages > 0) else {
            // It is not there, mostly.
            let _ = env.remove(&path);
            return None;
        };
        let stored = Stored { cellfs_damage_format: 1, checked_at_ms: env.now().0, damages, first };
        let text = serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n";
        if let Err(e) = env.replace_file(&path, text.as_bytes()) {
            log::warn!("{} cannot be written: {e}", path.display());
        }
        Some(stored.sentence())
    }
}

const FILE: &str = "damage";

fn noted(env: &dyn Env, store: &Path) -> Option<String> {
    let bytes = env.read_file(&store.join(FILE)).ok()?;
    serde_json::from_slice(&bytes).ok().map(|stored: Stored| stored.sentence())
}

#[derive(Debug)]
struct Told {
    text: String,
    at: Instant,
    /// How many were counted by then.
    count: u64,
}

impl Met {
    /// Nothing but what the last check of the store in a directory has found.
    pub fn new(env: &dyn Env, store: &Path) -> Self {
        let checked = noted(env, store).into();
        Self { store: store.to_owned(), count: AtomicU64::new(0), last: Mutex::default(), checked }
    }

    /// A check has ended.
    pub fn checked(&self, found: Option<String>) {
        *self.checked.lock() = found;
    }

    /// How many reads met damage.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// For the status; `None`: there is no damage that is known of.
    pub fn sentence(&self) -> Option<String> {
        let met = self.last.lock().as_ref().map(|told| told.text.clone());
        let (checked, store) = (self.checked.lock().clone(), self.store.display());
        let known: Vec<String> = met.into_iter().chain(checked).collect();
        (!known.is_empty()).then(|| format!("{}. For all of it: cellfs check {store}", known.join("; ")))
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
