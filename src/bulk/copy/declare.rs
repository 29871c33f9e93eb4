//! The target's table: made like the source's, as far as the target knows such things.

use super::Job;
use crate::model::declared::describe::SPLITS;
use crate::model::{Catalogue, CatalogueChange, FamilySchema, Origin, TableId, TableSchema, TableState};
use crate::{Error, ErrorKind, Result};

/// Whether a table takes no writes.
const READ_ONLY: &str = "READONLY";
/// Attributes that only embedded stores have.
const OWN: [&str; 2] = ["PURGE_DELETED_AFTER", "KEEP_VERSIONS_FOR"];

/// Makes the table, or adds the families that it lacks. What is told: sentences on what is not as in the source.
pub fn declare(job: &Job) -> Result<Vec<String>> {
    let from = job.from.catalogue()?;
    let gone = || Error::new(ErrorKind::NoSuchTable, format!("Unknown table {}!", job.table));
    let source = from.tables.get(&job.table).ok_or_else(gone)?;
    let is_cluster = job.to.cluster_numbers()?.is_some();
    let (wanted, mut told) = adapted(job, source, is_cluster);
    let to = job.to.catalogue()?;
    if !to.namespaces.contains_key(&*job.target.namespace) {
        let mut namespace = from.namespaces.get(&*job.table.namespace).cloned().ok_or_else(gone)?;
        namespace.name = job.target.namespace.to_string();
        job.to.alter(CatalogueChange::CreateNamespace(namespace), Origin::default())?;
    }
    let Some(there) = to.tables.get(&job.target) else {
        let mut wanted = wanted;
        splits(job, &mut wanted, is_cluster)?;
        job.to.alter(CatalogueChange::CreateTable(wanted), Origin::default())?;
        return Ok(told);
    };
    for (name, family) in &wanted.families {
        if let Some(other) = there.families.get(name) {
            told.extend(differences(job, (family, other)));
        }
    }
    if lacking(source, &wanted, there).is_some() {
        let complete = |table: &TableSchema| lacking(source, &wanted, table).unwrap_or_else(|| table.clone());
        alter(job, &complete)?;
    }
    Ok(told)
}

/// Changes the target's table as it is by now: others may alter it too.
fn alter(job: &Job, change: &dyn Fn(&TableSchema) -> TableSchema) -> Result<()> {
    let gone = || Error::new(ErrorKind::NoSuchTable, format!("table {} was dropped meanwhile", job.target));
    let make = |catalogue: &Catalogue| {
        catalogue.tables.get(&job.target).map(|table| CatalogueChange::AlterTable(change(table))).ok_or_else(gone)
    };
    job.to.alter_from(Origin::default(), &make)
}

/// The target's table with the families that it lacks; `None`: it lacks none.
fn lacking(source: &TableSchema, wanted: &TableSchema, there: &TableSchema) -> Option<TableSchema> {
    let mut whole = there.clone();
    // What was copied before is copied on; a table that is READONLY there alone stays it, and refuses.
    let is_locked = source.read_only() && whole.attributes.remove(READ_ONLY).is_some();
    for (name, family) in &wanted.families {
        whole.families.entry(name.clone()).or_insert_with(|| family.clone());
    }
    (is_locked || whole.families.len() > there.families.len()).then_some(whole)
}

/// What stays as it is of a family that is there.
fn differences(job: &Job, (wanted, there): (&FamilySchema, &FamilySchema)) -> Vec<String> {
    let (name, table) = (&wanted.name, &job.target);
    let mut told = Vec::new();
    if wanted.attributes != there.attributes {
        told.push(format!("family {name} of {table} is there with other attributes, which stay"));
    }
    for check in wanted.constraints.keys().filter(|check| !there.constraints.contains_key(*check)) {
        told.push(format!("family {name} of {table} is there without check {check}: cellfs create-check declares it"));
    }
    told
}

/// Ends what [`declare`] began: a table that takes no writes in the source takes none from now on.
pub fn finish(job: &Job) -> Result<()> {
    let (from, to) = (job.from.catalogue()?, job.to.catalogue()?);
    let is_read_only = from.tables.get(&job.table).is_some_and(TableSchema::read_only);
    if !to.tables.get(&job.target).is_some_and(|table| is_read_only && !table.read_only()) {
        return Ok(());
    }
    alter(job, &|table| {
        let mut table = table.clone();
        table.attributes.insert(READ_ONLY.to_owned(), "true".to_owned());
        table
    })
}

/// The source's table under its name at the target, without what the target cannot have.
fn adapted(job: &Job, source: &TableSchema, is_cluster: bool) -> (TableSchema, Vec<String>) {
    let mut told = Vec::new();
    let mut wanted = source.clone();
    (wanted.name, wanted.id, wanted.state) = (job.target.clone(), TableId(0), TableState::Enabled);
    // Until all of it is there.
    wanted.attributes.remove(READ_ONLY);
    for name in std::mem::take(&mut wanted.indexes).into_keys() {
        told.push(format!("index {name} is not copied; where indexes are: cellfs create-index"));
    }
    for family in wanted.families.values_mut() {
        family.id = FamilySchema::new("f", Default::default()).id;
        family.complete = None;
        if !is_cluster {
            continue;
        }
        for name in std::mem::take(&mut family.constraints).into_keys() {
            told.push(format!("constraint {name} of family {} is not copied: HBase judges no values", family.name));
        }
        for name in OWN {
            if family.attributes.remove(name).is_some() {
                told.push(format!("{name} of family {} is not copied: HBase has none", family.name));
            }
        }
    }
    (wanted, told)
}

/// A cluster's table begins with the regions of the source.
fn splits(job: &Job, wanted: &mut TableSchema, is_cluster: bool) -> Result<()> {
    if !is_cluster {
        return Ok(());
    }
    if let Some(regions) = job.from.regions(&job.table)? {
        let starts: Vec<String> = regions.iter().skip(1).map(|region| hex::encode(&region.start)).collect();
        if !starts.is_empty() {
            wanted.configuration.insert(SPLITS.to_owned(), starts.join(","));
        }
    }
    Ok(())
}
