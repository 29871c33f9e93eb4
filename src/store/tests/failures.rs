//! What fails: another opener, a disk that refuses or is full, a crash, a damaged segment.

use super::*;

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

/// What has only one failed sync behind it.
fn rescued(env: &SimEnv, attributes: &[(&str, &str)]) -> Store {
    let store = open(env);
    create(&store, attributes);
    // The greater part of its segment, which no compaction rewrites.
    put(&store, "r", "stays", &[7; 200_000]);
    store.sync().unwrap();
    put(&store, "r", "q", b"written, and the sync of it failed");
    env.fail_call(1, FailMode::Once, libc::EIO);
    assert_eq!(store.sync().unwrap_err().kind, ErrorKind::Poisoned);
    store
}

#[test]
fn after_a_failed_sync_nothing_is_flushed_or_compacted() {
    let env = SimEnv::new();
    let store = rescued(&env, FILES);
    assert_eq!(store.flush(None).unwrap_err().kind, ErrorKind::Poisoned);
    assert_eq!(
        store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap_err().kind,
        ErrorKind::Poisoned
    );
    assert!(value(&store, "r", "q").is_some());
    drop(store);
    let store = open(&env);
    store.flush(None).unwrap();
    assert_eq!(value(&store, "r", "q").unwrap(), b"written, and the sync of it failed");
}

#[test]
fn what_was_written_twice_after_a_failed_sync_does_not_come_back() {
    let env = SimEnv::new();
    drop(rescued(&env, &[("VERSIONS", "1")]));
    let store = open(&env);
    unlink(&store, "r", "q");
    store.flush(None).unwrap();
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "q"), None);
    assert_eq!(value(&store, "r", "stays").unwrap(), [7; 200_000]);
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
}

#[test]
fn a_value_that_was_renamed_before_a_failed_sync_is_rescued_with_its_new_name() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "before", b"renamed");
    let rename = RenameCell::newest(column("r", "before"), column("r", "after"), RenameMode::Replace);
    store.rename_cell(&rename).unwrap();
    env.fail_call(1, FailMode::Once, libc::EIO);
    assert_eq!(store.sync().unwrap_err().kind, ErrorKind::Poisoned);
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "after").unwrap(), b"renamed");
    assert_eq!(value(&store, "r", "before"), None);
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

/// Puts with a sync after each third; the machine stops at the k-th call.
fn crash_at(k: u64, mode: CrashMode) -> bool {
    let env = SimEnv::new();
    let mut first = options(&env);
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
    store.flush(None).unwrap();
    let path = store.engine.structure.path(*store.engine.layout().state.files().first().unwrap());
    store.close().unwrap();
    let good = env_bytes(&env, &path);
    for at in 0..good.len() {
        env.damage(&path, |bytes| {
            *bytes = good.clone();
            bytes[at] ^= 0x10;
        })
        .unwrap();
        let store = open(&env);
        for n in 0..4 {
            let cell = store.newest(&column("r", &format!("q{n}")), TimeRange::ALL);
            let read = cell.and_then(|cell| store.read_value(&cell.expect("never absent in silence"), 0, 100));
            match read {
                Ok(value) => assert_eq!(value, format!("value {n}").as_bytes(), "byte {at}"),
                Err(e) => assert_eq!(e.kind, ErrorKind::Corrupt, "byte {at}: {e}"),
            }
        }
    }
}

#[test]
fn a_log_whose_header_is_damaged_is_read_by_its_records() {
    use crate::env::Env;
    for offset in [5, 15, 20, 40, 53] {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        put(&store, "r", "a", b"old");
        store.flush(None).unwrap();
        put(&store, "r", "a", b"new");
        put(&store, "r", "b", b"only");
        store.sync().unwrap();
        drop(store);
        let written = written_logs(&env);
        assert_eq!(written.len(), 1);
        env.damage(&written[0], |bytes| bytes[offset] ^= 0xFF).unwrap();
        let shared: Arc<dyn Env> = Arc::new(env.clone());
        let mut told = Vec::new();
        let looked = crate::store::check::check(&shared, "/store".as_ref(), &mut |event| {
            told.push(format!("{event:?}"));
            Ok(())
        });
        assert_eq!(looked.unwrap().damages, 1, "{offset}: {told:?}");
        let store = open(&env);
        assert_eq!(value(&store, "r", "a").unwrap(), b"new", "{offset}");
        assert_eq!(value(&store, "r", "b").unwrap(), b"only", "{offset}");
    }
}

/// Files of the log that hold records.
fn written_logs(env: &SimEnv) -> Vec<std::path::PathBuf> {
    use crate::env::Env;
    let dir = std::path::Path::new("/store/log");
    let logs = env.list(dir).unwrap().into_iter().map(|name| dir.join(name));
    logs.filter(|path| env_bytes(env, path).len() > 60).collect()
}

