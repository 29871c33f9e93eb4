//! Tests of the store as a whole, on a simulated machine.

mod columns;
mod compaction;
mod damage;
mod dropped;
mod expiry;
mod snapshots;
mod torture;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Background, Store, StoreOptions};
use crate::ErrorKind;
use crate::backend::{Backend, RenameCell, RenameMode, RowListing, Versions};
use crate::env::{CrashMode, FailMode, SimEnv};
use crate::model::*;

fn options(env: &SimEnv) -> StoreOptions {
    let mut options = StoreOptions::new("/store");
    options.env = Arc::new(env.clone());
    options.background = Background::Off;
    options.compaction_cells = 3;
    options
}

fn open(env: &SimEnv) -> Store {
    Store::open(options(env)).unwrap()
}

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

fn schema(attributes: &[(&str, &str)]) -> TableSchema {
    let attributes: BTreeMap<String, String> =
        attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let family = FamilySchema {
        name: "f".into(),
        id: FamilyId(0),
        attributes,
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        rules: FamilyRules::default(),
    };
    TableSchema {
        name: table(),
        id: TableId(0),
        state: TableState::Enabled,
        attributes: BTreeMap::new(),
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        families: BTreeMap::from([("f".to_owned(), family)]),
    }
}

const FILES: &[(&str, &str)] = &[("VERSIONS", "10"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];

fn create(store: &Store, attributes: &[(&str, &str)]) {
    store.alter(CatalogueChange::CreateTable(schema(attributes)), Origin(0)).unwrap();
}

fn column(row: &str, qualifier: &str) -> ColumnKey {
    ColumnKey { table: table(), row: row.into(), family: "f".into(), qualifier: qualifier.into() }
}

fn put_cell(qualifier: &str, value: &[u8], time: Time) -> PutCell {
    PutCell {
        family: "f".into(),
        qualifier: qualifier.into(),
        time,
        value: Value::Bytes(value.to_vec()),
        ttl_ms: None,
        mtime: None,
        ended_at: None,
    }
}

fn mutate(store: &Store, row: &str, mutation: Mutation, durability: Durability) -> crate::Result<Mutated> {
    let mutations = RowMutations {
        table: table(),
        row: row.into(),
        mutations: vec![mutation],
        durability: Some(durability),
        origin: Origin(0),
    };
    store.mutate(mutations, None)
}

fn put(store: &Store, row: &str, qualifier: &str, value: &[u8]) -> CellInfo {
    let mutation = Mutation::Put(vec![put_cell(qualifier, value, Time::AfterNewest)]);
    mutate(store, row, mutation, Durability::SyncWal).unwrap().written.remove(0)
}

fn unlink(store: &Store, row: &str, qualifier: &str) {
    let kind = DeleteKind::Column { family: "f".into(), qualifier: qualifier.into() };
    let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
    mutate(store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
}

fn value(store: &Store, row: &str, qualifier: &str) -> Option<Vec<u8>> {
    let cell = store.newest(&column(row, qualifier), TimeRange::ALL).unwrap()?;
    Some(store.read_value(&cell, 0, usize::MAX).unwrap())
}

fn rows(store: &Store) -> Vec<String> {
    let (time_range, which) = (TimeRange::ALL, Versions::Live);
    let listing = RowListing { table: table(), after: None, before: vec![], time_range, which, limit: 10_000 };
    store.list_rows(&listing).unwrap().into_iter().map(|row| String::from_utf8(row).unwrap()).collect()
}

#[test]
fn what_was_put_is_read_before_and_after_flush_and_reopen() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r1", "a", b"one");
    put(&store, "r1", "a", b"two");
    put(&store, "r2", "b", &vec![7; 200_000]);
    let check = |store: &Store| {
        assert_eq!(value(store, "r1", "a").unwrap(), b"two");
        assert_eq!(value(store, "r2", "b").unwrap(), vec![7; 200_000]);
        assert_eq!(rows(store), ["r1", "r2"]);
        assert_eq!(store.list_families(&table(), b"r1", TimeRange::ALL, Versions::Live).unwrap(), ["f"]);
        let columns = store.list_columns(&table(), b"r1", "f", None, TimeRange::ALL, 10).unwrap();
        assert_eq!(columns.len(), 1);
        let versions = store.list_versions(&column("r1", "a"), Versions::Live, None, 10).unwrap();
        assert_eq!(versions.len(), 2);
        assert!(versions[0].timestamp > versions[1].timestamp);
        let piece = store.newest(&column("r2", "b"), TimeRange::ALL).unwrap().unwrap();
        assert_eq!(store.read_value(&piece, 199_990, 100).unwrap(), vec![7; 10]);
    };
    check(&store);
    store.close().unwrap();
    let store = open(&env);
    check(&store);
    store.flush(None).unwrap();
    check(&store);
    put(&store, "r3", "c", b"three");
    drop(store);
    let store = open(&env);
    assert_eq!(rows(&store), ["r1", "r2", "r3"]);
    store.close().unwrap();
    env.lose_index();
    let store = open(&env);
    assert_eq!(rows(&store), ["r1", "r2", "r3"]);
    assert_eq!(value(&store, "r1", "a").unwrap(), b"two");
}

#[test]
fn what_was_unlinked_is_gone_and_kept() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let old = put(&store, "r", "a", b"one");
    unlink(&store, "r", "a");
    for _ in 0..2 {
        assert_eq!(value(&store, "r", "a"), None);
        assert!(rows(&store).is_empty());
        let kept = store.list_versions(&column("r", "a"), Versions::LiveAndKept, None, 10).unwrap();
        assert_eq!(kept.len(), 1);
        assert!(kept[0].deleted_at.is_some());
        let past = store.newest(&column("r", "a"), TimeRange::at(old.timestamp)).unwrap().unwrap();
        assert_eq!(store.read_value(&past, 0, 10).unwrap(), b"one");
        store.flush(None).unwrap();
    }
}

