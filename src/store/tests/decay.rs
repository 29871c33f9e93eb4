//! Sectors that cannot be read any more, one after the other: what was acknowledged is there, or its read is an error.
//! Nothing older shows in its place, whether or not anything outside of the log knows how far that had come.

use std::path::Path;
use std::time::Instant;

use super::rig::{self, Image, Shown, image, large, shown, spread};
use super::*;
use crate::env::{Env, Fault, FaultPlan};
use crate::store::check;

/// Bytes that are lost together.
const SECTOR: usize = 512;
const PROGRESS: &str = "/store/progress";
const LOG: &str = "/store/log/";

#[derive(Default)]
struct Tally {
    tried: usize,
    intact: usize,
    unreadable: usize,
    wrong: Vec<String>,
    /// Of stores that were repaired.
    repaired: rig::Tally,
}

/// Opens the store twice, as the first open writes what it has found.
fn judge(tally: &mut Tally, (what, env): (&str, &SimEnv), good: &Shown) {
    tally.tried += 1;
    for opened in ["opened", "opened again"] {
        let store = match Store::open(options(env)) {
            Ok(store) => store,
            Err(e) => {
                tally.wrong.push(format!("{what}: {e}"));
                return;
            }
        };
        let now = shown(&store);
        let failed = |name: &str| now.get(&(name.to_owned(), 0)).is_some_and(Result::is_err);
        let mut unreadable = 0;
        for (place, value) in good {
            match now.get(place) {
                Some(same) if same == value => {}
                Some(Err(ErrorKind::Io | ErrorKind::Corrupt)) => unreadable += 1,
                None if failed(&place.0) => unreadable += 1,
                other => tally.wrong.push(format!("{what}, {opened}: {place:?} is {other:?}")),
            }
        }
        let back = now.iter().filter(|(place, value)| !good.contains_key(*place) && value.is_ok());
        tally.wrong.extend(back.map(|(place, value)| format!("{what}, {opened}: {place:?} came back as {value:?}")));
        if unreadable > 0 && store.status().unwrap().last_error.is_none() && store.check(&mut |_| Ok(())).is_ok() {
            let found = store.check(&mut |_| Ok(())).unwrap().damages;
            let untold =
                (found == 0).then(|| format!("{what}, {opened}: {unreadable} unreadable, and nothing is told"));
            tally.wrong.extend(untold);
        }
        tally.unreadable += unreadable;
        tally.intact += usize::from(unreadable == 0);
    }
}

fn try_all(image: &Image, good: &Shown, what: &str) {
    let began = Instant::now();
    let mut all: Vec<(String, usize)> = Vec::new();
    for name in image.names() {
        all.extend((0..image.bytes(&name).len()).step_by(SECTOR).map(|at| (name.clone(), at)));
    }
    let tallies = spread(all.len(), |n, tally: &mut Tally| {
        let (name, at) = &all[n];
        let env = image.machine();
        env.spoil(Path::new(name), *at as u64).unwrap();
        let what = format!("{name}, byte {at}");
        judge(tally, (&what, &env), good);
        if name.starts_with(LOG) {
            // As it was found, and as opens have left it.
            let fresh = image.machine();
            fresh.spoil(Path::new(name), *at as u64).unwrap();
            for env in [fresh, env] {
                tally.repaired.judge_repaired_machine(&what, &env, good);
                assert!(takes_changes(&env), "{what}");
            }
        }
    });
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let (tried, unreadable) = (sum(|tally| tally.tried), sum(|tally| tally.unreadable));
    println!(
        "sectors that cannot be read, {what}: {tried} tried, {} opens without a loss, {unreadable} versions unreadable, \
         {} s",
        sum(|tally| tally.intact),
        began.elapsed().as_secs()
    );
    let wrong: Vec<&String> = tallies.iter().flat_map(|tally| &tally.wrong).collect();
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    assert!(tried > 20 && unreadable > 0);
    tallies.iter().for_each(|tally| tally.repaired.assert_good());
    assert!(sum(|tally| tally.repaired.tried as usize) > 1);
}

/// Whether what is written to a store is there after a stop, and nothing is told of the store.
fn takes_changes(env: &SimEnv) -> bool {
    let store = open(env);
    put(&store, "row one", "since", b"the repair");
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(env);
    let is_there = value(&store, "row one", "since").is_some_and(|value| value == b"the repair");
    is_there && store.status().unwrap().last_error.is_none() && store.check(&mut |_| Ok(())).unwrap().damages == 0
}

/// The columns of a store whose log alone has them, one record each.
const MANY: usize = 24;

fn name(n: usize) -> String {
    format!("q{n:02}")
}

fn content(n: usize) -> Vec<u8> {
    format!("<content of {n:02}>").repeat(7 + n % 3 * 20).into_bytes()
}

/// A store that has stopped with its power, or as a process alone.
fn stopped(by: CrashMode) -> SimEnv {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    (0..MANY).for_each(|n| drop(put(&store, "r", &name(n), b"older")));
    store.flush(None).unwrap();
    (0..MANY).for_each(|n| drop(put(&store, "r", &name(n), &content(n))));
    if by != CrashMode::ProcessOnly {
        store.sync().unwrap();
    }
    env.crash(by);
    env
}

