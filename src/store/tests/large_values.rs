//! Damage in large values: it is told with the cells that need it, until a repair has told of it or nothing needs it.

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::check;

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
    let blob = env.list("/store/blobs".as_ref()).unwrap().pop().unwrap();
    env.damage(format!("/store/blobs/{blob}").as_ref(), |bytes| {
        let at = bytes.windows(64).position(|part| *part == large[1000..1064]).unwrap();
        bytes[at + 32] ^= 0x20;
    })
    .unwrap();
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
