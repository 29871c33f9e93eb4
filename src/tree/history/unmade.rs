//! Directories of the schema that are made in the history, and not shown there until they are.

use std::collections::HashSet;

use crate::env::sync::Mutex;
use crate::model::TableName;
use crate::tree::place::{FreeMap, SchemaPlace};

/// Directories of the schema that exist with what was made in the history, and that the history shows
/// only once they are made: programs that copy a tree expect a new directory to be empty.
///
/// Bounded by the number of declared families.
#[derive(Default)]
pub struct Unmade {
    places: Mutex<HashSet<SchemaPlace>>,
    /// Tables that were made in the history.
    tables: Mutex<HashSet<TableName>>,
}

impl Unmade {
    fn add(&self, places: impl IntoIterator<Item = SchemaPlace>) {
        self.places.lock().extend(places);
    }

    /// A namespace was made in the history.
    pub fn namespace(&self, name: &str) {
        self.add([SchemaPlace::Namespace(name.to_owned())]);
    }

    /// A table was.
    pub fn table(&self, table: &TableName) {
        self.add([SchemaPlace::Table(table.clone()), SchemaPlace::TableAttributes(table.clone())]);
        self.add([SchemaPlace::Indexes(table.clone())]);
        self.add(free_maps(table, None));
        self.tables.lock().insert(table.clone());
    }

    /// Whether a table was made in the history: a READONLY that came back does not stop its cells.
    pub fn is_restored(&self, table: &TableName) -> bool {
        self.tables.lock().contains(table)
    }

    /// A family was declared: by its own directory in the schema, or by one in a row.
    pub fn family(&self, table: &TableName, family: &str, by_schema: bool) {
        self.add(free_maps(table, Some(family)));
        self.add([SchemaPlace::Constraints(table.clone(), family.to_owned())]);
        if !by_schema {
            self.add([SchemaPlace::Family(table.clone(), family.to_owned())]);
        }
    }

    /// The place is not shown any more until it is made.
    pub fn unmake(&self, place: &SchemaPlace) {
        self.add([place.clone()]);
    }

    /// The place is shown from now on; true if it was not.
    pub fn make(&self, place: &SchemaPlace) -> bool {
        self.places.lock().remove(place)
    }

    pub fn contains(&self, place: &SchemaPlace) -> bool {
        self.places.lock().contains(place)
    }

    /// The table is another one now, or gone.
    pub fn forget_table(&self, table: &TableName) {
        let is_of = |place: &SchemaPlace| match place {
            SchemaPlace::Table(of)
            | SchemaPlace::TableAttributes(of)
            | SchemaPlace::Indexes(of)
            | SchemaPlace::Family(of, _)
            | SchemaPlace::Constraints(of, _) => of == table,
            SchemaPlace::Free { table: of, .. } => of == table,
            _ => false,
        };
        self.places.lock().retain(|place| !is_of(place));
        self.tables.lock().remove(table);
    }
}

fn free_maps(table: &TableName, family: Option<&str>) -> [SchemaPlace; 2] {
    [FreeMap::Metadata, FreeMap::Configuration].map(|map| SchemaPlace::Free {
        table: table.clone(),
        family: family.map(str::to_owned),
        map,
    })
}
