//! What a check tells of snapshots, and of an end of the log that is gone.

use super::*;
use crate::env::Env;
use crate::store::check;

const LOG: &str = "/store/segments/00000001.seg";

fn findings(env: &SimEnv) -> (CheckSummary, Vec<String>) {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    let mut found = Vec::new();
    let mut tell = |event: CheckEvent| {
        if let CheckEvent::Finding(finding) = event {
            found.push(finding.to_string());
        }
        Ok(())
    };
    let summary = check::check(&env, "/store".as_ref(), &mut tell).unwrap();
    (summary, found)
}

fn repair(env: &SimEnv) -> check::Repaired {
    check::repair(options(env), &mut |_| Ok(())).unwrap()
}

/// A store with a snapshot of it, and something written since.
fn with_snapshot(env: &SimEnv) -> CellInfo {
    let store = open(env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    let newest = put(&store, "r", "q", b"new");
    store.create_snapshot("s", None).unwrap();
    put(&store, "r", "later", b"later");
    store.flush(None).unwrap();
    store.close().unwrap();
    newest
}

fn in_snapshot(store: &Store, qualifier: &str) -> Result<Option<Vec<u8>>, ErrorKind> {
    let kept = store.snapshot("s").map_err(|e| e.kind)?;
    let newest = kept.newest(&column("r", qualifier), TimeRange::ALL).map_err(|e| e.kind)?;
    newest.map(|cell| kept.read_value(&cell, 0, 100).map_err(|e| e.kind)).transpose()
}

#[test]
fn a_check_looks_into_snapshots() {
    let env = SimEnv::new();
    let cell = with_snapshot(&env);
    assert_eq!(findings(&env).0.damages, 0);
    // The snapshot keeps what the store has lost, and is damaged by itself.
    let link = "/store/snapshots/s/segments/00000001.seg";
    let whole = env.read_file(link.as_ref()).unwrap();
    env.damage(link.as_ref(), |bytes| bytes[cell.value.offset as usize + 12] ^= 4).unwrap();
    let (summary, found) = findings(&env);
    assert!(summary.damages > 1, "{found:#?}");
    assert!(found.iter().any(|text| text.starts_with(link)), "{found:#?}");
    let repaired = repair(&env);
    assert!(repaired.done.iter().any(|text| text.contains("snapshot s")), "{:?}", repaired.done);
    let store = open(&env);
    assert_eq!(in_snapshot(&store, "q"), Err(ErrorKind::Corrupt));
    assert_eq!(in_snapshot(&store, "later"), Ok(None));
    assert_eq!(value(&store, "r", "later").unwrap(), b"later");
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, findings_of(&store), "the same of an open store");
    store.close().unwrap();
    let now = env.read_file(link.as_ref()).unwrap();
    assert_eq!(now.iter().zip(&whole).filter(|(a, b)| a != b).count(), 1, "the segment itself is left alone");
}

fn findings_of(store: &Store) -> u64 {
    let mut count = 0;
    let mut tell = |event: CheckEvent| {
        count += u64::from(matches!(event, CheckEvent::Finding(one) if one.severity == Severity::Damage));
        Ok(())
    };
    store.check(&mut tell).unwrap();
    count
}

#[test]
fn the_index_of_a_snapshot_alone_is_made_anew() {
    let env = SimEnv::new();
    with_snapshot(&env);
    let own = env.index_dir("/store".as_ref()).unwrap();
    let index = env.index_dir("/store/snapshots/s".as_ref()).unwrap().join("index.db");
    std::fs::write(&index, b"nonsense").unwrap();
    assert_eq!(findings(&env).0.damages, 1);
    let repaired = repair(&env);
    assert!(!repaired.rebuilt && repaired.after.unwrap().damages == 0, "{repaired:?}");
    assert!(own.join("index.db").exists() && !own.join("aside").exists(), "the store's own index stays");
    assert_eq!(in_snapshot(&open(&env), "q"), Ok(Some(b"new".to_vec())));
    assert_eq!(findings(&env).0.damages, 0);
}

#[test]
fn a_lost_end_of_the_log_is_told_until_somebody_knows() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "a", b"1");
    store.flush(None).unwrap();
    let covered = env_bytes(&env, LOG.as_ref()).len();
    put(&store, "r", "b", b"2");
    store.sync().unwrap();
    drop(store);
    env.damage(LOG.as_ref(), |bytes| bytes.truncate(covered)).unwrap();
    for round in 0..3 {
        let store = open(&env);
        let error = store.status().unwrap().last_error.unwrap_or_default();
        assert!(error.contains("it was on the disk once") && error.contains("check"), "round {round}: {error}");
        put(&store, "r", &format!("after {round}"), b"3");
        store.close().unwrap();
        let (summary, found) = findings(&env);
        assert!(summary.damages > 0 && found.iter().any(|text| text.contains("acknowledges")), "{found:#?}");
    }
    let repaired = repair(&env);
    assert!(repaired.done.iter().any(|text| text.contains("acknowledged")), "{:?}", repaired.done);
    assert_eq!(findings(&env).0.damages, 0, "{:#?}", findings(&env).1);
    let store = open(&env);
    assert_eq!(store.status().unwrap().last_error, None);
    for (name, expected) in [("a", Some(b"1".to_vec())), ("b", None), ("after 2", Some(b"3".to_vec()))] {
        assert_eq!(value(&store, "r", name), expected);
    }
}

#[test]
fn what_a_compaction_has_taken_out_of_the_log_is_no_loss() {
    let env = SimEnv::new();
    let store = Store::open(StoreOptions { segment_bytes: 600, ..options(&env) }).unwrap();
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    for n in 0..12 {
        // The cells of segments in the middle are replaced, those before and behind are not.
        let name = if (4..8).contains(&n) { "same".to_owned() } else { format!("q{n}") };
        put(&store, "r", &name, &[n; 250]);
    }
    store.flush(None).unwrap();
    let before = store.status().unwrap().segments;
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    assert!(store.status().unwrap().segments < before);
    store.sync().unwrap();
    store.close().unwrap();
    assert_eq!(findings(&env).0.damages, 0, "{:#?}", findings(&env).1);
}
