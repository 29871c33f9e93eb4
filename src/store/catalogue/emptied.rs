//! Changes that are for what is empty: what somebody else has just written would go with it.

use crate::model::{Catalogue, CatalogueChange, TableName, TableSchema, TableState};
use crate::store::engine::Engine;
use crate::store::read::point;
use crate::{Error, ErrorKind, Result};

/// The table, or the family of it, that must be empty.
pub struct Emptied(Option<(TableName, Option<String>)>);

impl Emptied {
    pub fn of(change: &CatalogueChange) -> Self {
        match change {
            CatalogueChange::IfEmpty { table, family, .. } => Self(Some((table.clone(), family.clone()))),
            CatalogueChange::At { change, .. } => Self::of(change),
            _ => Self(None),
        }
    }

    /// `NotEmpty` where a cell is shown. A table that is not there is empty; into one that is disabled nobody writes.
    pub fn check(&self, engine: &Engine, catalogue: &Catalogue) -> Result<()> {
        let Some((name, family)) = &self.0 else { return Ok(()) };
        let table = catalogue.tables.get(name).filter(|table| table.state == TableState::Enabled);
        let Some(table) = table else { return Ok(()) };
        let (part, shown) = match family {
            Some(family) => (of_family(table, family), format!("family {family} of table {name}")),
            None => (table.clone(), format!("table {name}")),
        };
        if !point::has_rows(engine, &part)? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::NotEmpty, format!("{shown} is not empty: somebody has just written into it")))
    }
}

fn of_family(table: &TableSchema, family: &str) -> TableSchema {
    let mut part = table.clone();
    part.families.retain(|name, _| name == family);
    part
}
