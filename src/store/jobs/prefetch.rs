//! Blocks of families that ask for it are read when the store is opened (HBase: PREFETCH_BLOCKS_ON_OPEN), the newest
//! runs first, as many as the cache has room for.

use crate::Result;
use crate::model::{FamilyId, FamilySchema};
use crate::segment::Reading;
use crate::store::engine::Engine;
use crate::store::engine::background::pace::Pace;

/// Cells between two looks at whether to go on.
const STEP: u64 = 1024;

fn asks(family: &FamilySchema) -> bool {
    let value = family.attributes.get("PREFETCH_BLOCKS_ON_OPEN");
    value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Whether a family asks for it.
pub fn has_to_prefetch(engine: &Engine) -> bool {
    engine.catalogue.load().stored_families().any(asks)
}

/// See the module.
pub fn prefetch(engine: &Engine) -> Result<()> {
    let catalogue = engine.catalogue.load_full();
    let mut pace = engine.background_pace();
    let mut families = catalogue.stored_families().filter(|family| asks(family));
    families.try_for_each(|family| prefetch_family(engine, family.id, &mut pace))
}

fn prefetch_family(engine: &Engine, family: FamilyId, pace: &mut Pace<'_>) -> Result<()> {
    let layout = engine.layout();
    let mut room = engine.structure.cache().room(family) as u64;
    let runs = layout.runs(family).into_iter().flat_map(|runs| runs.runs.iter().rev());
    for extent in runs.flat_map(|run| &run.extents) {
        let facts = extent.readable()?.facts();
        if facts.stored_bytes > room {
            return Ok(());
        }
        room -= facts.stored_bytes;
        let mut cursor = extent.readable()?.cursor(Reading::Point);
        cursor.seek(&[])?;
        let mut cells = 0;
        while cursor.key().is_some() {
            cells += 1;
            if cells % STEP == 0 && !pace.go_on() {
                return Ok(());
            }
            cursor.advance()?;
        }
    }
    Ok(())
}
