//! Snapshots: what they keep, what a stop of the machine leaves of them, and tables brought back from them.

use super::*;
use crate::backend::{CompactionKind, Existing, Restoration};
use crate::env::sync::{self, Limits, simulate};
use crate::store::jobs::compact;
use crate::store::options::Broken;

fn of(store: &Store, name: &str) -> Arc<dyn Backend> {
    store.snapshot(name).unwrap()
}

fn newest(backend: &dyn Backend, row: &str, qualifier: &str) -> Option<Vec<u8>> {
    let cell = backend.newest(&column(row, qualifier), TimeRange::ALL).unwrap()?;
    Some(backend.read_value(&cell, 0, 100).unwrap())
}

fn delete(store: &Store, row: &str, qualifier: &str) {
    let kind = DeleteKind::Column { family: "f".into(), qualifier: qualifier.into() };
    let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
    mutate(store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
}

fn restoration(snapshot: &str, to: &TableName, existing: Existing) -> Restoration {
    Restoration { snapshot: snapshot.into(), tables: vec![(table(), to.clone())], existing }
}

/// A store of which everything that was there when the snapshot was made is gone, by every way it may go.
fn changed_since(env: &SimEnv) -> Store {
    let store = open(env);
    create(&store, FILES);
    put(&store, "r", "flushed", b"1");
    store.flush(None).unwrap();
    put(&store, "r", "in memory", b"2");
    put(&store, "s", "deleted", b"3");
    delete(&store, "s", "deleted");
    store.create_snapshot("before", None).unwrap();
    put(&store, "r", "flushed", b"later");
    put(&store, "r", "new", b"4");
    let scope = crate::backend::PurgeScope { table: table(), row: None, family: None, qualifier: None };
    store.purge(&scope).unwrap();
    store.alter(CatalogueChange::TruncateTable { name: table() }, Origin(0)).unwrap();
    put(&store, "r", "flushed", b"latest");
    store.flush(None).unwrap();
    store.compact(&table(), None, CompactionKind::Major).unwrap();
    compact::compact_as_needed(&store.engine).unwrap();
    store
}

fn check_before(snapshot: &dyn Backend) {
    assert_eq!(newest(snapshot, "r", "flushed").unwrap(), b"1");
    assert_eq!(newest(snapshot, "r", "in memory").unwrap(), b"2");
    assert_eq!(newest(snapshot, "r", "new"), None);
    assert_eq!(newest(snapshot, "s", "deleted"), None);
    let kept = snapshot.list_versions(&column("s", "deleted"), Versions::LiveAndKept, None, 10).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(snapshot.read_value(&kept[0], 0, 10).unwrap(), b"3");
}

#[test]
fn a_snapshot_shows_the_store_as_it_was_whatever_happened_since() {
    let env = SimEnv::new();
    let store = changed_since(&env);
    check_before(&*of(&store, "before"));
    assert_eq!(value(&store, "r", "flushed").unwrap(), b"latest");
    let listed = store.snapshots().unwrap();
    assert_eq!((listed.len(), listed[0].name.as_str(), listed[0].cells), (1, "before", 4));
    drop(store);
    let store = open(&env);
    check_before(&*of(&store, "before"));
    drop(store);
    env.crash(CrashMode::LoseUnsynced);
    // Its index is lost as well: it is made anew of its own segments, which are not changed by that.
    let store = open(&env);
    check_before(&*of(&store, "before"));
    store.delete_snapshot("before").unwrap();
    assert_eq!(store.snapshot("before").err().unwrap().kind, ErrorKind::NotFound);
    assert!(store.snapshots().unwrap().is_empty());
}

#[test]
fn a_snapshot_takes_no_changes() {
    let env = SimEnv::new();
    let store = changed_since(&env);
    let snapshot = of(&store, "before");
    let refused = |result: crate::Result<()>| assert_eq!(result.unwrap_err().kind, ErrorKind::ReadOnlyStore);
    refused(snapshot.alter(CatalogueChange::DropTable { name: table() }, Origin(0)));
    refused(snapshot.flush(None));
    refused(snapshot.compact(&table(), None, CompactionKind::Major));
    refused(snapshot.create_snapshot("other", None));
    refused(snapshot.delete_snapshot("before"));
    check_before(&*snapshot);
}

#[test]
fn names_and_absences_are_refused() {
    let env = SimEnv::new();
    let store = changed_since(&env);
    let kind = |result: crate::Result<()>| result.unwrap_err().kind;
    assert_eq!(kind(store.create_snapshot("before", None)), ErrorKind::AlreadyExists);
    for name in ["", ".", "..", "a/b", "-x", ".x", "a b"] {
        assert_eq!(kind(store.create_snapshot(name, None)), ErrorKind::IllegalArgument, "{name}");
    }
    assert_eq!(kind(store.delete_snapshot("other")), ErrorKind::NotFound);
    let absent = TableName::parse("absent").unwrap();
    assert_eq!(kind(store.create_snapshot("other", Some(&absent))), ErrorKind::NoSuchTable);
    env.set_space(Some(1000));
    assert_eq!(kind(store.create_snapshot("other", None)), ErrorKind::NoSpace);
    assert_eq!(store.snapshots().unwrap().len(), 1);
}

#[test]
fn what_expires_after_a_snapshot_stays_in_it() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("TTL", "10")]);
    put(&store, "r", "q", b"v");
    store.create_snapshot("before", Some(&table())).unwrap();
    env.advance(11_000);
    store.flush(None).unwrap();
    store.compact(&table(), None, CompactionKind::Major).unwrap();
    compact::compact_as_needed(&store.engine).unwrap();
    assert_eq!(value(&store, "r", "q"), None);
    assert_eq!(newest(&*of(&store, "before"), "r", "q").unwrap(), b"v");
}

