//! An index made anew after damage: what cannot be read is an error, and never an older value.

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::index::{Index, Witness};
use crate::store::check;

/// What a user sees of a column.
fn seen(store: &Store, qualifier: &str) -> Result<Option<Vec<u8>>, ErrorKind> {
    let newest = store.newest(&column("r", qualifier), TimeRange::ALL).map_err(|e| e.kind)?;
    newest.map(|cell| store.read_value(&cell, 0, 1000).map_err(|e| e.kind)).transpose()
}

/// Changes a byte of the key in an entry's head.
fn damage_head(env: &SimEnv, cell: &CellInfo) {
    let path = format!("/store/segments/{:08}.seg", cell.value.segment.0);
    let at = cell.value.offset as usize + 12;
    env.damage(path.as_ref(), |bytes| bytes[at] ^= 0x20).unwrap();
}

fn damage_index(env: &SimEnv) {
    let dir = env.index_dir("/store".as_ref()).unwrap();
    std::fs::write(dir.join("index.damaged"), b"rebuild me\n").unwrap();
}

/// Two versions of a column, and another column, indexed; the newest version.
fn two_versions(env: &SimEnv) -> CellInfo {
    let store = open(env);
    create(&store, FILES);
    put(&store, "r", "other", b"whole");
    put(&store, "r", "q", b"old");
    let newest = put(&store, "r", "q", b"new");
    put(&store, "r", "behind", b"whole too");
    store.flush(None).unwrap();
    store.close().unwrap();
    newest
}

fn repair(env: &SimEnv) -> check::Repaired {
    check::repair(options(env), &mut |_| Ok(())).unwrap()
}

#[test]
fn after_a_repair_a_damaged_key_hides_no_older_value() {
    let env = SimEnv::new();
    let newest = two_versions(&env);
    damage_head(&env, &newest);
    assert_eq!(repair(&env).cells, 4);
    for _ in 0..2 {
        let store = open(&env);
        assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
        assert_eq!(seen(&store, "other"), Ok(Some(b"whole".to_vec())));
        assert_eq!(seen(&store, "behind"), Ok(Some(b"whole too".to_vec())));
        store.close().unwrap();
        // Another repair finds the same.
        repair(&env);
    }
    let store = open(&env);
    put(&store, "r", "q", b"again");
    assert_eq!(seen(&store, "q"), Ok(Some(b"again".to_vec())));
}

#[test]
fn a_rebuild_by_itself_hides_no_older_value_either() {
    let env = SimEnv::new();
    let newest = two_versions(&env);
    damage_head(&env, &newest);
    damage_index(&env);
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
    assert!(store.status().unwrap().last_error.is_some());
    assert_eq!(seen(&store, "other"), Ok(Some(b"whole".to_vec())));
    let dir = env.index_dir("/store".as_ref()).unwrap();
    assert!(!dir.join("former").exists(), "nothing stays behind");
}

#[test]
fn a_rebuild_that_is_interrupted_still_knows_the_index_of_before() {
    let env = SimEnv::new();
    let newest = two_versions(&env);
    damage_head(&env, &newest);
    damage_index(&env);
    let mut refused = 0;
    for k in 1.. {
        env.fail_call(k, FailMode::Forever, libc::EIO);
        let opened = Store::open(options(&env));
        env.crash(CrashMode::ProcessOnly);
        if opened.is_ok() {
            drop(opened);
            let store = open(&env);
            assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt), "after {refused} attempts");
            assert_eq!(seen(&store, "behind"), Ok(Some(b"whole too".to_vec())), "nothing is cut off");
            break;
        }
        refused += 1;
    }
    assert!(refused > 0);
    // As one that stopped in the middle leaves it: the index of before beside one that is not finished. A crash moves it.
    let dir = env.index_dir("/store".as_ref()).unwrap();
    crate::index::set_index_aside(&dir).unwrap();
    std::fs::rename(dir.join("aside"), dir.join("former")).unwrap();
    let (identity, witness) = (identity(&env), Arc::new(Witness::of_snapshot()));
    drop(Index::open(&dir, &identity, 1 << 20, witness).unwrap());
    assert_eq!(seen(&open(&env), "q"), Err(ErrorKind::Corrupt));
    assert!(!dir.join("former").exists());
}

fn identity(env: &SimEnv) -> crate::wal::StoreId {
    crate::store::identity::find(env, "/store".as_ref()).unwrap().unwrap().value.store
}

