//! Snapshots: a moment of the journal under a name. Nothing is copied; what a snapshot holds is kept until it goes.

use std::sync::Arc;

use crate::backend::{Event, SnapshotInfo};
use crate::journal::{Item, SnapshotRecord, State};
use crate::model::{Catalogue, TableName};
use crate::store::catalogue::tables::families_of;
use crate::store::engine::{Engine, known_table};
use crate::store::open::opening::open_snapshot;
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

impl Engine {
    /// All snapshots, by name.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        Ok(self.structure.layout().state.snapshots.iter().map(|(name, (_, record))| info(name, record)).collect())
    }

    /// A snapshot, with the state of now, which names all that it holds.
    pub fn snapshot_record(&self, name: &str) -> Result<(Arc<State>, u64, Arc<SnapshotRecord>)> {
        let state = Arc::clone(&self.structure.layout().state);
        let (edit, record) = state.snapshots.get(name).ok_or_else(|| no_snapshot(name))?;
        let (edit, record) = (*edit, Arc::clone(record));
        Ok((state, edit, record))
    }

    /// Keeps the present state under a name.
    pub fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        self.take_snapshot(name, table).map_err(|e| self.told_full(e))
    }

    fn take_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        check_name(name)?;
        self.log.check_poison()?;
        // What is lost would show as absent in it, without a word.
        self.snapshot().check_doubt()?;
        {
            let _one = self.snapshotting.lock();
            // A change of the catalogue would be in it without what was written before that and is not flushed yet.
            #[cfg(test)]
            let is_alone = !self.breaks(crate::store::options::Broken::SnapshotsBesideChanges);
            #[cfg(not(test))]
            let is_alone = true;
            let _unchanged = is_alone.then(|| self.altering.lock());
            let exists = || {
                let text = format!("snapshot {name} exists. Delete it first, or choose another name");
                Error::new(ErrorKind::AlreadyExists, text)
            };
            if self.structure.layout().state.snapshots.contains_key(name) {
                return Err(exists());
            }
            if let Some(table) = table {
                known_table(&self.catalogue.load(), table)?;
            }
            let _flushing = self.flushing.lock();
            self.freeze()?;
            self.flush_all()?;
            let made_at = self.now();
            self.change(
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
                |layout| self.show(layout, |_| None),
            )?;
        }
        self.subscribers.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    /// Deletes a snapshot.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.log.check_poison()?;
        {
            let _one = self.snapshotting.lock();
            self.snapshot_record(name)?;
            let gone = Item::SnapshotGone { name: name.to_owned() };
            self.change(|_| Ok(gone.into()), |layout| self.show(layout, |_| None))?;
        }
        if let Err(e) = self.structure.give_back_all() {
            log::warn!("{e}; what it left goes with the next compaction");
        }
        self.subscribers.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    /// Opens a snapshot for reads.
    pub fn open_kept(&self, name: &str) -> Result<Arc<Engine>> {
        let (state, edit, record) = self.snapshot_record(name)?;
        Ok(Arc::new(open_snapshot(self, (&state, edit, &record))))
    }

    /// What has failed with a snapshot has failed because it is not there any more, if it is not.
    pub fn of_snapshot(&self, name: &str, error: Error) -> Error {
        match self.snapshot_record(name) {
            Err(gone) => gone,
            Ok(_) => error.context(format!("snapshot {name}")),
        }
    }
}
