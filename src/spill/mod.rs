//! An ordered map of bytes that lives as long as its owner: in memory while small, then in an unlinked
//! SQLite file. What is in it is lost when the process ends, and nothing stays behind. Where the disk has no
//! room for the file, the map holds on in memory and asks again as it grows.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::env::sync::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use crate::{Error, ErrorKind, Result};

/// What an entry takes in memory beside its bytes, about.
const OVERHEAD: usize = 96;
/// Memory for pages of the file, KiB.
const CACHE_KIB: u32 = 2048;
/// Entries that go to the file at once: SQLite keeps the pages that they change in memory until then.
const BATCH: usize = 1024;
/// Times the bytes meant for memory that are kept there at most while the file cannot grow.
const PATIENCE: usize = 16;

/// See the module.
pub struct SpillMap {
    directory: PathBuf,
    memory_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Newer than the file's entries of the same keys.
    memory: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
    /// The bytes in memory at which a file that could not grow is asked again.
    again_at: usize,
    file: Option<Connection>,
}

impl State {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Option<Vec<u8>> {
        self.bytes += key.len() + value.len() + OVERHEAD;
        let key_len = key.len();
        let old = self.memory.insert(key, value)?;
        self.bytes -= key_len + old.len() + OVERHEAD;
        Some(old)
    }

    fn take(&mut self, key: &[u8]) -> bool {
        let Some(value) = self.memory.remove(key) else { return false };
        self.bytes -= key.len() + value.len() + OVERHEAD;
        true
    }

    /// Moves all to the file. After an error each entry is where it was or in the file.
    fn spill(&mut self, directory: &Path) -> Result<()> {
        while !self.memory.is_empty() {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(open(directory)?),
            };
            store(file, self.memory.iter().take(BATCH))?;
            for _ in 0..BATCH {
                let Some((key, value)) = self.memory.pop_first() else { break };
                self.bytes -= key.len() + value.len() + OVERHEAD;
            }
        }
        Ok(())
    }
}

fn store<'a>(file: &mut Connection, entries: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Result<()> {
    let tx = file.transaction().map_err(sql)?;
    {
        let mut put = tx.prepare_cached("INSERT OR REPLACE INTO entries(k, v) VALUES(?1, ?2)").map_err(sql)?;
        for (key, value) in entries {
            put.execute((key, value)).map_err(sql)?;
        }
    }
    tx.commit().map_err(sql)
}

/// One key of several parts, such that keys sort by their parts. Ends with 01.
pub fn join_key(parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(parts.iter().map(|part| part.len() + 2).sum());
    for part in parts {
        let mut rest = *part;
        while let Some(at) = memchr::memchr(0, rest) {
            key.extend_from_slice(&rest[..at]);
            key.extend_from_slice(&[0, 0xFF]);
            rest = &rest[at + 1..];
        }
        key.extend_from_slice(rest);
        key.extend_from_slice(&[0, 1]);
    }
    key
}

/// The first part of a key, or of what is left of one.
pub fn first_part(mut key: &[u8]) -> Option<Vec<u8>> {
    let mut part = Vec::with_capacity(key.len());
    loop {
        match key {
            [0, 1, ..] => return Some(part),
            [0, 0xFF, rest @ ..] => {
                part.push(0);
                key = rest;
            }
            [byte, rest @ ..] => {
                part.push(*byte);
                key = rest;
            }
            [] => return None,
        }
    }
}

/// First key that is past all that start with one made by [`join_key`].
pub fn past_key(joined: &[u8]) -> Vec<u8> {
    let mut key = joined.to_vec();
    if let Some(last) = key.last_mut() {
        *last += 1;
    }
    key
}

fn sql(e: rusqlite::Error) -> Error {
    let kind = match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("a temporary file of the mount: {e}"))
}

