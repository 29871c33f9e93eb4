//! What of a generated file's new text can be refused before it is whole.

use crate::fs::base::Fs;
use crate::fs::bytes::content::Content;
use crate::fs::requests::writable::no_family;
use crate::model::declared::attributes::{
    derive_rules, family_effect, given_family_attribute, namespace_property, table_attribute, table_effect,
    without_effect, without_effect_in,
};
use crate::model::row_key::{RECIPE, Recipe};
use crate::model::{
    Catalogue, ColumnKey, ConstraintSchema, FamilySchema, IndexSchema, KEEP_VERSIONS_FOR, Mutation, Origin,
    RowMutations, TableName, TimeRange, give_attributes,
};
use crate::query::parse;
use crate::tree::names::escape::{At, Level, Parsed, Spelling};
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{FreeMap, NodeKey, Place, SchemaPlace, ScratchDir};
use crate::tree::schema::constraint as schema_constraint;
use crate::tree::texts::json;
use crate::{Error, ErrorKind, Result};

/// Longer texts are judged when the file closes.
const JUDGED_MAX: usize = 1 << 20;
/// Longer values of cells likewise: each write looks at all of it.
const START_MAX: u64 = 64 << 10;

/// What a text is judged by, as it is now.
pub(in crate::fs) struct Limits<'a> {
    pub catalogue: &'a Catalogue,
    /// Bytes of the longest value.
    pub value: u64,
    /// Whether there is any for cells.
    pub room: Result<()>,
}

/// Tells at a close that a file which is left empty will be refused: its last commit comes when nobody hears of it.
/// Only told, since a shell closes copies of a file that it has emptied before it writes to it.
pub fn judge_emptied(fs: &Fs, column: &ColumnKey) -> Result<()> {
    let catalogue = fs.tree.backend.catalogue()?;
    let table = catalogue.tables.get(&column.table);
    let Some(family) = table.and_then(|table| table.families.get(&column.family)) else { return Ok(()) };
    for constraint in family.constraints.values() {
        let rule = constraint.rule()?;
        if !rule.is_of(&column.qualifier) {
            continue;
        }
        if let Some(why) = rule.wrong_len(0).or_else(|| rule.wrong_value(&[])) {
            return Err(refused(constraint, column, &why));
        }
    }
    Ok(())
}

/// Refuses what is written at the start of a generated file and does not go with what is stored or named.
pub fn judge_text(fs: &Fs, place: &Place, offset: u64, data: &[u8]) -> Result<()> {
    match place {
        Place::Counter(column) => match fs.tree.backend.newest(column, TimeRange::ALL) {
            Ok(Some(cell)) if cell.len() != 8 => Err(no_counter(cell.len())),
            // Where it cannot be had, the increment says why.
            Ok(_) | Err(_) => Ok(()),
        },
        place if offset == 0 => judge_key(place, data),
        _ => Ok(()),
    }
}

/// Refuses a write after which a cell breaks a constraint of its family, whatever is written behind it. What is
/// written in front of other bytes, or leaves a hole, is judged when the file closes.
pub fn judge_write(fs: &Fs, key: &NodeKey, content: &mut Content, offset: u64, data: &[u8]) -> Result<()> {
    let Place::Cell(column) = &key.place else {
        let is_start = offset == 0 && content.is_empty();
        return if is_start { judge_key(&key.place, data) } else { Ok(()) };
    };
    let catalogue = fs.tree.backend.catalogue()?;
    let table = catalogue.tables.get(&column.table);
    let Some(family) = table.and_then(|table| table.families.get(&column.family)) else { return Ok(()) };
    let end = content.len().max(offset.saturating_add(data.len() as u64));
    let mut start = None;
    for constraint in family.constraints.values() {
        let rule = constraint.rule()?;
        if !rule.is_of(&column.qualifier) {
            continue;
        }
        let is_start = offset == content.len() && end <= START_MAX && rule.value_type.is_some();
        if is_start && start.is_none() {
            let before = usize::try_from(offset).unwrap_or(usize::MAX);
            start = Some([content.read(0, before)?.as_slice(), data].concat());
        }
        let judged = start.as_deref().filter(|_| is_start);
        if let Some(why) = rule.wrong_start(judged.unwrap_or_default(), end) {
            return Err(refused(constraint, column, &why));
        }
    }
    Ok(())
}

