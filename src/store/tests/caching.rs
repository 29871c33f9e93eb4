//! Blocks are held as their family asks, and read ahead where it does.

use super::*;
use crate::store::jobs::prefetch;

/// Bytes in the cache after a store of one family with attributes was opened, and after a row of it was read.
fn held(attributes: &[(&str, &str)]) -> [usize; 2] {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[FILES, attributes].concat());
    (0..2000).for_each(|n| drop(put(&store, &format!("r{n:04}"), "q", &[7; 100])));
    store.flush(None).unwrap();
    store.close().unwrap();
    let store = open(&env);
    if prefetch::has_to_prefetch(&store.engine) {
        prefetch::prefetch(&store.engine).unwrap();
    }
    let cache = store.engine.structure.cache();
    let opened = cache.bytes();
    assert_eq!(value(&store, "r1000", "q").unwrap(), [7; 100]);
    [opened, cache.bytes()]
}

#[test]
fn families_say_what_the_cache_does_with_their_blocks() {
    let [opened, read] = held(&[]);
    assert!(opened < 1000 && read > 4000, "a block: {opened}, {read}");
    assert!(held(&[("IN_MEMORY", "true")])[1] > 4000);
    let without = held(&[("BLOCKCACHE", "false")])[1];
    assert!(without > 0 && without < read - 4000, "{without} of {read}: its index and its filter alone");
    let [opened, read] = held(&[("PREFETCH_BLOCKS_ON_OPEN", "true")]);
    assert!(opened > 40_000 && read < opened + 4096, "all keys: {opened}, {read}");
}
