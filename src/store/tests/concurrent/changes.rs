//! Deeds that change what is declared, and those with snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::actor::{Actor, schema};
use super::events::{Kept, Place, Puts};
use super::world::{Aside, Kept1, PAIR, QUALIFIERS, ROWS, read, table_name};
use crate::Result;
use crate::backend::{Backend, Existing, Restoration};
use crate::model::*;

impl Actor {
    pub(super) fn create_snapshot(&mut self) {
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

    pub(super) fn a_snapshot(&mut self) -> Option<Kept1> {
        let known = self.world.known();
        let count = known.snapshots.len() as u64;
        (count > 0).then(|| known.snapshots[self.chance.below(count) as usize].clone())
    }

    pub(super) fn delete_snapshot(&mut self) {
        let Some(kept) = self.a_snapshot() else { return };
        self.world.known().snapshots.retain(|other| other.name != kept.name);
        let result = self.store.delete_snapshot(&kept.name);
        self.world.judge_failure(result.as_ref().err());
    }

    pub(super) fn restore(&mut self) {
        self.restore_as(Existing::Replace);
    }

    pub(super) fn clone_table(&mut self) {
        self.restore_as(Existing::Refuse);
    }

    pub(super) fn restore_as(&mut self, existing: Existing) {
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
    pub(super) fn end_change(&self, begun: &[super::events::EventId], result: &Result<()>) {
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

    pub(super) fn read_snapshot(&mut self) {
        let Some(kept) = self.a_snapshot() else { return };
        let judged = self.store.snapshot(&kept.name).and_then(|snapshot| self.judge_snapshot(&*snapshot, &kept));
        // It may be deleted meanwhile.
        let is_there = self.world.known().snapshots.iter().any(|other| other.name == kept.name);
        if is_there && let Err(e) = &judged {
            assert!(!super::world::is_refusal(e.kind), "snapshot {}: {e}", kept.name);
            self.world.judge_failure(Some(e));
        }
    }

    pub(super) fn judge_snapshot(&self, snapshot: &dyn Backend, kept: &Kept1) -> Result<()> {
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

    pub(super) fn change(&mut self, begun: &[super::events::EventId], change: CatalogueChange) -> bool {
        log::trace!("{change:?}");
        let result = self.store.alter(change, Origin(0));
        self.end_change(begun, &result);
        result.is_ok() && !self.world.stop.load(Ordering::Relaxed)
    }

    pub(super) fn create_table(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begun = world.known().oracle.begin_existence(table, true);
        let schema = schema(table, self.world.tables, &mut self.chance);
        self.change(&[begun], CatalogueChange::CreateTable(schema));
    }

    pub(super) fn gone(&mut self, table: &str) -> Vec<super::events::EventId> {
        self.world.known().oracle.begin_table(table, &Default::default(), false)
    }

    pub(super) fn drop_table(&mut self) {
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

    pub(super) fn set_aside(&mut self) {
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
        } else {
            self.doubt_aside(table);
        }
    }

    /// After an answer that does not tell: which of the tables comes back first is not known any more.
    fn doubt_aside(&self, table: &str) {
        let world = &self.world;
        if world.stop.load(Ordering::Relaxed) || world.failing.load(Ordering::Relaxed) {
            world.known().aside.remove(table);
        }
    }

    pub(super) fn undrop(&mut self) {
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
        } else {
            self.doubt_aside(table);
        }
    }

    pub(super) fn truncate(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let begun = world.known().oracle.begin_table(table, &Default::default(), true);
        self.change(&begun, CatalogueChange::TruncateTable { name: table_name(table) });
    }

    pub(super) fn rename_table(&mut self) {
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

    pub(super) fn alter(&mut self) {
        let table = self.table();
        let world = Arc::clone(&self.world);
        let _alone = world.catalogue.lock();
        let mut changed = schema(table, self.world.tables, &mut self.chance);
        changed.metadata.insert("n".into(), self.chance.below(100).to_string());
        self.change(&[], CatalogueChange::AlterTable(changed));
    }
}
