//! What a check tells: all damage by file, offset and cell, and none that is none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::check;

pub fn findings(env: &SimEnv) -> (CheckSummary, Vec<Finding>) {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    let mut found = Vec::new();
    let mut tell = |event: CheckEvent| {
        if let CheckEvent::Finding(finding) = event {
            found.push(finding);
        }
        Ok(())
    };
    let summary = check::check(&env, "/store".as_ref(), &mut tell).unwrap();
    (summary, found)
}

fn segments(env: &SimEnv) -> Vec<String> {
    let mut names = env.list("/store/segments".as_ref()).unwrap();
    names.sort();
    names.into_iter().filter(|name| name.ends_with(".seg")).map(|name| format!("/store/segments/{name}")).collect()
}

#[test]
fn a_check_names_file_offset_and_cell() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", &[5; 700]);
    store.flush(None).unwrap();
    store.close().unwrap();
    assert_eq!(findings(&env).0.damages, 0);
    let path = segments(&env).pop().unwrap();
    let mut at = 0;
    env.damage(path.as_ref(), |bytes| {
        at = bytes.windows(700).position(|part| part == [5; 700]).unwrap();
        bytes[at + 3] ^= 1;
    })
    .unwrap();
    let (summary, found) = findings(&env);
    assert_eq!((summary.damages, found.len()), (1, 1), "{found:?}");
    assert_eq!((&found[0].file, found[0].offset), (&path, Some(at as u64)));
    assert!(found[0].cell.as_ref().unwrap().contains("t:f, row r, column q, version"), "{found:?}");
    let open = open(&env);
    assert_eq!(open.check(&mut |_| Ok(())).unwrap().damages, 1, "the same of an open store");
}

#[test]
fn a_check_looks_into_snapshots() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    put(&store, "r", "q", b"the old one");
    store.create_snapshot("s", None).unwrap();
    put(&store, "r", "q", b"the new one");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    store.close().unwrap();
    let path = segments(&env).remove(0);
    env.damage(path.as_ref(), |bytes| {
        let at = bytes.windows(11).position(|part| part == b"the old one").unwrap();
        bytes[at] ^= 1;
    })
    .unwrap();
    let (summary, found) = findings(&env);
    assert!(summary.damages > 0 && found.iter().all(|finding| finding.file == path), "{found:#?}");
    let store = open(&env);
    assert_eq!(value(&store, "r", "q").unwrap(), b"the new one");
    let kept = store.snapshot("s").unwrap();
    assert_eq!(kept.newest(&column("r", "q"), TimeRange::ALL).unwrap_err().kind, ErrorKind::Corrupt);
}