#[test]
fn a_renamed_cell_shares_its_bytes_and_a_temporary_name_leaves_nothing() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    let temporary = put(&store, "r", ".tmp", b"new");
    let mtime = Some(FileTime { seconds: 1, nanos: 0 });
    store.set_attributes(&column("r", ".tmp"), &temporary, mtime, None, Origin(0)).unwrap();
    let rename = RenameCell {
        from: column("r", ".tmp"),
        from_version: None,
        to: column("r", "q"),
        to_version: None,
        mode: RenameMode::Replace,
        origin: Origin(0),
    };
    assert_eq!(store.rename_cell(&rename).unwrap().tags.mtime, mtime);
    let check = |store: &Store| {
        assert_eq!(value(store, "r", "q").unwrap(), b"new");
        assert_eq!(value(store, "r", ".tmp"), None);
        assert_eq!(store.list_versions(&column("r", "q"), Versions::Live, None, 9).unwrap().len(), 2);
        assert!(store.list_versions(&column("r", ".tmp"), Versions::LiveAndKept, None, 9).unwrap().is_empty());
    };
    check(&store);
    assert_eq!(store.rename_cell(&rename).unwrap_err().kind, ErrorKind::NotFound);
    store.flush(None).unwrap();
    check(&store);
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    check(&store);
    drop(store);
    env.lose_index();
    check(&open(&env));
}

#[test]
fn attributes_of_a_version_change_without_a_new_version() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let cell = put(&store, "r", "q", b"value");
    let mtime = FileTime { seconds: -5, nanos: 7 };
    let set = store.set_attributes(&column("r", "q"), &cell, Some(mtime), None, Origin(0)).unwrap();
    assert_eq!((set.timestamp, set.mtime()), (cell.timestamp, mtime));
    assert_eq!(store.list_versions(&column("r", "q"), Versions::Live, None, 9).unwrap().len(), 1);
    assert_eq!(value(&store, "r", "q").unwrap(), b"value");
}

