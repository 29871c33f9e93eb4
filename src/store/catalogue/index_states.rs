//! Indexes in changes of the catalogue: what they keep of their entries, and when these are not to be believed.

use std::collections::BTreeSet;

use super::tables::new_family_id;
use crate::model::{Catalogue, FamilyId, IndexSchema, IndexState, TableSchema};
use crate::query::parse;
use crate::{Error, ErrorKind, Result};

/// Most indexes of a table: each makes every put of its column one entry dearer.
const INDEXES_MAX: usize = 64;

/// Gives the indexes of a table that is about to be declared their entries: those of the table as it was, where they are
/// of the same column.
pub fn take_over(catalogue: &mut Catalogue, old: Option<&TableSchema>, new: &mut TableSchema) -> Result<()> {
    if new.indexes.len() > INDEXES_MAX {
        let text = format!("table {}: it can have {INDEXES_MAX} indexes at most", new.name);
        return Err(Error::new(ErrorKind::Constraint, text));
    }
    for (name, index) in &mut new.indexes {
        index.name.clone_from(name);
        let of_table = |e: Error| e.context(format!("table {}", old.map_or("", |old| &old.name.name)));
        index.check().map_err(of_table)?;
        if let Some(filter) = &index.condition {
            let refused =
                |e: Error| Error::new(ErrorKind::IllegalArgument, format!("index {name}, where: {}", e.message));
            parse(filter).map_err(refused)?;
        }
        match old.and_then(|old| old.indexes.get(name)).filter(|old| old.has_entries_of(index)) {
            Some(old) => {
                index.set_entries(old.entries.id);
                // What is there has to be looked at once more.
                let is_judged_anew = index.unique && (!old.unique || old.columns != index.columns);
                let no_longer = !index.unique && matches!(old.state, IndexState::Twofold(_));
                index.state = match &old.state {
                    _ if is_judged_anew => IndexState::Building,
                    _ if no_longer => IndexState::Complete,
                    state => state.clone(),
                };
            }
            None => {
                index.set_entries(new_family_id(catalogue));
                // A table that is new has nothing to look at.
                index.state = if old.is_some() { IndexState::Building } else { IndexState::Complete };
            }
        }
    }
    Ok(())
}

/// The index whose entries a family holds.
pub fn index_with(catalogue: &mut Catalogue, entries: FamilyId) -> Option<&mut IndexSchema> {
    let indexes = catalogue.tables.values_mut().flat_map(|table| table.indexes.values_mut());
    indexes.into_iter().find(|index| index.entries.id == entries)
}

/// Cells of a family come back, perhaps without their entries: the indexes that are of it are built anew, with entries
/// that nobody has begun who looked at the table without them.
pub fn family_is_back(catalogue: &mut Catalogue, table: &mut TableSchema, family: &str) {
    let is_of = |index: &IndexSchema| index.columns.iter().any(|column| column.family == family);
    for index in table.indexes.values_mut().filter(|index| is_of(index)) {
        build_anew(catalogue, index);
    }
}

fn build_anew(catalogue: &mut Catalogue, index: &mut IndexSchema) {
    index.entries.id = new_family_id(catalogue);
    index.state = IndexState::Building;
}

/// Of what a snapshot declares: only entries are believed that are those of an index that is complete now. Whatever
/// was found missing since the snapshot was made, a repair has given that index other ones.
pub fn doubt_others(table: &mut TableSchema, complete: &BTreeSet<FamilyId>) {
    for index in table.indexes.values_mut().filter(|index| !complete.contains(&index.entries.id)) {
        index.state = IndexState::Building;
    }
}

pub fn renew(catalogue: &mut Catalogue, table: &mut TableSchema) {
    table.indexes.values_mut().for_each(|index| build_anew(catalogue, index));
}
