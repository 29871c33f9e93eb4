//! `check` and `repair`: what of a store is as it was written, and the index made anew from the segments.

mod kept;
mod repair;
mod rows;
mod walk;

use std::path::Path;
use std::sync::Arc;

pub use repair::{Repaired, repair};
pub use walk::lookup;
use walk::{Checker, Known};

use super::damage::FirstDamage;
use super::engine::Engine;
use super::{catalogue, identity, lock, lost};
use crate::Result;
use crate::env::Env;
use crate::index::{Index, Meta, Witness};
use crate::model::{Catalogue, CheckEvent, CheckSummary, Finding, SeqNo, Severity};
use crate::wal::Segments;

/// Told of everything.
pub type Tell<'f> = dyn FnMut(CheckEvent) -> Result<()> + 'f;

/// Checks a store that nobody has open; takes its lock, and changes nothing but the note of what it has found.
pub fn check(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<CheckSummary> {
    let _lock = lock::take(&**env, dir)?;
    let mut first = FirstDamage::default();
    let looked = look(env, dir, &mut |event| {
        first.look(&event);
        tell(event)
    })?;
    let summary = looked.total();
    first.note(&**env, dir, summary.damages);
    tell(CheckEvent::End(summary))?;
    Ok(summary)
}

/// What was found, of the store and of each snapshot.
struct Looked {
    own: CheckSummary,
    snapshots: Vec<(String, CheckSummary)>,
}

impl Looked {
    /// What was read of the store, and what was found anywhere.
    fn total(&self) -> CheckSummary {
        let mut total = self.own;
        for (_, summary) in &self.snapshots {
            total.damages += summary.damages;
            total.notes += summary.notes;
        }
        total
    }

    fn damaged_snapshots(&self) -> Vec<String> {
        self.snapshots.iter().filter(|(_, summary)| summary.damages > 0).map(|(name, _)| name.clone()).collect()
    }
}

/// As [`check`], by the holder of the lock; does not tell the end.
fn look(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<Looked> {
    let mut before = CheckSummary::default();
    let (store, catalogue) = manifest(&**env, dir, &mut before, tell)?;
    let segments = Arc::new(Segments::look(Arc::clone(env), dir.join("segments"), store)?);
    let seen = Arc::new(Witness::look(&**env, dir));
    let index =
        Index::look(&env.index_dir(dir).map_err(|e| super::open::io(dir, "find the index of", &e))?, &store, &seen);
    let index: Option<(Index, Meta)> = match index {
        Ok(index) => Some(index),
        Err(e) => {
            before.damages += 1;
            let text =
                format!("the index cannot be used: {}. It is rebuilt from the segments at the next start", e.message);
            let file = dir.join("index").join("index.db").display().to_string();
            let severity = Severity::Damage;
            tell(CheckEvent::Finding(Finding { severity, file, offset: None, cell: None, text }))?;
            None
        }
    };
    let view = index.as_ref().map(|(index, _)| index.view()).transpose()?;
    let lost = lost_of(&**env, dir, &mut before, tell)?;
    let known = Known { synced: seen.synced_seen(), covered: seen.covered_seen(), lost };
    let mut checker = Checker::new((&segments, segments.ids()), view.as_ref(), &catalogue, known, tell);
    checker.summary = before;
    let own = checker.run()?;
    Ok(Looked { own, snapshots: kept::look_at_snapshots(env, dir, store, tell)? })
}

/// What is noted to be lost; what nobody has acknowledged counts as damage.
fn lost_of(env: &dyn Env, dir: &Path, summary: &mut CheckSummary, tell: &mut Tell<'_>) -> Result<Vec<lost::Lost>> {
    let lost = lost::read(env, dir)?;
    for one in lost.iter().filter(|one| !one.acknowledged) {
        summary.damages += 1;
        let (file, severity) = (lost::path(dir).display().to_string(), Severity::Damage);
        let text = format!("{}. `cellfs check --repair` acknowledges it", one.sentence());
        tell(CheckEvent::Finding(Finding { severity, file, offset: None, cell: None, text }))?;
    }
    Ok(lost)
}

/// The files `format` and `catalogue`: which store it is, and what is declared.
fn manifest(
    env: &dyn Env,
    dir: &Path,
    summary: &mut CheckSummary,
    tell: &mut Tell<'_>,
) -> Result<(crate::wal::StoreId, Catalogue)> {
    let absent = || {
        let text = format!("{} holds no store", dir.display());
        crate::Error::new(crate::ErrorKind::NotFound, text)
    };
    let identity = identity::find(env, dir)?.ok_or_else(absent)?;
    let declared = catalogue::find(env, &dir.join("catalogue"))?;
    let mut problems = identity.problems;
    problems.extend(declared.iter().flat_map(|found| found.problems.clone()));
    for (path, text) in problems {
        summary.damages += 1;
        let (file, severity) = (path.display().to_string(), Severity::Damage);
        let text = format!("{text}; the next start writes it again from its other copy");
        tell(CheckEvent::Finding(Finding { severity, file, offset: None, cell: None, text }))?;
    }
    if declared.is_none() && has_segments(env, dir)? {
        summary.damages += 1;
        let (file, severity) = (dir.join("catalogue").display().to_string(), Severity::Damage);
        let text = "it and its copy are missing: no table is known. Put one back; backups have it".to_owned();
        tell(CheckEvent::Finding(Finding { severity, file, offset: None, cell: None, text }))?;
    }
    let mut catalogue = declared.map_or_else(catalogue::initial, |found| found.value);
    // What was being restored when the store was closed is given up at the next start.
    catalogue.staged.clear();
    Ok((identity.value.store, catalogue))
}

fn has_segments(env: &dyn Env, dir: &Path) -> Result<bool> {
    match env.list(&dir.join("segments")) {
        Ok(names) => Ok(names.iter().any(|name| name.ends_with(".seg"))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(super::open::io(dir, "list the segments of", &e)),
    }
}

impl Engine {
    /// Checks the open store, as of now; compactions wait.
    pub fn check(&self, tell: &mut Tell<'_>) -> Result<CheckSummary> {
        let (env, dir) = (&self.options.env, &self.options.path);
        let mut first = FirstDamage::default();
        let mut tell = |event: CheckEvent| {
            first.look(&event);
            tell(event)
        };
        let tell: &mut Tell<'_> = &mut tell;
        let own = {
            let _alone = self.compacting.lock();
            let mut before = CheckSummary::default();
            let lost = lost_of(&**env, dir, &mut before, tell)?;
            let known = Known { synced: self.log.synced(), covered: SeqNo(0), lost };
            // Order: segments whose cells are all indexed by now, then the index, then what is declared, whose cells
            // nobody drops meanwhile.
            let segments = self.log.segments();
            let filled = segments.filled();
            #[cfg(test)]
            let filled = if self.breaks(super::Broken::ChecksFilling) { segments.ids() } else { filled };
            let view = self.index.view()?;
            let catalogue = self.catalogue.load_full();
            let mut checker = Checker::new((segments, filled), Some(&view), &catalogue, known, tell);
            checker.summary = before;
            checker.run()?
        };
        let store = *self.log.segments().store_id();
        let looked = Looked { own, snapshots: kept::look_at_snapshots(env, dir, store, tell)? };
        tell(CheckEvent::End(looked.total()))?;
        self.met.checked(first.note(&**env, dir, looked.total().damages));
        Ok(looked.total())
    }
}
