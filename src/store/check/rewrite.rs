//! Damaged segments written anew: what can be read goes to new files, one edit puts these in the place of the old one,
//! and what could not be read is listed. The old file is set aside, never unlinked.
//!
//! Must not judge which cells are visible: tombstones and old versions are copied as all others are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::format::{Codec, key};
use crate::journal::{Edit, Item, Reference, State};
use crate::model::{FamilyId, Tags, ValueBytes, to_string_binary};
use crate::segment::{Extent, ExtentFacts, ExtentOptions, NewCell, Reading, StoredValue};
use crate::store::engine::{Engine, edits};
use crate::store::extents::writing::{Made, Output};
use crate::{ErrorKind, Result, error};

/// Names of families, for sentences.
pub type Names = BTreeMap<FamilyId, String>;

/// The names of all families that are kept.
pub fn names(state: &State) -> Names {
    let tables = state.catalogue.tables.values();
    let families = tables.flat_map(|table| table.stored_families().map(move |family| (table, family)));
    families.map(|(table, family)| (family.id, format!("{}:{}", table.name, family.name))).collect()
}

/// A family by its name.
pub fn name_of(names: &Names, family: FamilyId) -> &str {
    names.get(&family).map_or("a family of the past", String::as_str)
}

/// Row, column and version of a cell, for people.
pub(super) fn cell_name(key: &[u8]) -> Option<String> {
    let key = key::decode(key)?;
    let name = |bytes: &[u8]| error::printable(&to_string_binary(bytes));
    Some(format!("row {}, column {}, version {}", name(&key.row), name(&key.qualifier), key.timestamp))
}

/// The row that a key begins with, which may be cut off anywhere.
fn row_name(key: &[u8]) -> String {
    let row = key::row_of(key).unwrap_or_else(|| key.to_vec());
    error::printable(&to_string_binary(&row))
}

/// Writes files of segments anew; sentences about it.
pub fn rewrite(engine: &Engine, damaged: &BTreeSet<u64>) -> Result<Vec<String>> {
    let names = names(&engine.structure.layout().state);
    let mut done = Vec::new();
    for number in damaged {
        done.extend(rewrite_file(engine, *number, &names)?);
    }
    Ok(done)
}

fn rewrite_file(engine: &Engine, number: u64, names: &Names) -> Result<Vec<String>> {
    let state = Arc::clone(&engine.structure.layout().state);
    let references: Vec<Reference> = state.references.keys().filter(|of| of.file == number).copied().collect();
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let (mut made, mut lost): (BTreeMap<u32, Made>, Vec<String>) = (BTreeMap::new(), Vec::new());
    let file = engine.structure.file(number);
    let readable = match &file.segment {
        Ok(segment) => Some(segment),
        Err(e) if e.kind == ErrorKind::Corrupt => None,
        Err(e) => return Err(e.clone()),
    };
    for reference in &references {
        let name = name_of(names, reference.family);
        let extent = readable.and_then(|segment| segment.extents().get(reference.extent as usize));
        match extent {
            None => lost.push(format!("all that it had of {name}")),
            Some(_) if made.contains_key(&reference.extent) => {}
            Some(extent) => {
                let mut ranges = Vec::new();
                let from = state.needed_from(number, reference.extent).unwrap_or_default();
                made.insert(reference.extent, copy(engine, extent, &from, &mut ranges)?);
                lost.extend(ranges.into_iter().map(|range| format!("{name}, {range}")));
            }
        }
    }
    // Order: what cannot be opened is out of the way before nothing refers to it: the sweep of an open would unlink it.
    let mut aside = if readable.is_none() { engine.structure.set_aside(number)? } else { None };
    let mut edit = Edit::default();
    for was in references {
        let extents = made.get(&was.extent).map(|made| made.extents.as_slice()).unwrap_or_default();
        let now = extents.iter().map(|(file, facts)| Reference { file: *file, extent: facts.number, ..was }).collect();
        edit.items.push(Item::Repaired { was, now });
    }
    let committed = edits::commit(engine, |_| Ok(edit), |layout| engine.show(layout, |_| None));
    committed.inspect_err(|_| made.values().for_each(|made| made.give_up(engine)))?;
    if readable.is_some() {
        aside = engine.structure.set_aside(number)?;
    }
    Ok(sentences(&engine.structure.path(number).display().to_string(), aside.as_deref(), lost))
}

