//! Large values that are written before their cells: chunks go to the blobs as their bytes come, and what a value has in
//! common with the version that it began as stays where it is.

use std::sync::Arc;

use crate::blob::{self, Root};
use crate::format::Codec;
use crate::model::{CellInfo, Draft, TableName, Value, Written};
use crate::store::engine::Engine;
use crate::store::engine::values::INLINE;
use crate::store::read::lookup::root_of;
use crate::store::space::{level, room};
use crate::{ErrorKind, Result};

/// Bytes that all drafts may hold which are in no chunk yet; past it each puts them there at once.
const HELD_MAX: u64 = 64 << 20;
/// What is given up of so many bytes is collected soon.
const COLLECTED_SOON: u64 = 1 << 20;

/// See the module.
pub struct StoreDraft {
    engine: Arc<Engine>,
    draft: blob::Draft,
    /// Bytes that were written since it was a value.
    loose: u64,
    /// Its part of [`Uploads::drafted`](crate::store::engine::uploads::Uploads::drafted).
    held: u64,
}

/// A draft for a cell of a family that begins as a stored value; `None` if that stands among the keys or is gone, or
/// there is no such family.
pub fn begin(
    engine: &Arc<Engine>,
    table: &TableName,
    family: &str,
    base: Option<&CellInfo>,
) -> Result<Option<StoreDraft>> {
    let catalogue = engine.catalogue.load();
    let family = catalogue.tables.get(table).and_then(|table| table.families.get(family));
    let Some(family) = family else { return Ok(None) };
    // Order: held until the draft keeps the chunks of the value.
    let view = engine.view();
    let root = match base {
        None => Root::default(),
        Some(cell) => match root_of(&view, &cell.value)? {
            None => return Ok(None),
            Some(bytes) => Root::decode(&bytes).ok_or_else(crate::store::engine::values::no_root)?,
        },
    };
    let draft = engine.values.blobs.draft(&root, Codec::of(family.rules.compression));
    Ok(Some(StoreDraft { engine: Arc::clone(engine), draft, loose: 0, held: 0 }))
}

impl StoreDraft {
    /// Changes it, or leaves it as it was.
    fn change<T>(&mut self, change: impl FnOnce(&mut blob::Draft) -> Result<T>) -> Result<T> {
        let changed = change(&mut self.draft);
        self.count();
        if changed.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) {
            level::note_full(&self.engine);
        }
        changed
    }

    fn count(&mut self) {
        let held = self.draft.held() as u64;
        self.engine.uploads.note_drafted(std::mem::replace(&mut self.held, held), held);
    }

    fn collect_soon(&mut self) {
        if std::mem::take(&mut self.loose) >= COLLECTED_SOON {
            self.engine.disk.note_given_up();
            self.engine.wake(|state| state.compact = true);
        }
    }
}

impl Draft for StoreDraft {
    fn len(&self) -> u64 {
        self.draft.len()
    }

    fn filled(&self) -> Result<u64> {
        self.draft.filled()
    }

    fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.engine.noted(self.draft.read(offset, len))
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        room::check_reserve(&self.engine, bytes.len() as u64)?;
        if self.engine.uploads.drafted() > HELD_MAX {
            self.change(blob::Draft::settle)?;
        }
        self.change(|draft| draft.write(offset, bytes))?;
        if self.engine.uploads.drafted() > HELD_MAX {
            // What has been taken is not refused: where there is no room for it the next write is.
            let _ = self.change(blob::Draft::settle);
        }
        self.loose += bytes.len() as u64;
        self.engine.disk.note_written(bytes.len() as u64, 0);
        Ok(())
    }

    fn resize(&mut self, len: u64) -> Result<()> {
        self.change(|draft| draft.resize(len))?;
        if len == 0 {
            self.collect_soon();
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Value> {
        let len = self.draft.len();
        if len <= INLINE {
            return Ok(Value::Bytes(self.change(|draft| draft.read(0, len as usize))?));
        }
        let held = self.change(blob::Draft::value)?;
        self.loose = 0;
        Ok(Value::Written(Written { len, held }))
    }
}

impl Drop for StoreDraft {
    fn drop(&mut self) {
        // Order: its chunks are held by nobody before they are looked at.
        let _ = self.draft.resize(0);
        self.count();
        self.collect_soon();
    }
}
