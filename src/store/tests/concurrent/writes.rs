//! Deeds that write cells.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::actor::{Actor, Fresh};
use super::events::{Kept, Place, Puts};
use super::world::{PAIR, QUALIFIERS, ROWS, World, table_name};
use crate::backend::{Backend, Directory, RenameCell, RenameMode};
use crate::model::*;
use crate::{Error, ErrorKind, Result};

impl Actor {
    pub(super) fn put(&mut self) {
        let place = self.column();
        self.put_in(&place.table, &place.row, &[&place.qualifier]);
    }

    /// A value that expires soon or late, by the clock on the wall.
    pub(super) fn put_fleeting(&mut self) {
        // A flush of a classic family drops what has VERSIONS newer ones beside it, as HBase's: once these have expired, what
        // an older file has shows again.
        if self.world.tables.is_classic {
            return self.put();
        }
        let (place, durability, number) = (self.column(), self.durability(), self.world.fresh());
        let ttl_ms = self.chance.of(&[200, 5_000, 50_000]);
        let bytes = self.world.bytes(number, &mut self.chance);
        let begin = self.world.tick();
        let begun = {
            let mut known = self.world.known();
            let puts = Puts::OneOf(BTreeSet::from([None, Some(number)]));
            let begun = known.oracle.begin(&place, puts, false);
            known.oracle.expires(number, None);
            [begun]
        };
        let cell = PutCell::new("f", place.qualifier.as_str(), Time::AfterNewest, bytes);
        let cells = vec![PutCell { ttl_ms: Some(ttl_ms), ..cell }];
        let result = self.mutate(&place.table, &place.row, Mutation::Put(cells), durability);
        let at = result.as_ref().ok().and_then(|done| done.written.first()).map(|cell| cell.timestamp.0);
        log::trace!("put {number} in {place:?} for {ttl_ms} ms: {at:?}");
        self.world.known().oracle.expires(number, at.map(|at| at + ttl_ms as i64));
        self.world.known().oracle.aging().put(number, at);
        self.world.end(&begun, (&place.table, begin), World::kept(durability), &result);
    }

    pub(super) fn put_pair(&mut self) {
        let (table, row) = (self.table(), self.chance.of(&ROWS));
        self.put_in(table, row, &PAIR);
    }

    /// In all rows of a table at once.
    pub(super) fn put_rows(&mut self) {
        let (table, qualifier) = (self.table(), self.chance.of(&QUALIFIERS));
        let places = ROWS.iter().map(|row| Place::column(table, row, qualifier));
        let Fresh { durability, number, bytes, begin, begun } = self.begin_puts(places);
        let cell = || Mutation::Put(vec![PutCell::new("f", qualifier, Time::AfterNewest, bytes.clone())]);
        let rows = ROWS.iter().map(|row| (RowKey::from(*row), vec![cell()])).collect();
        let many = ManyRows {
            table: table_name(table),
            rows,
            durability: Some(durability),
            origin: Origin(0),
            keeps_files: false,
        };
        let result = self.store.mutate_rows(many);
        log::trace!("put {number} in all rows of {table}: {result:?}");
        self.world.end(&begun, (table, begin), World::kept(durability), &result);
    }

    /// In all rows of a table at once, past the log.
    pub(super) fn load_rows(&mut self) {
        let (table, qualifier) = (self.table(), self.chance.of(&QUALIFIERS));
        let places = ROWS.iter().map(|row| Place::column(table, row, qualifier));
        let Fresh { number, bytes, begin, begun, .. } = self.begin_puts(places);
        let result = self.load(table, qualifier, &bytes);
        log::trace!("load {number} into all rows of {table}: {result:?}");
        // None began: the table takes none now.
        let result = result.map(|loaded| loaded.then_some(()));
        let result =
            result.and_then(|done| done.ok_or_else(|| Error::new(ErrorKind::Busy, "the table takes no load now")));
        self.world.end(&begun, (table, begin), World::kept(Durability::FsyncWal), &result);
    }

    fn load(&self, table: &str, qualifier: &str, bytes: &[u8]) -> Result<bool> {
        let name = table_name(table);
        let Some(mut load) = self.store.bulk_load(&name)? else { return Ok(false) };
        // Later than all that is stored, as an import's.
        let time = Time::At(Timestamp(self.store.moment(&name)?.0 + 1));
        for row in ROWS {
            let refused = load.put(&row.into(), vec![PutCell::new("f", qualifier, time, bytes)])?;
            if refused.is_some() {
                return Ok(false);
            }
        }
        load.commit().map(|()| true)
    }

    pub(super) fn delete(&mut self) {
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

    pub(super) fn rename_cell(&mut self) {
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
        let rename = RenameCell::newest(key(&from), key(&to), RenameMode::Replace);
        let result = self.store.rename_cell(&rename);
        let at = result.as_ref().ok().map(|cell| (cell.timestamp.0, cell.seq.0));
        log::trace!("rename {from:?} to {to:?}: {at:?}");
        // Of two tables the one that is not there is not told.
        let of = if from.table == to.table { from.table.as_str() } else { "" };
        self.end_of_two(&begun, (of, begin), &result);
    }

    pub(super) fn end_of_two<T>(&self, begun: &[super::events::EventId], (of, begin): (&str, u64), result: &Result<T>) {
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

    pub(super) fn rename_row(&mut self) {
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
        let result = self.store.rename_directory(&directory(from), &directory(to), Origin(0)).map(drop);
        log::trace!("rename row {from} of {table} to {to}: {result:?}");
        let is_lacking = result.as_ref().is_err_and(|e| e.kind == ErrorKind::NotFound);
        assert!(!is_lacking, "a row without cells is none to move: {result:?}");
        self.end_row(table, (from, to), begin, &begun, &result);
    }

    /// A column that the source lacked is not moved: both are as they were, or moved.
    pub(super) fn end_row(
        &self,
        table: &str,
        (_, to): (&str, &str),
        begin: u64,
        begun: &[super::events::EventId],
        result: &Result<()>,
    ) {
        if result.is_ok() {
            // What the target shows of such a column is what it showed. Of a source that has expired nothing is buried.
            let mut known = self.world.known();
            for (place, id) in begun {
                let is_stopped = self.world.stop.load(Ordering::Relaxed);
                let is_unknown = place.row == to || is_stopped || known.oracle.may_expire(place);
                let id = (place.clone(), *id);
                if is_unknown { known.oracle.unknown(&id) } else { known.oracle.done(&id, Kept::Process) }
            }
            return;
        }
        self.end_of_two(begun, (table, begin), result);
    }
}
