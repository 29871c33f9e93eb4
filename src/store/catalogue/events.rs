//! What subscribers are told of a change of the catalogue.

use crate::backend::Event;
use crate::model::{Catalogue, CatalogueChange, Origin, TableName};

/// Names of the tables that describe the others: they are made of tables, and of namespaces.
pub const META: &str = "meta";
pub const NAMESPACE: &str = "namespace";

/// Of a change that is about to be applied.
pub fn events_of(catalogue: &Catalogue, change: &CatalogueChange, origin: Origin) -> Vec<Event> {
    let table = |name: &TableName| Event::Table { table: name.clone(), origin };
    let namespace = |name: &str| Event::Namespace { name: name.to_owned(), origin };
    // One that has gone comes back with a table of it.
    let with_its_namespace =
        |name: &TableName| (!catalogue.namespaces.contains_key(&*name.namespace)).then(|| namespace(&name.namespace));
    match change {
        CatalogueChange::CreateNamespace(n) | CatalogueChange::AlterNamespace(n) => vec![namespace(&n.name)],
        CatalogueChange::DropNamespace { name } => vec![namespace(name)],
        CatalogueChange::CreateTable(t) | CatalogueChange::AlterTable(t) => vec![table(&t.name)],
        CatalogueChange::TruncateTable { name } | CatalogueChange::SetCellsAside { name } => {
            vec![Event::Replaced { table: name.clone() }, table(name)]
        }
        CatalogueChange::BringBack { table: name, family: None, .. } => {
            let back = [Event::Replaced { table: name.clone() }, table(name)];
            with_its_namespace(name).into_iter().chain(back).collect()
        }
        CatalogueChange::Undrop { table: name, .. } | CatalogueChange::BringBack { table: name, .. } => {
            with_its_namespace(name).into_iter().chain([table(name)]).collect()
        }
        CatalogueChange::DropTable { name }
        | CatalogueChange::SetTableAside { name }
        | CatalogueChange::SetTableState { name, .. } => vec![table(name)],
        CatalogueChange::SetFamilyAside { table: name, .. }
        | CatalogueChange::RestoreFamily { table: name, .. }
        | CatalogueChange::UnsetForRestore { table: name, .. } => vec![table(name)],
        CatalogueChange::RenameTable { from, to } => vec![table(from), table(to)],
        CatalogueChange::ExchangeTables { one, other } => vec![table(one), table(other)],
        CatalogueChange::RenameNamespace { from, to } => {
            let mut events = vec![namespace(from), namespace(to)];
            for name in catalogue.tables.keys().filter(|name| *name.namespace == **from) {
                events.push(table(name));
                events.push(table(&TableName { namespace: to.as_str().into(), name: name.name.clone() }));
            }
            events
        }
        CatalogueChange::At { change, .. } | CatalogueChange::IfEmpty { change, .. } => {
            events_of(catalogue, change, origin)
        }
        CatalogueChange::SetAttributeTime { .. }
        | CatalogueChange::ForgetDropped
        | CatalogueChange::ForgetTable { .. }
        | CatalogueChange::Configure { .. } => Vec::new(),
    }
}

/// What a change of the catalogue changes in the tables that describe the others.
pub fn events_of_system(before: &Catalogue, after: &Catalogue) -> Vec<Event> {
    let changed = [(META, before.tables != after.tables), (NAMESPACE, before.namespaces != after.namespaces)];
    let event = |name: &str| {
        let table = TableName { namespace: TableName::SYSTEM_NAMESPACE.into(), name: name.into() };
        Event::Table { table, origin: Origin::default() }
    };
    changed.into_iter().filter(|(_, is)| *is).map(|(name, _)| event(name)).collect()
}
