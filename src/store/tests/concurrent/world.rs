//! What all actors of a run share: the machine, the store, what may be read, and chance.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::events::{Content, EXISTS, EventId, Kept, Place, Shown, Tick};
use super::oracle::Oracle;
use crate::backend::Backend;
use crate::env::{Env, SimEnv, Untold, sync};
use crate::model::{Durability, TableName};
use crate::store::Store;
use crate::{Error, ErrorKind, Result};

pub const TABLES: [&str; 4] = ["t0", "t1", "t2", "t3"];
pub const ROWS: [&str; 3] = ["r0", "r1", "r2"];
pub const QUALIFIERS: [&str; 3] = ["a", "b", "c"];
/// Two columns that are always put together.
pub const PAIR: [&str; 2] = ["left", "right"];

/// Numbers that a seed gives.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A snapshot that was made: what its tables may have shown.
#[derive(Clone)]
pub struct Kept1 {
    pub name: String,
    pub tables: BTreeMap<String, Content>,
    /// When, at least and at most.
    pub made: (Tick, Tick),
}

/// A table that was set aside: what it may have shown, and when that was.
pub struct Aside {
    pub content: Content,
    pub within: (Tick, Tick),
    pub operation: u64,
}

/// What the oracle and the trash know.
#[derive(Default)]
pub struct Known {
    pub oracle: Oracle,
    pub snapshots: Vec<Kept1>,
    /// Of tables that were set aside, last of all the one that comes back first.
    pub aside: BTreeMap<String, Vec<Aside>>,
    /// When this life of the store has begun.
    life: Tick,
    /// When its silent faults had struck, at the latest.
    struck: Vec<Tick>,
    /// Operations that were begun, by name, and those that were done.
    pub counts: BTreeMap<&'static str, (u64, u64)>,
}

/// See the module.
pub struct World {
    pub env: SimEnv,
    pub known: Mutex<Known>,
    /// Held during changes of the catalogue, whose order is then known.
    pub catalogue: sync::Mutex<()>,
    next: AtomicU64,
    pub stop: AtomicBool,
    /// Bytes went wrong in silence: what cannot be read is no fault any more, a wrong value is.
    pub damaged: AtomicBool,
    /// Calls fail.
    pub failing: AtomicBool,
    /// Bytes of a value at most.
    pub value_bytes: u64,
    pub tables: Tables,
}

/// The kind of all tables: to change that changes what is seen.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub is_classic: bool,
    pub ttl_s: Option<u64>,
}

/// A refusal that says that nothing was done.
pub fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NoSuchTable
            | ErrorKind::NoSuchFamily
            | ErrorKind::NoSuchNamespace
            | ErrorKind::TableExists
            | ErrorKind::FamilyExists
            | ErrorKind::AlreadyExists
            | ErrorKind::NotFound
            | ErrorKind::NotEmpty
            | ErrorKind::TableDisabled
            | ErrorKind::NoSpace
            | ErrorKind::Busy
            | ErrorKind::IllegalArgument
            | ErrorKind::CrossDevice
    )
}

impl World {
    pub fn new(env: SimEnv, value_bytes: u64, tables: Tables) -> Self {
        let mut known = Known::default();
        known.oracle.aging().set_ttl(tables.ttl_s.map(|ttl| ttl as i64 * 1_000));
        Self {
            env,
            known: Mutex::new(known),
            catalogue: sync::Mutex::new(()),
            next: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            value_bytes,
            tables,
        }
    }

