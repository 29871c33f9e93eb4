//! Names of blob files: each is an edit before it is used.

use std::sync::Arc;

use super::structure::Structure;
use crate::Result;
use crate::blob::Naming;
use crate::journal::Item;

/// See the module.
pub struct BlobNames(pub Arc<Structure>);

impl Naming for BlobNames {
    fn begin_blob(&self) -> Result<u64> {
        let file = self.0.next_number()?;
        self.0.commit(|_| Ok(Item::BlobMade { file }.into()), |_| ()).map_err(|unsaved| unsaved.error)?;
        Ok(file)
    }

    fn sealed(&self, file: u64, bytes: u64, chunks: u32) -> Result<()> {
        let sealed = Item::BlobSealed { file, bytes, chunks };
        self.0.commit(|_| Ok(sealed.into()), |_| ()).map_err(|unsaved| unsaved.error)
    }
}