#[test]
fn a_damaged_tombstone_still_covers_after_a_repair() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"deleted");
    put(&store, "r", "stays", b"here");
    let before = env_bytes(&env, "/store/segments/00000001.seg".as_ref()).len();
    unlink(&store, "r", "q");
    store.flush(None).unwrap();
    store.close().unwrap();
    env.damage("/store/segments/00000001.seg".as_ref(), |bytes| bytes[before + 32 + 12] ^= 4).unwrap();
    repair(&env);
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Ok(None));
    assert_eq!(seen(&store, "stays"), Ok(Some(b"here".to_vec())));
}

#[test]
fn what_went_before_the_damage_does_not_come_back() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    put(&store, "r", "q", b"one");
    let damaged = put(&store, "r", "q", b"two");
    put(&store, "r", "gone", b"x");
    store.flush(None).unwrap();
    store.close().unwrap();
    // An index of this moment stays beside, as a repair leaves it.
    let dir = env.index_dir("/store".as_ref()).unwrap();
    std::fs::create_dir(dir.join("aside")).unwrap();
    std::fs::copy(dir.join("index.db"), dir.join("aside/index.db")).unwrap();
    let store = open(&env);
    put(&store, "r", "q", b"three");
    unlink(&store, "r", "gone");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(store.list_versions(&column("r", "q"), Versions::LiveAndKept, None, 9).unwrap().len(), 1);
    store.close().unwrap();
    if env.exists("/store/segments/00000001.seg".as_ref()).unwrap() {
        damage_head(&env, &damaged);
    }
    std::fs::remove_file(dir.join("index.db")).unwrap();
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Ok(Some(b"three".to_vec())));
    assert_eq!(seen(&store, "gone"), Ok(None));
    assert_eq!(store.list_versions(&column("r", "q"), Versions::LiveAndKept, None, 9).unwrap().len(), 1);
}

#[test]
fn the_end_of_the_log_that_is_damaged_leaves_its_place_to_nobody() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    put(&store, "r", "q", b"new");
    store.flush(None).unwrap();
    store.close().unwrap();
    damage_index(&env);
    env.damage("/store/segments/00000001.seg".as_ref(), |bytes| bytes.truncate(bytes.len() - 9)).unwrap();
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
    put(&store, "r", "more", b"which goes on elsewhere");
    store.close().unwrap();
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
    assert_eq!(seen(&store, "more"), Ok(Some(b"which goes on elsewhere".to_vec())));
}

#[test]
fn a_segment_that_is_gone_shows_no_older_value_after_a_repair() {
    let env = SimEnv::new();
    let store = Store::open(StoreOptions { segment_bytes: 200, ..options(&env) }).unwrap();
    create(&store, FILES);
    put(&store, "r", "q", &[b'o'; 300]);
    let newest = put(&store, "r", "q", &[b'n'; 300]);
    put(&store, "r", "other", &[b'x'; 300]);
    store.flush(None).unwrap();
    store.close().unwrap();
    env.remove(format!("/store/segments/{:08}.seg", newest.value.segment.0).as_ref()).unwrap();
    repair(&env);
    let store = open(&env);
    assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
    assert_eq!(seen(&store, "other"), Ok(Some(vec![b'x'; 300])));
}

#[test]
fn damage_that_reads_meet_is_told_and_counted() {
    let env = SimEnv::new();
    let damaged = two_versions(&env);
    env.damage("/store/segments/00000001.seg".as_ref(), |bytes| {
        let at = (damaged.value.offset + u64::from(damaged.value.head_len)) as usize;
        bytes[at] ^= 1;
    })
    .unwrap();
    let store = open(&env);
    assert_eq!((store.status().unwrap().damaged_reads, store.status().unwrap().last_error), (0, None));
    assert_eq!(seen(&store, "q"), Err(ErrorKind::Corrupt));
    assert!(store.scan(&Scan::all(table())).unwrap().any(|row| row.is_err()));
    let get = Get { table: table(), row: b"r".to_vec(), read: ReadSpec::default() };
    assert!(store.get(&get).is_err());
    store.create_snapshot("s", None).unwrap();
    let kept = store.snapshot("s").unwrap();
    let cell = kept.newest(&column("r", "q"), TimeRange::ALL).unwrap().unwrap();
    assert!(kept.read_value(&cell, 0, 10).is_err());
    let status = store.status().unwrap();
    assert_eq!(status.damaged_reads, 4);
    let text = status.last_error.unwrap();
    assert!(
        text.contains(&format!("offset {}", damaged.value.offset)) && text.contains("cellfs check /store"),
        "{text}"
    );
    assert_eq!(seen(&store, "other"), Ok(Some(b"whole".to_vec())));
    assert_eq!(store.status().unwrap().damaged_reads, 4);
}
