//! After a repair a store opens, reads and checks clean; what is lost is listed, and nothing else is.

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::check;

/// Blocks of a few cells each.
const SMALL: &[(&str, &str)] = &[("VERSIONS", "10"), ("NEW_VERSION_BEHAVIOR", "true"), ("BLOCKSIZE", "1024")];

/// What a user sees of a column.
fn seen(store: &Store, qualifier: &str) -> Result<Option<Vec<u8>>, ErrorKind> {
    let newest = store.newest(&column("r", qualifier), TimeRange::ALL).map_err(|e| e.kind)?;
    newest.map(|cell| store.read_value(&cell, 0, usize::MAX).map_err(|e| e.kind)).transpose()
}

fn name(n: usize) -> String {
    format!("q{n:02}")
}

fn content(n: usize) -> Vec<u8> {
    format!("<content of {n:02}>").repeat(if n == 7 { 50 } else { 8 }).into_bytes()
}

/// Forty columns in an extent of many blocks, the seventh with a value in the value area.
fn many(env: &SimEnv) -> Store {
    let store = open(env);
    create(&store, SMALL);
    for n in 0..40 {
        put(&store, "r", &name(n), &content(n));
    }
    store.flush(None).unwrap();
    store
}

/// The files in a directory of the store whose names end so.
fn files(env: &SimEnv, dir: &str, end: &str) -> Vec<String> {
    let names = env.list(format!("/store/{dir}").as_ref()).unwrap();
    let mut found: Vec<String> = names.iter().filter(|name| name.ends_with(end)).cloned().collect();
    found.sort();
    found.into_iter().map(|name| format!("/store/{dir}/{name}")).collect()
}

fn segment(env: &SimEnv) -> String {
    files(env, "segments", ".seg").pop().unwrap()
}

/// Changes a byte of what stands somewhere in a file.
fn damage(env: &SimEnv, path: &str, what: &[u8]) {
    env.damage(path.as_ref(), |bytes| {
        let at = bytes.windows(what.len()).position(|part| part == what).unwrap();
        bytes[at + what.len() / 2] ^= 0x20;
    })
    .unwrap();
}

fn repair(env: &SimEnv) -> check::Repaired {
    check::repair(options(env), &mut |_| Ok(())).unwrap()
}

/// Damages that a check of the closed store finds.
fn damages(env: &SimEnv) -> u64 {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    check::check(&env, "/store".as_ref(), &mut |_| Ok(())).unwrap().damages
}

/// Repairs, and looks that nothing is left; the sentences of what is lost.
fn lost(env: &SimEnv) -> Vec<String> {
    let repaired = repair(env);
    assert!(repaired.before.damages > 0);
    assert_eq!(repaired.after.unwrap().damages, 0, "{:?}", repaired.done);
    assert_eq!(damages(env), 0);
    assert_eq!(repair(env).before.damages, 0, "a second one has nothing to do");
    assert_eq!(open(env).status().unwrap().last_error, None);
    repaired.done.into_iter().filter(|text| text.starts_with("lost of")).collect()
}

#[test]
fn of_a_damaged_block_its_cells_are_lost_and_listed() {
    let env = SimEnv::new();
    many(&env).close().unwrap();
    let path = segment(&env);
    damage(&env, &path, b"<content of 20>");
    let store = open(&env);
    assert_eq!(seen(&store, &name(20)), Err(ErrorKind::Corrupt));
    assert_eq!(seen(&store, &name(1)), Ok(Some(content(1))));
    assert!(store.compact(&table(), None, Major).is_err(), "what is damaged is not compacted away");
    store.close().unwrap();
    let lost = lost(&env);
    assert!(lost.len() == 1 && lost[0].contains("t:f") && lost[0].contains("row r"), "{lost:?}");
    assert_eq!(files(&env, "segments", ".damaged"), [format!("{path}.damaged")]);
    let store = open(&env);
    let left: Vec<usize> = (0..40).filter(|n| seen(&store, &name(*n)) == Ok(Some(content(*n)))).collect();
    assert!((30..40).contains(&left.len()) && !left.contains(&20), "{left:?}");
    for n in (0..40).filter(|n| !left.contains(n)) {
        assert_eq!(seen(&store, &name(n)), Ok(None));
    }
    put(&store, "r", &name(20), b"again");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(seen(&store, &name(20)), Ok(Some(b"again".to_vec())));
}

