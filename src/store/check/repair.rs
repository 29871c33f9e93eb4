//! Repair: the index made anew from the segments alone. No segment is changed, but for what a crash has left at the
//! end of the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::damage::FirstDamage;
use super::Tell;
use super::kept::repair_snapshots;
use crate::env::Env;
use crate::index::set_index_aside;
use crate::model::{CheckEvent, CheckSummary};
use crate::store::{StoreOptions, identity, lock, lost, open};
use crate::wal::{Segments, StoreId};
use crate::{Error, ErrorKind, Result};

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// What was found before.
    pub before: CheckSummary,
    /// What is left: damage in segments that no index can mend.
    pub after: Option<CheckSummary>,
    /// Whether the store's own index was made anew.
    pub rebuilt: bool,
    /// Cells of the index.
    pub cells: u64,
    /// Where the old index is.
    pub aside: Option<PathBuf>,
    /// Sentences about what else was done.
    pub done: Vec<String>,
}

/// Checks a store that nobody has open and mends what it finds.
pub fn repair(options: StoreOptions, tell: &mut Tell<'_>) -> Result<Repaired> {
    let (env, dir) = (Arc::clone(&options.env), options.path.clone());
    let mut repaired = Repaired::default();
    let damaged;
    {
        let _lock = lock::take(&*env, &dir)?;
        mend_identity(&env, &dir, &mut repaired)?;
        let looked = super::look(&env, &dir, tell)?;
        repaired.before = looked.total();
        if repaired.before.damages + repaired.before.notes == 0 {
            FirstDamage::default().note(&*env, &dir, 0);
            return Ok(repaired);
        }
        damaged = looked.damaged_snapshots();
        if looked.own.damages + looked.own.notes > 0 {
            repaired.rebuilt = true;
            set_aside(&env, &dir, &mut repaired)?;
        }
    }
    // The same fold as at every start fills the index again.
    let (engine, lock) = open::open(options)?;
    repaired.cells = engine.meta.lock().cells();
    engine.index.make_durable()?;
    engine.sync_log()?;
    repaired.done.extend(repair_snapshots(&engine, &damaged)?);
    drop(engine);
    if lost::acknowledge(&*env, &dir)? > 0 {
        repaired.done.push("the lost end of the log is acknowledged: it is not told any more".to_owned());
    }
    let mut first = FirstDamage::default();
    let mut quiet = |event: CheckEvent| {
        first.look(&event);
        if matches!(event, CheckEvent::Progress { .. }) { tell(event) } else { Ok(()) }
    };
    let after = super::look(&env, &dir, &mut quiet)?.total();
    first.note(&*env, &dir, after.damages);
    repaired.after = Some(after);
    drop(lock);
    Ok(repaired)
}

/// The old index is kept until the next repair.
fn set_aside(env: &Arc<dyn Env>, dir: &Path, repaired: &mut Repaired) -> Result<()> {
    let index = env.index_dir(dir).map_err(|e| Error::io("find the index", &e))?;
    repaired.aside = set_index_aside(&index)?;
    env.sync_dir(dir).map_err(|e| Error::io(format!("sync {}", dir.display()), &e))
}

/// When both copies of `format` are damaged, the segments still say which store it is.
fn mend_identity(env: &Arc<dyn Env>, dir: &Path, repaired: &mut Repaired) -> Result<()> {
    let Err(e) = identity::find(&**env, dir) else { return Ok(()) };
    if e.kind != ErrorKind::Corrupt {
        return Err(e);
    }
    let Some(store) = of_segments(env, dir)? else { return Err(e) };
    let mut identity = identity::Identity { store, ..identity::Identity::default() };
    let random = env.random().map_err(|e| Error::io("read random bytes", &e))?;
    identity.hash_key.copy_from_slice(&random[..16]);
    identity::write(&**env, dir, &identity)?;
    repaired.done.push(format!(
        "{} was damaged in both copies; it was made anew from the segments. Inode numbers and shortened names of the \
         store are other ones now",
        identity::path(dir).display()
    ));
    Ok(())
}

fn of_segments(env: &Arc<dyn Env>, dir: &Path) -> Result<Option<StoreId>> {
    let segments = Segments::look(Arc::clone(env), dir.join("segments"), StoreId::default())?;
    Ok(segments.ids().into_iter().find_map(|id| segments.store_of(id)))
}