fn open(directory: &Path) -> Result<Connection> {
    let failed = |e: std::io::Error| Error::io(format!("make a temporary file in {}", directory.display()), &e);
    let file = tempfile::Builder::new().prefix(".spill").tempfile_in(directory).map_err(failed)?;
    let connection = Connection::open(file.path()).map_err(sql)?;
    // A journal, for a change that finds no room halfway is to be undone.
    let setup = format!(
        "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-{CACHE_KIB};
         CREATE TABLE entries(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;"
    );
    // Order: the file is in use before its name goes with the end of this function.
    connection.execute_batch(&setup).map_err(sql)?;
    // Without it every new range makes SQLite plan the statement again, which costs more than the lookup.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(sql)?;
    Ok(connection)
}

impl SpillMap {
    /// An empty map; past `memory_max` bytes its entries go into a file in `directory`.
    pub fn new(directory: &Path, memory_max: usize) -> Self {
        Self { directory: directory.to_owned(), memory_max, state: Mutex::default() }
    }

    /// Whether nothing was ever put in, or all that was is gone from memory without a file.
    pub fn is_untouched(&self) -> bool {
        let state = self.state.lock();
        state.memory.is_empty() && state.file.is_none()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let state = self.state.lock();
        match (state.memory.get(key), &state.file) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, None) => Ok(None),
            (None, Some(file)) => {
                let mut select = file.prepare_cached("SELECT v FROM entries WHERE k = ?1").map_err(sql)?;
                select.query_row([key], |row| row.get(0)).optional().map_err(sql)
            }
        }
    }

    /// Sets the value of a key; after an error it is what it was.
    pub fn insert(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        let mut state = self.state.lock();
        let old = state.put(key.clone(), value);
        if state.bytes <= self.memory_max.max(state.again_at) {
            return Ok(());
        }
        let Err(e) = state.spill(&self.directory) else {
            state.again_at = 0;
            return Ok(());
        };
        let most = PATIENCE * self.memory_max;
        state.again_at = most.min(state.bytes + self.memory_max / 4);
        // An entry that went to the file with others is as good as one in memory.
        if state.bytes <= most || !state.take(&key) {
            return Ok(());
        }
        if let Some(old) = old {
            state.put(key, old);
        }
        Err(e)
    }

    /// Takes a key away; whether it was there.
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        let mut state = self.state.lock();
        // Order: what the file refuses to forget is not to come to light from under the memory's.
        let in_file = match &state.file {
            Some(file) => {
                let mut delete = file.prepare_cached("DELETE FROM entries WHERE k = ?1").map_err(sql)?;
                delete.execute([key]).map_err(sql)? > 0
            }
            None => false,
        };
        Ok(state.take(key) || in_file)
    }

    /// Takes all keys of `[from, end)` away.
    pub fn remove_range(&self, from: &[u8], end: &[u8]) -> Result<()> {
        let mut state = self.state.lock();
        // Order: as in `remove`.
        if let Some(file) = &state.file {
            file.execute("DELETE FROM entries WHERE k >= ?1 AND k < ?2", (from, end)).map_err(sql)?;
        }
        let keys: Vec<Vec<u8>> = range(&state.memory, from, end).map(|(key, _)| key.clone()).collect();
        for key in keys {
            state.take(&key);
        }
        Ok(())
    }

    /// Entries with keys in `[from, end)`, ascending, at most `limit`.
    pub fn range(&self, from: &[u8], end: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let state = self.state.lock();
        let newer = range(&state.memory, from, end).take(limit).map(|(k, v)| (k.clone(), v.clone()));
        let Some(file) = &state.file else { return Ok(newer.collect()) };
        let text = "SELECT k, v FROM entries WHERE k >= ?1 AND k < ?2 ORDER BY k LIMIT ?3";
        let mut select = file.prepare_cached(text).map_err(sql)?;
        let rows = select.query_map((from, end, limit as i64), |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
        let mut found = rows.collect::<Result<BTreeMap<Vec<u8>, Vec<u8>>, _>>().map_err(sql)?;
        found.extend(newer);
        Ok(found.into_iter().take(limit).collect())
    }
}

