//! Changes of the catalogue that are made from what it says.

use super::Backend;
use crate::model::{Catalogue, CatalogueChange, Origin};
use crate::{ErrorKind, Result};

impl dyn Backend {
    /// Makes a change from what the catalogue says; anew if another one came between, so that neither undoes the other.
    pub fn alter_from(&self, origin: Origin, make: &dyn Fn(&Catalogue) -> Result<CatalogueChange>) -> Result<()> {
        loop {
            let catalogue = self.catalogue()?;
            match self.alter(make(&catalogue)?.at(catalogue.version), origin) {
                Err(e) if e.kind == ErrorKind::Overtaken => {}
                done => return done,
            }
        }
    }
}
