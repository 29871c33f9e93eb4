//! Scan paths in the tree: which names are steps.

use std::sync::Arc;

use super::export::exports;
use super::question::{Kind, Question, Says, Step, wrong};
use super::{argument, asked};
use crate::Result;
use crate::bulk::{FORMATS, IMPORTS};
use crate::model::{TableName, Timestamp};
use crate::query::RowQuery;
use crate::tree::base::Tree;
use crate::tree::found::{absent, wrong_timestamp};
use crate::tree::names::escape::{Level, NAME_MAX, Parsed, Spelling};
use crate::tree::names::keys::no_short_name;
use crate::tree::names::shortened::{find_qualifier, find_row};
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
use crate::tree::view::View;
use crate::tree::{named, stored};

/// What a name stands for that is a step, an argument, or part of an answer; `None`: it is none of these.
pub(in crate::tree) fn asked_target(tree: &Tree, dir: &NodeKey, name: &[u8]) -> Result<Option<NodeKey>> {
    let ends = match &dir.place {
        Place::Table(_) | Place::Row(_) => true,
        // In the family itself they are names of cells.
        Place::Family(_) => dir.asked.is_some(),
        _ => false,
    };
    if let (Place::Family(family), true, b".count" | b".export") = (&dir.place, ends, name) {
        // A cell of that name comes first.
        let cell = dir.sibling(Place::Cell(Arc::new(family.column(name.to_vec()))));
        if has_cell(tree, &cell)? {
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
        let (_, format) = format.ok_or_else(|| match FORMATS.iter().any(|(known, _)| known.as_bytes() == name) {
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
        Place::Asking(..) => argument(tree, dir, name, tree.backend.now()).map(Some),
        Place::Table(table) => below_table(tree, dir, table, name),
        Place::Family(family) => below_family(tree, dir, family, name),
        Place::Row(row) if dir.asked.is_some() => {
            let family = crate::tree::named::family_named(name)?;
            let family = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family };
            Ok(Some(dir.sibling(Place::Family(Arc::new(family)))))
        }
        _ if dir.asked.is_some() => Err(absent(name)),
        _ => Ok(None),
    }
}

fn below_table(tree: &Tree, dir: &NodeKey, table: &Arc<TableName>, name: &[u8]) -> Result<Option<NodeKey>> {
    let question = dir.asked.as_deref().cloned().unwrap_or_default();
    if let Some(kind) = question.goes_on_with(name) {
        return Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))));
    }
    let Some(kind) = Kind::of_rows(name) else {
        if dir.asked.is_none() {
            return Ok(None);
        }
        let row = named::row_named(tree, tree.spelling, table, name)?.ok_or_else(|| no_short_name(name))?;
        return Ok(Some(dir.sibling(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row })))));
    };
    match kind {
        Kind::At if dir.asked.is_none() && dir.view == View::Plain => Ok(None),
        Kind::At if dir.view != View::Plain => Err(wrong("`.at` stands in this path already")),
        Kind::At => Ok(Some(dir.sibling(Place::Times(Arc::new(dir.place.clone()))))),
        Kind::Raw => {
            let step = Step { kind, text: name.to_vec(), says: Says::Nothing };
            with_step(tree, dir, table, question.with_rows(step)?).map(Some)
        }
        _ => {
            question.check_rows(kind)?;
            Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))))
        }
    }
}

/// A cell of the name of a step comes first; where cells may be made under any name, there are no steps.
fn below_family(tree: &Tree, dir: &NodeKey, family: &FamilyPlace, name: &[u8]) -> Result<Option<NodeKey>> {
    if let Some(kind) = Kind::of_cells(name)
        && !(dir.is_present() && tree.spelling.bytes == crate::tree::names::escape::Bytes::Raw)
    {
        let cell = dir.sibling(Place::Cell(Arc::new(family.column(name.to_vec()))));
        if has_cell(tree, &cell)? || dir.is_present() && tree.uncommitted.has_cell(family, name) {
            return Ok(Some(cell));
        }
        dir.asked.as_deref().cloned().unwrap_or_default().check_cells(kind)?;
        return Ok(Some(dir.sibling(Place::Asking(Arc::new(dir.place.clone()), kind))));
    }
    if dir.asked.is_none() {
        return Ok(None);
    }
    let (stem, suffix) = match suffix::split(name, tree.spelling.at) {
        None => (name, None),
        Some((stem, Some(suffix))) => (stem, Some(suffix)),
        Some((_, None)) => return Err(wrong_timestamp(name)),
    };
    let qualifier = named::qualifier_named(tree, tree.spelling, family, stem, suffix)?;
    let column = Arc::new(family.column(qualifier.ok_or_else(|| no_short_name(name))?));
    Ok(Some(dir.sibling(match suffix {
        None => Place::Cell(column),
        Some(Suffix::Version(timestamp)) => Place::Version(column, timestamp),
        Some(Suffix::Deleted(timestamp, end)) => Place::Ended(column, timestamp, end),
        Some(_) => return Err(absent(name)),
    })))
}

