//! Segments in which everything has expired.

use std::path::PathBuf;

use super::*;
use crate::backend::Status;
use crate::store::jobs::compact;

const TTL: i64 = 1_000;

fn small_segments(env: &SimEnv) -> Store {
    open(env)
}

fn with_ttl(attributes: &[(&str, &str)]) -> TableSchema {
    let mut schema = schema(attributes);
    let family = schema.families.get_mut("f").unwrap();
    family.configuration.insert("cellfs.ttl.milliseconds".into(), TTL.to_string());
    // Only what expires is to be seen here.
    schema.configuration.insert("hbase.hstore.compaction.min".into(), "1000".into());
    schema
}

fn fill(store: &Store, prefix: &str, ttl_ms: Option<u64>) {
    for n in 0..100 {
        let cell = PutCell { ttl_ms, ..put_cell(&format!("{prefix}{n:02}"), &[n; 50], Time::AfterNewest) };
        mutate(store, &format!("r{}", n % 7), Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
    }
    store.flush(None).unwrap();
}

/// What is in the segments must not be needed: it is not there any more.
fn wipe(env: &SimEnv, store: &Store) -> Vec<PathBuf> {
    let files: std::collections::BTreeSet<u64> = store.engine.layout().state.files();
    let paths: Vec<PathBuf> = files.into_iter().map(|number| store.engine.structure.path(number)).collect();
    for path in &paths {
        env.damage(path, |bytes| bytes[50..2000].fill(0xAA)).unwrap();
    }
    paths
}

fn tidied(store: &Store) -> Status {
    compact::compact_as_needed(&store.engine).unwrap();
    store.status().unwrap()
}

fn exists(env: &SimEnv, path: &std::path::Path) -> bool {
    use crate::env::Env;
    env.exists(path).unwrap()
}

#[test]
fn expired_segments_go_without_being_read() {
    for attributes in [FILES, &[]] {
        let env = SimEnv::new();
        let store = small_segments(&env);
        store.alter(CatalogueChange::CreateTable(with_ttl(attributes)), Origin(0)).unwrap();
        fill(&store, "old", None);
        env.advance(TTL / 2);
        fill(&store, "new", None);
        let old = wipe(&env, &store);
        let before = tidied(&store);
        assert_eq!(before.cells, 200, "nothing has expired");
        assert!(old.len() >= 2 && old.iter().all(|path| exists(&env, path)));
        env.advance(TTL / 2 + 1);
        let after = tidied(&store);
        assert!(after.cells < 130 && after.cells >= 100, "{} cells", after.cells);
        assert!(after.segments < before.segments, "{} of {}", after.segments, before.segments);
        assert_eq!(after.last_error, None);
        assert_eq!(rows(&store).len(), 7, "the newer half is alive");
        env.advance(TTL);
        fill(&store, "last", None);
        assert!(tidied(&store).cells < 130);
        assert!(old.iter().all(|path| !exists(&env, path)));
        drop(store);
        let store = small_segments(&env);
        let mut forever = with_ttl(attributes);
        forever.families.get_mut("f").unwrap().configuration.clear();
        store.alter(CatalogueChange::AlterTable(forever), Origin(0)).unwrap();
        let columns = store.list_columns(&table(), b"r1", "f", None, TimeRange::ALL, 1000).unwrap();
        assert!(columns.iter().all(|(q, _)| !q.starts_with(b"old")), "a rebuild brings nothing back");
    }
}

#[test]
fn cells_of_their_own_ttl_count_and_one_without_holds_its_segment() {
    let env = SimEnv::new();
    let store = small_segments(&env);
    create(&store, FILES);
    fill(&store, "a", Some(TTL as u64));
    put(&store, "r", "forever", b"stays");
    store.flush(None).unwrap();
    fill(&store, "b", Some(TTL as u64));
    wipe(&env, &store);
    env.advance(TTL + 1);
    // The one that holds `forever` cannot be read any more, so it is not rewritten either.
    let after = tidied(&store);
    assert!(after.cells > 0 && after.cells < 60, "{} cells", after.cells);
    assert!(store.newest(&column("r", "forever"), TimeRange::ALL).unwrap().is_some());
}

#[test]
fn what_may_still_be_seen_or_hides_others_is_left_alone() {
    let env = SimEnv::new();
    let store = small_segments(&env);
    let rules = [("VERSIONS", "2"), ("MIN_VERSIONS", "1")];
    store.alter(CatalogueChange::CreateTable(with_ttl(&rules)), Origin(0)).unwrap();
    fill(&store, "a", None);
    fill(&store, "b", None);
    env.advance(2 * TTL);
    assert_eq!(tidied(&store).cells, 200, "MIN_VERSIONS holds them");
    assert_eq!(value(&store, "r1", "a01").unwrap(), [1; 50]);
    drop(store);

    let env = SimEnv::new();
    let store = small_segments(&env);
    create(&store, FILES);
    let cell = put(&store, "r", "q", b"forever, before its TTL was set");
    store.flush(None).unwrap();
    let change = AttributeChange { ttl_ms: Some(Some(TTL as u64)), ..AttributeChange::default() };
    store.set_attributes(&column("r", "q"), &cell, &change, Origin(0)).unwrap();
    fill(&store, "z", Some(TTL as u64));
    fill(&store, "z", Some(TTL as u64));
    env.advance(TTL + 1);
    tidied(&store);
    assert_eq!(value(&store, "r", "q"), None, "the version ends, not only the put that said so");
}

#[test]
fn a_crash_while_expired_segments_go_shows_nothing_of_them() {
    for mode in [CrashMode::ProcessOnly, CrashMode::LoseUnsynced] {
        let mut k = 1;
        while !expiry_ends_at(mode, k) {
            k += 1;
        }
        assert!(k > 2, "dropping makes more than {k} calls");
    }
}

fn expiry_ends_at(mode: CrashMode, k: u64) -> bool {
    let env = SimEnv::new();
    let store = small_segments(&env);
    store.alter(CatalogueChange::CreateTable(with_ttl(FILES)), Origin(0)).unwrap();
    fill(&store, "old", None);
    env.advance(TTL + 1);
    fill(&store, "new", None);
    env.fail_call(k, FailMode::Forever, libc::EIO);
    let done = compact::compact_as_needed(&store.engine).is_ok();
    env.crash(mode);
    drop(store);
    let store = small_segments(&env);
    let columns = store.list_columns(&table(), b"r1", "f", None, TimeRange::ALL, 1000).unwrap();
    assert!(columns.iter().all(|(q, cell)| q.starts_with(b"new") && store.read_value(cell, 0, 99).is_ok()), "call {k}");
    if mode == CrashMode::ProcessOnly {
        assert_eq!(columns.len(), 15, "call {k}");
    }
    assert!(tidied(&store).cells <= 130);
    done
}
