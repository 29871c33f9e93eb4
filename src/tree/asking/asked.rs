//! Scan paths in the tree: which names are steps, and what is in the answer.

use std::sync::Arc;

use super::answer::Answer;
use super::argument;
use super::export::exports;
use super::marks::Mark;
use super::question::{Kind, Pick, Question, Says, Step, wrong};
use crate::Result;
use crate::bulk::{FORMATS, IMPORTS};
use crate::model::{CellInfo, CellKind, ColumnSlice, TableName, Timestamp, ValueRef};
use crate::query::RowQuery;
use crate::tree::base::Tree;
use crate::tree::found::{Facts, absent, wrong_timestamp};
use crate::tree::names::escape::{Level, NAME_MAX, Parsed, Spelling};
use crate::tree::names::keys::no_short_name;
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
use crate::tree::view::View;

impl Tree {
    /// What a name stands for that is a step, an argument, or part of an answer; `None`: it is none of these.
    pub(in crate::tree) fn asked_target(&self, dir: &NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
        let ends = match &dir.place {
            Place::Table(_) | Place::Row(_) => true,
            // In the family itself they are names of cells.
            Place::Family(_) => dir.asked.is_some(),
            _ => false,
        };
        if let (Place::Family(family), true, b".count" | b".export") = (&dir.place, ends, name) {
            // A cell of that name comes first.
            let cell = dir.sibling(Place::Cell(Arc::new(family.column(name.to_vec()))));
            if self.facts(&cell)?.is_some() {
                return Ok(Some(cell));
            }
        }
        if let (Place::Table(table), b".changes") = (&dir.place, name) {
            let is_present = dir.asked.is_none() && dir.view == View::Plain && dir.snapshot.is_none();
            let text = "`.changes` follows a table as it is: it stands right below the table's own directory";
            let changes = is_present.then(|| dir.sibling(Place::Changes(Arc::clone(table))));
            return changes.map_or_else(|| Err(wrong(text.to_owned())), |changes| Ok(Some(changes)));
        }
        match name {
            b".count" if ends => return Ok(Some(dir.sibling(Place::Count(Arc::new(dir.place.clone()))))),
            b".export" if ends => return Ok(Some(dir.sibling(Place::Exports(Arc::new(dir.place.clone()))))),
            _ => {}
        }
        if let Place::Exports(base) = &dir.place {
            let format = exports(dir).find(|(known, _)| known.as_bytes() == name);
            let (_, format) =
                format.ok_or_else(|| match FORMATS.iter().any(|(known, _)| known.as_bytes() == name) {
                    true => wrong("behind .raw there is .export/jsonl alone: only it has room for what is deleted"),
                    false => absent(name),
                })?;
            return Ok(Some(dir.sibling(Place::Export(Arc::clone(base), format))));
        }
        if let (Place::Table(_), b".import") = (&dir.place, name) {
            if !dir.is_present() || dir.asked.is_some() {
                return Err(wrong("`.import` is in a table itself: TABLE/.import/jsonl"));
            }
            return Ok(Some(dir.sibling(Place::Imports(Arc::new(dir.place.clone())))));
        }
        if let Place::Imports(base) = &dir.place {
            let found = IMPORTS.iter().find(|(known, ..)| known.as_bytes() == name);
            let (_, format, empty) = found.ok_or_else(|| absent(name))?;
            return Ok(Some(dir.sibling(Place::Import(Arc::clone(base), *format, *empty))));
        }
        match &dir.place {
            Place::Asking(..) => self.argument(dir, name, self.backend.now()).map(Some),
            Place::Table(table) => self.below_table(dir, table, name),
            Place::Family(family) => self.below_family(dir, family, name),
            Place::Row(row) if dir.asked.is_some() => {
                let family = crate::tree::resolve::family_named(name)?;
                let family = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family };
                Ok(Some(dir.sibling(Place::Family(Arc::new(family)))))
            }
            _ if dir.asked.is_some() => Err(absent(name)),
            _ => Ok(None),
        }
    }

    fn below_table(&self, dir: &NodeKey, table: &Arc<TableName>, name: &[u8]) -> Result<Option<NodeKey>> {
        let question = dir.asked.as_deref().cloned().unwrap_or_default();
        if let Some(kind) = question.goes_on_with(name) {
            return Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))));
        }
        let Some(kind) = Kind::of_rows(name) else {
            if dir.asked.is_none() {
                return Ok(None);
            }
            let row = self.row_named(self.spelling, table, name)?.ok_or_else(|| no_short_name(name))?;
            return Ok(Some(dir.sibling(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row })))));
        };
        match kind {
            Kind::At if dir.asked.is_none() && dir.view == View::Plain => Ok(None),
            Kind::At if dir.view != View::Plain => Err(wrong("`.at` stands in this path already")),
            Kind::At => Ok(Some(dir.sibling(Place::Times(Arc::new(dir.place.clone()))))),
            Kind::Raw => {
                let step = Step { kind, text: name.to_vec(), says: Says::Nothing };
                self.with_step(dir, table, question.with_rows(step)?).map(Some)
            }
            _ => {
                question.check_rows(kind)?;
                Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))))
            }
        }
    }

    /// A cell of the name of a step comes first; where cells may be made under any name, there are no steps.
    fn below_family(&self, dir: &NodeKey, family: &FamilyPlace, name: &[u8]) -> Result<Option<NodeKey>> {
        if let Some(kind) = Kind::of_cells(name)
            && !(dir.is_present() && self.spelling.bytes == crate::tree::names::escape::Bytes::Raw)
        {
            let cell = dir.sibling(Place::Cell(Arc::new(family.column(name.to_vec()))));
            if self.facts(&cell)?.is_some() || dir.is_present() && self.uncommitted.has_cell(family, name) {
                return Ok(Some(cell));
            }
            dir.asked.as_deref().cloned().unwrap_or_default().check_cells(kind)?;
            return Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))));
        }
        if dir.asked.is_none() {
            return Ok(None);
        }
        let (stem, suffix) = match suffix::split(name, self.spelling.at) {
            None => (name, None),
            Some((stem, Some(suffix))) => (stem, Some(suffix)),
            Some((_, None)) => return Err(wrong_timestamp(name)),
        };
        let qualifier = self.qualifier_named(self.spelling, family, stem, suffix)?;
        let column = Arc::new(family.column(qualifier.ok_or_else(|| no_short_name(name))?));
        Ok(Some(dir.sibling(match suffix {
            None => Place::Cell(column),
            Some(Suffix::Version(timestamp)) => Place::Version(column, timestamp),
            Some(Suffix::Deleted(timestamp, end)) => Place::Ended(column, timestamp, end),
            Some(_) => return Err(absent(name)),
        })))
    }

    /// The directory of an argument below `.prefix` and its like; times count from `now`.
    pub fn argument(&self, dir: &NodeKey, text: &[u8], now: Timestamp) -> Result<NodeKey> {
        let Place::Asking(base, kind) = &dir.place else { return Err(absent(text)) };
        let (kind, question) = (*kind, dir.asked.as_deref().cloned().unwrap_or_default());
        match base.as_ref() {
            Place::Family(family) => {
                let says = match Spelling::default().parse(Level::Qualifier, text) {
                    Parsed::Short { prefixes } if kind != Kind::Columns => {
                        let found = self.find_qualifier(self.spelling, family, (&prefixes, text), NAME_MAX)?;
                        Says::Key(found.ok_or_else(|| no_short_name(text))?)
                    }
                    _ => argument::of_cells(kind, text, &family.family)?,
                };
                let question = question.with_cells(Step { kind, text: text.to_vec(), says })?;
                Ok(dir.asked(question, base.as_ref().clone()))
            }
            Place::Table(table) if kind == Kind::By => {
                let schema = self.backend.catalogue()?.tables.get(table).cloned();
                let index = std::str::from_utf8(text).map_err(|_| absent(text))?;
                if let Some(schema) = schema.filter(|schema| !schema.indexes.contains_key(index)) {
                    return Err(schema.no_index(index));
                }
                let step = Step { kind, text: text.to_vec(), says: Says::Nothing };
                Ok(dir.asked(question.with_rows(step)?, Place::Asking(Arc::clone(base), Kind::Value)))
            }
            Place::Table(table) if kind == Kind::Key => {
                let catalogue = self.backend.catalogue()?;
                let recipe = catalogue.tables.get(table).ok_or_else(|| absent(text))?.recipe()?;
                let step = Step { kind, text: text.to_vec(), says: argument::of_fields(&recipe, text)? };
                self.with_step(dir, table, question.with_rows(step)?)
            }
            Place::Table(_) if kind == Kind::Value && Kind::of_values(text).is_some() => {
                let kind = Kind::of_values(text).unwrap_or(kind);
                Ok(dir.sibling(Place::Asking(Arc::clone(base), kind)))
            }
            Place::Table(table) => {
                let is_key = matches!(kind, Kind::Prefix | Kind::From | Kind::To);
                let says = match Spelling::default().parse(Level::Row, text) {
                    Parsed::Short { prefixes } if is_key => {
                        let found = self.find_row(self.spelling, table, &prefixes, text)?;
                        Says::Key(found.ok_or_else(|| no_short_name(text))?)
                    }
                    _ => argument::of_rows(kind, text, now)?,
                };
                let step = Step { kind, text: text.to_vec(), says };
                self.with_step(dir, table, question.with_rows(step)?)
            }
            _ => Err(absent(text)),
        }
    }

    /// `.at/TIME` behind other steps.
    pub(in crate::tree) fn asked_at(&self, key: NodeKey, text: &[u8]) -> Result<NodeKey> {
        let Some(question) = &key.asked else { return Ok(key) };
        let question = question.with_rows(Step { kind: Kind::At, text: text.to_vec(), says: Says::Nothing })?;
        Ok(key.asked(question, key.place.clone()))
    }

    /// The table, asked a question that the store understands.
    fn with_step(&self, dir: &NodeKey, table: &Arc<TableName>, question: Question) -> Result<NodeKey> {
        if let Some(schema) = self.backend.catalogue()?.tables.get(table) {
            let scan = question.scan(table, dir.view);
            scan.by.as_ref().map_or(Ok(()), |by| schema.index_asked(by).map(drop))?;
            RowQuery::scan(&scan, schema, self.backend.now()).map_err(|e| wrong(e.message))?;
        }
        Ok(dir.asked(question, Place::Table(Arc::clone(table))))
    }

    pub(in crate::tree) fn answer<'a>(
        &'a self,
        key: &NodeKey,
        question: &'a Question,
        table: &TableName,
    ) -> Result<Answer<'a>> {
        Answer::new(self.backend.as_ref(), table, key.view, question)
    }

    /// What is at a place of an answer.
    pub(in crate::tree) fn asked_facts(&self, key: &NodeKey, question: &Question) -> Result<Option<Facts>> {
        let is_there = match &key.place {
            Place::Table(table) => self.backend.catalogue()?.tables.contains_key(table),
            Place::Times(base) => self.facts(&key.sibling(base.as_ref().clone()))?.is_some(),
            Place::Row(row) => {
                let answer = self.answer(key, question, &row.table)?;
                self.existing(answer.has_row(&row.row))?.unwrap_or(false)
                    && self.row_mark(key, &row.table)?.picks(&row.row)
            }
            Place::Family(family) if !question.cells.is_empty() => {
                self.facts(&key.asked(question.of_rows(), Place::Family(Arc::clone(family))))?.is_some()
            }
            Place::Family(family) => {
                let answer = self.answer(key, question, &family.table)?;
                self.existing(answer.families(&family.row))?.is_some_and(|all| all.contains(&family.family))
            }
            Place::Cell(_) | Place::Version(..) | Place::Ended(..) => {
                return Ok(self.existing(self.asked_cell(key, question))?.flatten().map(Facts::Cell));
            }
            _ => false,
        };
        Ok(is_there.then_some(Facts::Dir))
    }

    fn asked_cell(&self, key: &NodeKey, question: &Question) -> Result<Option<CellInfo>> {
        let Some(column) = key.place.column() else { return Ok(None) };
        let family = crate::tree::place::family_of(column);
        let is_raw = question.is_raw();
        let (mut found, mut kinds) = (None, String::new());
        let answer = self.answer(key, question, &column.table)?;
        answer.cells(&family, &ColumnSlice::of(&column.qualifier), &mut |cell| {
            match (&key.place, cell.kind) {
                (Place::Cell(_), CellKind::Put) if !is_raw => found = Some(cell.info.clone()),
                (Place::Version(_, at), CellKind::Put) if cell.info.timestamp == *at => {
                    found = Some(cell.info.clone());
                }
                (Place::Ended(_, at, end), CellKind::Tombstone(kind)) if cell.info.timestamp == *at && at == end => {
                    kinds.push_str(kind.name());
                    kinds.push('\n');
                    found = Some(CellInfo { value: ValueRef::Here(kinds.as_bytes().into()), ..cell.info.clone() });
                    // Of one time there may be several.
                    return true;
                }
                _ => return true,
            }
            false
        })?;
        let is_picked = found.is_some() && self.cell_mark(key, question, &family)?.picks(&column.qualifier);
        Ok(found.filter(|_| is_picked))
    }

    /// Whether what a question shows stays as it is: in a snapshot, and for a walk, while nothing expires.
    fn is_fixed(&self, key: &NodeKey, table: &TableName) -> Result<bool> {
        let has_moment = key.asked.as_ref().is_some_and(|asked| asked.moment.is_some()) && key.view == View::Plain;
        Ok(key.snapshot.is_some() || has_moment && !self.backend.may_expire(table)?)
    }

    /// Which rows are picked.
    pub(in crate::tree) fn row_mark(&self, key: &NodeKey, table: &TableName) -> Result<Arc<Mark>> {
        let question = key.asked.as_deref().map(Question::of_rows).unwrap_or_default();
        if question.pick() == Pick::All {
            return Ok(Arc::new(Mark::All));
        }
        let dir = key.asked(question.clone(), Place::Table(Arc::new(table.clone())));
        let seed = u64::from_le_bytes(self.backend.hash_key()[..8].try_into().unwrap_or_default());
        let seed = seed ^ question.moment.map_or(0, |moment| moment.0.cast_unsigned());
        self.marks.of(&dir, (self.backend.now(), self.is_fixed(key, table)?), || {
            self.answer(key, &question, table)?.mark(seed)
        })
    }

    /// Which qualifiers are picked.
    pub(in crate::tree) fn cell_mark(
        &self,
        key: &NodeKey,
        question: &Question,
        family: &FamilyPlace,
    ) -> Result<Arc<Mark>> {
        if question.pick_of_cells() == Pick::All {
            return Ok(Arc::new(Mark::All));
        }
        let dir = key.sibling(Place::Family(Arc::new(family.clone())));
        self.marks.of(&dir, (self.backend.now(), self.is_fixed(key, &family.table)?), || {
            self.answer(key, question, &family.table)?.mark_of_cells(family)
        })
    }
}
