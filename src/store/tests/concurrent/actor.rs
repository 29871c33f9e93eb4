//! One who does one thing after the other, as chance has it, and judges what is shown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::events::{EventId, Place, Puts, Tick};
use super::world::{Chance, Open, PAIR, QUALIFIERS, ROWS, TABLES, Tables, World, number_of, read, table_name};
use crate::backend::{Backend, CompactionKind, PurgeScope, RowListing, Versions};
use crate::env::sync;
use crate::model::*;
use crate::{ErrorKind, Result};

/// The index that most tables have, of the first of the columns.
const INDEX: &str = "i";

/// What an actor may do.
type Deed = (&'static str, fn(&mut Actor));

/// With how many chances of each by default.
const DEEDS: &[(u64, Deed)] = &[
    (30, ("put", Actor::put)),
    (8, ("put a pair", Actor::put_pair)),
    (6, ("put what expires", Actor::put_fleeting)),
    (6, ("delete", Actor::delete)),
    (6, ("rename a cell", Actor::rename_cell)),
    (2, ("rename a row", Actor::rename_row)),
    (25, ("read", Actor::read)),
    (8, ("get a row", Actor::get_row)),
    (5, ("scan", Actor::scan)),
    (5, ("scan by an index", Actor::scan_by)),
    (4, ("list rows", Actor::list_rows)),
    (4, ("flush", Actor::flush)),
    (3, ("compact", Actor::compact)),
    (3, ("compact all", Actor::compact_all)),
    (1, ("purge", Actor::purge)),
    (3, ("sync", Actor::sync)),
    (3, ("create a snapshot", Actor::create_snapshot)),
    (2, ("delete a snapshot", Actor::delete_snapshot)),
    (3, ("restore a table", Actor::restore)),
    (2, ("clone a table", Actor::clone_table)),
    (4, ("read a snapshot", Actor::read_snapshot)),
    (3, ("create a table", Actor::create_table)),
    (1, ("drop a table", Actor::drop_table)),
    (2, ("set a table aside", Actor::set_aside)),
    (2, ("bring a table back", Actor::undrop)),
    (1, ("truncate", Actor::truncate)),
    (1, ("rename a table", Actor::rename_table)),
    (1, ("alter", Actor::alter)),
    (2, ("check", Actor::check)),
    (1, ("status", Actor::status)),
    (2, ("rest", Actor::rest)),
    (4, ("put in parts", Actor::put_in_parts)),
    (4, ("append to large", Actor::append_to_large)),
    (4, ("put rows", Actor::put_rows)),
    (3, ("load rows", Actor::load_rows)),
];

/// Chances of each deed in a run: some runs do one thing much more often, and others not at all.
pub struct Plan(Vec<(u64, Deed)>);

impl Plan {
    pub fn new(chance: &mut Chance) -> Self {
        let varied = DEEDS.iter().map(|&(weight, deed)| (weight * chance.of(&[0, 1, 1, 1, 2, 8]), deed));
        let mut plan: Vec<(u64, Deed)> = varied.collect();
        // Something is always written and read.
        plan[0].0 = plan[0].0.max(10);
        plan[6].0 = plan[6].0.max(10);
        Self(plan)
    }

    pub(super) fn choose(&self, chance: &mut Chance) -> Deed {
        let mut at = chance.below(self.0.iter().map(|(weight, _)| weight).sum());
        for (weight, deed) in &self.0 {
            if at < *weight {
                return *deed;
            }
            at -= weight;
        }
        self.0[0].1
    }
}

/// See the module.
pub struct Actor {
    pub(super) world: Arc<World>,
    pub(super) store: Open,
    pub(super) chance: Chance,
}

/// A value that is about to be put.
pub(super) struct Fresh {
    pub durability: Durability,
    pub number: u64,
    pub bytes: Vec<u8>,
    pub begin: Tick,
    pub begun: Vec<EventId>,
}

impl Actor {
    pub fn new(world: Arc<World>, store: Open, seed: u64) -> Self {
        Self { world, store, chance: Chance::new(seed) }
    }

    /// Does so many things, or what can be done until the machine stops.
    pub fn act(&mut self, plan: &Plan, deeds: u64) {
        for _ in 0..deeds {
            if self.world.stop.load(Ordering::Relaxed) {
                return;
            }
            let (name, deed) = plan.choose(&mut self.chance);
            self.world.known().counts.entry(name).or_default().0 += 1;
            log::trace!("begin: {name}");
            deed(self);
            log::trace!("end: {name}");
            self.world.known().counts.entry(name).or_default().1 += 1;
        }
    }

    pub(super) fn table(&mut self) -> &'static str {
        self.chance.of(&TABLES)
    }

    pub(super) fn column(&mut self) -> Place {
        let (table, row, qualifier) = (self.table(), self.chance.of(&ROWS), self.chance.of(&QUALIFIERS));
        Place::column(table, row, qualifier)
    }

    pub(super) fn durability(&mut self) -> Durability {
        self.chance.of(&[Durability::SyncWal, Durability::SyncWal, Durability::SyncWal, Durability::FsyncWal])
    }

    pub(super) fn mutate(&self, table: &str, row: &str, mutation: Mutation, durability: Durability) -> Result<Mutated> {
        let mutations = RowMutations {
            table: table_name(table),
            row: row.into(),
            mutations: vec![mutation],
            durability: Some(durability),
            origin: Origin(0),
        };
        self.store.mutate(mutations, None)
    }

    /// A value that no other has, which is about to be put at these places.
    pub(super) fn begin_puts(&mut self, places: impl Iterator<Item = Place>) -> Fresh {
        let (durability, number) = (self.durability(), self.world.fresh());
        let bytes = self.world.bytes(number, &mut self.chance);
        let puts = Puts::OneOf(BTreeSet::from([Some(number)]));
        let begin = self.world.tick();
        let mut known = self.world.known();
        let begun = places.map(|place| known.oracle.begin(&place, puts.clone(), true)).collect();
        Fresh { durability, number, bytes, begin, begun }
    }

    pub(super) fn put_in(&mut self, table: &str, row: &str, qualifiers: &[&str]) {
        let places = qualifiers.iter().map(|qualifier| Place::column(table, row, qualifier));
        let Fresh { durability, number, bytes, begin, begun } = self.begin_puts(places);
        let cells = qualifiers.iter().map(|q| PutCell::new("f", *q, Time::AfterNewest, bytes.clone())).collect();
        let result = self.mutate(table, row, Mutation::Put(cells), durability);
        let at = result.as_ref().ok().and_then(|done| done.written.first()).map(|cell| (cell.timestamp.0, cell.seq.0));
        log::trace!("put {number} in {table} {row} {qualifiers:?}: {at:?}");
        self.world.known().oracle.aging().put(number, at.map(|(at, _)| at));
        self.world.end(&begun, (table, begin), World::kept(durability), &result);
    }

    pub(super) fn read(&mut self) {
        let place = self.column();
        let begin = self.world.tick();
        let result = read(&*self.store, &place);
        let is_gone = result.as_ref().is_err_and(|e| e.kind == ErrorKind::NotFound);
        assert!(!is_gone || self.world.stop.load(Ordering::Relaxed), "{place:?}: its newest version is not there");
        self.world.judge_error((&place.table, begin), result.as_ref().err());
        if let Ok(shown) = result {
            self.world.judge(&place, begin, shown);
        }
    }

    pub(super) fn judge_row(&self, table: &str, row: &str, begin: u64, cells: &[Cell]) {
        let shown = |qualifier: &str| {
            let cell = cells.iter().find(|cell| *cell.qualifier == *qualifier.as_bytes());
            cell.map(|cell| number_of(&cell.value))
        };
        for qualifier in QUALIFIERS {
            self.world.judge(&Place::column(table, row, qualifier), begin, shown(qualifier));
        }
        let pair = PAIR.map(shown);
        assert!(
            pair[0] == pair[1] || self.world.stop.load(Ordering::Relaxed),
            "{table} {row}: half of a pair: {pair:?}"
        );
        self.world.judge(&Place::column(table, row, PAIR[0]), begin, pair[0]);
    }

    pub(super) fn get_row(&mut self) {
        let (table, row) = (self.table(), self.chance.of(&ROWS));
        let begin = self.world.tick();
        let get = Get { table: table_name(table), row: row.into(), read: ReadSpec::default() };
        let result = self.store.get(&get);
        self.world.judge_error((table, begin), result.as_ref().err());
        if let Ok(found) = result {
            self.judge_row(table, row, begin, &found.cells);
        }
    }

    pub(super) fn scan(&mut self) {
        let table = self.table();
        let begin = self.world.tick();
        let scan = Scan { reversed: self.chance.one_in(3), ..Scan::all(table_name(table)) };
        let result: Result<Vec<RowResult>> = self.store.scan(&scan).and_then(Iterator::collect);
        self.world.judge_error((table, begin), result.as_ref().err());
        let Ok(rows) = result else { return };
        for row in ROWS {
            let cells = rows.iter().find(|found| *found.row == *row.as_bytes()).map_or(&[][..], |found| &found.cells);
            self.judge_row(table, row, begin, cells);
        }
    }

    /// The rows in which the indexed column is; what is missing says of that column alone that it is not.
    pub(super) fn scan_by(&mut self) {
        let table = self.table();
        let begin = self.world.tick();
        let by = By { index: INDEX.into(), ..By::default() };
        let scan = Scan { reversed: self.chance.one_in(3), by: Some(by), ..Scan::all(table_name(table)) };
        let result: Result<Vec<RowResult>> = self.store.scan(&scan).and_then(Iterator::collect);
        if result.as_ref().is_err_and(|e| e.kind == ErrorKind::IllegalArgument) {
            return;
        }
        self.world.judge_error((table, begin), result.as_ref().err());
        let Ok(rows) = result else { return };
        for row in ROWS {
            match rows.iter().find(|found| *found.row == *row.as_bytes()) {
                Some(found) => self.judge_row(table, row, begin, &found.cells),
                None => self.world.judge(&Place::column(table, row, QUALIFIERS[0]), begin, None),
            }
        }
    }

    pub(super) fn list_rows(&mut self) {
        let table = self.table();
        let begin = self.world.tick();
        let (time_range, which) = (TimeRange::ALL, Versions::Live);
        let listing = RowListing {
            table: table_name(table),
            after: None,
            before: RowKey::default(),
            time_range,
            which,
            limit: 10,
        };
        let result = self.store.list_rows(&listing);
        self.world.judge_error((table, begin), result.as_ref().err());
    }

    pub(super) fn flush(&mut self) {
        let result = self.store.flush(None);
        self.world.judge_failure(result.as_ref().err());
    }

    pub(super) fn compact_as(&mut self, kind: CompactionKind) {
        let (table, begin) = (self.table(), self.world.tick());
        let result = self.store.compact(&table_name(table), None, kind);
        self.world.judge_error((table, begin), result.as_ref().err());
    }

    pub(super) fn compact(&mut self) {
        self.compact_as(CompactionKind::Minor);
    }

    pub(super) fn compact_all(&mut self) {
        self.compact_as(CompactionKind::Major);
    }

    pub(super) fn purge(&mut self) {
        let (table, begin) = (self.table(), self.world.tick());
        let scope = PurgeScope { table: table_name(table), row: None, family: None, qualifier: None };
        let result = self.store.purge(&scope);
        self.world.judge_error((table, begin), result.as_ref().err());
    }

    pub(super) fn sync(&mut self) {
        let begin = self.world.tick();
        let result = self.store.sync();
        if result.is_ok() && !self.world.stop.load(Ordering::Relaxed) {
            self.world.known().oracle.synced(begin);
        }
        self.world.judge_failure(result.as_ref().err());
    }

    pub(super) fn check(&mut self) {
        let mut found = Vec::new();
        let result = self.store.check(&mut |event| {
            if let CheckEvent::Finding(finding) = event {
                found.push(finding);
            }
            Ok(())
        });
        found.retain(|finding| finding.severity == Severity::Damage);
        let excused = self.world.stop.load(Ordering::Relaxed)
            || self.world.damaged.load(Ordering::Relaxed)
            || self.world.failing.load(Ordering::Relaxed);
        assert!(excused || found.is_empty(), "damage where there is none: {found:?}");
        self.world.judge_failure(result.as_ref().err());
    }

    pub(super) fn status(&mut self) {
        let result = self.store.status();
        self.world.judge_failure(result.as_ref().err());
    }

    /// Time goes by, and steps back or forward for those who look at the clock on the wall.
    pub(super) fn rest(&mut self) {
        match self.chance.below(4) {
            // Where a crash undoes a compaction of a classic family, a tombstone of before hides what an earlier clock has
            // put since.
            // With a TTL, an older cell could show again whose newer one a compaction has taken.
            0 if !self.world.tables.is_classic && self.world.tables.ttl_s.is_none() => {
                self.world.env.advance(-(self.chance.below(5_000) as i64))
            }
            1 => self.world.env.advance(self.chance.below(60_000) as i64),
            _ => sync::sleep(std::time::Duration::from_millis(self.chance.below(3_000))),
        }
    }
}

