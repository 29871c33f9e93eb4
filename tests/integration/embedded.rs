//! The scenarios on the embedded store, on a simulated machine.

use std::sync::Arc;

use cellfs::Result;
use cellfs::backend::{Backend, CompactionKind};
use cellfs::env::{CrashMode, SimEnv};
use cellfs::model::{
    CatalogueChange, Condition, Get, Mutated, Origin, RowMutations, RowResult, Scan, TableName, TableSchema, Timestamp,
};
use cellfs::store::{Background, Store, StoreOptions};

use crate::subject::Subject;

/// What happens to the store before each step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Between {
    Nothing,
    /// It is closed and opened again.
    Reopen,
    /// The process is killed. (A power cut loses the index in the simulation, and with it what was flushed when,
    /// on which classic families' answers depend.)
    Kill,
}

/// A store and its machine.
pub struct Embedded {
    env: SimEnv,
    /// `None` only while it is opened again.
    store: Option<Store>,
    table: TableName,
    between: Between,
    steps: u32,
}

fn open(env: &SimEnv) -> Store {
    let mut options = StoreOptions::new("/store");
    options.env = Arc::new(env.clone());
    options.background = Background::Off;
    // So few that compactions come by all their ways of holding cells.
    Store::open(options).unwrap()
}

impl Embedded {
    /// An empty store with this table.
    pub fn new(mut schema: TableSchema, between: Between) -> Self {
        for family in schema.families.values_mut() {
            let wait = family.rules.time_to_purge_deletes_ms.to_string();
            family.configuration.insert("hbase.hstore.time.to.purge.deletes".into(), wait);
            if let Some(ttl) = family.rules.ttl_ms {
                family.configuration.insert("cellfs.ttl.milliseconds".into(), ttl.to_string());
            }
        }
        let env = SimEnv::new();
        let store = open(&env);
        let table = schema.name.clone();
        store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        Self { env, store: Some(store), table, between, steps: 0 }
    }

    /// The store, after what is to happen between two steps.
    fn store(&mut self) -> &Store {
        self.steps += 1;
        match self.between {
            Between::Nothing => {}
            Between::Reopen => {
                self.store.take().unwrap().close().unwrap();
                self.store = Some(open(&self.env));
            }
            Between::Kill => {
                let store = self.store.take().unwrap();
                self.env.crash(CrashMode::ProcessOnly);
                drop(store);
                self.store = Some(open(&self.env));
            }
        }
        self.store.as_ref().unwrap()
    }
}

impl Subject for Embedded {
    fn set_now(&mut self, now: Timestamp) {
        self.env.set_now(now);
    }

    fn mutate(&mut self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        self.store().mutate(mutations, condition)
    }

    fn get(&mut self, get: &Get) -> Result<RowResult> {
        self.store().get(get)
    }

    fn scan(&mut self, scan: &Scan) -> Result<Vec<RowResult>> {
        self.store().scan(scan)?.collect()
    }

    fn flush(&mut self) -> Result<()> {
        let table = self.table.clone();
        self.store().flush(Some(&table))
    }

    fn compact(&mut self, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        let table = self.table.clone();
        self.store().compact(&table, family, kind)
    }
}