#[test]
fn a_log_of_nothing_but_noise_is_damage_and_stays() {
    use crate::env::Env;
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "a", b"old");
    store.flush(None).unwrap();
    put(&store, "r", "a", b"new");
    store.sync().unwrap();
    drop(store);
    let written = written_logs(&env);
    env.damage(&written[0], |bytes| bytes.fill(0xA5)).unwrap();
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let mut told = String::new();
    let looked = crate::store::check::check(&shared, "/store".as_ref(), &mut |event| {
        told += &format!("{event:?}");
        Ok(())
    });
    assert!(looked.unwrap().damages > 0 && told.contains("no file of this log, or damaged all over"), "{told}");
    let store = open(&env);
    let newest = store.newest(&column("r", "a"), TimeRange::ALL);
    assert_eq!(newest.map_err(|e| e.kind), Err(ErrorKind::Corrupt), "what was there before it is no answer");
    let said = store.status().unwrap().last_error.unwrap_or_default();
    assert!(said.contains("a record is damaged"), "{said}");
    drop(store);
    let kept = written[0].with_extension("log.damaged");
    assert!(env_bytes(&env, &kept).contains(&0xA5), "whoever can make something of it finds it no more");
}

/// A store with something in extents, in chunks and in the log alone.
fn with_all_kinds(env: &SimEnv) -> [(&'static str, Vec<u8>); 4] {
    let store = open(env);
    create(&store, FILES);
    let large: Vec<u8> = (0..60_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let cells = [("a", b"1".to_vec()), ("large", large.clone()), ("b", b"2".to_vec()), ("late", large)];
    for (at, (qualifier, value)) in cells.iter().enumerate() {
        put(&store, "r", qualifier, value);
        if at == 1 {
            store.flush(None).unwrap();
        }
    }
    store.sync().unwrap();
    cells
}

/// Opens a store whose `call`-th call fails: what it shows is right or an error, and all is there later. Whether it was
/// opened, and whether it has come to that call.
fn open_beside_a_failure(call: u64, errno: i32, is_look: bool) -> (bool, bool) {
    let env = SimEnv::new();
    let cells = with_all_kinds(&env);
    let count = |env: &SimEnv| if is_look { env.looks() } else { env.calls() };
    let before = count(&env);
    match is_look {
        true => env.fail_look(call, FailMode::Once, errno),
        false => env.fail_call(call, FailMode::Once, errno),
    }
    let first = Store::open(options(&env));
    let has_failed = count(&env) >= before + call;
    env.heal();
    let what = format!("call {call} (a look: {is_look}) fails with {errno}");
    for (qualifier, value) in &cells {
        let Ok(store) = &first else { break };
        let found = store.newest(&column("r", qualifier), TimeRange::ALL);
        let read = found.and_then(|cell| cell.map(|cell| store.read_value(&cell, 0, usize::MAX)).transpose());
        assert!(read.is_err() || read.is_ok_and(|read| read.as_ref() == Some(value)), "{what}: {qualifier}");
    }
    let is_open = first.is_ok();
    drop(first);
    let store = open(&env);
    for (qualifier, value) in &cells {
        assert!(super::value(&store, "r", qualifier).as_ref() == Some(value), "{what}: {qualifier}, later");
    }
    (is_open, has_failed)
}

#[test]
fn a_call_that_fails_once_in_an_open_hides_nothing() {
    for (errno, is_look) in [libc::EIO, libc::EMFILE, libc::EACCES].into_iter().flat_map(|e| [(e, true), (e, false)]) {
        let (mut opened, mut refused) = (0, 0);
        for call in 1.. {
            let (is_open, has_failed) = open_beside_a_failure(call, errno, is_look);
            if !has_failed {
                break;
            }
            *(if is_open { &mut opened } else { &mut refused }) += 1;
        }
        assert!(opened + refused > 10 && refused > 5, "{opened} opened, {refused} refused");
    }
}

/// A process that ends between making a file and the sync of its name leaves that sync to the next one.
#[test]
fn what_was_named_and_not_synced_is_by_the_next_process() {
    let large = |n: u8| vec![n; 100_000];
    for call in 0.. {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        store.sync().unwrap();
        env.fail_call(call, FailMode::Forever, libc::EIO);
        let put = |store: &Store, n| {
            let cell = put_cell("q", &large(n), Time::AfterNewest);
            mutate(store, "r", Mutation::Put(vec![cell]), Durability::SyncWal).and_then(|_| store.sync())
        };
        let ended = put(&store, 1).is_ok();
        env.crash(CrashMode::ProcessOnly);
        drop(store);
        let store = open(&env);
        store.sync().unwrap();
        env.crash(CrashMode::LoseUnsynced);
        drop(store);
        let store = open(&env);
        assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0, "call {call}");
        assert!(!ended || value(&store, "r", "q").unwrap() == large(1));
        if ended {
            break;
        }
    }
}