/// Refuses what cannot become the key of a key file's name, whatever is written behind it.
fn judge_key(place: &Place, bytes: &[u8]) -> Result<()> {
    let begins = |key: &[u8]| key.starts_with(bytes) || bytes.starts_with(key);
    let may_be = match place {
        Place::KeyFile(column) => column.qualifier.starts_with(bytes),
        Place::RowKey(row) => row.row.starts_with(bytes),
        Place::Scratch(scratch) => {
            let (level, name) = match (&scratch.dir, suffix::split(&scratch.name, At::Version)) {
                (ScratchDir::Family(_), Some((stem, Some(Suffix::Key)))) => (Level::Qualifier, stem),
                (ScratchDir::Waiting(waiting), _) if waiting.family.is_none() && scratch.name == b".key" => {
                    (Level::Row, waiting.name.as_slice())
                }
                _ => return Ok(()),
            };
            match Spelling::default().parse(level, name) {
                Parsed::Short { prefixes } => prefixes.iter().any(|prefix| begins(prefix)),
                Parsed::Key(_) | Parsed::Refused { .. } => true,
            }
        }
        _ => true,
    };
    if may_be { Ok(()) } else { Err(wrong_key()) }
}

/// Whether what is written there is stored as cells, which takes room.
pub fn becomes_cells(place: &Place) -> bool {
    matches!(place, Place::Counter(_) | Place::Json(_) | Place::Import(..))
}