#[test]
fn tables_are_cloned_and_restored_with_their_history() {
    let env = SimEnv::new();
    let store = changed_since(&env);
    let clone = TableName::parse("clone").unwrap();
    store.restore(&restoration("before", &clone, Existing::Refuse), Origin(0)).unwrap();
    let again = store.restore(&restoration("before", &clone, Existing::Refuse), Origin(0));
    assert_eq!(again.unwrap_err().kind, ErrorKind::TableExists);
    store.restore(&restoration("before", &table(), Existing::Replace), Origin(0)).unwrap();
    check_before(&store);
    // What is written to the one is not in the other, and comes after what was brought back.
    put(&store, "r", "flushed", b"after");
    let of_clone = |store: &Store, qualifier: &str| {
        let key = ColumnKey { table: clone.clone(), ..column("r", qualifier) };
        let cell = store.newest(&key, TimeRange::ALL).unwrap()?;
        Some(store.read_value(&cell, 0, 100).unwrap())
    };
    assert_eq!(of_clone(&store, "flushed").unwrap(), b"1");
    assert_eq!(value(&store, "r", "flushed").unwrap(), b"after");
    store.delete_snapshot("before").unwrap();
    drop(store);
    env.crash(CrashMode::LoseUnsynced);
    let store = open(&env);
    assert_eq!(of_clone(&store, "in memory").unwrap(), b"2");
    assert_eq!(value(&store, "r", "in memory").unwrap(), b"2");
}

#[test]
fn a_stop_at_any_call_leaves_a_whole_snapshot_or_none() {
    for mode in [CrashMode::ProcessOnly, CrashMode::LoseUnsynced, CrashMode::KeepSome { seed: 7 }] {
        let mut call = 1;
        loop {
            let env = SimEnv::new();
            let store = open(&env);
            create(&store, FILES);
            put(&store, "r", "q", b"v");
            store.sync().unwrap();
            env.fail_call(call, FailMode::Forever, libc::EIO);
            let made = store.create_snapshot("s", None);
            drop(store);
            env.crash(mode);
            env.heal();
            let store = open(&env);
            assert_eq!(value(&store, "r", "q").unwrap(), b"v");
            match store.snapshot("s") {
                Ok(snapshot) => assert_eq!(newest(&*snapshot, "r", "q").unwrap(), b"v"),
                Err(e) => assert!(made.is_err() && e.kind == ErrorKind::NotFound, "call {call}: {e}"),
            }
            if made.is_ok() {
                break;
            }
            store.create_snapshot("t", None).unwrap();
            call += 1;
        }
        assert!(call > 10, "{call}");
    }
}

