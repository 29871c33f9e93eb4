//! Histories of random steps on a store, and what may be found of them after a crash.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::tests::*;

/// Newest values by column.
pub type State = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Column, number of the value, whether it must be on the disk when it is acknowledged.
    Put(usize, u32, bool),
    Delete(usize, bool),
    Rename(usize, usize),
    Flush,
    Compact,
    Sync,
}

pub const COLUMNS: usize = 6;

pub fn name(column: usize) -> String {
    format!("q{column}")
}

pub fn content(n: u32) -> Vec<u8> {
    let len = [3, 40, 300, 900][n as usize % 4];
    n.to_le_bytes().iter().copied().cycle().take(len).collect()
}

pub fn steps(seed: u64, count: u32) -> Vec<Step> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut one = |n| {
        let column = random.random_range(0..COLUMNS);
        let durable = random.random_range(0..4) == 0;
        match random.random_range(0..20) {
            0..=10 => Step::Put(column, n, durable),
            11..=13 => Step::Delete(column, durable),
            14..=15 => Step::Rename(column, random.random_range(0..COLUMNS)),
            16 => Step::Flush,
            17..=18 => Step::Compact,
            _ => Step::Sync,
        }
    };
    (0..count).map(&mut one).collect()
}

impl Step {
    pub fn on(self, state: &State) -> State {
        let mut after = state.clone();
        match self {
            Step::Put(column, n, _) => drop(after.insert(name(column), content(n))),
            Step::Delete(column, _) => drop(after.remove(&name(column))),
            Step::Rename(from, to) if from != to => {
                if let Some(value) = after.remove(&name(from)) {
                    after.insert(name(to), value);
                }
            }
            _ => {}
        }
        after
    }

    pub fn is_durable(self) -> bool {
        matches!(self, Step::Put(.., true) | Step::Delete(_, true) | Step::Sync)
    }

    pub fn run(self, store: &Store) -> crate::Result<()> {
        let durability = if self.is_durable() { Durability::FsyncWal } else { Durability::SyncWal };
        match self {
            Step::Put(column, n, _) => {
                let cell = put_cell(&name(column), &content(n), Time::AfterNewest);
                mutate(store, "r", Mutation::Put(vec![cell]), durability).map(drop)
            }
            Step::Delete(at, _) => {
                let kind = DeleteKind::Column { family: "f".into(), qualifier: name(at).into() };
                let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
                mutate(store, "r", Mutation::Delete(vec![marker]), durability).map(drop)
            }
            Step::Rename(from, to) if from != to => {
                let rename = RenameCell::newest(column("r", &name(from)), column("r", &name(to)), RenameMode::Replace);
                match store.rename_cell(&rename) {
                    Err(e) if e.kind == ErrorKind::NotFound => Ok(()),
                    other => other.map(drop),
                }
            }
            Step::Rename(..) => Ok(()),
            Step::Flush => store.flush(None),
            Step::Compact => store.compact(&table(), None, Major),
            Step::Sync => store.sync(),
        }
    }
}

pub fn small(env: Arc<dyn Env>) -> StoreOptions {
    let mut options = StoreOptions::new("/store");
    options.env = env;
    options.background = Background::Off;
    options.memtable_bytes = 3000;
    // A slice of a compaction is a row.
    options.segment_bytes = 1;
    options
}

/// Numbers of the values, for people.
pub fn firsts(state: &State) -> Vec<String> {
    state.iter().map(|(name, value)| format!("{name}={}", value[0])).collect()
}

pub fn state(store: &Store) -> crate::Result<State> {
    let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 1000)?;
    let read = |(name, cell): (Qualifier, CellInfo)| {
        Ok((String::from_utf8_lossy(&name).into_owned(), store.read_value(&cell, 0, 10_000)?))
    };
    columns.into_iter().map(read).collect()
}

/// Rules of the family of a history: also HBase's own deletes, where the steps cannot tell them apart.
pub fn rules(seed: u64) -> &'static [(&'static str, &'static str)] {
    match seed % 3 {
        0 => FILES,
        1 => &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")],
        _ => &[("VERSIONS", "1")],
    }
}

/// A store with its table, and a machine under it that has settled.
pub fn begin(env: &SimEnv, wrapped: &Arc<dyn Env>, seed: u64) -> Store {
    let store = Store::open(small(Arc::clone(wrapped))).unwrap();
    create(&store, rules(seed));
    store.sync().unwrap();
    env.advance(1000);
    store
}

/// What may be found after a crash.
#[derive(Clone)]
pub struct Allowed {
    /// The states since the last durable step.
    pub states: Vec<State>,
    /// How many of the last of them may be found as long as only processes have died.
    pub process_only: usize,
}

/// Runs steps until one fails; what a crash may leave.
pub fn run(store: &Store, steps: &[Step]) -> Allowed {
    let mut states = vec![State::new()];
    for step in steps {
        let after = step.on(&states[states.len() - 1]);
        let result = step.run(store);
        if result.is_err() {
            states.push(after);
            return Allowed { states, process_only: 2 };
        }
        if step.is_durable() {
            states.clear();
        }
        states.push(after);
    }
    Allowed { states, process_only: 1 }
}
