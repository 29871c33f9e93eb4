//! Snapshots: a moment of the journal under a name. Nothing is copied; what a snapshot holds is kept until it goes.

use std::sync::Arc;

use crate::backend::{Event, SnapshotInfo};
use crate::journal::{Item, SnapshotRecord, State};
use crate::model::{Catalogue, TableName};
use crate::store::catalogue::tables::families_of;
use crate::store::engine::{Engine, edits, known_table};
use crate::store::extents::flush;
use crate::store::open::opening::open_snapshot;
use crate::store::space::{backlog, room};
use crate::{Error, ErrorKind, Result};

/// Longest name, bytes: that of a directory.
const NAME_MAX: usize = 255;

/// Refuses a name that HBase would refuse, or that would not be a name of one directory.
fn check_name(name: &str) -> Result<()> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.len() > NAME_MAX {
        let text = format!("the name of a snapshot has at most {NAME_MAX} bytes; this one has {}", name.len());
        return Err(Error::new(ErrorKind::NameTooLong, text));
    }
    if name.starts_with(word) && name.chars().all(|c| word(c) || c == '-' || c == '.') {
        return Ok(());
    }
    let text = format!(
        "`{}` cannot name a snapshot: letters, digits, `_`, `-` and `.`, the first a letter, a digit or `_`",
        name.escape_debug()
    );
    Err(Error::new(ErrorKind::IllegalArgument, text))
}

fn no_snapshot(name: &str) -> Error {
    let text = format!("there is no snapshot {}; `cellfs snapshot list` shows them", name.escape_debug());
    Error::new(ErrorKind::NotFound, text)
}

fn info(name: &str, record: &SnapshotRecord) -> SnapshotInfo {
    SnapshotInfo {
        name: name.to_owned(),
        made_at: record.made_at,
        table: record.table.clone(),
        tables: record.catalogue.tables.keys().cloned().collect(),
        cells: record.cells,
        bytes: record.bytes,
        damage: None,
    }
}

/// What a snapshot declares: everything, or one table and its namespace.
fn kept_of(catalogue: &Catalogue, table: Option<&TableName>) -> Catalogue {
    let mut kept = Catalogue { dropped: Vec::new(), ..catalogue.clone() };
    if let Some(table) = table {
        kept.tables.retain(|name, _| name == table);
        kept.namespaces.retain(|name, _| **name == *table.namespace);
    }
    kept
}

/// All snapshots, by name.
pub fn snapshots(engine: &Engine) -> Result<Vec<SnapshotInfo>> {
    Ok(engine.structure.layout().state.snapshots.iter().map(|(name, (_, record))| info(name, record)).collect())
}

/// A snapshot, with the state of now, which names all that it holds.
pub fn snapshot_record(engine: &Engine, name: &str) -> Result<(Arc<State>, u64, Arc<SnapshotRecord>)> {
    let state = Arc::clone(&engine.structure.layout().state);
    let (edit, record) = state.snapshots.get(name).ok_or_else(|| no_snapshot(name))?;
    let (edit, record) = (*edit, Arc::clone(record));
    Ok((state, edit, record))
}

/// Keeps the present state under a name.
pub fn create_snapshot(engine: &Engine, name: &str, table: Option<&TableName>) -> Result<()> {
    take_snapshot(engine, name, table).map_err(|e| room::told_full(engine, e))
}

fn take_snapshot(engine: &Engine, name: &str, table: Option<&TableName>) -> Result<()> {
    check_name(name)?;
    engine.log.check_poison()?;
    // What is lost would show as absent in it, without a word.
    engine.view().check_doubt()?;
    {
        let _one = engine.turns.snapshot();
        // A change of the catalogue would be in it without what was written before that and is not flushed yet.
        #[cfg(test)]
        let is_alone = !engine.breaks(crate::store::options::Broken::SnapshotsBesideChanges);
        #[cfg(not(test))]
        let is_alone = true;
        let _unchanged = is_alone.then(|| engine.turns.alter());
        let exists = || {
            let text = format!("snapshot {name} exists. Delete it first, or choose another name");
            Error::new(ErrorKind::AlreadyExists, text)
        };
        if engine.structure.layout().state.snapshots.contains_key(name) {
            return Err(exists());
        }
        if let Some(table) = table {
            known_table(&engine.catalogue.load(), table)?;
        }
        let _flushing = engine.turns.flush();
        backlog::freeze(engine)?;
        flush::flush_all(engine)?;
        let made_at = engine.now();
        edits::commit(
            engine,
            |layout| {
                if let Some(table) = table {
                    known_table(&layout.state.catalogue, table)?;
                }
                let catalogue = kept_of(&layout.state.catalogue, table);
                let mut families = families_of(&catalogue);
                for entries in catalogue.entry_families() {
                    families.remove(&entries.id);
                }
                let of_it = layout.extents().filter(|extent| families.contains(&extent.reference.family));
                let (mut cells, mut bytes) = (0, 0);
                for facts in of_it.filter_map(|extent| extent.facts()) {
                    cells += facts.cells;
                    bytes += facts.stored_bytes;
                }
                let record = SnapshotRecord { made_at, table: table.cloned(), catalogue, cells, bytes };
                Ok(Item::Snapshot { name: name.to_owned(), record: Arc::new(record) }.into())
            },
            |layout| engine.show(layout, |_| None),
        )?;
    }
    engine.subscribers.announce(&[Event::Snapshot { name: name.to_owned() }]);
    Ok(())
}

/// Deletes a snapshot.
pub fn delete_snapshot(engine: &Engine, name: &str) -> Result<()> {
    engine.log.check_poison()?;
    {
        let _one = engine.turns.snapshot();
        snapshot_record(engine, name)?;
        let gone = Item::SnapshotGone { name: name.to_owned() };
        edits::commit(engine, |_| Ok(gone.into()), |layout| engine.show(layout, |_| None))?;
    }
    if let Err(e) = engine.structure.give_back_all() {
        log::warn!("{e}; what it left goes with the next compaction");
    }
    engine.subscribers.announce(&[Event::Snapshot { name: name.to_owned() }]);
    Ok(())
}

/// Opens a snapshot for reads.
pub fn open_kept(engine: &Engine, name: &str) -> Result<Arc<Engine>> {
    let (state, edit, record) = snapshot_record(engine, name)?;
    Ok(Arc::new(open_snapshot(engine, (&state, edit, &record))))
}

/// What has failed with a snapshot has failed because it is not there any more, if it is not.
pub fn of_snapshot(engine: &Engine, name: &str, error: Error) -> Error {
    match snapshot_record(engine, name) {
        Err(gone) => gone,
        Ok(_) => error.context(format!("snapshot {name}")),
    }
}
