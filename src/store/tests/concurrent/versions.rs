//! Versions of one column that are put, removed, read and listed side by side, while flushes, compactions and other columns
//! go on: each actor knows of those that it puts itself whether they are there.

use std::collections::{BTreeMap, BTreeSet};

use super::world::Chance;
use super::*;
use crate::backend::CompactionKind;
use crate::env::sync::Handle;

const ACTORS: u64 = 3;
const DEEDS: u64 = 60;

/// Versions of the column `q` that nobody else puts or removes.
struct Owner {
    store: Open,
    chance: Chance,
    first: Timestamp,
    number: u64,
    /// Whether each is there; none is put twice.
    own: BTreeMap<i64, bool>,
}

impl Owner {
    fn deed(&mut self) {
        match self.chance.below(20) {
            0..7 => self.put(),
            7..10 => self.remove(),
            10..15 => self.look(),
            15..18 => self.list(),
            18 => drop(put(&self.store, "r", "other", b"v")),
            _ if self.chance.one_in(2) => self.store.flush(None).unwrap(),
            _ => drop(self.store.compact(&table(), None, CompactionKind::Major)),
        }
    }

    fn change(&self, mutation: Mutation) {
        mutate(&self.store, "r", mutation, Durability::AsyncWal).unwrap();
    }

    fn put(&mut self) {
        let at = (self.chance.below(40) * ACTORS + self.number) as i64;
        if self.own.contains_key(&at) {
            return;
        }
        self.change(Mutation::Put(vec![put_cell("q", at.to_string().as_bytes(), Time::At(self.time(at)))]));
        self.own.insert(at, true);
    }

    fn remove(&mut self) {
        let Some(at) = self.any() else { return };
        let kind = DeleteKind::Version { family: "f".into(), qualifier: b"q".to_vec() };
        let erases = self.chance.one_in(3);
        self.change(Mutation::Delete(vec![DeleteMarker { kind, time: Time::At(self.time(at)), erases }]));
        self.own.insert(at, false);
    }

    fn look(&mut self) {
        let Some(at) = self.any() else { return };
        let newest = self.store.newest(&column("r", "q"), TimeRange::at(self.time(at))).unwrap();
        assert_eq!(newest.is_some(), self.own[&at], "{at} of {:?}", self.own);
    }

    fn list(&mut self) {
        let (mut shown, mut before, limit) = (BTreeSet::new(), None, 1 + self.chance.below(4) as usize);
        loop {
            let page = self.store.list_versions(&column("r", "q"), Versions::LiveAndKept, before, limit).unwrap();
            before = page.last().map(|cell| cell.timestamp);
            let live = page.iter().filter(|cell| cell.deleted_at.is_none());
            shown.extend(live.map(|cell| cell.timestamp.0 - self.first.0));
            if page.len() < limit {
                break;
            }
        }
        for (at, is_there) in &self.own {
            assert_eq!(shown.contains(at), *is_there, "{at} of {:?} in {shown:?}", self.own);
        }
    }

    fn time(&self, at: i64) -> Timestamp {
        Timestamp(self.first.0 + at)
    }

    fn any(&mut self) -> Option<i64> {
        let own: Vec<i64> = self.own.keys().copied().collect();
        (!own.is_empty()).then(|| self.chance.of(&own))
    }
}

fn side_by_side(seed: u64) {
    let (env, mut chance) = (SimEnv::new(), Chance::new(seed));
    let background = chance.of(&[Background::On, Background::Off]);
    let memtable_bytes = chance.of(&[2_000, 1 << 20]);
    let store = Arc::new(Store::open(StoreOptions { background, memtable_bytes, ..options(&env) }).unwrap());
    let (new_version, keeps) = (chance.of(&["true", "false"]), chance.of(&["TRUE", "FALSE"]));
    create(&store, &[("VERSIONS", "1000"), ("NEW_VERSION_BEHAVIOR", new_version), ("KEEP_DELETED_CELLS", keeps)]);
    let first = store.now();
    let owner = |number: u64| {
        let (store, seed) = (Arc::clone(&store), chance.below(u64::MAX));
        let mut owner = Owner { store, chance: Chance::new(seed), first, number, own: BTreeMap::new() };
        sync::spawn(&format!("owner {number}"), move || (0..DEEDS).for_each(|_| owner.deed())).unwrap()
    };
    let owners: Vec<Handle<()>> = (0..ACTORS).map(owner).collect();
    owners.into_iter().for_each(|owner| owner.join().unwrap());
    Arc::into_inner(store).unwrap().close().unwrap();
}

#[test]
fn who_puts_and_removes_versions_beside_others_sees_its_own_as_they_are() {
    let first = number("CELLFS_SEED").unwrap_or(0);
    for seed in first..first + number("CELLFS_SEEDS").unwrap_or(300) {
        if let Err(failure) = simulate(seed, LIMITS, move || side_by_side(seed)) {
            panic!("seed {seed}: {}", failure.text);
        }
    }
}