/// The directory of an argument below `.prefix` and its like; times count from `now`.
pub fn argument(tree: &Tree, dir: &NodeKey, text: &[u8], now: Timestamp) -> Result<NodeKey> {
    let Place::Asking(base, kind) = &dir.place else { return Err(absent(text)) };
    let (kind, question) = (*kind, dir.asked.as_deref().cloned().unwrap_or_default());
    match base.as_ref() {
        Place::Family(family) => {
            let says = match Spelling::default().parse(Level::Qualifier, text) {
                Parsed::Short { prefixes } if kind != Kind::Columns => {
                    let found = find_qualifier(tree, tree.spelling, family, (&prefixes, text), NAME_MAX)?;
                    Says::Key(found.ok_or_else(|| no_short_name(text))?)
                }
                _ => argument::of_cells(kind, text, &family.family)?,
            };
            let question = question.with_cells(Step { kind, text: text.to_vec(), says })?;
            Ok(dir.asked(question, base.as_ref().clone()))
        }
        Place::Table(table) if kind == Kind::By => {
            let schema = tree.backend.catalogue()?.tables.get(table).cloned();
            let index = std::str::from_utf8(text).map_err(|_| absent(text))?;
            if let Some(schema) = schema.filter(|schema| !schema.indexes.contains_key(index)) {
                return Err(schema.no_index(index));
            }
            let step = Step { kind, text: text.to_vec(), says: Says::Nothing };
            Ok(dir.asked(question.with_rows(step)?, Place::Asking(Arc::clone(base), Kind::Value)))
        }
        Place::Table(table) if kind == Kind::Key => {
            let catalogue = tree.backend.catalogue()?;
            let recipe = catalogue.tables.get(table).ok_or_else(|| absent(text))?.recipe()?;
            let step = Step { kind, text: text.to_vec(), says: argument::of_fields(&recipe, text)? };
            with_step(tree, dir, table, question.with_rows(step)?)
        }
        Place::Table(_) if kind == Kind::Value && Kind::of_values(text).is_some() => {
            let kind = Kind::of_values(text).unwrap_or(kind);
            Ok(dir.sibling(Place::Asking(Arc::clone(base), kind)))
        }
        Place::Table(table) => {
            let is_key = matches!(kind, Kind::Prefix | Kind::From | Kind::To);
            let says = match Spelling::default().parse(Level::Row, text) {
                Parsed::Short { prefixes } if is_key => {
                    let found = find_row(tree, tree.spelling, table, &prefixes, text)?;
                    Says::Key(found.ok_or_else(|| no_short_name(text))?)
                }
                _ => argument::of_rows(kind, text, now)?,
            };
            let step = Step { kind, text: text.to_vec(), says };
            with_step(tree, dir, table, question.with_rows(step)?)
        }
        _ => Err(absent(text)),
    }
}

/// `.at/TIME` behind other steps.
pub(in crate::tree) fn asked_at(key: NodeKey, text: &[u8]) -> Result<NodeKey> {
    let Some(question) = &key.asked else { return Ok(key) };
    let question = question.with_rows(Step { kind: Kind::At, text: text.to_vec(), says: Says::Nothing })?;
    Ok(key.asked(question, key.place.clone()))
}

/// The table, asked a question that the store understands.
fn with_step(tree: &Tree, dir: &NodeKey, table: &Arc<TableName>, question: Question) -> Result<NodeKey> {
    if let Some(schema) = tree.backend.catalogue()?.tables.get(table) {
        let scan = question.scan(table, dir.view);
        scan.by.as_ref().map_or(Ok(()), |by| schema.index_asked(by).map(drop))?;
        RowQuery::scan(&scan, schema, tree.backend.now()).map_err(|e| wrong(e.message))?;
    }
    Ok(dir.asked(question, Place::Table(Arc::clone(table))))
}

/// Whether a cell is there, or in the answer.
fn has_cell(tree: &Tree, cell: &NodeKey) -> Result<bool> {
    match (&cell.asked, &cell.place) {
        (Some(question), _) => Ok(asked::asked_facts(tree, cell, question)?.is_some()),
        (None, Place::Cell(column)) => {
            Ok(stored::existing(tree.backend.newest(column, cell.view.time_range()))?.flatten().is_some())
        }
        (None, _) => Ok(false),
    }
}
