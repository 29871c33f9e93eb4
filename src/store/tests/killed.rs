//! A process that was killed leaves the log as it wrote it: what is not whole there is damage, also where nothing was synced.
//! After a power cut the same bytes may be what the disk had not got to.

use super::rig::{Image, large};
use super::*;
use crate::env::Env;

/// The values of three columns, each of which hides one that is in a segment.
const NEW: [&[u8]; 3] = [b"newer 0", b"newer 1", b"newer 2"];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// The machine after its store's process was killed, with what was put last in the log alone, not synced; the next file
/// of the log was made ahead.
fn killed_after(puts: &[(&str, &[u8])]) -> Image {
    let env = SimEnv::new();
    let store = open(&env.process());
    create(&store, &[]);
    NAMES.iter().for_each(|name| drop(put(&store, "r", name, b"older")));
    store.close().unwrap();
    let store = open(&env.process());
    for (name, value) in puts {
        let new = Mutation::Put(vec![put_cell(name, value, Time::AfterNewest)]);
        mutate(&store, "r", new, Durability::AsyncWal).unwrap();
    }
    store.engine.log.make_spare(store.engine.structure.next_number().unwrap()).unwrap();
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    Image::of(&env)
}

fn killed() -> Image {
    let puts: Vec<_> = NAMES.into_iter().zip(NEW).collect();
    killed_after(&puts)
}

fn log_of(image: &Image) -> String {
    let is_begun = |name: &String| name.ends_with(".log") && !image.bytes(name).is_empty();
    image.names().into_iter().filter(is_begun).max().unwrap()
}

/// Where the records of the log end; behind them is room that was taken ahead.
fn end_of_records(image: &Image) -> usize {
    let bytes = image.bytes(&log_of(image));
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(end < bytes.len());
    end
}

/// As after each command on a store that is not mounted.
#[test]
fn a_store_that_ends_in_order_leaves_no_room_behind_its_log() {
    for is_closed in [false, true] {
        let env = SimEnv::new();
        let store = open(&env.process());
        create(&store, &[]);
        put(&store, "r", "a", b"1");
        let log = log_of(&Image::of(&env));
        let len = || env.read_file(log.as_ref()).unwrap().len() as u64;
        let written = store.engine.log.written_files().last().unwrap().end.unwrap();
        assert!(len() > written);
        if is_closed {
            store.close().unwrap()
        } else {
            drop(store)
        }
        assert_eq!(len(), written, "{is_closed}");
    }
}

/// What each column shows after an open, and after another.
fn shown(env: &SimEnv) -> Vec<Vec<Result<Vec<u8>, ErrorKind>>> {
    let look = |store: &Store, name: &str| {
        let cell = store.newest(&column("r", name), TimeRange::ALL)?.unwrap();
        store.read_value(&cell, 0, usize::MAX)
    };
    let open_once = |_| {
        let store = open(&env.process());
        let all = NAMES.iter().map(|name| look(&store, name).map_err(|e| e.kind)).collect();
        env.crash(CrashMode::ProcessOnly);
        all
    };
    (0..2).map(open_once).collect()
}

#[test]
fn no_flipped_bit_of_what_was_not_synced_shows_an_older_value() {
    let image = killed();
    let log = log_of(&image);
    assert!(
        shown(&image.machine()).iter().flatten().zip(NEW.iter().cycle()).all(|(got, new)| got.as_deref() == Ok(new))
    );
    let (mut whole, mut refused) = (0, 0);
    for at in 0..end_of_records(&image) {
        let mut damaged = image.clone();
        damaged.file(&log)[at] ^= 1 << (at % 8);
        let env = damaged.machine();
        // A look at it, and a start that fails, change nothing.
        let dir = std::path::Path::new("/store");
        let shared: Arc<dyn Env> = Arc::new(env.clone());
        let mut found = 0;
        for _ in 0..2 {
            found = crate::store::check::check(&shared, dir, &mut |_| Ok(())).unwrap().damages;
            env.fail_look(25, FailMode::Forever, libc::EIO);
            assert!(Store::open(options(&env.process())).is_err(), "byte {at}");
            env.heal();
        }
        assert!(found > 0, "byte {at}");
        for (got, new) in shown(&env).into_iter().flatten().zip(NEW.iter().cycle()) {
            match got {
                Ok(value) => {
                    assert_eq!(value.escape_ascii().to_string(), new.escape_ascii().to_string(), "byte {at}");
                    whole += 1;
                }
                Err(ErrorKind::Corrupt) => refused += 1,
                Err(other) => panic!("byte {at}: {other:?}"),
            }
        }
    }
    assert!(whole > 0 && refused > 0, "{whole} {refused}");
}

