//! Snapshots: `snapshots/NAME/` holds hard links of the segments, a copy of the index, the catalogue and, last of
//! all, the file `snapshot`, without which the directory counts for nothing.
//!
//! Nothing of the store knows of them: what a compaction drops there stays here, and the bytes of a segment are
//! freed with its last link.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::catalogue;
use super::engine::{Engine, known_table};
use super::open::open_snapshot;
use crate::backend::{Event, SnapshotInfo};
use crate::env::Env;
use crate::index::IndexCopy;
use crate::model::{Catalogue, SegmentId, TableName, Timestamp};
use crate::wal::SegmentOrigin;
use crate::{Error, ErrorKind, Result};

/// Free bytes that a snapshot leaves on a large disk.
const SPARE: u64 = 64 << 20;
/// Longest name, bytes: that of a directory.
const NAME_MAX: usize = 255;
const DIR: &str = "snapshots";
/// The file that makes a directory a snapshot.
const MARK: &str = "snapshot";

/// The mark's contents.
#[derive(Serialize, Deserialize)]
struct Stored {
    cellfs_snapshot_format: u32,
    made_at_ms: i64,
    /// Of this table alone.
    table: Option<TableName>,
    tables: Vec<TableName>,
    cells: u64,
    bytes: u64,
}

fn io<'a>(what: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + 'a {
    move |e| Error::io(format!("{what} {}", path.display()), &e)
}

/// Free bytes that a snapshot leaves on a disk of `total` bytes, for those who go on writing.
fn spare(total: u64) -> u64 {
    SPARE.min(total / 20)
}

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

/// Deletes what a stop of the process has left of snapshots that were being made or deleted.
pub fn remove_unfinished(env: &dyn Env, store: &Path) -> Result<()> {
    let dir = store.join(DIR);
    for name in names(env, &dir)? {
        let path = dir.join(&name);
        match is_marked(env, &path) {
            Ok(true) => {}
            Ok(false) => env.remove_tree(&path).map_err(io("remove", &path))?,
            // What is no directory is none of ours.
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
                log::warn!("{} is no snapshot; it is left alone", path.display());
            }
            Err(e) => return Err(io("look at", &path)(e)),
        }
    }
    Ok(())
}

/// Whether a directory has the mark of a snapshot.
fn is_marked(env: &dyn Env, dir: &Path) -> std::io::Result<bool> {
    env.exists(&dir.join(MARK))
}

/// Where a snapshot is.
pub fn directory(store: &Path, name: &str) -> PathBuf {
    store.join(DIR).join(name)
}

/// Names of all that were finished.
pub fn finished(env: &dyn Env, store: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names(env, &store.join(DIR))? {
        let path = directory(store, &name);
        match is_marked(env, &path) {
            Ok(true) if check_name(&name).is_ok() => found.push(name),
            Err(e) if e.kind() != std::io::ErrorKind::NotADirectory => return Err(io("look at", &path)(e)),
            _ => {}
        }
    }
    found.sort();
    Ok(found)
}

/// The mark of the snapshot in a directory.
pub fn read_mark(env: &dyn Env, dir: &Path) -> Result<SnapshotInfo> {
    let path = dir.join(MARK);
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = env.read_file(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Engine::no_snapshot(&name),
        _ => io("read", &path)(e),
    })?;
    let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| {
        let text = format!("{} is damaged. Run: cellfs snapshot delete STORE {name}", path.display());
        Error::new(ErrorKind::Corrupt, text)
    })?;
    let Stored { made_at_ms, table, tables, cells, bytes, .. } = stored;
    Ok(SnapshotInfo { name, made_at: Timestamp(made_at_ms), table, tables, cells, bytes, damage: None })
}

/// As [`read_mark`]; a mark that cannot be read is told in what is known of the snapshot.
fn look_at_mark(env: &dyn Env, dir: &Path) -> Result<SnapshotInfo> {
    read_mark(env, dir).or_else(|e| match e.kind {
        ErrorKind::NotFound => Err(e),
        _ => {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (made_at, tables) = (Timestamp(0), Vec::new());
            Ok(SnapshotInfo { name, made_at, table: None, tables, cells: 0, bytes: 0, damage: Some(e.message) })
        }
    })
}

fn names(env: &dyn Env, dir: &Path) -> Result<Vec<String>> {
    match env.list(dir) {
        Ok(names) => Ok(names),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(io("list", dir)(e)),
    }
}

