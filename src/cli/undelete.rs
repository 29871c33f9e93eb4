//! undelete: brings back what was deleted, as it was.
//!
//! What is there stays: only what has no newest version gets one again. With a time, what differs from then does.

mod cells;
mod trash;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Answer;
use super::args::UndeleteArgs;
use super::bring_back::BringBack;
use super::output::Output;
use super::path::{named, resolve};
use crate::backend::{Backend, DeletedQuery, RowListing, Versions};
use crate::daemon::{Absent, open_backend};
use crate::model::{CatalogueChange, Dropped, DroppedThing, Origin, Scan, TableName, Time, TimeRange, Timestamp};
use crate::tree::history::deleted;
use crate::tree::names::times;
use crate::tree::place::{FamilyPlace, Place, RowPlace, SchemaPlace};
use crate::{Error, ErrorKind, Result};

pub fn undelete(args: &UndeleteArgs, json: bool) -> Result<Answer> {
    let (backend, place) = match &args.what {
        None => resolve(&args.path)?,
        Some(what) => {
            let backend = open_backend(&args.path, Absent::Refuse)?;
            let place = named(&backend, Path::new(what))?;
            (backend, place)
        }
    };
    let at = args.at.as_deref().map(|text| {
        times::parse_time(text, backend.now())
            .ok_or_else(|| Error::new(ErrorKind::IllegalArgument, format!("--at {text}: {}", times::FORMS)))
    });
    let (at, list, back) = (at.transpose()?, args.list, BringBack::new(Arc::clone(&backend)));
    let mut run = Undelete { backend, at, list, json, output: Output::new(), found: 0, stay: 0, back };
    // What was gathered when it failed is brought back too.
    let done = run.place(&place);
    run.back.put().and(done)?;
    let kept = place.table().filter(|_| run.found == 0 && args.at.is_none());
    let kept = kept.map(|table| Ok::<_, Error>(run.was_dropped(table)?.then_some(table))).transpose()?.flatten();
    run.output.finish()?;
    if run.back.left > 0 {
        super::complain(&format!("{} of {} cells were not brought back", run.back.left, run.found));
        return Ok(Answer::No);
    }
    if run.stay > 0 {
        return Ok(Answer::No);
    }
    if run.found > 0 {
        return Ok(Answer::Yes);
    }
    let what = args.what.as_ref().map_or_else(|| args.path.display().to_string(), |what| what.to_string_lossy().into());
    let then = args.at.as_ref().map_or_else(String::new, |at| format!(" as of {at}"));
    let why = match kept {
        Some(table) => format!(
            "a table {table} that was dropped or truncated is kept (cellfs list --dropped); `cellfs undelete` of the \
             table brings it back where the one that is there now has no rows: else rename that one first"
        ),
        None => "nothing is deleted, or it is not kept any more".to_owned(),
    };
    super::complain(&format!("{what}: there is nothing to bring back{then}: {why}"));
    Ok(Answer::No)
}

/// What of that name is there now goes, and is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    /// Only as long as it has nothing.
    Empty,
    Any,
}

struct Undelete {
    backend: Arc<dyn Backend>,
    at: Option<Timestamp>,
    list: bool,
    json: bool,
    output: Output,
    found: u64,
    /// Tables that were left as they are, which was told.
    stay: u64,
    back: BringBack,
}

impl Undelete {
    /// Whether a whole table of this name is kept that was dropped.
    fn was_dropped(&self, table: &TableName) -> Result<bool> {
        let is_meant = |dropped: &Dropped| matches!(&dropped.what, DroppedThing::Table(of) if of.name == *table);
        Ok(self.backend.catalogue()?.dropped.iter().any(is_meant))
    }

    fn place(&mut self, place: &Place) -> Result<()> {
        match place {
            Place::Namespace(name) => self.namespace(name),
            Place::Table(table) => self.table(table),
            Place::Row(row) => self.row(row),
            Place::Family(family) => self.family(family),
            Place::Schema(schema) => match schema.as_ref() {
                SchemaPlace::Family(table, family) => self.dropped_family(table, family),
                SchemaPlace::Table(table) => self.table(table),
                _ => Err(no_such_thing()),
            },
            place => match place.column() {
                Some(column) => {
                    self.drop_back(&column.table, Some(&column.family))?;
                    if !self.is_there(&column.table, &column.family)? {
                        return Ok(());
                    }
                    match place {
                        Place::Version(_, time) | Place::Ended(_, time, ..) => self.version(column, *time),
                        _ => self.named_column(column),
                    }
                }
                None => Err(no_such_thing()),
            },
        }
    }

