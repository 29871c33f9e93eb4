//! The scenarios on the embedded store, on a simulated machine.

use std::sync::Arc;

use cellfs::Result;
use cellfs::backend::{Backend, CompactionKind};
use cellfs::env::SimEnv;
use cellfs::model::{
    CatalogueChange, Condition, Get, Mutated, Origin, RowMutations, RowResult, Scan, TableName, TableSchema, Timestamp,
};
use cellfs::store::{Background, Store, StoreOptions};

use crate::subject::Subject;

/// A store and its machine.
pub struct Embedded {
    env: SimEnv,
    store: Store,
    table: TableName,
}

impl Embedded {
    /// An empty store with this table.
    pub fn new(mut schema: TableSchema) -> Self {
        for family in schema.families.values_mut() {
            let wait = family.rules.time_to_purge_deletes_ms.to_string();
            family.configuration.insert("hbase.hstore.time.to.purge.deletes".into(), wait);
        }
        let env = SimEnv::new();
        let mut options = StoreOptions::new("/store");
        options.env = Arc::new(env.clone());
        options.background = Background::Off;
        let store = Store::open(options).unwrap();
        let table = schema.name.clone();
        store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        Self { env, store, table }
    }
}

impl Subject for Embedded {
    fn set_now(&mut self, now: Timestamp) {
        self.env.set_now(now);
    }

    fn mutate(&mut self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        self.store.mutate(mutations, condition)
    }

    fn get(&mut self, get: &Get) -> Result<RowResult> {
        self.store.get(get)
    }

    fn scan(&mut self, scan: &Scan) -> Result<Vec<RowResult>> {
        self.store.scan(scan)?.collect()
    }

    fn flush(&mut self) -> Result<()> {
        self.store.flush(Some(&self.table))
    }

    fn compact(&mut self, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        self.store.compact(&self.table, family, kind)
    }
}
