//! What was dropped and is kept, as it is listed.

use serde_json::json;

use super::Undelete;
use crate::Result;
use crate::model::{DroppedThing, TableName, Timestamp};

impl Undelete {
    /// All that is kept of a table: those of its name that were dropped, their families and its own, and cells.
    pub(super) fn list_trash(&mut self, table: &TableName) -> Result<()> {
        let catalogue = self.backend.catalogue()?;
        let mut ids: Vec<_> = catalogue.tables.get(table).map(|schema| schema.id).into_iter().collect();
        let kept = catalogue.dropped.iter().filter(|dropped| self.was_there(dropped));
        let (mut tables, mut families) = (Vec::new(), Vec::new());
        for dropped in kept {
            match &dropped.what {
                DroppedThing::Table(schema) if schema.name == *table => {
                    ids.push(schema.id);
                    tables.push(dropped);
                }
                DroppedThing::Family(..) => families.push(dropped),
                DroppedThing::Table(_) => {}
            }
        }
        families.retain(|dropped| matches!(&dropped.what, DroppedThing::Family(of, _) if ids.contains(of)));
        for dropped in tables.into_iter().chain(families) {
            let family = match &dropped.what {
                DroppedThing::Family(_, family) => Some(family.name.as_str()),
                DroppedThing::Table(_) => None,
            };
            self.tell_dropped(table, family, Some(dropped.at))?;
        }
        if self.is_declared(table)? { self.rows(table) } else { Ok(()) }
    }

    /// A line about a table or a family that was dropped.
    pub(super) fn tell_dropped(
        &mut self,
        table: &TableName,
        family: Option<&str>,
        at: Option<Timestamp>,
    ) -> Result<()> {
        self.found += 1;
        if self.json {
            let at = at.map(|at| at.0);
            let (namespace, table) = (&table.namespace, &table.name);
            let line = json!({ "namespace": namespace, "table": table, "family": family, "dropped_at": at });
            return self.output.json(&line);
        }
        let what =
            family.map_or_else(|| format!("table {table}"), |family| format!("family {family} of table {table}"));
        let at = at.map_or_else(String::new, |at| format!(" {}", at.iso()));
        self.output.line(&format!("{what}, dropped{at}"))
    }
}
