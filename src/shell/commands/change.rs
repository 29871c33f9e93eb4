//! Changes of the catalogue.

use crate::error::printable;
use crate::model::declared::attributes::all_without_effect;
use crate::model::{CatalogueChange, Origin};
use crate::shell::eval::failure::Outcome;
use crate::shell::session::Session;

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
