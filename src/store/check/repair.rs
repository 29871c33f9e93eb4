//! Repair: what has a second copy is made whole again, damaged segments are written anew, what is lost for good is listed
//! and acknowledged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::large::Needing;
use super::rewrite::{names, rewrite};
use super::{Looked, Tell};
use crate::env::Env;
use crate::model::{CheckEvent, CheckSummary};
use crate::segment::Segment;
use crate::store::catalogue::upkeep;
use crate::store::engine::Engine;
use crate::store::extents::flush;
use crate::store::health::damage::FirstDamage;
use crate::store::health::lost;
use crate::store::jobs::collect::kept_families;
use crate::store::open::{identity, lock, opening};
use crate::store::options::StoreOptions;
use crate::store::recover::rescue;
use crate::{Error, ErrorKind, Result};

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// What was found before.
    pub before: CheckSummary,
    /// What is left: damage that has no second copy.
    pub after: Option<CheckSummary>,
    /// Whether the store's own index was made anew.
    pub rebuilt: bool,
    /// Cells that are stored.
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
    let looked;
    {
        let _lock = lock::take(&*env, &dir)?;
        mend_identity(&env, &dir, &mut repaired)?;
        looked = super::look(&env, &dir, tell)?;
        repaired.before = looked.summary;
        if repaired.before.damages + repaired.before.notes == 0 {
            FirstDamage::default().note(&*env, &dir, 0);
            return Ok(repaired);
        }
    }
    let before = logs_aside(&*env, &dir)?;
    // Opening makes whole what has a second copy.
    let (engine, lock) = opening::open(options)?;
    engine.log.check_poison()?;
    let chunks = looked.chunks.clone();
    mend(&engine, looked, &mut repaired)?;
    repaired.cells = engine.layout().cells();
    rescue::sync_log(&engine)?;
    drop(engine);
    let aside = logs_aside(&*env, &dir)?;
    repaired.done.extend(aside.difference(&before).map(|name| {
        let path = dir.join("log").join(name);
        format!(
            "a file of the log could not be read as a whole; it is kept as {}, which no store reads",
            path.display()
        )
    }));
    lost::acknowledge_chunks(&*env, &dir, chunks)?;
    let lost = lost::acknowledge(&*env, &dir)?;
    repaired.done.extend(lost.iter().map(|one| {
        format!(
            "lost of the log: what has numbers behind {} up to {}. It is acknowledged and not told any more",
            one.after, one.upto
        )
    }));
    let mut first = FirstDamage::default();
    let mut quiet = |event: CheckEvent| {
        first.look(&event);
        if matches!(event, CheckEvent::Progress { .. }) { tell(event) } else { Ok(()) }
    };
    let after = super::look(&env, &dir, &mut quiet)?.summary;
    first.note(&*env, &dir, after.damages);
    repaired.after = Some(after);
    drop(lock);
    Ok(repaired)
}

/// Names of files of the log that could not be read as a whole and were kept.
fn logs_aside(env: &dyn Env, dir: &Path) -> Result<BTreeSet<String>> {
    let names = match env.list(&dir.join("log")) {
        // Opening makes it.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(|e| opening::io(&dir.join("log"), "list", &e))?,
    };
    Ok(names.into_iter().filter(|name| name.ends_with(".log.damaged")).collect())
}

/// Segments that are damaged are written anew; the log is emptied, and its damage goes with it.
fn mend(engine: &Engine, looked: Looked, repaired: &mut Repaired) -> Result<()> {
    let Looked { summary, mut segments, chunks } = looked;
    repaired.done.extend(rewrite(engine, &segments)?);
    if !chunks.is_empty() {
        let state = Arc::clone(&engine.structure.layout().state);
        let names = names(&state);
        let mut needing = Needing::new(&engine.values.blobs, &names, chunks);
        needing.extents(&state, &|number| Some(engine.structure.file(number)))?;
        needing.memory(&engine.tables(), &kept_families(&state))?;
        repaired.done.extend(needing.sentences());
        segments = needing.lists;
        repaired.done.extend(rewrite(engine, &segments)?);
    }
    if summary.damages == 0 {
        return Ok(());
    }
    let before = engine.layout().state.files();
    flush::flush(engine)?;
    // A file of the log of which no cell is left has filled no memtable that could cover it.
    flush::cover_log(engine)?;
    // What the log has lost stands there as cells without values.
    let mut flushed = engine.layout().state.files();
    flushed.retain(|number| !before.contains(number));
    let mut lost = BTreeSet::new();
    for number in flushed {
        if let Ok(segment) = &engine.structure.file(number).segment
            && has_lost_values(segment)?
        {
            lost.insert(number);
        }
    }
    repaired.done.extend(rewrite(engine, &lost)?);
    // Entries may be among what is lost, and nothing would tell.
    upkeep::doubt_indexes(engine)
}

fn has_lost_values(segment: &Segment) -> Result<bool> {
    let mut has = false;
    for extent in segment.extents() {
        extent.verify(&[], &mut |_| has = true)?;
    }
    Ok(has)
}

/// When both copies of `format` are damaged, the segments still say which store it is.
fn mend_identity(env: &Arc<dyn Env>, dir: &Path, repaired: &mut Repaired) -> Result<()> {
    let Err(e) = identity::find(&**env, dir) else { return Ok(()) };
    if e.kind != ErrorKind::Corrupt {
        return Err(e);
    }
    let Some(store) = crate::log::store_of(&**env, &dir.join("log"))? else { return Err(e) };
    let mut identity = identity::Identity { store, ..identity::Identity::default() };
    let random = env.random().map_err(|e| Error::io("read random bytes", &e))?;
    identity.hash_key.copy_from_slice(&random[..16]);
    identity::write(&**env, dir, &identity)?;
    repaired.done.push(format!(
        "{} was damaged in both copies; it was made anew from the log. Inode numbers and shortened names of the store \
         are other ones now",
        identity::path(dir).display()
    ));
    Ok(())
}
