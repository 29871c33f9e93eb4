//! Cells written, read, unlinked, renamed, counted and scanned.

use super::*;
use crate::store::jobs::compact;

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
    let store = through_close_and_flush(&env, store, check);
    put(&store, "r3", "c", b"three");
    drop(store);
    let store = open(&env);
    assert_eq!(rows(&store), ["r1", "r2", "r3"]);
    store.close().unwrap();
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
    store.set_attributes(&column("r", ".tmp"), &temporary, &timed(mtime), Origin(0)).unwrap();
    let rename = RenameCell::newest(column("r", ".tmp"), column("r", "q"), RenameMode::Replace);
    assert_eq!(store.rename_cell(&rename).unwrap().tags.file.mtime(), mtime);
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
    check(&open(&env));
}

#[test]
fn attributes_of_a_version_change_without_a_new_version() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let cell = put(&store, "r", "q", b"value");
    let mtime = FileTime { seconds: -5, nanos: 7 };
    let set = store.set_attributes(&column("r", "q"), &cell, &timed(Some(mtime)), Origin(0)).unwrap();
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
fn what_comes_back_covers_nothing_that_was_written_meanwhile() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let back = |row: &str, shown| {
        let put = Mutation::Put(vec![put_cell("q", b"old", Time::AfterShown(shown))]);
        mutate(&store, row, put, Durability::SyncWal).map_err(|e| e.kind)
    };
    let newest = put(&store, "r", "q", b"new");
    assert_eq!(back("r", None), Err(ErrorKind::Overtaken));
    assert_eq!(back("r", Some((newest.timestamp.next(), newest.seq))), Err(ErrorKind::Overtaken));
    assert_eq!(value(&store, "r", "q").unwrap(), b"new");
    let cells =
        |row: &str| (row.as_bytes().to_vec(), vec![Mutation::Put(vec![put_cell("q", b"old", Time::AfterShown(None))])]);
    let rows = vec![cells("a"), cells("r")];
    let many = ManyRows { table: table(), rows, durability: None, origin: Origin(0), keeps_files: false };
    assert_eq!(store.mutate_rows(many).map_err(|e| e.kind), Err(ErrorKind::Overtaken));
    assert_eq!(value(&store, "a", "q"), None, "all or nothing");
    let again = back("r", Some((newest.timestamp, newest.seq))).unwrap().written.remove(0);
    assert!(again.timestamp > newest.timestamp);
    assert!(back("a", None).is_ok());
}

#[test]
fn counters_and_conditions_are_hbases() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[]);
    let increment = |delta| {
        let columns = vec![ColumnDelta { family: "f".to_owned(), qualifier: b"n".to_vec(), delta }];
        Mutation::Increment(Increment {
            columns,
            time: Time::Now,
            ttl_ms: None,
            file: FileChange::default(),
            time_range: TimeRange::ALL,
        })
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
    compact::compact_as_needed(&store.engine).unwrap();
    assert_eq!(store.status().unwrap().cells, 0);
    drop(store);
    assert_eq!(value(&open(&env), "r", "q"), None);
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
                    let one =
                        Increment { columns, time: Time::Now, ttl_ms: None, file: FileChange::default(), time_range };
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