fn range<'a>(
    memory: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    from: &[u8],
    end: &[u8],
) -> impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)> {
    // A range whose ends are crossed would panic.
    let end = end.max(from);
    memory.range::<[u8], _>((Bound::Included(from), Bound::Excluded(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u8, u8),
        Remove(u8),
        RemoveRange(u8, u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (any::<u8>(), any::<u8>()).prop_map(|(k, v)| Step::Insert(k, v)),
            2 => any::<u8>().prop_map(Step::Remove),
            1 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| Step::RemoveRange(a, b)),
        ];
        prop::collection::vec(step, 1..200)
    }

    /// The file may have no more pages than it has; a number lets it have so many.
    fn limit_file(map: &SpillMap, pages: Option<u32>) {
        let state = map.state.lock();
        let file = state.file.as_ref().unwrap();
        let pages = pages.unwrap_or_else(|| file.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap());
        file.query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(())).unwrap();
    }

    fn key(n: u32) -> Vec<u8> {
        // Scattered, for pages of the file to change all over.
        n.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec()
    }

    #[test]
    fn a_file_that_cannot_grow_costs_nothing_of_the_map() {
        let directory = tempfile::tempdir().unwrap();
        let map = SpillMap::new(directory.path(), 200_000);
        (0..5000).for_each(|n| map.insert(key(n), n.to_be_bytes().to_vec()).unwrap());
        limit_file(&map, None);
        let stays = |n: u32| map.get(&key(n)).unwrap() == Some(n.to_be_bytes().to_vec());
        let refused = (5000..).find(|n| map.insert(key(*n), n.to_be_bytes().to_vec()).is_err()).unwrap();
        assert!(refused > 15_000, "kept in memory for long: {refused}");
        assert!((0..refused).all(stays));
        assert_eq!(map.get(&key(refused)).unwrap(), None, "what was refused is not there");
        assert!(map.insert(key(1), vec![7; 5000]).is_err());
        assert!(stays(1));

        (0..1000).for_each(|n| assert!(map.remove(&key(n)).unwrap()));
        assert!((0..1000).all(|n| map.get(&key(n)).unwrap().is_none()));
        limit_file(&map, Some(1 << 20));
        (0..20_000).for_each(|n| map.insert(key(n), n.to_be_bytes().to_vec()).unwrap());
        assert!((0..20_000).all(stays));
        assert!(map.state.lock().bytes <= 200_000, "the memory is as small as before");
    }

    proptest! {
        #[test]
        fn it_is_an_ordered_map(steps in steps()) {
            let directory = tempfile::tempdir().unwrap();
            let spilling = SpillMap::new(directory.path(), 10 * (2 + OVERHEAD));
            let mut model = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Insert(k, v) => {
                        spilling.insert(vec![k], vec![v]).unwrap();
                        model.insert(vec![k], vec![v]);
                    }
                    Step::Remove(k) => {
                        prop_assert_eq!(spilling.remove(&[k]).unwrap(), model.remove([k].as_slice()).is_some());
                    }
                    Step::RemoveRange(a, b) => {
                        spilling.remove_range(&[a], &[b]).unwrap();
                        model.retain(|k, _| !(a..b).contains(&k[0]));
                    }
                }
            }
            let all: Vec<_> = model.clone().into_iter().collect();
            prop_assert_eq!(spilling.range(&[], &[255, 255], 1000).unwrap(), all);
            let some: Vec<_> = model.range(vec![50]..vec![200]).take(5).map(|(k, v)| (k.clone(), v.clone())).collect();
            prop_assert_eq!(spilling.range(&[50], &[200], 5).unwrap(), some);
            prop_assert_eq!(spilling.get(&[9]).unwrap(), model.get([9].as_slice()).cloned());
            prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing stays behind");
        }
    }
}