impl Engine {
    fn snapshot_dir(&self, name: &str) -> PathBuf {
        directory(&self.options.path, name)
    }

    fn no_snapshot(name: &str) -> Error {
        let text = format!("there is no snapshot {}; `cellfs snapshot list` shows them", name.escape_debug());
        Error::new(ErrorKind::NotFound, text)
    }

    /// All snapshots, by name.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let mut names = names(&*self.options.env, &self.options.path.join(DIR))?;
        names.sort();
        let mut found = Vec::new();
        for name in names.iter().filter(|name| check_name(name).is_ok()) {
            match look_at_mark(&*self.options.env, &self.snapshot_dir(name)) {
                Ok(info) => found.push(info),
                Err(e) if e.kind == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(found)
    }

    fn snapshot_info(&self, name: &str) -> Result<SnapshotInfo> {
        read_mark(&*self.options.env, &self.snapshot_dir(name))
    }

    /// Keeps the present state under a name.
    pub fn create_snapshot(&self, name: &str, table: Option<&TableName>) -> Result<()> {
        check_name(name)?;
        self.log.check_poison()?;
        let one = self.snapshotting.lock();
        let (env, dir) = (&self.options.env, self.snapshot_dir(name));
        if env.exists(&dir.join(MARK)).map_err(io("look at", &dir))? {
            let text = format!("snapshot {name} exists. Delete it first, or choose another name");
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        self.check_space()?;
        let made = self.fill_snapshot(&dir, table);
        if let Err(e) = made {
            // Order: the mark first, durably. What else cannot be removed now is removed when the store is opened.
            let mark = dir.join(MARK);
            if env.exists(&mark).unwrap_or(true) && env.remove(&mark).and_then(|()| env.sync_dir(&dir)).is_err() {
                return Err(self.not_known(&e));
            }
            let _ = env.remove_tree(&dir);
            return Err(e);
        }
        drop(one);
        self.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    /// Whether the snapshot is there is known after a restart.
    fn not_known(&self, error: &Error) -> Error {
        let reason = format!("{error}. Whether it holds is known after a restart; nothing is acknowledged before");
        self.log.set_poison(reason.clone());
        Error::new(ErrorKind::Poisoned, reason)
    }

    fn check_space(&self) -> Result<()> {
        let space = self.options.env.disk_space(&self.options.path).map_err(io("measure", &self.options.path))?;
        let needed = self.index.bytes() + spare(space.total);
        if space.available >= needed {
            return Ok(());
        }
        let text = format!(
            "a snapshot copies the index: {} MiB are needed on the disk, {} are free. Free room there",
            needed.div_ceil(1 << 20),
            space.available >> 20
        );
        Err(Error::new(ErrorKind::NoSpace, text))
    }

    fn fill_snapshot(&self, dir: &Path, table: Option<&TableName>) -> Result<()> {
        let env = &*self.options.env;
        let segments = dir.join("segments");
        env.remove_tree(dir).and_then(|()| env.create_dir(&segments)).map_err(io("make", dir))?;
        let cut = self.cut(&segments, table)?;
        env.sync_dir(&segments).map_err(io("sync", &segments))?;
        catalogue::save(env, &dir.join("catalogue"), &cut.catalogue)?;
        let index_dir = env.index_dir(dir).map_err(io("make the index of", dir))?;
        cut.index.write_to(&index_dir)?;
        let stored = Stored {
            cellfs_snapshot_format: 1,
            made_at_ms: cut.made_at.0,
            table: table.cloned(),
            tables: cut.catalogue.tables.keys().cloned().collect(),
            cells: cut.cells,
            bytes: cut.bytes + self.index.bytes(),
        };
        let text = serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n";
        // Order: everything is on the disk, by name too, before the mark says so.
        for durable in [&index_dir, dir, &self.options.path.join(DIR), &self.options.path] {
            env.sync_dir(durable).map_err(io("sync", durable))?;
        }
        let mark = dir.join(MARK);
        env.replace_file(&mark, text.as_bytes()).map_err(io("write", &mark))
    }

    /// Takes hold of one moment of the store.
    fn cut(&self, links: &Path, table: Option<&TableName>) -> Result<Cut> {
        let altering = self.altering.lock();
        let mut catalogue = (*self.catalogue.load_full()).clone();
        catalogue.staged.clear();
        if let Some(table) = table {
            known_table(&catalogue, table)?;
            catalogue.tables.retain(|name, _| name == table);
            catalogue.dropped.clear();
            catalogue.namespaces.retain(|name, _| **name == *table.namespace || name == "default");
        }
        let flushing = self.flushing.lock();
        let (active, last) = self.freeze_and_roll()?;
        let made_at = self.now();
        self.log.sync_to(last)?;
        // What was rescued after a failed sync is not where it is linked.
        self.log.check_poison()?;
        self.flush_up_to(last)?;
        // Order: no segment is purged between the moment of the index and the links.
        let _alone = self.maintenance.lock();
        let index = self.index.hold()?;
        drop((flushing, altering));
        let cells = {
            let meta = self.meta.lock();
            let families = catalogue.stored_families();
            families.filter_map(|family| meta.families.get(&family.id)).map(|stats| stats.cells).sum()
        };
        let bytes = self.link_segments(links, active)?;
        Ok(Cut { catalogue, index, made_at, cells, bytes })
    }

    /// Links every segment but those that were written to since `active` was begun; their bytes.
    fn link_segments(&self, to: &Path, active: SegmentId) -> Result<u64> {
        let (env, segments) = (&self.options.env, self.log.segments());
        let mut bytes = 0;
        let is_later = |id: &SegmentId| {
            *id >= active && segments.check_header(*id).is_ok_and(|origin| origin == SegmentOrigin::Log)
        };
        #[cfg(test)]
        let is_later = |id: &SegmentId| {
            if self.breaks(super::Broken::LinksLater) { *id == active } else { is_later(id) }
        };
        for id in segments.ids().into_iter().filter(|id| !is_later(id)) {
            let (path, marks) = (segments.path(id), segments.dead_path(id));
            let target = |path: &Path| to.join(path.file_name().unwrap_or_default());
            env.link(&path, &target(&path)).map_err(|e| {
                let text = format!("link {}: snapshots need a filesystem with hard links", path.display());
                Error::io(text, &e)
            })?;
            // Copied, not linked: the store goes on adding to it.
            match env.read_file(&marks) {
                Ok(marked) => env.replace_file(&target(&marks), &marked).map_err(io("copy", &marks))?,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(io("read", &marks)(e)),
            }
            bytes += segments.get(id).map_or(0, |segment| segment.len());
        }
        Ok(bytes)
    }

    /// Deletes a snapshot; those who read it may go on until they close it.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let one = self.snapshotting.lock();
        let (env, dir) = (&self.options.env, self.snapshot_dir(name));
        let mark = dir.join(MARK);
        env.remove(&mark).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Self::no_snapshot(name),
            _ => io("remove", &mark)(e),
        })?;
        // Order: it is no snapshot any more before its parts go.
        env.sync_dir(&dir).map_err(|e| self.not_known(&io("sync", &dir)(e)))?;
        if let Err(e) = env.remove_tree(&dir) {
            log::warn!("remove {}: {e}; what is left of it goes at the next start", dir.display());
        }
        drop(one);
        self.announce(&[Event::Snapshot { name: name.to_owned() }]);
        Ok(())
    }

    /// Opens a snapshot for reads.
    pub fn open_kept(&self, name: &str) -> Result<Arc<Engine>> {
        check_name(name).map_err(|_| Self::no_snapshot(name))?;
        let info = self.snapshot_info(name)?;
        let opened = open_snapshot(self, &self.snapshot_dir(name), info.made_at);
        Ok(Arc::new(opened.map_err(|e| self.of_snapshot(name, e))?))
    }

    /// What has failed with a snapshot has failed because it is not there any more, if it is not.
    pub fn of_snapshot(&self, name: &str, error: Error) -> Error {
        match self.snapshot_info(name) {
            Err(gone) if gone.kind == ErrorKind::NotFound => Self::no_snapshot(name),
            _ => error.context(format!("snapshot {name}")),
        }
    }
}

/// One moment of the store, held.
struct Cut {
    catalogue: Catalogue,
    index: IndexCopy,
    made_at: Timestamp,
    cells: u64,
    /// Of the segments.
    bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_may_be_fuller() {
        assert_eq!(spare(1 << 40), SPARE);
        assert_eq!(spare(200 << 20), 10 << 20);
    }
}