fn sentences(path: &str, aside: Option<&std::path::Path>, lost: Vec<String>) -> Vec<String> {
    let what = if lost.is_empty() {
        "nothing of it is lost"
    } else {
        "what is lost follows, and where that deleted or replaced something, that shows again"
    };
    let aside = aside.map_or_else(String::new, |aside| {
        format!("; the damaged file is kept as {}: remove it when you need it no more", aside.display())
    });
    let first = format!("{path} was damaged; what can be read of it was written anew, {what}{aside}");
    std::iter::once(first).chain(lost.into_iter().map(|lost| format!("lost of {path}: {lost}"))).collect()
}

fn options_of(facts: &ExtentFacts) -> ExtentOptions {
    ExtentOptions {
        family: facts.family,
        block_bytes: facts.block_bytes as usize,
        filter: facts.filter,
        codec: Codec::from_code(facts.codec).unwrap_or_default(),
        max_versions: facts.max_versions,
        layers: facts.layers,
        made_at: facts.made_at,
        major: facts.major,
    }
}

/// Writes the cells of an extent from a key on that are whole; what is passed over goes to `lost`.
fn copy(engine: &Engine, extent: &Arc<Extent>, from: &[u8], lost: &mut Vec<String>) -> Result<Made> {
    let mut output = Output::new(engine);
    output.begin(options_of(extent.facts()))?;
    let mut cursor = extent.cursor(Reading::Walk);
    let (mut step, mut value) = (cursor.seek(from), Vec::new());
    loop {
        step = match step {
            Err(e) if e.kind == ErrorKind::Corrupt => match cursor.pass_damage() {
                Ok((from, to)) => {
                    lost.push(range_name(extent, &from, to.as_deref()));
                    Ok(())
                }
                Err(e) if e.kind == ErrorKind::Corrupt => {
                    let (first, last) = (&extent.facts().first_key, &extent.facts().last_key);
                    lost.push(format!("all from row {} to row {}", row_name(first), row_name(last)));
                    break;
                }
                Err(e) => return Err(e),
            },
            other => other,
        };
        step?;
        if cursor.key().is_none() {
            break;
        }
        let read = cursor.read_value(&mut value);
        if let Some(cell) = cursor.cell() {
            let copied = read.and_then(|()| {
                if cell.tags.is_damaged() {
                    return Err(crate::Error::new(ErrorKind::Corrupt, "its value is lost"));
                }
                let tags = if cell.tags.is_empty() { Some(Tags::default()) } else { cell.tags.decode() };
                let nonsense = || crate::Error::new(ErrorKind::Corrupt, "its attributes do not make sense");
                let tags = tags.ok_or_else(nonsense)?;
                let value = match cell.value {
                    StoredValue::Root { len, bytes } => ValueBytes::Root { len, bytes },
                    StoredValue::Inline(_) | StoredValue::Area(_) => ValueBytes::Bytes(&value),
                };
                output.add_whole(&NewCell { key: cell.key, tags: &tags, value })
            });
            match copied {
                Err(e) if e.kind == ErrorKind::Corrupt => lost.extend(cell_name(cell.key)),
                copied => copied?,
            }
        }
        step = cursor.advance();
    }
    output.end()?;
    output.finish()
}

/// Keys that are lost, for people.
fn range_name(extent: &Extent, from: &[u8], to: Option<&[u8]>) -> String {
    let from = if from.is_empty() { &extent.facts().first_key } else { from };
    let to = to.map_or_else(
        || format!("to row {}", row_name(&extent.facts().last_key)),
        |to| format!("to before row {}", row_name(to)),
    );
    format!("cells from row {} {to}", row_name(from))
}
