//! Changes of the catalogue that nobody has asked for as such: what is noted in it, and what goes from it with time.

use super::change::{alter, change_catalogue};
use super::dropped::is_due;
use super::index_states::renew;
use crate::Result;
use crate::backend::PurgeScope;
use crate::model::{CatalogueChange, Complete, Dropped, DroppedThing, Origin, TableSchema};
use crate::store::engine::Engine;

/// What was dropped and whose time has passed goes for good.
pub fn forget_dropped(engine: &Engine) -> Result<()> {
    let now = engine.now();
    if !engine.catalogue.load().dropped.iter().any(|dropped| is_due(dropped, now)) {
        return Ok(());
    }
    alter(engine, CatalogueChange::ForgetDropped, Origin::default())
}

/// Notes that what families kept is purged; before it goes.
pub fn note_purge(engine: &Engine, scope: &PurgeScope) -> Result<()> {
    change_catalogue(engine, |catalogue, now| {
        let families = catalogue.tables.get_mut(&scope.table).into_iter().flat_map(|table| &mut table.families);
        for (_, family) in families.filter(|(name, _)| scope.family.as_ref().is_none_or(|of| of == *name)) {
            let because = "`cellfs purge` took what was kept until then".to_owned();
            family.complete = Complete::later(family.complete.take(), Some(Complete { from: now, because }));
        }
        catalogue.version += 1;
        Ok(Vec::new())
    })
}

/// Some entries may be lost: all indexes get other ones, and are built anew.
pub fn doubt_indexes(engine: &Engine) -> Result<()> {
    let catalogue = engine.catalogue.load_full();
    let has_indexes = |table: &TableSchema| !table.indexes.is_empty();
    let dropped = |of: &Dropped| matches!(&of.what, DroppedThing::Table(table) if has_indexes(table));
    if !catalogue.tables.values().any(has_indexes) && !catalogue.dropped.iter().any(dropped) {
        return Ok(());
    }
    change_catalogue(engine, |catalogue, _| {
        let mut tables = std::mem::take(&mut catalogue.tables);
        tables.values_mut().for_each(|table| renew(catalogue, table));
        catalogue.tables = tables;
        let mut dropped = std::mem::take(&mut catalogue.dropped);
        for one in &mut dropped {
            if let DroppedThing::Table(table) = &mut one.what {
                renew(catalogue, table);
            }
        }
        catalogue.dropped = dropped;
        catalogue.version += 1;
        Ok(Vec::new())
    })
}
