//! What moves while compactions drop it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::backend::{Directory, PurgeScope};
use crate::env::sync::{Limits, simulate, spawn};

const SEEDS: u64 = 100;
const MOVES: usize = 12;

/// A row goes to and fro with what it keeps of the past, which somebody purges.
fn to_and_fro_beside_purges() {
    let store = Arc::new(open(&SimEnv::new()));
    create(&store, FILES);
    let (purging, is_over) = (Arc::clone(&store), Arc::new(AtomicBool::new(false)));
    let over = Arc::clone(&is_over);
    let purger = spawn("purger", move || {
        while !over.load(Ordering::Relaxed) {
            purging.purge(&PurgeScope { table: table(), row: None, family: None, qualifier: None }).unwrap();
        }
    });
    let directory = |row: &str| Directory { table: table(), row: row.into(), family: None };
    let (mut from, mut to) = ("a", "b");
    for _ in 0..MOVES {
        // Too long to stand among the keys.
        for deleted in [&[b'1'; 2000][..], &[b'2'; 20_000]] {
            put(&store, from, "q", deleted);
            unlink(&store, from, "q");
        }
        put(&store, from, "q", &[b'3'; 2000]);
        store.flush(None).unwrap();
        assert!(store.rename_directory(&directory(from), &directory(to), Origin(0)).unwrap());
        assert_eq!(value(&store, to, "q").as_deref(), Some(&[b'3'; 2000][..]));
        let kept = store.list_versions(&column(to, "q"), Versions::LiveAndKept, None, 10).unwrap();
        let is_whole =
            |cell: &CellInfo| store.read_value(cell, 0, 100_000).map(|bytes| bytes.len() as u64 == cell.len());
        kept.iter().for_each(|cell| assert!(is_whole(cell).unwrap_or_else(|e| e.kind == ErrorKind::NotFound)));
        (from, to) = (to, from);
    }
    is_over.store(true, Ordering::Relaxed);
    purger.unwrap().join().unwrap();
}

#[test]
fn a_directory_moves_with_its_past_while_that_is_purged() {
    for seed in 0..SEEDS {
        if let Err(failure) = simulate(seed, Limits { steps: 3_000_000 }, to_and_fro_beside_purges) {
            panic!("seed {seed}: {}", failure.text);
        }
    }
}
