//! Tables that are being filled from a snapshot: in the catalogue, so that their cells stay, and seen by nobody.

use std::path::Path;

use super::catalogue::{check_new_name, insert_table, new_family_id, new_table_id, save};
use super::dropped::drop_for_good;
use super::engine::Engine;
use crate::backend::{Event, Existing};
use crate::env::Env;
use crate::model::{Catalogue, NamespaceSchema, Origin, TableId, TableName, TableSchema, TableState};
use crate::{Error, ErrorKind, Result};

/// The catalogue without tables whose filling a stop of the process has ended; their cells go with a compaction.
pub fn without_staged(env: &dyn Env, path: &Path, mut catalogue: Catalogue) -> Result<Catalogue> {
    if !catalogue.staged.is_empty() {
        log::warn!("a table was being restored when the store was closed; restore it again");
        catalogue.staged.clear();
        save(env, path, &catalogue)?;
    }
    Ok(catalogue)
}

impl Engine {
    /// Declares a table that nobody sees, of other families that have other ids; `namespace` is made if it is absent.
    pub fn stage(
        &self,
        table: &TableSchema,
        of: &Catalogue,
        namespace: &NamespaceSchema,
        existing: Existing,
    ) -> Result<TableSchema> {
        let mut staged = table.clone();
        staged.state = TableState::Enabled;
        self.change_catalogue(|catalogue, _| {
            let mut events = Vec::new();
            if !catalogue.namespaces.contains_key(&namespace.name) {
                catalogue.namespaces.insert(namespace.name.clone(), namespace.clone());
                events.push(Event::Namespace { name: namespace.name.clone(), origin: Origin::default() });
            }
            if existing == Existing::Refuse || !catalogue.tables.contains_key(&staged.name) {
                check_new_name(catalogue, &staged.name)?;
            }
            staged.id = new_table_id(catalogue);
            for family in staged.families.values_mut() {
                let restored = of.restored.contains(&family.id);
                family.id = new_family_id(catalogue);
                if restored {
                    catalogue.restored.insert(family.id);
                }
            }
            catalogue.staged.push(staged.clone());
            Ok(events)
        })?;
        Ok(staged)
    }

    /// Shows staged tables, in one step with the end of those whose names they have.
    pub fn publish(&self, ids: &[TableId], existing: Existing, origin: Origin) -> Result<()> {
        self.change_catalogue(|catalogue, _| {
            let mut events = Vec::new();
            for id in ids {
                let table = publish_in(catalogue, *id, existing)?;
                events.push(Event::Replaced { table: table.clone() });
                events.push(Event::Table { table, origin });
            }
            Ok(events)
        })
    }

    /// Gives staged tables up.
    pub fn unstage(&self, ids: &[TableId]) -> Result<()> {
        self.change_catalogue(|catalogue, _| {
            for id in ids {
                take_staged(catalogue, *id);
            }
            Ok(Vec::new())
        })
    }
}

fn publish_in(catalogue: &mut Catalogue, id: TableId, existing: Existing) -> Result<TableName> {
    let mut table = take_staged(catalogue, id).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "the table that was being restored is gone; restore it again")
    })?;
    let name: TableName = table.name.clone();
    match catalogue.tables.get(&name).filter(|_| existing == Existing::Replace) {
        Some(present) => {
            table.state = present.state;
            drop_for_good(catalogue, &name)?;
        }
        None => check_new_name(catalogue, &name)?,
    }
    insert_table(catalogue, table)?;
    Ok(name)
}

fn take_staged(catalogue: &mut Catalogue, id: TableId) -> Option<TableSchema> {
    let at = catalogue.staged.iter().position(|table| table.id == id)?;
    Some(catalogue.staged.remove(at))
}
