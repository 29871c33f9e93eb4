//! Values that were looked up before: found again by the whole key of their cell.

use std::sync::Arc;

use crate::blob::Root;
use crate::model::{CellInfo, FamilyId, ValueRef};
use crate::segment::{Extent, Reading, StoredValue};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::store::engine::values::no_root;
use crate::{Error, ErrorKind, Result};

/// Values of up to so many bytes are written without holes, as a whole.
const HOLES: u64 = 1 << 20;

fn gone() -> Error {
    Error::new(ErrorKind::NotFound, "this version is not stored any more")
}

fn lost_value() -> Error {
    let text = "the log was damaged where the value of this version stood: it is lost. Restore it from a backup, write \
                the cell again, or have the version taken out: cellfs check --repair STORE";
    Error::new(ErrorKind::Corrupt, text)
}

/// At most `len` bytes from `offset` of a value, as a view has it. `NotFound`: its cell is gone.
pub fn read_reference(engine: &Engine, view: &ReadView, value: &ValueRef, offset: u64, len: usize) -> Result<Vec<u8>> {
    match value {
        ValueRef::Here(bytes) => {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            Ok(bytes[start..start + len.min(bytes.len() - start)].to_vec())
        }
        ValueRef::Of { family, key, .. } => read_of(engine, view, *family, key, (offset, len)),
    }
}

fn read_of(
    engine: &Engine,
    view: &ReadView,
    family: FamilyId,
    key: &[u8],
    (offset, len): (u64, usize),
) -> Result<Vec<u8>> {
    for table in view.tables.of(family) {
        if let Some(cell) = table.get(key) {
            if cell.is_damaged() {
                return Err(lost_value());
            }
            return engine.values.of_memory(&cell, offset, len);
        }
    }
    let mut found = None;
    find(view, family, key, &mut |extent, value| {
        found = Some(engine.values.of_extent(extent, &value, offset, len)?);
        Ok(())
    })?;
    found.ok_or_else(gone)
}

/// Calls `take` with the cell of this key, if an extent has it.
fn find(
    view: &ReadView,
    family: FamilyId,
    key: &[u8],
    take: &mut dyn FnMut(&Arc<Extent>, StoredValue<'_>) -> Result<()>,
) -> Result<()> {
    for run in view.layout.runs(family).iter().flat_map(|runs| &runs.runs).rev() {
        for extent in run.near(key) {
            let extent = extent.readable()?;
            let mut cursor = extent.cursor(Reading::Point);
            cursor.seek(key)?;
            if cursor.key() == Some(key)
                && let Some(cell) = cursor.cell()
            {
                if cell.tags.is_damaged() {
                    return Err(lost_value());
                }
                return take(extent, cell.value);
            }
        }
    }
    Ok(())
}

/// The root of a large value; `None`: it stands among the keys, or its cell is gone.
pub fn root_of(view: &ReadView, value: &ValueRef) -> Result<Option<Arc<[u8]>>> {
    let ValueRef::Of { family, key, .. } = value else { return Ok(None) };
    for table in view.tables.of(*family) {
        match table.get(key) {
            Some(cell) if cell.is_damaged() => return Err(lost_value()),
            Some(cell) => return Ok(cell.is_root().then(|| cell.stored().into())),
            None => {}
        }
    }
    let mut root = None;
    find(view, *family, key, &mut |_, value| {
        if let StoredValue::Root { bytes, .. } = value {
            root = Some(bytes.into());
        }
        Ok(())
    })?;
    Ok(root)
}

/// See [`crate::backend::Backend::filled`].
pub fn filled(engine: &Engine, cell: &CellInfo) -> Result<u64> {
    // Shorter values have no holes.
    if cell.len() <= HOLES {
        return Ok(cell.len());
    }
    let Some(bytes) = root_of(&engine.view(), &cell.value)? else { return Ok(cell.len()) };
    engine.values.blobs.filled(&Root::decode(&bytes).ok_or_else(no_root)?)
}

/// At most `len` bytes from `offset` of a version's value. `NotFound`: the version is gone.
pub fn read_value(engine: &Engine, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
    read_reference(engine, &engine.view(), &cell.value, offset, len)
}
