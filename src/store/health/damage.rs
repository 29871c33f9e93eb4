//! What was found to be damaged: while the store was opened, by reads since then, and by the last check. All of it goes
//! to the status, the first two to the log.
//!
//! The file `damage` is there while the last check has found some: JSON, when that was, how many, and the first.
//!
//! What is told goes when what was damaged is gone: its file, or the chunk that no value has any more.

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
/// Findings of a check that are noted one by one.
const NOTED: usize = 100;

/// Damage that reads have met since the store was opened; its snapshots count in the same.
#[derive(Debug)]
pub struct Met {
    store: PathBuf,
    count: AtomicU64,
    last: Mutex<Option<Told>>,
    /// What the last check has found.
    checked: Mutex<Option<Noted>>,
}

/// The contents of the file `damage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Noted {
    cellfs_damage_format: u32,
    checked_at_ms: i64,
    damages: u64,
    first: String,
    /// Those behind the first, as many as are noted.
    #[serde(default)]
    more: Vec<String>,
}

impl Noted {
    /// Takes out what is gone by now; `None` if nothing is left.
    fn without(mut self, is_gone: &dyn Fn(&str) -> bool) -> Option<Self> {
        let all = std::iter::once(std::mem::take(&mut self.first)).chain(std::mem::take(&mut self.more));
        let (gone, left): (Vec<String>, Vec<String>) = all.partition(|finding| is_gone(finding));
        self.damages = self.damages.saturating_sub(gone.len() as u64);
        let mut left = left.into_iter();
        self.first = left.next()?;
        self.more = left.collect();
        Some(self)
    }

    fn sentence(&self) -> String {
        let time = Timestamp(self.checked_at_ms);
        match self.damages {
            1 => format!("the check of {} found damage: {}", time.iso(), self.first),
            damages => format!("the check of {} found {damages} damages, the first: {}", time.iso(), self.first),
        }
    }
}

/// Takes what a check tells, and keeps damage for the note.
#[derive(Debug, Default)]
pub struct FirstDamage(Vec<String>);

impl FirstDamage {
    pub fn look(&mut self, event: &CheckEvent) {
        if let CheckEvent::Finding(finding) = event
            && finding.severity == Severity::Damage
            && self.0.len() < NOTED
        {
            self.0.push(finding.to_string());
        }
    }

    /// Notes in the store what a check has found, or that it has found nothing; what the status says of it then.
    pub fn note(&self, env: &dyn Env, store: &Path, damages: u64) -> Option<Noted> {
        let mut found = self.0.iter().filter(|_| damages > 0).cloned();
        let noted = found.next().map(|first| Noted {
            cellfs_damage_format: 1,
            checked_at_ms: env.now().0,
            damages,
            first,
            more: found.collect(),
        });
        write(env, store, noted.as_ref());
        noted
    }
}

/// The file that notes what a check found.
pub fn path(store: &Path) -> PathBuf {
    store.join("damage")
}

fn write(env: &dyn Env, store: &Path, noted: Option<&Noted>) {
    let path = path(store);
    let Some(noted) = noted else {
        // It is not there, mostly.
        let _ = env.remove(&path);
        return;
    };
    let text = serde_json::to_string_pretty(noted).unwrap_or_default() + "\n";
    if let Err(e) = env.replace_file(&path, text.as_bytes()) {
        log::warn!("{} cannot be written: {e}", path.display());
    }
}

fn noted(env: &dyn Env, store: &Path) -> Option<Noted> {
    let bytes = env.read_file(&path(store)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The file of segments or blobs that a sentence about damage names, and the chunk of it if it names one.
fn place_in(text: &str, store: &Path) -> Option<(PathBuf, Option<u32>)> {
    let from = text.find(store.to_str()?)?;
    let end = [".seg", ".blob"].iter().filter_map(|end| Some(text[from..].find(end)? + end.len())).min()?;
    let (path, rest) = text[from..].split_at(end);
    let chunk = rest.split_once("chunk ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    Some((path.into(), chunk))
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

    /// A check of the open store has ended: it has read everything, so what reads have met is in it or gone.
    pub fn checked(&self, found: Option<Noted>) {
        if found.is_none() {
            *self.last.lock() = None;
        }
        *self.checked.lock() = found;
    }

    /// Whether anything is told.
    pub fn is_any(&self) -> bool {
        self.last.lock().is_some() || self.checked.lock().is_some()
    }

    /// Tells no longer of what is gone: a file, or a chunk of one.
    pub fn forget_gone(&self, env: &dyn Env, is_gone: &dyn Fn(&Path, Option<u32>) -> bool) {
        let gone = |text: &str| place_in(text, &self.store).is_some_and(|(path, chunk)| is_gone(&path, chunk));
        {
            let mut last = self.last.lock();
            *last = last.take().filter(|told| !gone(&told.text));
        }
        let mut checked = self.checked.lock();
        let Some(before) = checked.take() else { return };
        let damages = before.damages;
        *checked = before.without(&gone);
        if checked.as_ref().is_none_or(|left| left.damages < damages) {
            write(env, &self.store, checked.as_ref());
        }
    }

    /// How many reads met damage.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// For the status; `None`: there is no damage that is known of.
    pub fn sentence(&self) -> Option<String> {
        let met = self.last.lock().as_ref().map(|told| told.text.clone());
        let (checked, store) = (self.checked.lock().as_ref().map(Noted::sentence), self.store.display());
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
    is_quiet: bool,
}

impl Damages {
    /// For a check, which tells of each by itself.
    pub fn quiet() -> Self {
        Self { is_quiet: true, ..Self::default() }
    }

    /// Reports one.
    pub fn add(&mut self, text: &str) {
        if !self.is_quiet {
            log::error!("{text}");
        }
        self.count += 1;
        self.first.get_or_insert_with(|| text.to_owned());
    }

    /// For the status; `None`: nothing was found.
    pub fn sentence(&self, store: &Path) -> Option<String> {
        let first = self.first.as_ref()?;
        let more = if self.count > 1 { format!(" (and {} more)", self.count - 1) } else { String::new() };
        Some(format!("{first}{more}. For all of it: cellfs check {}", store.display()))
    }
}