/// The process may have been killed within a write, of which nobody was told that it was done.
#[test]
fn a_record_that_was_being_written_is_left_out_without_a_word() {
    let image = killed();
    let log = log_of(&image);
    let last = image.bytes(&log).windows(4).rposition(|four| four == b"cRec").unwrap();
    let end = end_of_records(&image);
    for len in last..end {
        let mut cut = image.clone();
        cut.file(&log).truncate(len);
        leaves_the_last_out(&cut, &format!("cut to {len}"));
        // In room that was taken ahead its first bytes come last.
        for missing in [last..last + 4, len.max(last + 4)..end] {
            let mut part = image.clone();
            part.file(&log)[last..last + 4].fill(0);
            part.file(&log)[missing.clone()].fill(0);
            leaves_the_last_out(&part, &format!("without {missing:?}"));
        }
    }
}

/// As where a disk has put it elsewhere.
#[test]
fn a_record_of_which_only_a_part_without_its_header_is_there_was_there() {
    let image = killed();
    let log = log_of(&image);
    let last = image.bytes(&log).windows(4).rposition(|four| four == b"cRec").unwrap();
    for missing in [last..last + 5, last..last + 32, last..last + 40] {
        let mut part = image.clone();
        part.file(&log)[missing.clone()].fill(0);
        // What tells how far the log has come is not there either.
        part.file("/store/progress").iter_mut().for_each(|byte| *byte ^= 0x55);
        for got in shown(&part.machine()).iter().map(|shown| &shown[2]) {
            let is_right = got.as_ref().map_or_else(|e| *e == ErrorKind::Corrupt, |value| value == NEW[2]);
            assert!(is_right, "without {missing:?}: {got:?}");
        }
    }
}

fn leaves_the_last_out(image: &Image, what: &str) {
    let env = image.machine();
    let shared: Arc<dyn Env> = Arc::new(env.clone());
    let checked = crate::store::check::check(&shared, "/store".as_ref(), &mut |_| Ok(())).unwrap();
    assert_eq!(checked.damages, 0, "{what}");
    let store = open(&env);
    assert_eq!(value(&store, "r", "b").unwrap(), NEW[1], "{what}");
    assert_eq!(value(&store, "r", "c").unwrap(), b"older", "{what}");
    assert_eq!(store.status().unwrap().last_error, None, "{what}");
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0, "{what}");
}

#[test]
fn a_log_of_which_nothing_is_whole_hides_what_was_before() {
    let mut image = killed_after(&[("a", NEW[0])]);
    // What tells how far the log has come is not there either.
    for name in [log_of(&image), "/store/progress".to_owned()] {
        image.file(&name).iter_mut().for_each(|byte| *byte ^= 0x55);
    }
    for got in shown(&image.machine()).into_iter().flatten() {
        assert_eq!(got, Err(ErrorKind::Corrupt));
    }
}

/// Chunks that a record refers to were written before it.
#[test]
fn a_large_value_whose_chunks_are_damaged_hides_the_older_one() {
    let mut image = killed_after(&[("a", &large(1)), ("b", b"small")]);
    let blob = image.names().into_iter().filter(|name| name.ends_with(".blob")).max().unwrap();
    let middle = image.bytes(&blob).len() / 2;
    image.file(&blob)[middle] ^= 1;
    let store = open(&image.machine());
    let read = store.newest(&column("r", "a"), TimeRange::ALL);
    let read = read.and_then(|cell| store.read_value(&cell.unwrap(), 0, usize::MAX));
    assert_eq!(read.map_err(|e| e.kind), Err(ErrorKind::Corrupt));
    assert_eq!(value(&store, "r", "b").unwrap(), b"small");
}

