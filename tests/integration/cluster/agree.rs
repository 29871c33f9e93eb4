//! The same operations on a mounted store and on a mounted cluster leave the same tree.
//!
//! `CELLFS_SEED` chooses the history; a failure prints its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::server::Cluster;
use super::tree::Mounted;
use crate::mount::fixture::{Fixture, errno, names};

const STEPS: usize = 150;

/// One operation on a table's directory; its errno.
fn act(table: &Path, random: &mut StdRng) -> (String, i32) {
    let rows = ["a", "b%00", "ü"];
    let names = ["p", "q", "x y", "%25"];
    let row = table.join(rows[random.random_range(0..rows.len())]).join("f");
    let (one, other) = (names[random.random_range(0..names.len())], names[random.random_range(0..names.len())]);
    let (cell, value) = (row.join(one), vec![b'v'; random.random_range(0..2000)]);
    let kind = random.random_range(0..10);
    let done = match kind {
        0 | 1 => fs::create_dir_all(&row).and_then(|()| fs::write(&cell, &value)),
        2 => fs::File::options().append(true).open(&cell).and_then(|mut file| file.write_all(&value)),
        3 => fs::remove_file(&cell),
        4 => fs::rename(&cell, row.join(other)),
        5 => fs::File::options().write(true).open(&cell).and_then(|file| file.set_len(7)),
        6 => fs::write(row.join("n@counter"), "+3\n"),
        7 => fs::write(row.join("t@1000"), &value),
        8 => fs::remove_file(row.join("t@1000")),
        _ => fs::remove_dir_all(row.parent().unwrap()),
    };
    (format!("{kind} {} {one} {other} {}", row.display(), value.len()), errno(done))
}

/// All files of a table with what is in them.
fn tree(table: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for row in fs::read_dir(table).unwrap() {
        let row = row.unwrap();
        for file in fs::read_dir(row.path().join("f")).into_iter().flatten() {
            let path = file.unwrap().path();
            let name = format!("{:?} {:?}", row.file_name(), path.file_name());
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// The rows of some answers.
fn answers(table: &Path) -> Vec<Vec<String>> {
    let asked =
        [".from/b%00", ".to/b", ".last/2", ".prefix/ü", ".columns/f:p", ".filter/ValueFilter(=,'substring:vv')"];
    asked.iter().map(|question| names(&table.join(question))).collect()
}

#[test]
fn a_store_and_a_cluster_end_as_the_same_tree() {
    let seed = std::env::var("CELLFS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let store = Fixture::empty();
    let cluster = Mounted::new(Cluster::shared(), "agree", "");
    fs::create_dir_all(store.path("agree/r/f")).unwrap();
    let (ours, theirs) = (store.path("agree"), cluster.path(""));
    let (mut one, mut other) = (StdRng::seed_from_u64(seed), StdRng::seed_from_u64(seed));
    for step in 0..STEPS {
        let (what, expected) = act(&ours, &mut one);
        let (_, found) = act(&theirs, &mut other);
        assert_eq!(found, expected, "seed {seed}, step {step}: {what}; {}", cluster.errors());
        if step % 10 == 9 {
            assert_eq!(tree(&theirs), tree(&ours), "seed {seed}, step {step}: {what}");
            assert_eq!(answers(&theirs), answers(&ours), "seed {seed}, step {step}: {what}");
        }
    }
    let count = |table: &Path| fs::read_to_string(table.join(".count")).unwrap();
    assert_eq!(count(&theirs), count(&ours));
}
