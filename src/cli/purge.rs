//! purge.

use super::Answer;
use super::args::PurgeArgs;
use super::cells::split_column;
use super::given;
use super::path::resolve_present;
use crate::backend::{Backend, PurgeScope};
use crate::daemon::{Absent, open_backend};
use crate::model::TableName;
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

pub fn purge(args: &PurgeArgs) -> Result<Answer> {
    let Some(table) = &args.table else {
        let (_, backend, place) = resolve_present(&args.path)?;
        for scope in scopes(backend.as_ref(), &place)? {
            backend.purge(&scope)?;
        }
        return Ok(Answer::Yes);
    };
    let mut scope = whole(given::table(table)?);
    scope.row = args.row.as_ref().map(|row| given::bytes(row));
    if let Some(column) = &args.column {
        let (family, qualifier) = split_column(column)?;
        (scope.family, scope.qualifier) = (Some(family), qualifier);
    }
    open_backend(&args.path, Absent::Refuse)?.purge(&scope)?;
    Ok(Answer::Yes)
}

fn whole(table: TableName) -> PurgeScope {
    PurgeScope { table, row: None, family: None, qualifier: None }
}

/// What a place of the tree holds.
fn scopes(backend: &dyn Backend, place: &Place) -> Result<Vec<PurgeScope>> {
    if let Place::Cell(column) | Place::Versions(column) = place {
        let (row, qualifier) = (Some(column.row.clone()), Some(column.qualifier.clone()));
        return Ok(vec![PurgeScope {
            row,
            family: Some(column.family.clone()),
            qualifier,
            ..whole(column.table.clone())
        }]);
    }
    Ok(match place {
        Place::Version(..) | Place::Ended(..) => {
            let text = "a version alone is not purged: remove it (`rm NAME@TIME`), then remove what the family keeps of it \
                        below .history (`rm .history/.../NAME@TIME.deleted.T`), or give the path of the cell to purge all \
                        that is deleted of it";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        Place::Table(table) => vec![whole(table.as_ref().clone())],
        Place::Row(row) => vec![PurgeScope { row: Some(row.row.clone()), ..whole(row.table.clone()) }],
        Place::Family(family) => {
            let (row, name) = (Some(family.row.clone()), Some(family.family.clone()));
            vec![PurgeScope { row, family: name, ..whole(family.table.clone()) }]
        }
        Place::Root | Place::Namespace(_) => {
            let namespace = if let Place::Namespace(name) = place { Some(name.as_ref()) } else { None };
            let catalogue = backend.catalogue()?;
            if let Some(name) = namespace.filter(|name| !catalogue.namespaces.contains_key(*name)) {
                return Err(Error::new(ErrorKind::NoSuchNamespace, format!("namespace {name} does not exist")));
            }
            let tables = catalogue.user_tables().map(|table| &table.name);
            let tables = tables.filter(|table| namespace.is_none_or(|name| *table.namespace == *name));
            tables.cloned().map(whole).collect()
        }
        _ => {
            let text = "only tables, rows, families and cells are purged: give the path of one";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
    })
}