    fn namespace(&mut self, name: &str) -> Result<()> {
        let catalogue = self.backend.catalogue()?;
        let mut tables: Vec<TableName> = catalogue.tables.keys().cloned().collect();
        let dropped = catalogue.dropped.iter().filter_map(|dropped| match &dropped.what {
            DroppedThing::Table(table) => Some(table.name.clone()),
            DroppedThing::Family(..) => None,
        });
        tables.extend(dropped);
        tables.retain(|table| *table.namespace == *name);
        tables.sort();
        tables.dedup();
        tables.iter().try_for_each(|table| if self.list { self.list_trash(table) } else { self.table(table) })
    }

    fn table(&mut self, table: &TableName) -> Result<()> {
        if !self.is_declared(table)? {
            return self.dropped_table(table);
        }
        if self.is_left(table)? {
            return Ok(());
        }
        let found = self.found;
        self.families(table)?;
        self.rows(table)?;
        // It was truncated, or made anew: what it had is a table of its own.
        if self.found == found && !self.has_rows(table)? { self.dropped_table(table) } else { Ok(()) }
    }

    /// A table that was dropped; one without rows that is there now takes its place among those.
    fn dropped_table(&mut self, table: &TableName) -> Result<()> {
        if !self.is_kept(table, None)? {
            return Ok(());
        }
        self.dropped(table, None, Present::Empty)?;
        if self.list {
            return Ok(());
        }
        match self.at {
            Some(_) => self.families_of_then(table)?,
            None => self.families(table)?,
        }
        // `rm -r` deletes the rows before the table: then it comes back empty, and they are what is meant. At a time its
        // cells may have been others.
        if self.at.is_none() && self.has_rows(table)? { Ok(()) } else { self.rows(table) }
    }

    /// What was deleted in the rows of a table.
    fn rows(&mut self, table: &TableName) -> Result<()> {
        self.cells(DeletedQuery { table: table.clone(), row: None, family: None, at: self.at, after: None })
    }

    fn has_rows(&self, table: &TableName) -> Result<bool> {
        let (time_range, which) = (TimeRange::ALL, Versions::Live);
        let table = table.clone();
        let listing = RowListing { table, after: None, before: Vec::new(), time_range, which, limit: 1 };
        Ok(!self.backend.list_rows(&listing)?.is_empty())
    }

    fn row(&mut self, row: &RowPlace) -> Result<()> {
        self.drop_back(&row.table, None)?;
        if !self.is_declared(&row.table)? {
            return Ok(());
        }
        if self.is_left(&row.table)? {
            return Ok(());
        }
        self.families(&row.table)?;
        let (table, row) = (row.table.clone(), Some(row.row.clone()));
        self.cells(DeletedQuery { table, row, family: None, at: self.at, after: None })
    }

    fn family(&mut self, family: &FamilyPlace) -> Result<()> {
        self.drop_back(&family.table, Some(&family.family))?;
        if !self.is_there(&family.table, &family.family)? {
            return Ok(());
        }
        let (table, row, name) = (family.table.clone(), Some(family.row.clone()), Some(family.family.clone()));
        self.cells(DeletedQuery { table, row, family: name, at: self.at, after: None })
    }

    /// What was deleted where a query says, a page after the other.
    fn cells(&mut self, mut query: DeletedQuery) -> Result<()> {
        loop {
            let page = deleted::page(self.backend.as_ref(), &query)?;
            let mut cells = page.cells.iter();
            cells.try_for_each(|(column, gone)| self.bring(column, &gone.cell, Time::AfterShown(gone.shown)))?;
            query.after = page.next;
            if query.after.is_none() {
                return Ok(());
            }
        }
    }

    /// A table or family on the way that was dropped comes back first.
    fn drop_back(&mut self, table: &TableName, family: Option<&str>) -> Result<()> {
        let catalogue = self.backend.catalogue()?;
        match (catalogue.tables.get(table), family) {
            (None, _) => self.dropped(table, None, Present::Empty),
            (Some(_), Some(family)) if self.in_the_way(table, family)?.is_none() => {
                self.dropped(table, Some(family), Present::Empty)
            }
            _ => Ok(()),
        }
    }

    /// A family that was dropped.
    fn dropped_family(&mut self, table: &TableName, family: &str) -> Result<()> {
        if !self.is_kept(table, Some(family))? {
            return Ok(());
        }
        match self.in_the_way(table, family)? {
            None => self.dropped(table, Some(family), Present::Empty),
            Some(why) => Err(Error::new(ErrorKind::FamilyExists, stays(table, family, &why))),
        }
    }