#[test]
fn an_open_handle_ends_as_one_version() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let first = put(&store, "r", "q", b"1");
    let time = Time::Replacing { timestamp: first.timestamp, seq: first.seq };
    let again = Mutation::Put(vec![put_cell("q", b"2", time)]);
    let again = mutate(&store, "r", again, Durability::FsyncWal).unwrap().written.remove(0);
    assert_eq!(again.timestamp, first.timestamp);
    let stale = Mutation::Put(vec![put_cell("q", b"3", time)]);
    assert!(mutate(&store, "r", stale, Durability::FsyncWal).unwrap().written[0].timestamp > first.timestamp);
    assert_eq!(store.list_versions(&column("r", "q"), Versions::Live, None, 9).unwrap().len(), 2);
}

#[test]
fn counters_and_conditions_are_hbases() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[]);
    let increment = |delta| {
        let columns = vec![ColumnDelta { family: "f".to_owned(), qualifier: b"n".to_vec(), delta }];
        Mutation::Increment(Increment { columns, time: Time::Now, ttl_ms: None, time_range: TimeRange::ALL })
    };
    mutate(&store, "r", increment(5), Durability::SyncWal).unwrap();
    let result = mutate(&store, "r", increment(-7), Durability::SyncWal).unwrap();
    assert_eq!(result.results[0].value, (-2i64).to_be_bytes());
    put(&store, "r", "n", b"text");
    let error = mutate(&store, "r", increment(1), Durability::SyncWal).unwrap_err();
    assert_eq!(error.message, "Field is not a long, it's 4 bytes wide");
    let condition = |value: Option<&[u8]>| Condition::Column {
        family: "f".into(),
        qualifier: b"n".to_vec(),
        op: CompareOp::Equal,
        value: value.map(<[u8]>::to_vec),
        time_range: TimeRange::ALL,
    };
    let checked = |condition| {
        let mutations = vec![Mutation::Put(vec![put_cell("n", b"new", Time::Now)])];
        let mutations =
            RowMutations { table: table(), row: b"r".to_vec(), mutations, durability: None, origin: Origin(0) };
        store.mutate(mutations, Some(condition)).unwrap().applied
    };
    assert!(!checked(condition(None)));
    assert!(!checked(condition(Some(b"other"))));
    assert!(checked(condition(Some(b"text"))));
}

#[test]
fn a_second_opener_is_told_who_holds_the_store() {
    let env = SimEnv::new();
    let _store = open(&env);
    let error = Store::open(options(&env)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Locked);
    assert!(error.message.contains(&std::process::id().to_string()), "{}", error.message);
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_nothing_is_lost() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "before", b"1");
    env.fail_syncs();
    let last = Mutation::Put(vec![put_cell("last", b"2", Time::Now)]);
    assert_eq!(mutate(&store, "r", last.clone(), Durability::FsyncWal).unwrap_err().kind, ErrorKind::Poisoned);
    env.heal();
    assert_eq!(mutate(&store, "r", last, Durability::SyncWal).unwrap_err().kind, ErrorKind::Poisoned);
    assert_eq!(store.sync().unwrap_err().kind, ErrorKind::Poisoned);
    assert_eq!(value(&store, "r", "before").unwrap(), b"1");
}

#[test]
fn a_sync_that_fails_once_is_rescued_to_another_segment() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"acknowledged");
    // The next change is the sync itself.
    env.fail_call(1, FailMode::Once, libc::EIO);
    assert_eq!(store.sync().unwrap_err().kind, ErrorKind::Poisoned);
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "q").unwrap(), b"acknowledged");
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "a", b"1");
    env.set_space(Some(0));
    let big = || Mutation::Put(vec![put_cell("b", &[1; 5000], Time::Now)]);
    assert_eq!(mutate(&store, "r", big(), Durability::SyncWal).unwrap_err().kind, ErrorKind::NoSpace);
    assert_eq!(value(&store, "r", "b"), None);
    env.set_space(None);
    mutate(&store, "r", big(), Durability::FsyncWal).unwrap();
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "a").unwrap(), b"1");
    assert_eq!(value(&store, "r", "b").unwrap(), [1; 5000]);
}