/// Refuses what can become nothing right, whatever is written behind it.
pub fn judge(place: &Place, bytes: &[u8], limits: &Limits<'_>) -> Result<()> {
    let catalogue = limits.catalogue;
    match place {
        Place::Json(row) if is_patch(bytes) => {
            let patch = json::patch(row, bytes, Origin::default())?;
            patch.check_values(limits.value)?;
            if patch.mutations.iter().any(|mutation| matches!(mutation, Mutation::Put(_))) {
                limits.room.clone()?;
            }
            check_families(&patch, catalogue)
        }
        _ if bytes.len() > JUDGED_MAX => Ok(()),
        Place::Counter(_) => limits.room.clone().and(amount(bytes).map(|_| ())),
        Place::Schema(place) => match (place.as_ref(), line(bytes)) {
            (SchemaPlace::Attribute { table, family: Some(family), name }, Some(value)) => {
                given_family_attribute(name, value)?;
                check_together(catalogue, (table, family), name, value)
            }
            (SchemaPlace::Attribute { family: None, name, .. }, Some(value)) => {
                table_attribute(name, value).map(|_| ())
            }
            (SchemaPlace::NamespaceProperty(_, name), Some(value)) => namespace_property(name, value),
            (SchemaPlace::IndexAttribute { table, index, name }, Some(value)) => {
                let known = catalogue.tables.get(table).and_then(|table| table.indexes.get(index));
                let mut judged = known.cloned().unwrap_or_else(|| IndexSchema::new(index.as_str()));
                judged.set_attribute(name, Some(value))?;
                judged.check()?;
                let refused = |e: Error| Error::new(ErrorKind::IllegalArgument, e.message);
                judged.condition.map_or(Ok(()), |filter| parse(&filter).map(drop).map_err(refused))
            }
            (place, Some(value)) if is_recipe(place) => Recipe::parse(value.trim()).map(drop),
            (SchemaPlace::ConstraintAttribute { table, family, constraint, name }, Some(value)) => {
                let known = schema_constraint::of(catalogue, table, family, constraint);
                let mut judged = known.cloned().unwrap_or_else(|| ConstraintSchema::new(constraint.as_str()));
                judged.set_attribute(name, Some(value))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_recipe(place: &SchemaPlace) -> bool {
    match place {
        SchemaPlace::FreeKey { family, map, name, .. } => {
            family.is_none() && *map == FreeMap::Metadata && name == RECIPE
        }
        place => matches!(place, SchemaPlace::Recipe(_)),
    }
}

/// Whether a patch has come to its end, or can come to none. Of a long one only what looks like its end is looked at.
fn is_patch(bytes: &[u8]) -> bool {
    let has_ended = bytes.trim_ascii_end().ends_with(b"}");
    if bytes.len() > JUDGED_MAX {
        return has_ended && !json::may_go_on(bytes);
    }
    has_ended || !json::may_go_on(bytes)
}

/// An attribute that is taken and changes nothing says so.
pub fn said_of(catalogue: &Catalogue, place: &SchemaPlace, value: &str) -> Option<String> {
    let SchemaPlace::Attribute { table, family, name } = place else { return None };
    let Some(family) = family else { return without_effect(table_effect(name), name, value) };
    let known = catalogue.tables.get(table).and_then(|table| table.families.get(family))?;
    // One that is restored gets them one by one.
    let is_restored = catalogue.restored.contains(&known.id);
    if is_restored {
        without_effect(family_effect(name), name, value)
    } else {
        keeps_less((table, known), name, value).or_else(|| without_effect_in(&known.attributes, name, value))
    }
}

/// What is said where KEEP_VERSIONS_FOR goes with fewer VERSIONS.
fn keeps_less((table, family): (&TableName, &FamilySchema), name: &str, value: &str) -> Option<String> {
    let seconds = family.attributes.get(KEEP_VERSIONS_FOR).filter(|_| name == "VERSIONS")?;
    let mut attributes = family.attributes.clone();
    give_attributes(&mut attributes, [(name.to_owned(), value.to_owned())].into());
    let is_gone = !attributes.contains_key(KEEP_VERSIONS_FOR);
    let name = &family.name;
    is_gone.then(|| {
        format!(
            "table {table}, family {name}: no more than its VERSIONS is kept now, {KEEP_VERSIONS_FOR} ({seconds} s) is gone; \
             write .schema/{name}/{KEEP_VERSIONS_FOR} to have it again"
        )
    })
}

/// An index may be declared before its families, as copies of a schema do: what is not there yet is said.
pub fn lacking(catalogue: &Catalogue, place: &SchemaPlace, value: Option<&str>) -> Option<String> {
    let SchemaPlace::IndexAttribute { table, index, name } = place else { return None };
    let families = &catalogue.tables.get(table)?.families;
    let mut judged = IndexSchema::new(index.as_str());
    judged.set_attribute(name, value).ok()?;
    let named = judged.families().find(|family| !families.contains_key(*family))?;
    let lacks = if judged.columns.is_empty() { "shows nothing of it" } else { "finds nothing by it" };
    Some(format!(
        "index {index}: table {table} has no family {named}: the index {lacks} until that is declared \
         (mkdir .schema/{named})"
    ))
}

/// Refuses an attribute that does not go with the others that its family has.
fn check_together(catalogue: &Catalogue, of: (&TableName, &str), name: &str, value: &str) -> Result<()> {
    let family = catalogue.tables.get(of.0).and_then(|table| table.families.get(of.1));
    // One that is restored gets them one by one.
    let Some(family) = family.filter(|family| !catalogue.restored.contains(&family.id)) else { return Ok(()) };
    let mut attributes = family.attributes.clone();
    attributes.insert(name.to_owned(), value.to_owned());
    derive_rules(&mut attributes, &family.metadata, &family.configuration).map(|_| ())
}

fn no_counter(len: u64) -> Error {
    let text = format!("a counter is a value of 8 bytes, and this one has {len}: remove it, then count from 0");
    Error::new(ErrorKind::IllegalArgument, text)
}

fn refused(constraint: &ConstraintSchema, column: &ColumnKey, why: &str) -> Error {
    let (name, ColumnKey { family, table, .. }) = (&constraint.name, column);
    Error::new(ErrorKind::Refused, format!("check {name} of family {family}, table {table}: {why}"))
}

/// Refuses families that the table lacks.
fn check_families(patch: &RowMutations, catalogue: &Catalogue) -> Result<()> {
    let Some(table) = catalogue.tables.get(&patch.table) else { return Ok(()) };
    let lacking = |family: &str| !table.families.contains_key(family);
    let named = patch.mutations.iter().flat_map(|mutation| match mutation {
        Mutation::Put(puts) => puts.iter().map(|put| put.family.as_str()).collect(),
        _ => Vec::new(),
    });
    match named.into_iter().find(|family| lacking(family)) {
        None => Ok(()),
        Some(family) => Err(no_family(&ColumnKey {
            table: patch.table.clone(),
            row: patch.row.clone(),
            family: family.to_owned(),
            qualifier: Vec::new(),
        })),
    }
}

/// The value of a line that has ended.
pub fn line(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes.strip_suffix(b"\n")?).ok()?;
    Some(text.trim_end_matches('\n')).filter(|text| !text.is_empty())
}

/// `+N` or `-N`; `None` while it is not complete.
pub fn amount(bytes: &[u8]) -> Result<Option<i64>> {
    let wanted = || Error::new(ErrorKind::IllegalArgument, "write +N or -N to add to the counter or take from it");
    let text = std::str::from_utf8(bytes).map_err(|_| wanted())?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.strip_prefix(['+', '-']).ok_or_else(wanted)?;
    if digits.is_empty() {
        return Ok(None);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wanted());
    }
    text.parse().map(Some).map_err(|_| wanted())
}

pub fn wrong_key() -> Error {
    let text = "this is not the key of that name; a key file holds the bytes of the full key and nothing else";
    Error::new(ErrorKind::IllegalArgument, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_judged_as_they_come() {
        for (bytes, wanted) in [("+", None), ("", None), ("+5", Some(5)), ("-12\n", Some(-12)), (" +1 ", Some(1))] {
            assert_eq!(amount(bytes.as_bytes()).unwrap(), wanted);
        }
        for wrong in ["7", "+x", "+1 2", "+99999999999999999999"] {
            assert!(amount(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