    /// Never held where others may go on.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        let (now, mut known) = (self.env.now().0, self.known.lock().unwrap());
        known.oracle.aging().note_clock(now);
        let silent = self.env.faults_met().1 as usize;
        if silent != known.struck.len() {
            let tick = known.oracle.tick();
            known.struck.resize(silent, tick);
        }
        known
    }

    pub fn fresh(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes of a number: it, and so much more that blocks and chunks are met.
    pub fn bytes(&self, number: u64, chance: &mut Chance) -> Vec<u8> {
        let mut text = format!("{number}.").into_bytes();
        let more = chance.below(self.value_bytes);
        text.extend((0..more).map(|at| (number.wrapping_mul(31).wrapping_add(at) % 251) as u8));
        text
    }

    pub fn kept(durability: Durability) -> Kept {
        match durability {
            Durability::SkipWal | Durability::AsyncWal => Kept::Nowhere,
            Durability::SyncWal => Kept::Process,
            Durability::FsyncWal => Kept::Always,
        }
    }

    /// The machine has stopped. `untold`: since then it may have lost what it said was synced, and nobody can know.
    pub fn stopped(&self, is_power_cut: bool, untold: Option<Tick>) {
        let mut known = self.known();
        known.oracle.stopped(is_power_cut, untold);
        let Known { oracle, aside, .. } = &mut *known;
        for (table, all) in aside {
            for one in all {
                let Aside { content, within, operation } = one;
                for (column, shown) in oracle.content_within(table, *within, *operation) {
                    content.entry(column).or_default().extend(shown);
                }
            }
        }
    }

    /// A process begins to use the machine, whose faults have been planned.
    pub fn begin_life(&self) {
        let mut known = self.known();
        known.life = known.oracle.tick();
    }

    /// Since when the log may lack what was synced without that anything tells of it, if the machine stops now.
    pub fn untold(&self) -> Option<Tick> {
        let known = self.known();
        // Of values apart, too, the log tells.
        let untold = self.env.untold_faults(&["/store/log", "/store/blobs"].map(Path::new));
        let since = |one: &Untold| if one.is_elsewhere { known.life } else { known.struck[one.number as usize - 1] };
        untold.iter().map(since).min()
    }

    pub fn tick(&self) -> Tick {
        self.known().oracle.tick()
    }

    /// Ends an operation on places as its answer says; a panic is a fault that was found.
    pub fn end<T>(&self, begun: &[EventId], table: (&str, Tick), kept: Kept, result: &Result<T>) {
        let mut known = self.known();
        for id in begun {
            match result {
                Ok(_) if !self.stop.load(Ordering::Relaxed) => known.oracle.done(id, kept),
                Err(e) if is_refusal(e.kind) => known.oracle.refused(id),
                _ => known.oracle.unknown(id),
            }
        }
        drop(known);
        self.judge_error(table, result.as_ref().err());
    }

    /// Whether a table is there is what an answer says of it too.
    pub fn judge_error(&self, (table, begin): (&str, Tick), error: Option<&Error>) {
        let exists = match error {
            None => Some(EXISTS),
            Some(e) if e.kind == ErrorKind::NoSuchTable => None,
            Some(_) => return self.judge_failure(error),
        };
        self.judge(&Place::table(table), begin, exists);
    }

    /// An operation may fail only where something has happened to the machine.
    pub fn judge_failure(&self, error: Option<&Error>) {
        let Some(error) = error else { return };
        let explained = is_refusal(error.kind)
            || self.stop.load(Ordering::Relaxed)
            || self.failing.load(Ordering::Relaxed)
            || self.damaged.load(Ordering::Relaxed);
        assert!(explained, "on a healthy machine: {:?} {error}", error.kind);
    }

    pub fn judge(&self, place: &Place, begin: Tick, shown: Shown) {
        if self.stop.load(Ordering::Relaxed) {
            // What is answered after the machine has stopped nobody hears.
            return;
        }
        let judged = self.known().oracle.saw(place, begin, shown);
        if let Err(text) = judged {
            panic!("{text}");
        }
    }
}

pub fn table_name(name: &str) -> TableName {
    TableName::parse(name).unwrap()
}

/// The number of a value's bytes, which must be all of them.
pub fn number_of(bytes: &[u8]) -> u64 {
    let end = bytes.iter().position(|&b| b == b'.').unwrap_or_else(|| panic!("no value of ours: {bytes:?}"));
    let number: u64 = std::str::from_utf8(&bytes[..end]).unwrap().parse().unwrap();
    for (at, byte) in bytes[end + 1..].iter().enumerate() {
        assert_eq!(u64::from(*byte), number.wrapping_mul(31).wrapping_add(at as u64) % 251, "byte {at} of {number}");
    }
    number
}

/// A read of one column.
pub fn read(store: &dyn Backend, place: &Place) -> Result<Shown> {
    let column = crate::model::ColumnKey {
        table: table_name(&place.table),
        row: place.row.as_str().into(),
        family: "f".into(),
        qualifier: place.qualifier.as_str().into(),
    };
    // A version that went meanwhile is looked up again, as the mount does.
    let mut gone = 0;
    loop {
        let Some(cell) = store.newest(&column, crate::model::TimeRange::ALL)? else { return Ok(None) };
        match store.read_value(&cell, 0, usize::MAX) {
            Ok(bytes) => {
                log::trace!("{place:?} shows {} of {}, {}", number_of(&bytes), cell.timestamp, cell.seq.0);
                return Ok(Some(number_of(&bytes)));
            }
            Err(e) if e.kind == ErrorKind::NotFound && gone < 20 => gone += 1,
            Err(e) => return Err(e),
        }
    }
}

/// The store that is open now.
pub type Open = Arc<Store>;