#[test]
fn of_a_damaged_value_that_cell_alone_is_lost_and_named() {
    let env = SimEnv::new();
    many(&env).close().unwrap();
    damage(&env, &segment(&env), b"<content of 07>");
    let lost = lost(&env);
    assert!(lost.len() == 1 && lost[0].contains("row r, column q07, version"), "{lost:?}");
    let store = open(&env);
    for n in 0..40 {
        assert_eq!(seen(&store, &name(n)), Ok(Some(content(n)).filter(|_| n != 7)));
    }
}

#[test]
fn what_can_be_made_again_costs_no_cell() {
    let whole = SimEnv::new();
    many(&whole).close().unwrap();
    let path = segment(&whole);
    let bytes = env_bytes(&whole, path.as_ref());
    // Behind the blocks come index, filter, list of groups, qualifiers, chunks, sketch, and the trailers.
    let last = bytes.windows(15).rposition(|part| part == b"<content of 39>").unwrap() + 15;
    let mut tried = 0;
    for at in (last + 64..bytes.len()).step_by(41).filter(|at| bytes[*at] != 0) {
        let env = SimEnv::new();
        many(&env).close().unwrap();
        env.damage(path.as_ref(), |bytes| bytes[at] ^= 1).unwrap();
        if damages(&env) == 0 {
            continue;
        }
        tried += 1;
        assert_eq!(lost(&env), Vec::<String>::new(), "byte {at}");
        let store = open(&env);
        assert!((0..40).all(|n| seen(&store, &name(n)) == Ok(Some(content(n)))), "byte {at}");
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn a_segment_that_is_gone_or_nothing_but_noise_is_an_error_until_a_repair_lists_it() {
    for missing in [false, true] {
        let env = SimEnv::new();
        let store = many(&env);
        let path = segment(&env);
        put(&store, "r", "later", b"whole");
        store.flush(None).unwrap();
        store.close().unwrap();
        match missing {
            true => env.remove(path.as_ref()).unwrap(),
            false => env.damage(path.as_ref(), |bytes| bytes.fill(7)).unwrap(),
        }
        let store = open(&env);
        assert_eq!(seen(&store, &name(3)), Err(ErrorKind::Corrupt));
        assert!(
            store
                .list_rows(&RowListing {
                    table: table(),
                    after: None,
                    before: vec![],
                    time_range: TimeRange::ALL,
                    which: Versions::Live,
                    limit: 9
                })
                .is_err()
        );
        store.close().unwrap();
        let lost = lost(&env);
        assert!(lost.len() == 1 && lost[0].contains("all that it had of t:f"), "{lost:?}");
        assert_eq!(files(&env, "segments", ".damaged").len(), usize::from(!missing));
        let store = open(&env);
        assert_eq!(seen(&store, &name(3)), Ok(None));
        assert_eq!(seen(&store, "later"), Ok(Some(b"whole".to_vec())));
    }
}

#[test]
fn a_snapshot_keeps_what_is_whole() {
    let env = SimEnv::new();
    let store = many(&env);
    store.create_snapshot("s", None).unwrap();
    for n in 0..40 {
        put(&store, "r", &name(n), b"new");
    }
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    store.close().unwrap();
    damage(&env, &files(&env, "segments", ".seg")[0], b"<content of 20>");
    assert_eq!(lost(&env).len(), 1);
    let store = open(&env);
    let kept = store.snapshot("s").unwrap();
    let of = |n: usize| kept.newest(&column("r", &name(n)), TimeRange::ALL).unwrap();
    assert!(of(20).is_none());
    assert_eq!(kept.read_value(&of(1).unwrap(), 0, 1000).unwrap(), content(1));
    assert_eq!(seen(&store, &name(20)), Ok(Some(b"new".to_vec())));
    store.delete_snapshot("s").unwrap();
    store.close().unwrap();
    assert_eq!(damages(&env), 0);
}

#[test]
fn a_repair_that_is_stopped_anywhere_can_be_made_again() {
    for crash in [CrashMode::ProcessOnly, CrashMode::LoseUnsynced] {
        let mut stopped = 0;
        for call in 1.. {
            let env = SimEnv::new();
            many(&env).close().unwrap();
            damage(&env, &segment(&env), b"<content of 07>");
            env.fail_call(call, FailMode::Forever, libc::EIO);
            let done = check::repair(options(&env), &mut |_| Ok(())).is_ok();
            env.crash(crash);
            env.heal();
            stopped += u64::from(!done);
            repair(&env);
            assert_eq!(damages(&env), 0);
            let store = open(&env);
            for n in 0..40 {
                assert_eq!(seen(&store, &name(n)), Ok(Some(content(n)).filter(|_| n != 7)), "call {call}");
            }
            if done {
                break;
            }
        }
        assert!(stopped > 10, "{stopped}");
    }
}

/// Bytes that are not alike, so that chunks are not shared.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn of_a_large_value_the_damaged_part_is_an_error_and_its_version_is_named() {
    let env = SimEnv::new();
    let store = many(&env);
    let large = noise(400_000);
    put(&store, "r", "large", &large);
    store.flush(None).unwrap();
    store.close().unwrap();
    let blob = files(&env, "blobs", ".blob").pop().unwrap();
    damage(&env, &blob, &large[1000..1064]);
    let repaired = repair(&env);
    assert!(repaired.done.iter().any(|text| text.contains("row r, column large, version")), "{:?}", repaired.done);
    assert_eq!(repaired.after.unwrap().notes, 1, "nothing has a second copy of it");
    let store = open(&env);
    assert_eq!(seen(&store, "large"), Err(ErrorKind::Corrupt));
    let cell = store.newest(&column("r", "large"), TimeRange::ALL).unwrap().unwrap();
    assert_eq!(store.read_value(&cell, 390_000, 1000).unwrap(), large[390_000..391_000]);
    unlink(&store, "r", "large");
}

#[test]
fn the_header_of_a_blob_costs_nothing() {
    let env = SimEnv::new();
    let store = many(&env);
    put(&store, "r", "large", &noise(40_000));
    store.flush(None).unwrap();
    // Not closed: one that is sealed is not written again.
    drop(store);
    let blob = files(&env, "blobs", ".blob").pop().unwrap();
    env.damage(blob.as_ref(), |bytes| bytes[9] ^= 1).unwrap();
    let store = open(&env);
    assert_eq!(seen(&store, "large"), Ok(Some(noise(40_000))));
    store.close().unwrap();
    assert_eq!(damages(&env), 0, "an open has mended it");
}

#[test]
fn a_damaged_record_of_the_log_is_listed_and_the_others_stay() {
    let env = SimEnv::new();
    let store = many(&env);
    for name in ["one", "two", "three"] {
        put(&store, "r", name, format!("the value of {name}").as_bytes());
    }
    store.sync().unwrap();
    put(&store, "r", "four", b"which says that those before are on the disk");
    store.sync().unwrap();
    drop(store);
    let log = files(&env, "log", ".log").into_iter().find(|path| {
        let bytes = env_bytes(&env, path.as_ref());
        bytes.windows(16).any(|part| part == b"the value of two")
    });
    damage(&env, &log.unwrap(), b"the value of two");
    let mut told = Vec::new();
    let mut tell = |event: CheckEvent| {
        if let CheckEvent::Finding(finding) = event {
            told.push(finding.to_string());
        }
        Ok(())
    };
    let repaired = check::repair(options(&env), &mut tell).unwrap();
    assert!(told.iter().any(|text| text.contains("row r, column two")), "{told:?}");
    assert!(repaired.done.iter().any(|text| text.starts_with("lost of the log")), "{:?}", repaired.done);
    assert_eq!(repaired.after.unwrap().damages, 0);
    let store = open(&env);
    assert_eq!(store.status().unwrap().last_error, None);
    assert_eq!(seen(&store, "two"), Ok(None));
    for name in ["one", "three"] {
        assert_eq!(seen(&store, name), Ok(Some(format!("the value of {name}").into_bytes())));
    }
    assert!(seen(&store, "four").unwrap().is_some());
}

#[test]
fn damage_that_reads_meet_is_told_and_counted() {
    let env = SimEnv::new();
    many(&env).close().unwrap();
    damage(&env, &segment(&env), b"<content of 07>");
    let store = open(&env);
    assert_eq!((store.status().unwrap().damaged_reads, store.status().unwrap().last_error), (0, None));
    assert_eq!(seen(&store, &name(7)), Err(ErrorKind::Corrupt));
    assert!(store.scan(&Scan::all(table())).unwrap().any(|row| row.is_err()));
    let get = Get { table: table(), row: b"r".to_vec(), read: ReadSpec::default() };
    assert!(store.get(&get).is_err());
    store.create_snapshot("s", None).unwrap();
    let kept = store.snapshot("s").unwrap();
    let cell = kept.newest(&column("r", &name(7)), TimeRange::ALL).unwrap().unwrap();
    assert!(kept.read_value(&cell, 0, 10).is_err());
    let status = store.status().unwrap();
    assert_eq!(status.damaged_reads, 4);
    let text = status.last_error.unwrap();
    assert!(text.contains("offset ") && text.contains("cellfs check /store"), "{text}");
    assert_eq!(seen(&store, &name(8)), Ok(Some(content(8))));
    assert_eq!(store.status().unwrap().damaged_reads, 4);
}

#[test]
fn damage_is_told_until_what_was_damaged_is_gone() {
    let told = |store: &Store| store.status().unwrap().last_error;
    // A segment: until nothing has it.
    let env = SimEnv::new();
    many(&env).close().unwrap();
    damage(&env, &segment(&env), b"<content of 07>");
    assert!(damages(&env) > 0);
    let store = open(&env);
    assert_eq!(seen(&store, &name(7)), Err(ErrorKind::Corrupt));
    assert!(told(&store).unwrap().contains("the check of"));
    store.alter(CatalogueChange::DropTable { name: table() }, Origin::default()).unwrap();
    assert_eq!(told(&store), None);
    assert!(!env.exists("/store/damage".as_ref()).unwrap());
    // A large value: until another has taken its place and the old one is compacted away.
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let large = noise(400_000);
    put(&store, "r", "large", &large);
    store.flush(None).unwrap();
    store.close().unwrap();
    damage(&env, &files(&env, "blobs", ".blob").pop().unwrap(), &large[1000..1064]);
    assert!(damages(&env) > 0);
    let store = open(&env);
    assert_eq!(seen(&store, "large"), Err(ErrorKind::Corrupt));
    assert!(told(&store).is_some());
    put(&store, "r", "large", b"written anew");
    assert!(told(&store).is_some(), "the bytes are there still");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(told(&store), None);
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    // What reads have met is told no longer when a check finds nothing.
    let env = SimEnv::new();
    many(&env).close().unwrap();
    let path = segment(&env);
    let good = env_bytes(&env, path.as_ref());
    damage(&env, &path, b"<content of 07>");
    let store = open(&env);
    assert_eq!(seen(&store, &name(7)), Err(ErrorKind::Corrupt));
    assert!(told(&store).is_some());
    env.damage(path.as_ref(), |bytes| bytes.copy_from_slice(&good)).unwrap();
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    assert_eq!(told(&store), None);
}
