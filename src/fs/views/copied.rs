//! What is not there yet for a program that copies a schema; see [`crate::fs::programs::copies`].

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::programs::copies::{attribute, part_of_family};
use crate::model::FamilySchema;
use crate::tree::place::NodeKey;

impl Fs {
    /// Whether something is not there yet for a thread, which copies a schema; what somebody has set is.
    pub(in crate::fs) fn is_yet_to_come(&self, key: &NodeKey, thread: u32) -> Result<bool> {
        if !self.copies.is_next(thread, key) {
            return Ok(false);
        }
        let Some(((table, name), attribute)) = part_of_family(&key.place).zip(attribute(&key.place)) else {
            return Ok(true);
        };
        let catalogue = self.tree.backend.catalogue()?;
        let family = catalogue.tables.get(table).and_then(|table| table.families.get(name));
        let default = FamilySchema::new(name, catalogue.settings.file_family_attributes());
        Ok(family.is_some_and(|family| family.attributes.get(attribute) == default.attributes.get(attribute)))
    }

    /// The same of whoever makes it, with which it has come.
    pub(in crate::fs) fn is_made_by_copy(&self, key: &NodeKey) -> Result<bool> {
        let thread = crate::fs::counts::subject::caller().pid;
        let is_made = self.is_yet_to_come(key, thread)?;
        if is_made {
            self.copies.made_within(thread, &key.place);
        }
        Ok(is_made)
    }
}
