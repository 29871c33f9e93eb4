//! The snapshots of a store: each is checked as the store is, and only its index is ever made anew, because its
//! segments are the store's too.

use std::path::Path;
use std::sync::Arc;

use super::Tell;
use super::walk::{Checker, Known};
use crate::env::Env;
use crate::index::{Index, Witness, set_index_aside};
use crate::model::{CheckEvent, CheckSummary, Finding, Severity};
use crate::store::engine::Engine;
use crate::store::{catalogue, open, snapshots};
use crate::wal::{Segments, StoreId};
use crate::{Error, ErrorKind, Result};

/// Findings of a snapshot that are told; all are counted.
const FINDINGS: usize = 1000;

/// Checks all snapshots of the store in `dir`: their names and what was found.
pub fn look_at_snapshots(
    env: &Arc<dyn Env>,
    dir: &Path,
    store: StoreId,
    tell: &mut Tell<'_>,
) -> Result<Vec<(String, CheckSummary)>> {
    let mut all = Vec::new();
    for name in snapshots::finished(&**env, dir)? {
        let path = snapshots::directory(dir, &name);
        // What is found of one that is deleted meanwhile is no damage: it is told once that is known.
        let mut found = Vec::new();
        let looked = look(env, &path, store, &mut |event| match event {
            CheckEvent::Finding(finding) if found.len() < FINDINGS => {
                found.push(finding);
                Ok(())
            }
            CheckEvent::Finding(_) => Ok(()),
            other => tell(other),
        });
        if !snapshots::finished(&**env, dir)?.contains(&name) {
            continue;
        }
        let summary = looked.map_err(|e| e.context(format!("snapshot {name}")))?;
        found.into_iter().try_for_each(|finding| tell(CheckEvent::Finding(finding)))?;
        tell(CheckEvent::Snapshot { name: name.clone(), summary })?;
        all.push((name, summary));
    }
    Ok(all)
}

fn look(env: &Arc<dyn Env>, dir: &Path, store: StoreId, tell: &mut Tell<'_>) -> Result<CheckSummary> {
    let mut before = CheckSummary::default();
    let mut damage = |file: &Path, text: String| {
        before.damages += 1;
        let (file, severity) = (file.display().to_string(), Severity::Damage);
        tell(CheckEvent::Finding(Finding { severity, file, offset: None, cell: None, text }))
    };
    if let Err(e) = snapshots::read_mark(&**env, dir) {
        damage(dir, e.message)?;
    }
    let path = dir.join("catalogue");
    let declared = match catalogue::find(&**env, &path) {
        Ok(found) => found,
        Err(e) if e.kind == ErrorKind::Corrupt => {
            damage(&path, e.message)?;
            return Ok(before);
        }
        Err(e) => return Err(e),
    };
    let Some(declared) = declared else {
        damage(&path, "it is missing: the snapshot cannot be read. Delete it".to_owned())?;
        return Ok(before);
    };
    for (path, text) in declared.problems {
        damage(&path, text)?;
    }
    let segments = Arc::new(Segments::look(Arc::clone(env), dir.join("segments"), store)?);
    let index_dir = env.index_dir(dir).map_err(|e| open::io(dir, "find the index of", &e))?;
    let index = match Index::look(&index_dir, &store, &Arc::new(Witness::of_snapshot())) {
        Ok(index) => Some(index),
        Err(e) => {
            let text = format!("the index cannot be used: {}. It is made anew when the snapshot is read", e.message);
            damage(&dir.join("index").join("index.db"), text)?;
            None
        }
    };
    let view = index.as_ref().map(|(index, _)| index.view()).transpose()?;
    let checked = (&segments, segments.ids());
    let mut checker = Checker::new(checked, view.as_ref(), &declared.value, Known::default(), tell);
    checker.summary = before;
    checker.run()
}

/// Makes the indexes of damaged snapshots anew; the old ones are kept beside them. What was done, in sentences.
pub fn repair_snapshots(engine: &Engine, damaged: &[String]) -> Result<Vec<String>> {
    let (env, mut done) = (&engine.options.env, Vec::new());
    for name in damaged {
        let dir = snapshots::directory(&engine.options.path, name);
        let index = env.index_dir(&dir).map_err(|e| Error::io("find the index of a snapshot", &e))?;
        set_index_aside(&index)?;
        match engine.open_kept(name) {
            Ok(kept) => {
                kept.index.make_durable()?;
                let cells = kept.meta.lock().cells();
                done.push(format!("the index of snapshot {name} was made anew from its segments: {cells} cells"));
            }
            Err(e) if e.kind == ErrorKind::Corrupt => {
                done.push(format!("{e}. Nothing can be mended: cellfs snapshot delete STORE {name}"));
            }
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}