/// Puts with a sync after each third; the machine stops at the k-th call.
fn crash_at(k: u64, mode: CrashMode) -> bool {
    let env = SimEnv::new();
    let mut first = options(&env);
    first.segment_bytes = 2000;
    first.memtable_bytes = 4000;
    let mut acknowledged = 0;
    let mut durable = 0;
    env.fail_call(k, FailMode::Forever, libc::EIO);
    if let Ok(store) = Store::open(first) {
        if store.alter(CatalogueChange::CreateTable(schema(FILES)), Origin(0)).is_ok() {
            for n in 0..60u32 {
                let durability = if n % 3 == 2 { Durability::FsyncWal } else { Durability::SyncWal };
                let cell = put_cell(&format!("q{n:03}"), &n.to_be_bytes().repeat(20), Time::Now);
                if mutate(&store, "r", Mutation::Put(vec![cell]), durability).is_err() {
                    break;
                }
                acknowledged = n + 1;
                durable = if n % 3 == 2 { n + 1 } else { durable };
            }
        }
        env.crash(mode);
    } else {
        env.crash(mode);
    }
    let finished = acknowledged == 60;
    let store = Store::open(options(&env)).unwrap_or_else(|e| panic!("crash at {k}: {e}"));
    let known = store.catalogue().unwrap().tables.contains_key(&table());
    assert!(known || durable == 0, "crash at {k}: the table is gone");
    if known {
        let found = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 1000).unwrap();
        assert!(found.len() as u32 >= durable, "crash at {k}: {} of {durable} durable cells", found.len());
        for (at, (qualifier, cell)) in found.iter().enumerate() {
            let n = at as u32;
            assert_eq!(qualifier, format!("q{n:03}").as_bytes(), "crash at {k}, {mode:?}: a hole");
            assert_eq!(store.read_value(cell, 0, 1000).unwrap(), n.to_be_bytes().repeat(20));
        }
        put(&store, "r", "after", b"fine");
    }
    finished
}

#[test]
fn a_crash_at_any_call_loses_nothing_durable_and_leaves_no_hole() {
    for mode in [
        CrashMode::LoseUnsynced,
        CrashMode::KeepSome { seed: 1 },
        CrashMode::KeepSome { seed: 2 },
        CrashMode::ProcessOnly,
    ] {
        let mut k = 1;
        while !crash_at(k, mode) {
            k += 1;
        }
        assert!(k > 60, "the workload has more calls than {k}");
    }
}

#[test]
fn a_damaged_segment_never_gives_a_wrong_byte() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..4 {
        put(&store, "r", &format!("q{n}"), format!("value {n}").as_bytes());
    }
    store.close().unwrap();
    let path = std::path::PathBuf::from("/store/segments/00000001.seg");
    let good = env_bytes(&env, &path);
    for at in 0..good.len() {
        env.damage(&path, |bytes| {
            *bytes = good.clone();
            bytes[at] ^= 0x10;
        })
        .unwrap();
        env.lose_index();
        let store = open(&env);
        for n in 0..4 {
            if let Some(cell) = store.newest(&column("r", &format!("q{n}")), TimeRange::ALL).unwrap() {
                match store.read_value(&cell, 0, 100) {
                    Ok(value) => assert_eq!(value, format!("value {n}").as_bytes(), "byte {at}"),
                    Err(e) => assert_eq!(e.kind, ErrorKind::Corrupt, "byte {at}: {e}"),
                }
            }
        }
    }
}

fn env_bytes(env: &SimEnv, path: &std::path::Path) -> Vec<u8> {
    use crate::env::Env;
    env.read_file(path).unwrap()
}