#[test]
fn a_check_beside_writes_tells_of_no_damage() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let (done, records) = (AtomicBool::new(false), AtomicU64::new(0));
    let checks = std::thread::scope(|scope| {
        let (store, done, records) = (&store, &done, &records);
        scope.spawn(move || {
            // Until a check has met the log, too.
            for n in (0..50_000u32).take_while(|n| *n < 250 || records.load(Ordering::Acquire) == 0) {
                let large: Vec<u8> =
                    (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ n as u8).collect();
                put(store, "r", &format!("q{}", n % 7), &[n as u8; 100]);
                put(store, "r", "large", &large);
                if n % 3 == 0 {
                    store.flush(None).unwrap();
                }
                if n % 7 == 0 {
                    store.compact(&table(), None, Major).unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut checks = 0;
        while !done.load(Ordering::Acquire) {
            let mut found = Vec::new();
            let mut tell = |event: CheckEvent| {
                if let CheckEvent::Finding(finding) = event {
                    found.push(finding.to_string());
                }
                Ok(())
            };
            let summary = store.check(&mut tell).unwrap();
            assert_eq!((summary.damages, summary.notes), (0, 0), "{found:?}");
            checks += 1;
            records.fetch_add(summary.records, Ordering::AcqRel);
        }
        checks
    });
    let records = records.into_inner();
    assert!(checks > 0 && records > 0, "{checks} checks, {records} records");
}

/// What the check of an open store tells.
fn findings_of(store: &Store) -> (CheckSummary, Vec<Finding>) {
    let mut found = Vec::new();
    let mut tell = |event: CheckEvent| {
        if let CheckEvent::Finding(finding) = event {
            found.push(finding);
        }
        Ok(())
    };
    (store.check(&mut tell).unwrap(), found)
}

#[test]
fn a_check_of_an_open_store_reads_its_log() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "before", b"in a file of the log that a later start reads again");
    store.sync().unwrap();
    store.close().unwrap();
    let store = open(&env);
    for n in 0..10 {
        put(&store, "r", &format!("q{n}"), format!("value number {n}").as_bytes());
    }
    let good = findings_of(&store);
    assert_eq!((good.0.damages, good.0.notes, good.1.len()), (0, 0, 0), "{:?}", good.1);
    assert!(good.0.records >= 11, "{:?}", good.0);
    // Values in the file that is written, one on the disk and one that nobody has synced; in the file of before; a
    // header of a record.
    store.sync().unwrap();
    put(&store, "r", "late", b"value of nobody");
    for (text, column) in [("value number 7", "q7"), ("value of nobody", "late"), ("in a file of", "before")] {
        let (path, at) = in_log(&env, text.as_bytes());
        flip(&env, &path, at + 3);
        let (summary, found) = findings_of(&store);
        assert_eq!((summary.damages, found.len()), (1, 1), "{text}: {found:?}");
        assert_eq!(found[0].file, path);
        assert!(found[0].cell.as_ref().unwrap().contains(&format!("row r, column {column}")), "{found:?}");
        flip(&env, &path, at + 3);
        assert_eq!(findings_of(&store).0.damages, 0);
    }
    let (path, at) = in_log(&env, b"value of nobody");
    let head = env_bytes(&env, path.as_ref())[..at].windows(4).rposition(|part| part == b"cRec").unwrap();
    flip(&env, &path, head + 5);
    assert_eq!(findings_of(&store).0.damages, 1, "the last record too");
    store.flush(None).unwrap();
    assert_eq!(findings_of(&store).0.damages, 0, "what is in extents needs no log");
    env.remove(in_log(&env, MAGIC).0.as_ref()).unwrap();
    put(&store, "r", "more", b"1");
    assert_eq!(findings_of(&store).0.damages, 1, "the file that is written is gone");
}

const MAGIC: &[u8] = b"CELLFLOG";

/// The newest file of the log in which bytes stand, and where.
fn in_log(env: &SimEnv, wanted: &[u8]) -> (String, usize) {
    let files = logs(env)
        .into_iter()
        .filter_map(|(path, bytes)| bytes.windows(wanted.len()).position(|part| part == wanted).map(|at| (path, at)));
    files.max().unwrap()
}

fn flip(env: &SimEnv, path: &str, at: usize) {
    env.damage(path.as_ref(), |bytes| bytes[at] ^= 4).unwrap();
}

#[test]
fn a_lost_end_of_the_log_is_told_until_somebody_knows() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "a", b"1");
    store.flush(None).unwrap();
    let before: Vec<(String, Vec<u8>)> = logs(&env);
    put(&store, "r", "b", b"2");
    store.sync().unwrap();
    drop(store);
    for (path, bytes) in logs(&env) {
        let old = before.iter().find(|(other, _)| *other == path).map_or(0, |(_, bytes)| bytes.len());
        assert!(bytes.len() >= old);
        env.damage(path.as_ref(), |bytes| {
            if let Some(at) = bytes.windows(4).rposition(|part| part == b"cRec") {
                bytes[at..].fill(0);
            }
        })
        .unwrap();
    }
    for round in 0..3 {
        let store = open(&env);
        if round == 0 {
            let error = store.status().unwrap().last_error.unwrap_or_default();
            assert!(error.contains("it was on the disk once") && error.contains("check"), "{error}");
        }
        put(&store, "r", &format!("after {round}"), b"3");
        store.close().unwrap();
        let (summary, found) = findings(&env);
        assert!(summary.damages > 0 && found.iter().any(|one| one.text.contains("acknowledges")), "{found:#?}");
    }
    let repaired = check::repair(options(&env), &mut |_| Ok(())).unwrap();
    assert!(repaired.done.iter().any(|text| text.contains("acknowledged")), "{:?}", repaired.done);
    assert_eq!(findings(&env).0.damages, 0, "{:#?}", findings(&env).1);
    let store = open(&env);
    assert_eq!(store.status().unwrap().last_error, None);
    for (name, expected) in [("a", Some(b"1".to_vec())), ("b", None), ("after 2", Some(b"3".to_vec()))] {
        assert_eq!(value(&store, "r", name), expected);
    }
}