/// The newest file of the log, and its bytes.
fn log_file(env: &SimEnv) -> (String, Vec<u8>) {
    let names = env.list(LOG.as_ref()).unwrap();
    let path = format!("{LOG}{}", names.iter().filter(|name| name.ends_with(".log")).max().unwrap());
    let bytes = env.read_file(path.as_ref()).unwrap();
    (path, bytes)
}

/// Whether a sector has no byte of a column's record.
fn is_apart(bytes: &[u8], sector: usize, n: usize) -> bool {
    let value = content(n);
    let at = bytes.windows(value.len()).position(|part| part == value).unwrap();
    sector >= at + value.len() || sector + SECTOR <= at - 100
}

fn read(store: &Store, n: usize) -> Result<Option<Vec<u8>>, ErrorKind> {
    let newest = store.newest(&column("r", &name(n)), TimeRange::ALL).map_err(|e| e.kind)?;
    newest.map(|cell| store.read_value(&cell, 0, usize::MAX).map_err(|e| e.kind)).transpose()
}

#[test]
fn of_a_sector_of_the_log_that_cannot_be_read_its_own_records_are_lost_and_told() {
    for by in [CrashMode::LoseUnsynced, CrashMode::ProcessOnly] {
        let (path, bytes) = log_file(&stopped(by));
        let mut losses = 0;
        for sector in (0..bytes.len()).step_by(SECTOR) {
            let env = stopped(by);
            env.spoil(path.as_ref(), sector as u64).unwrap();
            let what = format!("{by:?}, sector at {sector} of {}", bytes.len());
            for start in 0..2 {
                let store = open(&env);
                let mut is_all_there = true;
                for n in 0..MANY {
                    let is_new = read(&store, n).is_ok_and(|read| read == Some(content(n)));
                    assert!(is_new || read(&store, n).is_err(), "{what}: {n} is {:?}", read(&store, n));
                    is_all_there &= is_new;
                }
                let is_told = store.status().unwrap().last_error.is_some();
                let is_found = store.check(&mut |_| Ok(())).unwrap().damages > 0;
                assert!(is_told || is_found || start > 0 && is_all_there, "{what}");
            }
            env.crash(CrashMode::LoseUnsynced);
            let repaired = check::repair(options(&env), &mut |_| Ok(())).unwrap();
            // Nothing is to be repaired where all that was in the sector is in another file too.
            assert_eq!(repaired.after.unwrap_or(repaired.before).damages, 0, "{what}: {:?}", repaired.done);
            let told = repaired.done.iter().any(|text| text.starts_with("lost of"));
            let store = open(&env);
            for n in 0..MANY {
                let found = read(&store, n);
                let is_there = found == Ok(Some(content(n)));
                assert!(is_there || told && !is_apart(&bytes, sector, n), "{what}: {n} is {found:?}");
                losses += usize::from(!is_there);
            }
        }
        assert!(losses > 10, "{losses}");
    }
}

#[test]
fn a_check_tells_where_the_log_cannot_be_read() {
    let env = stopped(CrashMode::LoseUnsynced);
    let (path, _) = log_file(&env);
    env.spoil(path.as_ref(), 1024).unwrap();
    let mut told = Vec::new();
    let disk: Arc<dyn Env> = Arc::new(env.clone());
    check::check(&disk, "/store".as_ref(), &mut |event| {
        if let crate::model::CheckEvent::Finding(finding) = event {
            told.push(finding.to_string());
        }
        Ok(())
    })
    .unwrap();
    assert!(told.iter().any(|text| text.contains(&path) && text.contains("byte 1024 cannot be read")), "{told:?}");
}

#[test]
fn a_log_that_cannot_be_read_for_a_moment_has_lost_nothing() {
    let looks = {
        let env = stopped(CrashMode::LoseUnsynced);
        let before = env.looks();
        drop(open(&env));
        env.looks() - before
    };
    for (at, mode) in (1..=looks).flat_map(|at| [(at, FailMode::Once), (at, FailMode::Forever)]) {
        let env = stopped(CrashMode::LoseUnsynced);
        env.fail_look(at, mode, libc::EIO);
        drop(Store::open(options(&env)));
        env.crash(CrashMode::LoseUnsynced);
        let store = open(&env);
        for n in 0..MANY {
            assert_eq!(read(&store, n), Ok(Some(content(n))), "look {at} of {looks} failed, {mode:?}");
        }
        assert_eq!(store.status().unwrap().last_error, None, "look {at} of {looks} failed, {mode:?}");
    }
}