#[test]
fn scans_go_both_ways_and_gets_give_values() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..50 {
        put(&store, &format!("r{n:02}"), "q", &[n]);
        if n == 20 {
            store.flush(None).unwrap();
        }
    }
    unlink(&store, "r07", "q");
    let rows = |scan: Scan| -> Vec<String> {
        store.scan(&scan).unwrap().map(|r| String::from_utf8(r.unwrap().row).unwrap()).collect()
    };
    assert_eq!(rows(Scan::all(table())).len(), 49);
    let mut part = Scan { start: b"r05".to_vec(), stop: b"r09".to_vec(), ..Scan::all(table()) };
    assert_eq!(rows(part.clone()), ["r05", "r06", "r08"]);
    part.start_inclusive = false;
    part.stop_inclusive = true;
    assert_eq!(rows(part.clone()), ["r06", "r08", "r09"]);
    part.limit = Some(2);
    assert_eq!(rows(part), ["r06", "r08"]);
    let back = Scan { reversed: true, start: b"r09".to_vec(), stop: b"r05".to_vec(), ..Scan::all(table()) };
    assert_eq!(rows(back), ["r09", "r08", "r06"]);
    assert_eq!(rows(Scan { reversed: true, limit: Some(1), ..Scan::all(table()) }), ["r49"]);
    let get = Get { table: table(), row: b"r30".to_vec(), read: ReadSpec::default() };
    assert_eq!(store.get(&get).unwrap().cells[0].value, [30]);
}

#[test]
fn compaction_drops_what_is_covered_and_moves_what_is_alive() {
    let env = SimEnv::new();
    let mut small = options(&env);
    small.segment_bytes = 4000;
    let store = Store::open(small).unwrap();
    let rules = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    create(&store, &rules);
    for n in 0..100 {
        put(&store, "r", &format!("q{:02}", n % 50), format!("{n}").repeat(20).as_bytes());
        if n % 5 == 0 {
            put(&store, "r", &format!("keep{n}"), format!("kept {n}").as_bytes());
        }
    }
    let stale = store.newest(&column("r", "keep0"), TimeRange::ALL).unwrap().unwrap();
    let before = store.status().unwrap();
    store.flush(None).unwrap();
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    let after = store.status().unwrap();
    assert!(after.segment_bytes < before.segment_bytes * 2 / 3, "{} of {}", after.segment_bytes, before.segment_bytes);
    assert_eq!(after.cells, 70);
    assert_eq!(store.read_value(&stale, 0, 100).unwrap(), b"kept 0");
    let check = |store: &Store| {
        let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 1000).unwrap();
        assert_eq!(columns.len(), 70);
        for (qualifier, cell) in columns {
            let value = store.read_value(&cell, 0, 1000).unwrap();
            let name = String::from_utf8(qualifier).unwrap();
            match name.strip_prefix("keep") {
                Some(n) => assert_eq!(value, format!("kept {n}").as_bytes()),
                None => {
                    let n: u32 = name[1..].parse().unwrap();
                    assert_eq!(value, (n + 50).to_string().repeat(20).as_bytes());
                }
            }
        }
        assert_eq!(store.list_versions(&column("r", "q01"), Versions::LiveAndKept, None, 9).unwrap().len(), 1);
    };
    check(&store);
    store.close().unwrap();
    check(&open(&env));
    env.lose_index();
    check(&open(&env));
    env.crash(CrashMode::LoseUnsynced);
    check(&open(&env));
}

#[test]
fn a_dropped_table_leaves_nothing_and_its_name_starts_anew() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    store.flush(None).unwrap();
    store.alter(CatalogueChange::DropTable { name: table() }, Origin(0)).unwrap();
    assert_eq!(store.newest(&column("r", "q"), TimeRange::ALL).unwrap_err().kind, ErrorKind::NoSuchTable);
    create(&store, FILES);
    assert_eq!(value(&store, "r", "q"), None);
    store.engine.compact_as_needed().unwrap();
    assert_eq!(store.status().unwrap().cells, 0);
    drop(store);
    env.lose_index();
    assert_eq!(value(&open(&env), "r", "q"), None);
}

#[test]
fn deleting_works_on_a_full_disk() {
    use crate::env::Env;
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "a", &[1; 5000]);
    let space = env.disk_space(std::path::Path::new("/store")).unwrap();
    env.set_space(Some(space.total - space.free));
    let more = Mutation::Put(vec![put_cell("b", &[1; 50], Time::Now)]);
    assert_eq!(mutate(&store, "r", more, Durability::SyncWal).unwrap_err().kind, ErrorKind::NoSpace);
    unlink(&store, "r", "a");
    assert_eq!(value(&store, "r", "a"), None);
}

