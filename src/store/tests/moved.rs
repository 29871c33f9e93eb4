//! What moves while compactions drop it.

use super::*;
use crate::backend::{Directory, PurgeScope};
use crate::env::sync::{Limits, simulate, spawn};

const SEEDS: u64 = 200;

/// A row goes to and fro with what it kept of the past, which somebody purges.
fn to_and_fro_beside_a_purge() {
    let store = Arc::new(open(&SimEnv::new()));
    create(&store, FILES);
    // Too long to stand among the keys; the first and second are of the past.
    for value in [&[b'1'; 2000][..], &[b'2'; 70_000], &[b'3'; 2000]] {
        put(&store, "a", "q", value);
    }
    store.flush(None).unwrap();
    let purging = Arc::clone(&store);
    let purger = spawn("purger", move || {
        for _ in 0..2 {
            purging.purge(&PurgeScope { table: table(), row: None, family: None, qualifier: None }).unwrap();
        }
    });
    let directory = |row: &str| Directory { table: table(), row: row.into(), family: None };
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
        assert!(store.rename_directory(&directory(from), &directory(to), Origin(0)).unwrap());
    }
    assert_eq!(value(&store, "b", "q").as_deref(), Some(&[b'3'; 2000][..]));
    purger.unwrap().join().unwrap();
    let kept = store.list_versions(&column("b", "q"), Versions::LiveAndKept, None, 10).unwrap();
    kept.iter().for_each(|cell| assert_eq!(store.read_value(cell, 0, 100_000).unwrap().len() as u64, cell.len()));
}

#[test]
fn a_directory_moves_with_its_past_while_that_is_purged() {
    for seed in 0..SEEDS {
        if let Err(failure) = simulate(seed, Limits { steps: 1_000_000 }, to_and_fro_beside_a_purge) {
            panic!("seed {seed}: {}", failure.text);
        }
    }
}