/// A table of a kind that keeps much or little.
pub fn schema(table: &str, tables: Tables, chance: &mut Chance) -> TableSchema {
    let files = [("VERSIONS", "3"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
    let tight = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    let classic = [("VERSIONS", "2"), ("COMPRESSION", "LZ4")];
    let attributes: &[(&str, &str)] = if tables.is_classic { &classic } else { chance.of(&[&files[..], &tight]) };
    let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let attributes = attributes.chain(tables.ttl_s.map(|ttl| ("TTL".to_owned(), ttl.to_string()))).collect();
    let mut schema = TableSchema::new(table_name(table), [FamilySchema::new("f", attributes)]);
    if !chance.one_in(4) {
        let mut index = IndexSchema::new(INDEX);
        index.set_attribute("columns", Some(&format!("f:{}", QUALIFIERS[0]))).unwrap();
        schema.indexes.insert(INDEX.into(), index);
    }
    schema
}

/// Runs actors side by side until each has done its deeds.
pub fn act(
    world: &Arc<World>,
    store: &Open,
    plan: &Arc<Plan>,
    chance: &mut Chance,
    actors: u64,
    deeds: u64,
) -> Vec<sync::Handle<()>> {
    let spawn = |n: u64, seed: u64| {
        let (world, store, plan) = (Arc::clone(world), Arc::clone(store), Arc::clone(plan));
        sync::spawn(&format!("actor {n}"), move || Actor::new(world, store, seed).act(&plan, deeds)).unwrap()
    };
    (0..actors).map(|n| spawn(n, chance.below(u64::MAX))).collect()
}
