//! Whether the checks of the target judge what is copied.
//!
//! The source has judged it by the same ones when it was put, or when they were declared, and not the history before
//! that. What is copied of a row that other rows refer to may come later.

use super::Job;
use crate::Result;
use crate::model::{Mutation, RowKey, TableSchema};

/// A row, and what is written of it.
pub type Row = (RowKey, Vec<Mutation>);

/// Not where the target has checks, all of which the source has too.
pub fn is_judged(job: &Job) -> Result<bool> {
    if job.to.cluster_numbers()?.is_some() {
        return Ok(true);
    }
    let (from, to) = (job.from.catalogue()?, job.to.catalogue()?);
    let (Some(source), Some(target)) = (from.tables.get(&job.table), to.tables.get(&job.target)) else {
        return Ok(true);
    };
    // What is not judged passes by these, too.
    let has_others = target.read_only() || target.indexes.values().any(|index| index.unique);
    Ok(has_others || !has_same_checks(source, target))
}

fn has_same_checks(source: &TableSchema, target: &TableSchema) -> bool {
    let mut checks =
        target.families.values().flat_map(|family| family.constraints.values().map(move |of| (family, of)));
    let is_of_source = |name: &str, family: &str| source.families.get(family).and_then(|of| of.constraints.get(name));
    let has_any = target.families.values().any(|family| !family.constraints.is_empty());
    has_any && checks.all(|(family, check)| is_of_source(&check.name, &family.name) == Some(check))
}

/// Steps that no check judges: in such a step nothing is but what is restored, or nothing is put.
pub fn unjudged(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let deletes = |(_, mutations): &Row| mutations.iter().any(|mutation| matches!(mutation, Mutation::Delete(_)));
    let (deleted, put): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(deletes);
    let put = put.into_iter().map(|(row, mutations)| (row, mutations.into_iter().flat_map(restores).collect()));
    [deleted, put.collect()].into_iter().filter(|step: &Vec<Row>| !step.is_empty()).collect()
}

fn restores(mutation: Mutation) -> Vec<Mutation> {
    match mutation {
        Mutation::Put(cells) => cells.into_iter().map(|cell| Mutation::Restore(Box::new(cell))).collect(),
        other => vec![other],
    }
}
