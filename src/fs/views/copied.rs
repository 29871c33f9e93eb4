//! What is not there yet for a program that copies a schema; see [`crate::fs::programs::copies`].

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::counts::subject;
use crate::fs::programs::copies::{attribute, part_of_family};
use crate::model::FamilySchema;
use crate::tree::place::NodeKey;

/// Whether something is not there yet for a thread, which copies a schema; what somebody has set is.
pub fn is_yet_to_come(fs: &Fs, key: &NodeKey, thread: u32) -> Result<bool> {
    if !fs.copies.is_next(thread, key) {
        return Ok(false);
    }
    let Some(((table, name), attribute)) = part_of_family(&key.place).zip(attribute(&key.place)) else {
        return Ok(true);
    };
    let catalogue = fs.tree.backend.catalogue()?;
    let family = catalogue.tables.get(table).and_then(|table| table.families.get(name));
    let default = FamilySchema::new(name, catalogue.settings.file_family_attributes());
    Ok(family.is_some_and(|family| family.attributes.get(attribute) == default.attributes.get(attribute)))
}

/// The same of whoever makes it, with which it has come.
pub fn is_made_by_copy(fs: &Fs, key: &NodeKey) -> Result<bool> {
    let thread = subject::caller().pid;
    let is_made = is_yet_to_come(fs, key, thread)?;
    if is_made {
        fs.copies.made_within(thread, &key.place);
    }
    Ok(is_made)
}