    /// Why a family that was dropped cannot come back: another has its name. Of a time before that was made, one without
    /// cells is dropped in its turn.
    fn in_the_way(&self, table: &TableName, name: &str) -> Result<Option<String>> {
        let catalogue = self.backend.catalogue()?;
        let Some(present) = catalogue.tables.get(table).and_then(|table| table.families.get(name)) else {
            return Ok(None);
        };
        if self.at.is_none_or(|at| present.was_there(at, Timestamp(i64::MAX))) {
            return Ok(Some("there is another of that name now".to_owned()));
        }
        let mut scan = Scan::all(table.clone());
        scan.limit = Some(1);
        scan.read.columns.insert(name.to_owned(), None);
        let in_use = self.backend.scan(&scan)?.next().transpose()?.is_some();
        let why = "there is another of that name now, which has cells: drop that one (`cellfs alter STORE TABLE --delete \
                   FAMILY`; it is kept, too), then undelete again";
        Ok(in_use.then(|| why.to_owned()))
    }

    fn is_declared(&self, table: &TableName) -> Result<bool> {
        Ok(self.backend.catalogue()?.tables.contains_key(table))
    }

    fn is_there(&self, table: &TableName, family: &str) -> Result<bool> {
        let catalogue = self.backend.catalogue()?;
        Ok(catalogue.tables.get(table).is_some_and(|table| table.families.contains_key(family)))
    }

    /// The families of a table that were dropped come back, with what they had; of a table that was dropped, once it is
    /// back.
    fn families(&mut self, table: &TableName) -> Result<()> {
        for name in self.kept_families(table)? {
            match self.in_the_way(table, &name)? {
                Some(why) => super::complain(&stays(table, &name, &why)),
                None => self.dropped(table, Some(&name), Present::Empty)?,
            }
        }
        Ok(())
    }

    /// As [`Undelete::families`], of a table that is back as of a time: a later family of a name is dropped again, and kept.
    fn families_of_then(&mut self, table: &TableName) -> Result<()> {
        self.kept_families(table)?.iter().try_for_each(|name| self.dropped(table, Some(name), Present::Any))
    }

    /// Whether nothing of a table comes back, as a family of the time that is meant cannot: it is told.
    fn is_left(&mut self, table: &TableName) -> Result<bool> {
        if self.at.is_none() {
            return Ok(false);
        }
        for name in self.kept_families(table)? {
            if let Some(why) = self.in_the_way(table, &name)? {
                super::complain(&format!("{}. Nothing was brought back", stays(table, &name, &why)));
                self.stay += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The families of a table that were dropped, and were there at the time that is meant.
    fn kept_families(&self, table: &TableName) -> Result<BTreeSet<String>> {
        let catalogue = self.backend.catalogue()?;
        let Some(schema) = catalogue.tables.get(table) else { return Ok(BTreeSet::new()) };
        let dropped = catalogue.dropped.iter().filter(|dropped| self.was_there(dropped));
        let name = |dropped: &Dropped| match &dropped.what {
            DroppedThing::Family(of, family) if *of == schema.id => Some(family.name.clone()),
            _ => None,
        };
        Ok(dropped.filter_map(name).collect())
    }

    /// Whether what was dropped was there at the time that is meant.
    fn was_there(&self, dropped: &Dropped) -> bool {
        self.at.is_none_or(|at| dropped.was_there(at))
    }

    /// Whether something of this name was dropped and is kept.
    fn is_kept(&self, table: &TableName, family: Option<&str>) -> Result<bool> {
        let catalogue = self.backend.catalogue()?;
        let id = catalogue.tables.get(table).map(|schema| schema.id);
        let is_it = |dropped: &Dropped| match (&dropped.what, family) {
            (DroppedThing::Table(schema), None) => schema.name == *table,
            (DroppedThing::Family(of, schema), Some(family)) => Some(*of) == id && schema.name == family,
            _ => false,
        };
        Ok(catalogue.dropped.iter().any(|dropped| is_it(dropped) && self.was_there(dropped)))
    }

    fn dropped(&mut self, table: &TableName, family: Option<&str>, present: Present) -> Result<()> {
        if !self.is_kept(table, family)? {
            return Ok(());
        }
        if self.list {
            return self.tell_dropped(table, family, None);
        }
        self.found += 1;
        let (name, at) = (table.clone(), self.at);
        let change = CatalogueChange::BringBack { table: name, family: family.map(str::to_owned), at };
        let change = if present == Present::Empty { change.if_empty(table, family) } else { change };
        self.backend.alter(change, Origin::default())
    }
}

fn stays(table: &TableName, family: &str, why: &str) -> String {
    format!("family {family} of table {table} was dropped, and stays so: {why}")
}

fn no_such_thing() -> Error {
    let text = "only cells, rows, families, tables and namespaces are brought back: give the path of one";
    Error::new(ErrorKind::IllegalArgument, text)
}
