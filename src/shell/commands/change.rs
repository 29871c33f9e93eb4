//! Changes of the catalogue.

use crate::error::printable;
use crate::model::declared::attributes::all_without_effect;
use crate::model::declared::region::{set_splits, splits};
use crate::model::{Catalogue, CatalogueChange, Origin, TableName};
use crate::shell::eval::failure::Outcome;
use crate::shell::session::Session;
use crate::{Error, ErrorKind};

/// Changes the catalogue; attributes that are new and change nothing are named on standard error, which HBase's
/// shell does not use for answers.
pub(super) fn change(session: &Session<'_>, change: CatalogueChange) -> Outcome<()> {
    change_at(session, change, None)
}

/// As [`change`], of a catalogue of this version.
pub(super) fn change_at(session: &Session<'_>, change: CatalogueChange, version: Option<u64>) -> Outcome<()> {
    let backend = session.backend()?;
    let (now, before) = match &change {
        _ if backend.obeys_all_attributes() => (Vec::new(), Vec::new()),
        CatalogueChange::CreateTable(table) => (all_without_effect(table), Vec::new()),
        CatalogueChange::AlterTable(table) => {
            let before = backend.catalogue()?.tables.get(&table.name).map(all_without_effect);
            (all_without_effect(table), before.unwrap_or_default())
        }
        _ => (Vec::new(), Vec::new()),
    };
    let change = if let Some(version) = version { change.at(version) } else { change };
    let done = backend.alter(change, Origin::default());
    session.pace.changed_many();
    done?;
    for sentence in now.iter().filter(|sentence| !before.contains(sentence)) {
        eprintln!("{}", printable(sentence));
    }
    Ok(())
}

/// Changes where a table is split, whatever others alter of it meanwhile.
pub(super) fn change_splits(
    session: &Session<'_>,
    name: &TableName,
    changed: &dyn Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
) -> Outcome<()> {
    let alter = |catalogue: &Catalogue| {
        let gone = || Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist any more"));
        let mut table = catalogue.tables.get(name).cloned().ok_or_else(gone)?;
        let points = changed(splits(&table));
        set_splits(&mut table, points);
        Ok(CatalogueChange::AlterTable(table))
    };
    let done = session.backend()?.alter_from(Origin::default(), &alter);
    session.pace.changed_many();
    Ok(done?)
}
