//! What of the log is kept although its cells are in extents: those who follow changes read it.

use crate::log::Becomes;
use crate::model::SeqNo;
use crate::store::engine::Engine;

/// So long after a follower's last look it is taken to be gone.
const FOLLOWED_MS: u64 = 60_000;
/// Bytes of the log's past that are kept for followers where the setting keeps none.
const FOLLOWED_BYTES: u64 = 128 << 20;

/// Bytes of the log's past that are kept.
pub fn retained(engine: &Engine) -> u64 {
    let set = engine.catalogue.load().settings.changes_retain();
    let asked = engine.followers.last_asked_ms(engine.now());
    if set == 0 && asked < FOLLOWED_MS { FOLLOWED_BYTES } else { set }
}

/// Removes what of the log is covered and no longer kept.
pub fn retire_log(engine: &Engine, covered: SeqNo) {
    let most = retained(engine);
    let becomes = if most > 0 { Becomes::Past } else { Becomes::Gone };
    if becomes == Becomes::Past {
        engine.followers.note_kept();
    }
    engine.log.remove_covered(covered, becomes);
    prune_past(engine, most);
}

/// Removes what was kept for followers, once they have left.
pub fn release_past(engine: &Engine) {
    if engine.followers.may_keep() && retained(engine) == 0 {
        engine.followers.note_released();
        prune_past(engine, 0);
    }
}

/// Removes the oldest of the log's past until it takes no more than so many bytes.
pub fn prune_past(engine: &Engine, most: u64) {
    if let Err(e) = crate::log::prune(&*engine.options.env, &engine.options.path.join("log"), most) {
        engine.said.warn(&format!("{e}; it is tried again"));
    }
}
