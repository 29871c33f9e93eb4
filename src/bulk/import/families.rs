//! What an import knows of the families of its table.

use std::collections::BTreeMap;

use crate::Result;
use crate::backend::Backend;
use crate::bulk::read::change::Fault;
use crate::bulk::read::delimited::Columns;
use crate::bulk::target::families_of;
use crate::model::TableName;

/// See the module.
pub struct Families {
    /// Whether tombstones hide by their timestamps, whenever something is put.
    known: BTreeMap<String, bool>,
    /// They were asked for since a batch was written.
    pub has_looked: bool,
}

impl Families {
    /// Asks which families the table has.
    pub fn of(backend: &dyn Backend, table: &TableName) -> Result<Self> {
        Ok(Self { known: families_of(backend, table)?, has_looked: false })
    }

    /// Refuses one that is not there. It may have been declared meanwhile; asked once a batch.
    pub fn check(
        &mut self,
        (backend, table): (&dyn Backend, &TableName),
        family: &str,
    ) -> std::result::Result<(), Fault> {
        if !self.known.contains_key(family) && !std::mem::replace(&mut self.has_looked, true) {
            self.known = families_of(backend, table).map_err(|e| Fault::whole(e.message))?;
        }
        if self.known.contains_key(family) { Ok(()) } else { Err(Fault::whole(lacks(table, family))) }
    }

    pub fn check_columns(&self, table: &TableName, columns: Option<&Columns>) -> std::result::Result<(), String> {
        let mut families = columns.into_iter().flat_map(Columns::families);
        families.find(|family| !self.known.contains_key(*family)).map_or(Ok(()), |family| Err(lacks(table, family)))
    }

    /// Whether tombstones of a family hide what is put later with their time.
    pub fn is_classic(&self, family: &str) -> bool {
        self.known.get(family).copied().unwrap_or_default()
    }
}

fn lacks(table: &TableName, family: &str) -> String {
    let family = family.escape_debug();
    format!("table {table} has no family {family}; declare it: cellfs alter STORE {table} {family}")
}