/// A rename refers to the chunks of a value again: what is wrong with them by then is damage, and behind it may be what
/// was synced, though the note of that is gone.
#[test]
fn a_chunk_that_was_on_the_disk_once_ends_no_log() {
    for (is_flushed, is_sealed) in [(false, false), (true, false), (true, true)] {
        let env = SimEnv::new();
        let mut store = open(&env.process());
        create(&store, &[]);
        put(&store, "r", "a", &large(1));
        store.sync().unwrap();
        if is_flushed {
            store.flush(None).unwrap();
        }
        if is_sealed {
            store.close().unwrap();
            store = open(&env.process());
        }
        let noted = env.read_file("/store/progress".as_ref()).unwrap();
        let rename = RenameCell::newest(column("r", "a"), column("r", "b"), RenameMode::Replace);
        store.rename_cell(&rename).unwrap();
        put(&store, "r", "c", b"last");
        store.sync().unwrap();
        env.crash(CrashMode::ProcessOnly);
        drop(store);
        let mut image = Image::of(&env);
        *image.file("/store/progress") = noted;
        let blob = image.names().into_iter().find(|name| name.ends_with(".blob")).unwrap();
        image.file(&blob)[10_000] ^= 1;
        let env = image.machine();
        env.crash(CrashMode::LoseUnsynced);
        let store = open(&env);
        assert_eq!(value(&store, "r", "c").as_deref(), Some(&b"last"[..]), "{is_flushed} {is_sealed}");
        let moved = store.newest(&column("r", "b"), TimeRange::ALL);
        let read = moved.and_then(|cell| store.read_value(&cell.unwrap(), 0, usize::MAX));
        assert_eq!(read.map_err(|e| e.kind), Err(ErrorKind::Corrupt), "{is_flushed} {is_sealed}");
        assert_eq!(store.newest(&column("r", "a"), TimeRange::ALL).unwrap(), None, "{is_flushed} {is_sealed}");
    }
}

/// A start that does not end has sealed the file of large values without what never came.
#[test]
fn chunks_that_never_came_end_the_log_whatever_starts_have_failed_before() {
    let env = SimEnv::new();
    let store = open(&env.process());
    create(&store, &[]);
    let (older, newer) = (large(1), large(2));
    put(&store, "r", "a", &older);
    store.sync().unwrap();
    let noted = env.read_file("/store/progress".as_ref()).unwrap();
    let blob = Image::of(&env).names().into_iter().find(|name| name.ends_with(".blob")).unwrap();
    let came = env.read_file(blob.as_ref()).unwrap().len();
    put(&store, "r", "a", &newer);
    put(&store, "r", "b", b"behind");
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let mut image = Image::of(&env);
    *image.file("/store/progress") = noted;
    image.file(&blob).truncate(came);
    for call in 0..60 {
        let env = image.machine();
        env.crash(CrashMode::LoseUnsynced);
        env.fail_call(call, FailMode::Forever, libc::EIO);
        drop(Store::open(options(&env.process())));
        env.heal();
        env.crash(CrashMode::ProcessOnly);
        let store = open(&env);
        assert!(value(&store, "r", "a").is_some_and(|read| read == older), "after call {call}");
        assert_eq!(value(&store, "r", "b"), None, "after call {call}");
    }
}

/// A store whose chunks of what was put last did not come to the disk; `synced`: what was put behind that says that they did.
fn without_last_chunks(synced: bool) -> Image {
    let env = SimEnv::new();
    let store = open(&env.process());
    create(&store, &[]);
    put(&store, "r", "a", &large(1));
    store.sync().unwrap();
    let noted = env.read_file("/store/progress".as_ref()).unwrap();
    let blob = Image::of(&env).names().into_iter().find(|name| name.ends_with(".blob")).unwrap();
    let came = env.read_file(blob.as_ref()).unwrap().len();
    put(&store, "r", "c", b"kept");
    put(&store, "r", "a", &large(2));
    if synced {
        store.sync().unwrap();
    }
    put(&store, "r", "b", b"behind");
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let mut image = Image::of(&env);
    *image.file("/store/progress") = noted;
    image.file(&blob).truncate(came);
    image
}

