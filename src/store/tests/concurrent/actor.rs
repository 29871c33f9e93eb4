//! One who does one thing after the other, as chance has it, and judges what is shown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::oracle::{Kept, Place, Puts};
use super::world::{Aside, Chance, Kept1, Open, PAIR, QUALIFIERS, ROWS, TABLES, World, number_of, read, table_name};
use crate::backend::{
    Backend, CompactionKind, Directory, Existing, PurgeScope, RenameCell, RenameMode, Restoration, RowListing, Versions,
};
use crate::env::sync;
use crate::model::*;
use crate::{ErrorKind, Result};

/// What an actor may do.
type Deed = (&'static str, fn(&mut Actor));

/// With how many chances of each by default.
const DEEDS: &[(u64, Deed)] = &[
    (30, ("put", Actor::put)),
    (8, ("put a pair", Actor::put_pair)),
    (6, ("delete", Actor::delete)),
    (6, ("rename a cell", Actor::rename_cell)),
    (2, ("rename a row", Actor::rename_row)),
    (25, ("read", Actor::read)),
    (8, ("get a row", Actor::get_row)),
    (5, ("scan", Actor::scan)),
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
];

/// Chances of each deed in a run: some runs do one thing much more often, and others not at all.
pub struct Plan(Vec<(u64, Deed)>);

impl Plan {
    pub fn new(chance: &mut Chance) -> Self {
        let varied = DEEDS.iter().map(|&(weight, deed)| (weight * chance.of(&[0, 1, 1, 1, 2, 8]), deed));
        let mut plan: Vec<(u64, Deed)> = varied.collect();
        // Something is always written and read.
        plan[0].0 = plan[0].0.max(10);
        plan[5].0 = plan[5].0.max(10);
        Self(plan)
    }

    fn choose(&self, chance: &mut Chance) -> Deed {
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
    world: Arc<World>,
    store: Open,
    chance: Chance,
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

    fn table(&mut self) -> &'static str {
        self.chance.of(&TABLES)
    }

    fn column(&mut self) -> Place {
        let (table, row, qualifier) = (self.table(), self.chance.of(&ROWS), self.chance.of(&QUALIFIERS));
        Place::column(table, row, qualifier)
    }

    fn durability(&mut self) -> Durability {
        self.chance.of(&[Durability::SyncWal, Durability::SyncWal, Durability::SyncWal, Durability::FsyncWal])
    }

    fn mutate(&self, table: &str, row: &str, mutation: Mutation, durability: Durability) -> Result<Mutated> {
        let mutations = RowMutations {
            table: table_name(table),
            row: row.into(),
            mutations: vec![mutation],
            durability: Some(durability),
            origin: Origin(0),
        };
        self.store.mutate(mutations, None)
    }

    fn put_in(&mut self, table: &str, row: &str, qualifiers: &[&str]) {
        let (durability, number) = (self.durability(), self.world.fresh());
        let bytes = self.world.bytes(number, &mut self.chance);
        let puts = Puts::OneOf(BTreeSet::from([Some(number)]));
        let begin = self.world.tick();
        let begun: Vec<_> = {
            let mut known = self.world.known();
            let places = qualifiers.iter().map(|qualifier| Place::column(table, row, qualifier));
            places.map(|place| known.oracle.begin(&place, puts.clone(), true)).collect()
        };
        let cells = qualifiers.iter().map(|q| PutCell::new("f", *q, Time::AfterNewest, bytes.clone())).collect();
        let result = self.mutate(table, row, Mutation::Put(cells), durability);
        let at = result.as_ref().ok().and_then(|done| done.written.first()).map(|cell| (cell.timestamp.0, cell.seq.0));
        log::trace!("put {number} in {table} {row} {qualifiers:?}: {at:?}");
        self.world.end(&begun, (table, begin), World::kept(durability), &result);
    }

    fn put(&mut self) {
        let place = self.column();
        self.put_in(&place.table, &place.row, &[&place.qualifier]);
    }

    fn put_pair(&mut self) {
        let (table, row) = (self.table(), self.chance.of(&ROWS));
        self.put_in(table, row, &PAIR);
    }

    fn delete(&mut self) {
        let (place, durability) = (self.column(), self.durability());
        let nothing = Puts::OneOf(BTreeSet::from([None]));
        let begin = self.world.tick();
        let begun = [self.world.known().oracle.begin(&place, nothing, true)];
        let kind = DeleteKind::Column { family: "f".into(), qualifier: place.qualifier.as_str().into() };
        let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: self.chance.one_in(3) };
        log::trace!("delete {place:?}: {marker:?}");
        let result = self.mutate(&place.table, &place.row, Mutation::Delete(vec![marker]), durability);
        self.world.end(&begun, (&place.table, begin), World::kept(durability), &result);
    }

    fn rename_cell(&mut self) {
        let (from, to) = (self.column(), self.column());
        if from == to {
            return;
        }
        let begin = self.world.tick();
        let begun = {
            let mut known = self.world.known();
            let nothing = Puts::OneOf(BTreeSet::from([None]));
            [known.oracle.begin(&to, Puts::CopyOf(from.clone()), true), known.oracle.begin(&from, nothing, true)]
        };
        let key = |place: &Place| ColumnKey {
            table: table_name(&place.table),
            row: place.row.as_str().into(),
            family: "f".into(),
            qualifier: place.qualifier.as_str().into(),
        };
        let rename = RenameCell {
            from: key(&from),
            from_version: None,
            to: key(&to),
            to_version: None,
            mode: RenameMode::Replace,
            origin: Origin(0),
        };
        let result = self.store.rename_cell(&rename);
        let at = result.as_ref().ok().map(|cell| (cell.timestamp.0, cell.seq.0));
        log::trace!("rename {from:?} to {to:?}: {at:?}");
        // Of two tables the one that is not there is not told.
        let of = if from.table == to.table { from.table.as_str() } else { "" };
        self.end_of_two(&begun, (of, begin), &result);
    }

    fn end_of_two<T>(&self, begun: &[super::oracle::EventId], (of, begin): (&str, u64), result: &Result<T>) {
        match result {
            Err(e) if of.is_empty() && e.kind == ErrorKind::NoSuchTable => {
                let mut known = self.world.known();
                begun.iter().for_each(|id| known.oracle.refused(id));
            }
            // A table may be there without that cell.
            Err(e) if e.kind == ErrorKind::NotFound => {
                let mut known = self.world.known();
                begun.iter().for_each(|id| known.oracle.refused(id));
            }
            _ if of.is_empty() => {
                let mut known = self.world.known();
                let done = result.is_ok() && !self.world.stop.load(Ordering::Relaxed);
                for id in begun {
                    if done { known.oracle.done(id, Kept::Process) } else { known.oracle.unknown(id) }
                }
                drop(known);
                self.world.judge_failure(result.as_ref().err());
            }
            _ => self.world.end(begun, (of, begin), Kept::Process, result),
        }
    }

    fn rename_row(&mut self) {
        let table = self.table();
        let (from, to) = (self.chance.of(&ROWS), self.chance.of(&ROWS));
        if from == to {
            return;
        }
        let begin = self.world.tick();
        let mut begun = Vec::new();
        {
            let mut known = self.world.known();
            for qualifier in QUALIFIERS.iter().chain(&PAIR) {
                // A target with cells is refused, so what moves there is either that or nothing.
                let source = Place::column(table, from, qualifier);
                begun.push(known.oracle.begin(
                    &Place::column(table, to, qualifier),
                    Puts::CopyOf(source.clone()),
                    true,
                ));
                begun.push(known.oracle.begin(&source, Puts::OneOf(BTreeSet::from([None])), true));
            }
        }
        let directory = |row: &str| Directory { table: table_name(table), row: row.into(), family: None };
        let result = self.store.rename_directory(&directory(from), &directory(to), Origin(0));
        log::trace!("rename row {from} of {table} to {to}: {result:?}");
        self.end_row(table, (from, to), begin, &begun, &result);
    }

    /// A column that the source lacked is not moved: both are as they were, or moved.
    fn end_row(
        &self,
        table: &str,
        (_, to): (&str, &str),
        begin: u64,
        begun: &[super::oracle::EventId],
        result: &Result<()>,
    ) {
        if result.is_ok() {
            // What the target shows of such a column is what it showed.
            let mut known = self.world.known();
            for (place, id) in begun {
                let (id, is_moved) = ((place.clone(), *id), place.row == to || self.world.stop.load(Ordering::Relaxed));
                if is_moved { known.oracle.unknown(&id) } else { known.oracle.done(&id, Kept::Process) }
            }
            return;
        }
        self.end_of_two(begun, (table, begin), result);
    }

    fn read(&mut self) {
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

    fn judge_row(&self, table: &str, row: &str, begin: u64, cells: &[Cell]) {
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

    fn get_row(&mut self) {
        let (table, row) = (self.table(), self.chance.of(&ROWS));
        let begin = self.world.tick();
        let get = Get { table: table_name(table), row: row.into(), read: ReadSpec::default() };
        let result = self.store.get(&get);
        self.world.judge_error((table, begin), result.as_ref().err());
        if let Ok(found) = result {
            self.judge_row(table, row, begin, &found.cells);
        }
    }

    fn scan(&mut self) {
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

    fn list_rows(&mut self) {
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

    fn flush(&mut self) {
        let result = self.store.flush(None);
        self.world.judge_failure(result.as_ref().err());
    }

    fn compact_as(&mut self, kind: CompactionKind) {
        let (table, begin) = (self.table(), self.world.tick());
        let result = self.store.compact(&table_name(table), None, kind);
        self.world.judge_error((table, begin), result.as_ref().err());
    }

    fn compact(&mut self) {
        self.compact_as(CompactionKind::Minor);
    }

    fn compact_all(&mut self) {
        self.compact_as(CompactionKind::Major);
    }

    fn purge(&mut self) {
        let (table, begin) = (self.table(), self.world.tick());
        let scope = PurgeScope { table: table_name(table), row: None, family: None, qualifier: None };
        let result = self.store.purge(&scope);
        self.world.judge_error((table, begin), result.as_ref().err());
    }

    fn sync(&mut self) {
        let begin = self.world.tick();
        let result = self.store.sync();
        if result.is_ok() && !self.world.stop.load(Ordering::Relaxed) {
            self.world.known().oracle.synced(begin);
        }
        self.world.judge_failure(result.as_ref().err());
    }

    fn create_snapshot(&mut self) {
        let name = format!("s{}", self.world.fresh());
        let of = if self.chance.one_in(2) { Some(table_name(self.table())) } else { None };
        let begin = self.world.tick();
        let result = self.store.create_snapshot(&name, of.as_ref());
        match &of {
            Some(of) => self.world.judge_error((&*of.name, begin), result.as_ref().err()),
            None => self.world.judge_failure(result.as_ref().err()),
        }
        if result.is_err() || self.world.stop.load(Ordering::Relaxed) {
            return;
        }
        let made = self.store.snapshots();
        self.world.judge_failure(made.as_ref().err());
        let Ok(made) = made else { return };
        let Some(info) = made.into_iter().find(|info| info.name == name) else {
            assert!(self.world.stop.load(Ordering::Relaxed), "snapshot {name} was made and is not there");
            return;
        };
        let mut known = self.world.known();
        let tables = info.tables.iter().map(|table| {
            let table = table.name.to_string();
            let content = known.oracle.content(&table, begin, 0);
            (table, content)
        });
        let tables = tables.collect();
        let made = (begin, known.oracle.tick());
        known.snapshots.push(Kept1 { name, tables, made });
    }

    fn a_snapshot(&mut self) -> Option<Kept1> {
        let known = self.world.known();
        let count = known.snapshots.len() as u64;
        (count > 0).then(|| known.snapshots[self.chance.below(count) as usize].clone())
    }

    fn delete_snapshot(&mut self) {
        let Some(kept) = self.a_snapshot() else { return };
        self.world.known().snapshots.retain(|other| other.name != kept.name);
        let result = self.store.delete_snapshot(&kept.name);
        self.world.judge_failure(result.as_ref().err());
    }

    fn restore(&mut self) {
        self.restore_as(Existing::Replace);
    }

    fn clone_table(&mut self) {
        self.restore_as(Existing::Refuse);
    }

    fn restore_as(&mut self, existing: Existing) {
        let Some(kept) = self.a_snapshot() else { return };
        if kept.tables.is_empty() {
            return;
        }
        let at = self.chance.below(kept.tables.len() as u64) as usize;
        let Some((from, content)) = kept.tables.iter().nth(at) else { return };
        let to = if existing == Existing::Replace { from.clone() } else { self.table().to_owned() };
        let begun = self.world.known().oracle.begin_table(&to, content, true);
        let tables = vec![(table_name(from), table_name(&to))];
        let restoration = Restoration { snapshot: kept.name, tables, existing };
        log::trace!("{restoration:?}");
        let result = self.store.restore(&restoration, Origin(0));
        self.end_change(&begun, &result);
    }

    /// A change of what is declared is on the disk when it is answered.
    fn end_change(&self, begun: &[super::oracle::EventId], result: &Result<()>) {
        let mut known = self.world.known();
        for id in begun {
            match result {
                Ok(()) if !self.world.stop.load(Ordering::Relaxed) => known.oracle.done(id, Kept::Always),
                Err(e) if super::world::is_refusal(e.kind) => known.oracle.refused(id),
                _ => known.oracle.unknown(id),
            }
        }
        drop(known);
        self.world.judge_failure(result.as_ref().err());
    }

    fn read_snapshot(&mut self) {
        let Some(kept) = self.a_snapshot() else { return };
        let judged = self.store.snapshot(&kept.name).and_then(|snapshot| self.judge_snapshot(&*snapshot, &kept));
        // It may be deleted meanwhile.
        let is_there = self.world.known().snapshots.iter().any(|other| other.name == kept.name);
        if is_there && let Err(e) = &judged {
            assert!(!super::world::is_refusal(e.kind), "snapshot {}: {e}", kept.name);
            self.world.judge_failure(Some(e));
        }
    }

    fn judge_snapshot(&self, snapshot: &dyn Backend, kept: &Kept1) -> Result<()> {
        for (table, content) in &kept.tables {
            for ((row, qualifier), may) in content {
                let place = Place::column(table, row, qualifier);
                let shown = read(snapshot, &place)?;
                let stopped = self.world.stop.load(Ordering::Relaxed);
                let told = self.world.known().oracle.told(&place);
                let Kept1 { name, made, .. } = kept;
                let text = format!("snapshot {name} of {made:?} shows {shown:?} in {place:?}, not {may:?}:\n{told}");
                assert!(stopped || may.contains(&shown), "{text}");
                assert!(
                    stopped || may.contains(&shown),
                    "snapshot {} shows {shown:?} in {place:?}, not {may:?}",
                    kept.name
                );
            }
        }
        Ok(())
    }

    fn change(&mut self, begun: &[super::oracle::EventId], change: CatalogueChange) -> bool {
        log::trace!("{change:?}");
        let result = self.store.alter(change, Origin(0));
        self.end_change(begun, &result);
        result.is_ok() && !self.world.stop.load(Ordering::Relaxed)
    }

    fn create_table(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begun = world.known().oracle.begin_existence(table, true);
        let schema = schema(table, self.world.is_classic, &mut self.chance);
        self.change(&[begun], CatalogueChange::CreateTable(schema));
    }

    fn gone(&mut self, table: &str) -> Vec<super::oracle::EventId> {
        self.world.known().oracle.begin_table(table, &Default::default(), false)
    }

    fn drop_table(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begun = self.gone(table);
        let is_there = self.store.catalogue().unwrap().tables.contains_key(&table_name(table));
        let done = self.change(&begun, CatalogueChange::DropTable { name: table_name(table) });
        if done && !is_there {
            world.known().aside.remove(table);
        }
    }

    fn set_aside(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begin = world.tick();
        let (operation, begun) =
            world.known().oracle.as_one(|oracle| oracle.begin_table(table, &Default::default(), false));
        if self.change(&begun, CatalogueChange::SetTableAside { name: table_name(table) }) {
            let mut known = world.known();
            // What was written while it went may be in it.
            let content = known.oracle.content(table, begin, operation);
            let end = known.oracle.tick();
            let aside = Aside { content, within: (begin, end), operation };
            known.aside.entry(table.to_owned()).or_default().push(aside);
        }
    }

    fn undrop(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        // Else what comes back may be lost with the records of before.
        self.sync();
        let Some(content) =
            world.known().aside.get(table).and_then(|all| all.last().map(|aside| aside.content.clone()))
        else {
            return;
        };
        let begun = world.known().oracle.begin_table(table, &content, true);
        let change = CatalogueChange::Undrop { table: table_name(table), family: None };
        if self.change(&begun, change) {
            world.known().aside.entry(table.to_owned()).or_default().pop();
        }
    }

    fn truncate(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begun = world.known().oracle.begin_table(table, &Default::default(), true);
        self.change(&begun, CatalogueChange::TruncateTable { name: table_name(table) });
    }

    fn rename_table(&mut self) {
        let (from, to) = (self.table(), self.table());
        if from == to {
            return;
        }
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let (_, begun) = world.known().oracle.as_one(|oracle| {
            let mut begun = vec![oracle.begin_existence(to, true)];
            for row in ROWS {
                for qualifier in QUALIFIERS.iter().chain(&PAIR) {
                    let source = Place::column(from, row, qualifier);
                    begun.push(oracle.begin(&Place::column(to, row, qualifier), Puts::SameAs(source), false));
                }
            }
            begun.extend(oracle.begin_table(from, &Default::default(), false));
            begun
        });
        self.change(&begun, CatalogueChange::RenameTable { from: table_name(from), to: table_name(to) });
    }

    fn alter(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let mut changed = schema(table, self.world.is_classic, &mut self.chance);
        changed.metadata.insert("n".into(), self.chance.below(100).to_string());
        self.change(&[], CatalogueChange::AlterTable(changed));
    }

    fn check(&mut self) {
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

    fn status(&mut self) {
        let result = self.store.status();
        self.world.judge_failure(result.as_ref().err());
    }

    /// Time goes by, and steps back or forward for those who look at the clock on the wall.
    fn rest(&mut self) {
        match self.chance.below(4) {
            // Where a crash undoes a compaction of a classic family, a tombstone of before hides what an earlier clock has
            // put since.
            0 if !self.world.is_classic => self.world.env.advance(-(self.chance.below(5_000) as i64)),
            1 => self.world.env.advance(self.chance.below(60_000) as i64),
            _ => sync::sleep(std::time::Duration::from_millis(self.chance.below(3_000))),
        }
    }
}

/// A table of a kind that keeps much or little. Within a run all are classic or none is: to change that changes what is
/// seen.
pub fn schema(table: &str, is_classic: bool, chance: &mut Chance) -> TableSchema {
    let files = [("VERSIONS", "3"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
    let tight = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    let classic = [("VERSIONS", "2"), ("COMPRESSION", "LZ4")];
    let attributes: &[(&str, &str)] = if is_classic { &classic } else { chance.of(&[&files[..], &tight]) };
    let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    TableSchema::new(table_name(table), [FamilySchema::new("f", attributes)])
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