#[test]
fn a_stop_during_a_restoration_leaves_the_old_tables_or_the_new_ones() {
    let mut call = 1;
    loop {
        let env = SimEnv::new();
        let store = changed_since(&env);
        env.fail_call(call, FailMode::Forever, libc::EIO);
        let clone = TableName::parse("clone").unwrap();
        let mut both = restoration("before", &table(), Existing::Replace);
        both.tables.push((table(), clone.clone()));
        let done = store.restore(&both, Origin(0));
        drop(store);
        env.crash(CrashMode::LoseUnsynced);
        env.heal();
        let store = open(&env);
        if done.is_ok() {
            check_before(&store);
            assert!(call > 4, "{call}");
            break;
        }
        match value(&store, "r", "in memory") {
            Some(_) => check_before(&store),
            None => assert_eq!(value(&store, "r", "flushed").unwrap(), b"latest"),
        }
        let came = value(&store, "r", "in memory").is_some();
        assert_eq!(store.catalogue().unwrap().tables.contains_key(&clone), came, "both in one step");
        check_before(&*of(&store, "before"));
        call += 1;
    }
}

/// Orders of a snapshot beside a put and a rename of the table after it.
const ORDERS: u64 = 400;

/// What a snapshot of a simulated machine shows that is made while a cell is put and then its table renamed: whether the
/// table has its new name in it, or what is wrong.
fn beside_a_rename(seed: u64, broken: Option<Broken>) -> std::result::Result<bool, String> {
    let (told, is_renamed) = (Arc::new(std::sync::OnceLock::new()), TableName::parse("renamed").unwrap());
    let tell = Arc::clone(&told);
    let body = move || {
        let mut options = options(&SimEnv::new());
        options.broken = broken;
        let store = Arc::new(Store::open(options).unwrap());
        create(&store, FILES);
        put(&store, "r", "early", b"1");
        let (writer, to) = (Arc::clone(&store), is_renamed.clone());
        let writer = sync::spawn("writer", move || {
            put(&writer, "r", "late", b"2");
            writer.alter(CatalogueChange::RenameTable { from: table(), to }, Origin(0)).unwrap();
        });
        store.create_snapshot("s", None).unwrap();
        writer.unwrap().join().unwrap();
        let snapshot = of(&store, "s");
        let has_new_name = snapshot.catalogue().unwrap().tables.contains_key(&is_renamed);
        tell.set(has_new_name).unwrap();
        if has_new_name {
            for qualifier in ["early", "late"] {
                let key = ColumnKey { table: is_renamed.clone(), ..column("r", qualifier) };
                let cell = snapshot.newest(&key, TimeRange::ALL).unwrap();
                assert!(cell.is_some(), "`{qualifier}` was put before the rename, which the snapshot has");
            }
        } else {
            assert_eq!(newest(&*snapshot, "r", "early").unwrap(), b"1");
        }
    };
    match simulate(seed, Limits { steps: 1_000_000 }, body) {
        Ok(_) => Ok(*told.get().unwrap()),
        Err(failure) => Err(format!("seed {seed}: {}", failure.text)),
    }
}

#[test]
fn a_snapshot_with_a_rename_in_it_has_what_was_put_before() {
    let mut with = 0;
    for seed in 0..ORDERS {
        with += u64::from(beside_a_rename(seed, None).unwrap());
    }
    assert!(with > 0 && with < ORDERS, "{with} of {ORDERS} orders have the rename in the snapshot");
}

#[test]
fn a_snapshot_that_waits_for_no_rename_is_noticed() {
    let broken = Some(Broken::SnapshotsBesideChanges);
    let noticed = (0..ORDERS).find_map(|seed| beside_a_rename(seed, broken).err()).unwrap();
    assert!(noticed.contains("was put before the rename"), "{noticed}");
}