#[test]
fn a_check_tells_what_the_next_start_leaves_out_for_want_of_chunks() {
    let env = without_last_chunks(false).machine();
    env.crash(CrashMode::LoseUnsynced);
    let (before, found) = super::checks::findings(&env);
    assert_eq!((before.damages, before.notes, found.len()), (0, 1, 1), "{found:#?}");
    assert!(found[0].file.ends_with(".log") && found[0].offset.is_some(), "{found:#?}");
    let text = "what was written last was never whole; the next start leaves it out: 2 records";
    assert!(found[0].text.starts_with(text), "{found:#?}");
    assert_eq!((before.records, before.entries), (2, 2));
    let store = open(&env);
    assert!(value(&store, "r", "a").is_some_and(|read| read == large(1)));
    assert_eq!((value(&store, "r", "b"), value(&store, "r", "c")), (None, Some(b"kept".to_vec())));
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    // Records that were written again are in two files now, and count once.
    let (after, found) = super::checks::findings(&env);
    assert_eq!((after.damages, after.notes, after.records, after.entries), (0, 0, 2, 2), "{found:#?}");
    let store = open(&env);
    let open_now = store.check(&mut |_| Ok(())).unwrap();
    assert_eq!((open_now.damages, open_now.notes, open_now.records, open_now.entries), (0, 0, 2, 2));
}

#[test]
fn a_check_tells_of_lost_chunks_of_what_the_next_start_keeps() {
    let env = without_last_chunks(true).machine();
    env.crash(CrashMode::LoseUnsynced);
    let (before, found) = super::checks::findings(&env);
    assert!(before.damages > 0, "{found:#?}");
    assert!(found[0].cell.as_ref().is_some_and(|cell| cell.contains("row r, column a")), "{found:#?}");
    let store = open(&env);
    let told = store.status().unwrap().last_error.unwrap_or_default();
    assert!(told.contains("of this file") || told.contains("chunk"), "{told}");
    assert_eq!(value(&store, "r", "b"), Some(b"behind".to_vec()));
    let read = store.newest(&column("r", "a"), TimeRange::ALL).and_then(|cell| store.read_value(&cell.unwrap(), 0, 9));
    assert_eq!(read.map_err(|e| e.kind), Err(ErrorKind::Corrupt), "what was acknowledged is an error");
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let (after, found) = super::checks::findings(&env);
    assert_eq!(
        (after.damages, after.records, after.entries),
        (before.damages, before.records, before.entries),
        "{found:#?}"
    );
}

#[test]
fn what_a_power_cut_has_torn_ends_the_log() {
    let mut image = killed();
    let log = log_of(&image);
    let second = image.bytes(&log).windows(4).enumerate().filter(|(_, four)| four == b"cRec").nth(1).unwrap().0;
    image.file(&log)[second + 40] ^= 1;
    let env = image.machine();
    env.crash(CrashMode::LoseUnsynced);
    // Killed before the log was read: what is found then is what the power cut has left.
    env.fail_call(12, FailMode::Forever, libc::EIO);
    assert!(Store::open(options(&env.process())).is_err());
    env.crash(CrashMode::ProcessOnly);
    for shown in shown(&env) {
        assert_eq!(shown, [Ok(NEW[0].to_vec()), Ok(b"older".to_vec()), Ok(b"older".to_vec())]);
    }
    assert_eq!(env.read_file("/store/boot".as_ref()).unwrap(), b"simulated 1\n");
}

/// The file that a power cut has torn stays until its cells are in segments; what stands behind the torn record in it does
/// not count, whoever is killed next.
#[test]
fn a_kill_after_a_power_cut_brings_nothing_back_from_behind_the_torn_end() {
    let env = SimEnv::new();
    let store = open(&env.process());
    create(&store, &[]);
    put(&store, "r", "a", b"synced");
    for name in ["b", "c"] {
        let new = Mutation::Put(vec![put_cell(name, b"not synced", Time::AfterNewest)]);
        mutate(&store, "r", new, Durability::AsyncWal).unwrap();
    }
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let mut image = Image::of(&env);
    let log = log_of(&image);
    let second = image.bytes(&log).windows(4).enumerate().filter(|(_, four)| four == b"cRec").nth(1).unwrap().0;
    image.file(&log)[second + 40] ^= 1;
    let env = image.machine();
    env.crash(CrashMode::LoseUnsynced);
    for _ in 0..3 {
        let store = open(&env.process());
        assert_eq!(value(&store, "r", "a").unwrap(), b"synced");
        assert_eq!([value(&store, "r", "b"), value(&store, "r", "c")], [None, None]);
        assert_eq!(store.status().unwrap().last_error, None);
        env.crash(CrashMode::ProcessOnly);
    }
}
