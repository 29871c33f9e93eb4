//! Whether the index has all its rows, in order: SQLite does not see damage to its own pages.
//!
//! A walk in the order of the keys that finds each row as it was written, and as many as were counted, proves that
//! none is missing and that each is found by its key.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::db::{Index, sql};
use super::state::read_meta;
use super::{IndexRow, Meta, key};
use crate::Result;
use crate::model::FamilyId;

/// Rows between two looks at whether to go on.
const PIECE: u64 = 4096;

/// What [`Index::verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    Good,
    /// It must be made anew; a sentence says why.
    Damaged(String),
    /// It was told to stop.
    Stopped,
}

/// Tells walks that somebody waits for them to end.
#[derive(Debug, Default)]
pub struct Walks {
    stop: AtomicBool,
}

impl Walks {
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub fn allow(&self) {
        self.stop.store(false, Ordering::Release);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Index {
    /// Looks at every row, as of one moment; condemns the index if it is damaged.
    pub fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<Verified> {
        let connection = self.own_reader()?;
        connection.execute_batch("BEGIN").map_err(sql("read"))?;
        let verified =
            walk(&connection, &|| go_on() && !self.walks().stopped()).unwrap_or_else(|e| Verified::Damaged(e.message));
        if matches!(verified, Verified::Damaged(_)) {
            self.condemn();
        }
        Ok(verified)
    }
}

fn walk(connection: &Connection, go_on: &dyn Fn() -> bool) -> Result<Verified> {
    let meta = read_meta(connection)?;
    let mut counts: BTreeMap<FamilyId, u64> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT k, v FROM cells ORDER BY k").map_err(sql("read"))?;
    let mut rows = statement.query([]).map_err(sql("read"))?;
    let (mut last, mut seen): (Vec<u8>, u64) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(sql("read"))? {
        let blob = |at| row.get_ref(at).ok().and_then(|value| value.as_blob().ok());
        let (Some(key), Some(packed)) = (blob(0), blob(1)) else { return Ok(damaged("a row has no key")) };
        let Some(family) = key::family_of(key).filter(|_| IndexRow::decode(key, packed).is_some()) else {
            return Ok(damaged("a row does not match its checksum"));
        };
        if seen > 0 && key <= last.as_slice() {
            return Ok(damaged("rows are out of order"));
        }
        last.clear();
        last.extend_from_slice(key);
        *counts.entry(family).or_default() += 1;
        seen += 1;
        if seen.is_multiple_of(PIECE) && !go_on() {
            return Ok(Verified::Stopped);
        }
    }
    Ok(compare(&meta, &counts))
}

fn compare(meta: &Meta, counts: &BTreeMap<FamilyId, u64>) -> Verified {
    let mut counted: BTreeMap<FamilyId, u64> = meta.families.iter().map(|(id, stats)| (*id, stats.cells)).collect();
    counted.retain(|_, cells| *cells > 0);
    if counted == *counts {
        return Verified::Good;
    }
    let (rows, cells): (u64, u64) = (counts.values().sum(), counted.values().sum());
    damaged(&format!("it has {rows} rows, {cells} were written"))
}

fn damaged(what: &str) -> Verified {
    Verified::Damaged(what.to_owned())
}
