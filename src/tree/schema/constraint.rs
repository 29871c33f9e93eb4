//! `.schema/FAMILY/.check`: constraints of a family as directories of small text files.
//!
//! `mkdir .check/NAME` declares a constraint that asks for nothing; what is written into its files is judged against what
//! is stored before it counts.

use crate::model::{
    CONSTRAINT_ATTRIBUTES, Catalogue, CatalogueChange, ConstraintSchema, FamilySchema, TableName, TableSchema,
    check_constraint_name,
};
use crate::tree::place::SchemaPlace;
use crate::{Error, ErrorKind, Result};

/// The directory of the constraints of a family.
pub(in crate::tree) const DIR: &str = ".check";

/// What a name in one of these directories stands for; `None`: a scratch file.
pub(in crate::tree) fn target(dir: &SchemaPlace, name: &str) -> Result<Option<SchemaPlace>> {
    match dir {
        SchemaPlace::Constraints(..) if name.starts_with('.') => Ok(None),
        SchemaPlace::Constraints(table, family) => {
            // A name that cannot be is absent, and refused where it is made.
            check_constraint_name(name)?;
            Ok(Some(SchemaPlace::Constraint(table.clone(), family.clone(), name.to_owned())))
        }
        SchemaPlace::Constraint(table, family, constraint) if CONSTRAINT_ATTRIBUTES.contains(&name) => {
            let (table, family, constraint, name) =
                (table.clone(), family.clone(), constraint.clone(), name.to_owned());
            Ok(Some(SchemaPlace::ConstraintAttribute { table, family, constraint, name }))
        }
        _ => Ok(None),
    }
}

/// A constraint of a family.
pub fn of<'c>(catalogue: &'c Catalogue, table: &TableName, family: &str, name: &str) -> Option<&'c ConstraintSchema> {
    catalogue.tables.get(table)?.families.get(family)?.constraints.get(name)
}

/// Names in one of these directories.
pub(in crate::tree) fn list(catalogue: &Catalogue, dir: &SchemaPlace) -> Vec<String> {
    match dir {
        SchemaPlace::Constraints(table, family) => {
            let family = catalogue.tables.get(table).and_then(|table| table.families.get(family));
            family.map(|family| family.constraints.keys().cloned().collect()).unwrap_or_default()
        }
        SchemaPlace::Constraint(table, family, name) => {
            let set = of(catalogue, table, family, name).map(ConstraintSchema::attributes);
            set.map(|set| set.keys().cloned().collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The change that sets (`Some`) or unsets an attribute of a constraint.
pub(in crate::tree) fn set(
    catalogue: &Catalogue,
    (table, family, constraint): (&TableName, &str, &str),
    name: &str,
    value: Option<&str>,
) -> Result<CatalogueChange> {
    change(catalogue, table, family, |_, family| match family.constraints.get_mut(constraint) {
        Some(of) => of.set_attribute(name, value),
        None => Err(Error::new(ErrorKind::NotFound, format!("check {constraint} does not exist any more"))),
    })
}

/// Refuses to take its columns away from a check that asks for something: it would be of the whole family.
pub fn check_unset(catalogue: &Catalogue, place: &SchemaPlace) -> Result<()> {
    let SchemaPlace::ConstraintAttribute { table, family, constraint, name } = place else { return Ok(()) };
    let asks = of(catalogue, table, family, constraint).is_some_and(|check| check.attributes().len() > 1);
    if name != "columns" || !asks {
        return Ok(());
    }
    let text = format!(
        "without `columns` check {constraint} would be of all columns of family {family}: write others into the file, or \
         drop the check with rmdir or `rm -r` of its directory; nothing is changed"
    );
    Err(Error::new(ErrorKind::NotPermitted, text))
}

fn change(
    catalogue: &Catalogue,
    table: &TableName,
    family: &str,
    make: impl FnOnce(&TableName, &mut FamilySchema) -> Result<()>,
) -> Result<CatalogueChange> {
    let lacking = |kind, what: String| Error::new(kind, format!("{what} does not exist"));
    let schema = catalogue.tables.get(table).cloned();
    let mut schema: TableSchema = schema.ok_or_else(|| lacking(ErrorKind::NoSuchTable, format!("table {table}")))?;
    let of = schema.families.get_mut(family);
    let of = of.ok_or_else(|| lacking(ErrorKind::NoSuchFamily, format!("family {family} of table {table}")))?;
    make(table, of)?;
    Ok(CatalogueChange::AlterTable(schema))
}

/// The change that declares a constraint.
pub fn add(
    catalogue: &Catalogue,
    table: &TableName,
    family: &str,
    constraint: ConstraintSchema,
) -> Result<CatalogueChange> {
    change(catalogue, table, family, |_, of| {
        let name = constraint.name.clone();
        if of.constraints.contains_key(&name) {
            let text = format!(
                "check {name} of family {family}, table {table}, exists. Drop it first, or choose another name"
            );
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        of.constraints.insert(name, constraint);
        Ok(())
    })
}

/// The change that drops a constraint.
pub fn remove(catalogue: &Catalogue, table: &TableName, family: &str, name: &str) -> Result<CatalogueChange> {
    change(catalogue, table, family, |table, of| match of.constraints.remove(name) {
        Some(_) => Ok(()),
        None => Err(no_check(table, of, name)),
    })
}

/// The refusal of a constraint that is none of a family's.
pub fn no_check(table: &TableName, family: &FamilySchema, name: &str) -> Error {
    let known: Vec<&str> = family.constraints.keys().map(String::as_str).collect();
    let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let text = format!("family {} of table {table} has no check {}; it has {has}", family.name, name.escape_debug());
    Error::new(ErrorKind::NotFound, text)
}