#[test]
fn a_file_of_the_log_that_cannot_be_read_as_a_whole_is_kept_as_it_was() {
    let env = stopped(CrashMode::LoseUnsynced);
    let (path, bytes) = log_file(&env);
    env.spoil(path.as_ref(), 1024).unwrap();
    let store = open(&env);
    store.flush(None).unwrap();
    store.close().unwrap();
    check::repair(options(&env), &mut |_| Ok(())).unwrap();
    open(&env).close().unwrap();
    env.heal_sectors();
    assert_eq!(env.read_file(format!("{path}.damaged").as_ref()).unwrap(), bytes);
}

#[test]
fn a_sector_that_cannot_be_read_is_mended_or_an_error_never_an_older_value() {
    let (image, good) = image();
    try_all(&image, &good, "with what is noted of the log");
}

/// A power cut may take the note of how far the log had come, which is never synced.
#[test]
fn without_a_note_of_how_far_the_log_had_come_a_sector_that_cannot_be_read_is_no_end_of_it() {
    let (mut image, good) = image();
    image.file(PROGRESS).fill(0);
    try_all(&image, &good, "without");
}

/// The chunks of a record that was synced last are in a file that cannot be read: the record is no torn one.
#[test]
fn a_large_value_that_cannot_be_read_hides_no_other_and_no_older_one_shows() {
    for sector in 0..40 {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        put(&store, "r", "large", b"older");
        put(&store, "r", "later", b"older");
        store.sync().unwrap();
        put(&store, "r", "large", &large(1));
        put(&store, "r", "later", b"newer");
        store.sync().unwrap();
        drop(store);
        env.crash(CrashMode::LoseUnsynced);
        let blobs = env.list("/store/blobs".as_ref()).unwrap();
        env.spoil(&Path::new("/store/blobs").join(&blobs[0]), sector * SECTOR as u64).unwrap();
        for opened in 0..2 {
            let store = open(&env);
            let cell = store.newest(&column("r", "large"), TimeRange::ALL).unwrap().unwrap();
            let read = store.read_value(&cell, 0, usize::MAX);
            assert!(read.as_ref().is_ok_and(|read| *read == large(1)) || read.is_err(), "{sector}, {opened}: {read:?}");
            assert_eq!(value(&store, "r", "later").unwrap(), b"newer", "sector {sector}, open {opened}");
        }
    }
}

/// A store of which one sector of the log has two puts of a column, and the number of what was loaded between them; the log's
/// file, and where that sector is; whether records follow. `None`: those records lie in two sectors.
fn written_between(pad: usize, after: usize) -> Option<(SimEnv, String, u64)> {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "x", "q", &vec![b'.'; pad]);
    put(&store, "r", "q", b"<second>");
    let mut load = store.bulk_load(&table()).unwrap().unwrap();
    let loaded = put_cell("q", b"<third>", Time::At(store.now().next()));
    assert!(load.put(&b"r".to_vec(), vec![loaded]).unwrap().is_none());
    load.commit().unwrap();
    put(&store, "r", "q", b"<fourth>");
    (0..2 * after).for_each(|_| drop(put(&store, "y", "q", &[b'.'; SECTOR])));
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let (path, bytes) = log_file(&env);
    let sector_of = |value: &[u8]| bytes.windows(value.len()).position(|part| part == value).map(|at| at / SECTOR);
    let (second, fourth) = (sector_of(b"<second>")?, sector_of(b"<fourth>")?);
    (second == fourth).then_some((env, path, (second * SECTOR) as u64))
}

#[test]
fn of_several_records_in_a_lost_sector_none_is_taken_for_older_than_what_was_loaded_between_them() {
    let mut tried = 0;
    let all = (0..SECTOR).step_by(32).flat_map(|pad| [written_between(pad, 0), written_between(pad, 1)]);
    for (env, path, sector) in all.flatten() {
        env.spoil(path.as_ref(), sector).unwrap();
        let store = open(&env);
        let newest = store.newest(&column("r", "q"), TimeRange::ALL).map_err(|e| e.kind);
        assert_eq!(newest.unwrap_err(), ErrorKind::Corrupt, "<fourth> is lost, and it was the newest");
        tried += 1;
    }
    assert!(tried > 4, "{tried}");
}

#[test]
fn a_segment_that_never_came_to_the_disk_takes_the_place_of_nothing() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"older");
    store.flush(None).unwrap();
    put(&store, "r", "q", b"newer");
    for is_flush in [true, false] {
        let step = || match is_flush {
            true => store.flush(None),
            false => store.compact(&table(), None, crate::backend::CompactionKind::Major),
        };
        let log = "/store/log".into();
        env.plan_faults(FaultPlan { seed: 1, one_in: 1, faults: vec![Fault::WriteLost], lasting: false, log });
        assert_eq!(step().unwrap_err().kind, ErrorKind::Io);
        env.heal();
        assert_eq!(value(&store, "r", "q").unwrap(), b"newer");
        step().unwrap();
        assert_eq!(value(&store, "r", "q").unwrap(), b"newer");
    }
    // Of the log the disk has lost something too, and that is told.
    let told = |event| {
        if let CheckEvent::Finding(finding) = event {
            assert!(!finding.file.ends_with(".seg"), "{finding}");
        }
        Ok(())
    };
    store.check(&mut { told }).unwrap();
}