#[test]
fn writers_share_syncs_and_every_one_of_them_is_read() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..50 {
                    let cell = put_cell(&format!("q{n}"), &[n], Time::AfterNewest);
                    let put = Mutation::Put(vec![cell]);
                    mutate(store, &format!("r{writer}"), put, Durability::FsyncWal).unwrap();
                    let columns = vec![ColumnDelta { family: "f".into(), qualifier: b"n".to_vec(), delta: 1 }];
                    let time_range = TimeRange::ALL;
                    let one = Increment { columns, time: Time::Now, ttl_ms: None, time_range };
                    mutate(store, "counter", Mutation::Increment(one), Durability::SyncWal).unwrap();
                }
            });
        }
    });
    assert_eq!(value(&store, "counter", "n").unwrap(), 200i64.to_be_bytes());
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(&env);
    for writer in 0..4 {
        let row = format!("r{writer}");
        let found = store.list_columns(&table(), row.as_bytes(), "f", None, TimeRange::ALL, 100).unwrap();
        assert_eq!(found.len(), 50);
    }
}

#[test]
fn what_was_written_last_is_newest_whatever_the_clock_and_the_index_say() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let put_at = |qualifier: &str, value: &[u8], time: Time| {
        let mutation = Mutation::Put(vec![put_cell(qualifier, value, time)]);
        mutate(&store, "r", mutation, Durability::SyncWal).unwrap().written.remove(0)
    };
    let future = Timestamp(store.now().0 + 1_000_000);
    put_at("future", b"old", Time::At(future));
    put_at("plain", b"old", Time::AfterNewest);
    store.flush(None).unwrap();
    // The index holds a version later than the clock: both columns must look there.
    assert_eq!(put_at("future", b"new", Time::AfterNewest).timestamp, future.next());
    assert!(put_at("plain", b"new", Time::AfterNewest).timestamp < future);
    for (name, expected) in [("future", b"new"), ("plain", b"new")] {
        assert_eq!(value(&store, "r", name).as_deref(), Some(&expected[..]), "{name}");
    }
    // An unflushed version that is not later than one in the index does not hide it.
    put_at("future", b"ago", Time::At(Timestamp(5)));
    assert_eq!(value(&store, "r", "future").as_deref(), Some(&b"new"[..]));
    // The clock goes back behind what was flushed.
    store.flush(None).unwrap();
    env.set_now(Timestamp(store.now().0 - 500_000));
    let before = put_at("plain", b"late", Time::AfterNewest);
    assert_eq!(value(&store, "r", "plain").as_deref(), Some(&b"late"[..]));
    unlink(&store, "r", "plain");
    assert_eq!(value(&store, "r", "plain"), None);
    store.flush(None).unwrap();
    assert!(put_at("plain", b"again", Time::AfterNewest).timestamp > before.timestamp);
    assert_eq!(value(&store, "r", "plain").as_deref(), Some(&b"again"[..]));
    unlink(&store, "r", "future");
    assert_eq!(value(&store, "r", "future"), None);
}

#[test]
fn a_write_by_the_clock_replaces_what_was_written_in_haste() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..1000u32 {
        put(&store, "r", "q", &n.to_be_bytes());
    }
    let cell = put_cell("q", b"by the clock", Time::Now);
    mutate(&store, "r", Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
    assert_eq!(value(&store, "r", "q").unwrap(), b"by the clock");
    let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::Now, erases: false };
    mutate(&store, "r", Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
    assert_eq!(value(&store, "r", "q"), None);
    // A version in the far future does not take the clock with it.
    let future = Timestamp(store.now().0 + 1_000_000);
    mutate(&store, "s", Mutation::Put(vec![put_cell("q", b"f", Time::At(future))]), Durability::SyncWal).unwrap();
    assert!(put(&store, "s", "q", b"after").timestamp > future);
    let cell = put_cell("other", b"v", Time::Now);
    mutate(&store, "s", Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
    let other = store.newest(&column("s", "other"), TimeRange::ALL).unwrap().unwrap();
    assert!(other.timestamp < future);
}
