//! Sectors that cannot be read any more, one after the other: what was acknowledged is there, or its read is an error.
//! Nothing older shows in its place, whether or not anything outside of the log knows how far that had come.

use std::path::Path;
use std::time::Instant;

use super::rig::{Image, Shown, image, large, shown, spread};
use super::*;
use crate::env::Env;

/// Bytes that are lost together.
const SECTOR: usize = 512;
const PROGRESS: &str = "/store/progress";

#[derive(Default)]
struct Tally {
    tried: usize,
    intact: usize,
    unreadable: usize,
    /// Stores that do not open.
    refused: usize,
    wrong: Vec<String>,
}

/// Opens the store twice, as the first open writes what it has found.
fn judge(tally: &mut Tally, (what, env): (&str, &SimEnv), good: &Shown) {
    tally.tried += 1;
    for opened in ["opened", "opened again"] {
        let store = match Store::open(options(env)) {
            Ok(store) => store,
            Err(e) => {
                assert!(matches!(e.kind, ErrorKind::Io | ErrorKind::Corrupt), "{what}: {e}");
                tally.refused += 1;
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
        judge(tally, (&format!("{name}, byte {at}"), &env), good);
    });
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let (tried, unreadable) = (sum(|tally| tally.tried), sum(|tally| tally.unreadable));
    println!(
        "sectors that cannot be read, {what}: {tried} tried, {} opens without a loss, {unreadable} versions unreadable, \
         {} stores do not open; {} s",
        sum(|tally| tally.intact),
        sum(|tally| tally.refused),
        began.elapsed().as_secs()
    );
    let wrong: Vec<&String> = tallies.iter().flat_map(|tally| &tally.wrong).collect();
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    assert!(tried > 20 && unreadable > 0);
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
