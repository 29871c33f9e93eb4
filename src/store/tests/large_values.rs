//! Damage in large values: it is told with the cells that need it, until a repair has told of it or nothing needs it.

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::check;
use crate::store::jobs::collect;

/// Bytes that are not alike, so that chunks are not shared.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// A store with a large value, which is damaged, in memory or in a segment with another table's.
fn damaged(env: &SimEnv, is_flushed: bool) -> Vec<u8> {
    let store = open(env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let other = TableSchema { name: TableName::parse("other").unwrap(), ..schema(&[]) };
    store.alter(CatalogueChange::CreateTable(other.clone()), Origin(0)).unwrap();
    let large = noise(400_000, 1);
    put(&store, "r", "large", &large);
    let cell = put_cell("q", b"v", Time::AfterNewest);
    let (row, mutations) = (b"s".to_vec(), vec![Mutation::Put(vec![cell])]);
    let mutations = RowMutations { table: other.name, row, mutations, durability: None, origin: Origin(0) };
    store.mutate(mutations, None).unwrap();
    if is_flushed {
        store.flush(None).unwrap();
    }
    store.close().unwrap();
    damage(env, &blobs(env).pop().unwrap(), &large);
    large
}

/// Damages that a check of the closed store finds, and what it says of all it finds.
fn checked(env: &SimEnv) -> (u64, Vec<String>) {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    let mut said = Vec::new();
    let summary = check::check(&env, "/store".as_ref(), &mut |event| {
        if let CheckEvent::Finding(finding) = event {
            said.push(finding.to_string());
        }
        Ok(())
    });
    (summary.unwrap().damages, said)
}

#[test]
fn a_check_names_the_cells_of_damaged_large_values() {
    for is_flushed in [false, true] {
        let env = SimEnv::new();
        damaged(&env, is_flushed);
        let (damages, said) = checked(&env);
        assert!(damages == 1 && said[0].contains("t:f, row r, column large, version"), "{said:?}");
        let store = open(&env);
        let mut named = false;
        let summary = store.check(&mut |event| {
            named |= matches!(event, CheckEvent::Finding(finding) if finding.to_string().contains("column large"));
            Ok(())
        });
        assert!(summary.unwrap().damages == 1 && named);
    }
}

#[test]
fn damage_that_a_repair_has_told_of_is_a_note_until_the_value_is_gone() {
    for is_flushed in [false, true] {
        let env = SimEnv::new();
        damaged(&env, is_flushed);
        assert_eq!(checked(&env).0, 1);
        let repaired = check::repair(options(&env), &mut |_| Ok(())).unwrap();
        assert!(repaired.done.iter().any(|text| text.contains("row r, column large, version")), "{:?}", repaired.done);
        assert_eq!(repaired.after.map(|after| (after.damages, after.notes)), Some((0, 1)));
        let (damages, said) = checked(&env);
        assert!(damages == 0 && said.len() == 1 && said[0].contains("column large"), "{said:?}");
        let store = open(&env);
        assert_eq!(store.status().unwrap().last_error, None);
        let cell = store.newest(&column("r", "large"), TimeRange::ALL).unwrap().unwrap();
        let refused = store.read_value(&cell, 0, 1000).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Corrupt, "it is not served");
        assert!(refused.message.contains("Write the cell again") && !refused.message.contains("--repair"), "{refused}");
        put(&store, "r", "large", b"written anew");
        store.flush(None).unwrap();
        store.compact(&table(), None, Major).unwrap();
        store.close().unwrap();
        assert_eq!(checked(&env), (0, Vec::new()));
    }
}

#[test]
fn damage_of_a_table_that_is_dropped_for_good_is_told_no_more() {
    for is_flushed in [false, true] {
        let env = SimEnv::new();
        damaged(&env, is_flushed);
        assert_eq!(checked(&env).0, 1);
        let store = open(&env);
        assert!(store.status().unwrap().last_error.is_some());
        store.alter(CatalogueChange::DropTable { name: table() }, Origin(0)).unwrap();
        assert_eq!(store.status().unwrap().last_error, None);
        assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
        store.close().unwrap();
        assert_eq!(checked(&env), (0, Vec::new()));
    }
}

fn damage(env: &SimEnv, blob: &str, value: &[u8]) {
    env.damage(blob.as_ref(), |bytes| {
        let at = bytes.windows(64).position(|part| *part == value[1000..1064]).unwrap();
        bytes[at + 32] ^= 0x20;
    })
    .unwrap();
}

fn blobs(env: &SimEnv) -> Vec<String> {
    let mut names = env.list("/store/blobs".as_ref()).unwrap();
    names.sort();
    names.into_iter().map(|name| format!("/store/blobs/{name}")).collect()
}

/// Three large values, all damaged: the first has a file to itself, the others share one with a whole value.
fn damaged_in_two_files(env: &SimEnv) {
    let values = [["first", "", ""], ["second", "third", "whole"]];
    for (file, names) in values.iter().enumerate() {
        let store = open(env);
        if file == 0 {
            create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
        }
        let named = || names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let large = |at| noise(200_000, 10 * file as u64 + at as u64);
        named().for_each(|(at, name)| drop(put(&store, "r", name, &large(at))));
        store.flush(None).unwrap();
        store.close().unwrap();
        let blob = blobs(env).pop().unwrap();
        named().filter(|(_, name)| **name != "whole").for_each(|(at, _)| damage(env, &blob, &large(at)));
    }
}

/// Writes another value in its place, which is not large, and gives back the room of it.
fn replace(store: &Store, name: &str) {
    put(store, "r", name, b"written anew");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    collect::collect_blobs(&store.engine).unwrap();
}

#[test]
fn damage_is_told_of_large_values_until_their_file_or_their_chunks_are_gone() {
    let env = SimEnv::new();
    damaged_in_two_files(&env);
    assert_eq!((checked(&env).0, blobs(&env).len()), (3, 2));
    let store = open(&env);
    let told = || store.status().unwrap().last_error.unwrap_or_default();
    let read = |name: &str| {
        let cell = store.newest(&column("r", name), TimeRange::ALL).unwrap().unwrap();
        store.read_value(&cell, 0, 200_000).map_err(|e| e.kind)
    };
    // What a read has met is told beside what the check has found.
    let of = |text: &str, blob: &str| text.matches(blob.rsplit('/').next().unwrap()).count();
    let files = blobs(&env);
    assert_eq!(read("first").unwrap_err(), ErrorKind::Corrupt);
    assert!(told().contains("found 3 damages") && of(&told(), &files[0]) == 2, "{}", told());
    replace(&store, "first");
    assert_eq!(blobs(&env), files[1..], "all of the first file is dead");
    assert!(told().contains("found 2 damages") && of(&told(), &files[0]) == 0, "{}", told());
    assert_eq!(read("third").unwrap_err(), ErrorKind::Corrupt);
    replace(&store, "second");
    assert_eq!(blobs(&env), files[1..], "the file is needed");
    assert!(told().contains("found damage") && of(&told(), &files[1]) == 2, "{}", told());
    assert!(env.exists("/store/damage".as_ref()).unwrap());
    replace(&store, "third");
    assert_eq!(told(), "");
    assert!(!env.exists("/store/damage".as_ref()).unwrap());
    assert_eq!(read("whole").unwrap().len(), 200_000);
    store.close().unwrap();
    assert_eq!(checked(&env), (0, Vec::new()));
}