fn logs(env: &SimEnv) -> Vec<(String, Vec<u8>)> {
    let names = env.list("/store/log".as_ref()).unwrap();
    let path = |name: &String| format!("/store/log/{name}");
    names.iter().map(|name| (path(name), env_bytes(env, path(name).as_ref()))).collect()
}

#[test]
fn what_a_compaction_has_taken_out_is_no_loss() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    for n in 0..12 {
        // The cells in the middle are replaced, those before and behind are not.
        let name = if (4..8).contains(&n) { "same".to_owned() } else { format!("q{n}") };
        put(&store, "r", &name, &[n; 250]);
        store.flush(None).unwrap();
    }
    let before = store.status().unwrap().segments;
    store.compact(&table(), None, Major).unwrap();
    assert!(store.status().unwrap().segments < before);
    store.close().unwrap();
    assert_eq!(findings(&env).0.damages, 0, "{:#?}", findings(&env).1);
}

#[test]
fn a_check_tells_rows_that_an_index_lacks() {
    let env = SimEnv::new();
    let mut settings = options(&env);
    settings.broken = Some(crate::store::options::Broken::WritesNoEntries);
    let store = Store::open(settings).unwrap();
    let mut wanted = schema(FILES);
    wanted.indexes.insert("i".into(), super::secondary::index("f:q"));
    store.alter(CatalogueChange::CreateTable(wanted), Origin(0)).unwrap();
    put(&store, "a", "q", b"one");
    put(&store, "b", "q", &[b'x'; 40_000]);
    put(&store, "b", "other", b"one");
    store.flush(None).unwrap();
    for n in 0..20 {
        put(&store, "c", "q", format!("{n}").as_bytes());
    }
    store.flush(None).unwrap();
    let told = |found: &[Finding]| -> Vec<String> { found.iter().map(ToString::to_string).collect() };
    let mut open_found = Vec::new();
    let summary = store.check(&mut |event| {
        if let CheckEvent::Finding(finding) = event {
            open_found.push(finding);
        }
        Ok(())
    });
    assert_eq!(summary.unwrap().damages, 11, "{:?}", told(&open_found));
    store.close().unwrap();
    let (summary, found) = findings(&env);
    assert_eq!(summary.damages, 11);
    let text = told(&found);
    assert!(text[0].starts_with("index i of table t: it has no entry of `one`"), "{text:?}");
    assert!(text[0].ends_with("(row a, column f:q)") && text[1].contains("row b"), "{text:?}");
    assert!(text[10].contains("22 versions have no entry"), "{text:?}");
    let repaired = check::repair(options(&env), &mut |_| Ok(())).unwrap();
    assert!(repaired.before.damages > 0);
    let store = open(&env);
    store.flush(None).unwrap();
    assert_eq!(super::secondary::rows_by(&store, b"one"), ["a"]);
    // Its entries are in the log alone.
    put(&store, "d", "q", b"two");
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    assert_eq!(findings(&env).0.damages, 0);
}

/// Of one place that makes no sense a power cut may be the cause, of both it is not.
#[test]
fn a_note_of_progress_that_makes_no_sense_is_told() {
    for (places, notes) in [(1, 0), (2, 1)] {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        put(&store, "r", "q", b"value");
        store.sync().unwrap();
        store.close().unwrap();
        env.damage("/store/progress".as_ref(), |bytes| {
            [0, 512].into_iter().take(places).for_each(|at| bytes[at..at + 28].fill(0xA5));
        })
        .unwrap();
        let shared: Arc<dyn Env> = Arc::new(env.clone());
        let checked = crate::store::check::check(&shared, "/store".as_ref(), &mut |_| Ok(())).unwrap();
        assert_eq!((checked.damages, checked.notes), (0, notes), "{places}");
        assert_eq!(value(&open(&env), "r", "q").unwrap(), b"value");
    }
}
