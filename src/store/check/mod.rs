//! `check` and `repair`: what of a store is as it was written, and the index made anew from the segments.

mod repair;
mod rows;
mod walk;

use std::path::Path;
use std::sync::Arc;

pub use repair::{Repaired, repair};
use walk::Checker;

use super::engine::Engine;
use super::{catalogue, identity, lock};
use crate::Result;
use crate::env::Env;
use crate::index::{Index, Meta, Witness};
use crate::model::{Catalogue, CheckEvent, CheckSummary, Finding, Severity};
use crate::wal::Segments;

/// Told of everything.
pub type Tell<'f> = dyn FnMut(CheckEvent) -> Result<()> + 'f;

/// Checks a store that nobody has open; takes its lock, changes nothing.
pub fn check(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<CheckSummary> {
    let _lock = lock::take(&**env, dir)?;
    look(env, dir, tell)
}

/// As [`check`], by the holder of the lock.
fn look(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<CheckSummary> {
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
    let borrowed = index.as_ref().map(|(index, meta)| (index, meta.clone()));
    let mut checker = Checker::new(&segments, borrowed, &catalogue, seen.synced_seen(), tell);
    checker.summary = before;
    checker.run()
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
        let _alone = self.compacting.lock();
        let meta = self.meta.lock().clone();
        let catalogue = self.catalogue.load_full();
        Checker::new(self.log.segments(), Some((&self.index, meta)), &catalogue, self.log.synced(), tell).run()
    }
}
