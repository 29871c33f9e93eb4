//! Mtimes that say no more than the timestamp are not stored, and shown all the same, wherever a version goes.

use super::*;
use crate::backend::{Directory, Leaves};

const SECOND: Timestamp = Timestamp(1000);

fn put_at(store: &Store, qualifier: &str, timestamp: Timestamp, mtime: Option<FileTime>) -> CellInfo {
    let cell = put_cell(qualifier, b"v", Time::At(timestamp));
    let put = PutCell { file: FileChange::of_time(mtime).into(), ..cell };
    mutate(store, "r", Mutation::Restore(Box::new(put)), Durability::SyncWal).unwrap().written.remove(0)
}

/// What is stored, and what is shown.
fn mtimes(cell: &CellInfo) -> (Option<FileTime>, FileTime) {
    (cell.tags.file.mtime(), cell.mtime())
}

#[test]
fn an_mtime_that_is_the_timestamp_is_not_stored() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let (plain, beside) = (FileTime { seconds: 1, nanos: 0 }, FileTime { seconds: 1, nanos: 1 });
    assert_eq!(mtimes(&put_at(&store, "plain", SECOND, Some(plain))), (None, plain));
    assert_eq!(mtimes(&put_at(&store, "beside", SECOND, Some(beside))), (Some(beside), beside));
    // Set on a version, and back.
    let set = |name: &str, cell: &CellInfo, time: FileTime| {
        mtimes(&store.set_attributes(&column("r", name), cell, &timed(Some(time)), Origin(0)).unwrap())
    };
    let cell = put_at(&store, "set", SECOND, None);
    assert_eq!(set("set", &cell, beside), (Some(beside), beside));
    assert_eq!(set("set", &cell, plain), (None, plain));
    // What else was set stays.
    let mode = FileChange { mode: Some(0o600), mtime: Some(plain), ..FileChange::default() };
    let put = PutCell { file: mode.into(), ..put_cell("mode", b"v", Time::At(SECOND)) };
    let done = mutate(&store, "r", Mutation::Put(vec![put]), Durability::SyncWal).unwrap().written.remove(0);
    assert_eq!((done.tags.file.mode(), done.tags.file.mtime()), (Some(0o600), None));
}

#[test]
fn a_version_ahead_of_the_clock_keeps_the_mtime_that_it_was_given() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let ahead = Timestamp(store.now().0 + 1_000_000);
    let time = FileTime::from(ahead);
    let cell = put_at(&store, "ahead", ahead, Some(time));
    assert_eq!(mtimes(&cell), (Some(time), time), "without it, it gets the clock's");
    let mode = AttributeChange { file: FileChange { mode: Some(0o600), ..FileChange::default() }, ttl_ms: None };
    let set = store.set_attributes(&column("r", "ahead"), &cell, &mode, Origin(0)).unwrap();
    assert_eq!(mtimes(&set), (Some(time), time));
}

#[test]
fn a_version_whose_time_another_has_keeps_the_time_of_its_write_as_mtime() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let made = store.now();
    put_at(&store, "q", made, None);
    put_at(&store, "log", made, None);
    env.advance(50);
    let written = |name: &str, mutation: Mutation| {
        let cell = mutate(&store, "r", mutation, Durability::SyncWal).unwrap().written.remove(0);
        assert_eq!((cell.timestamp, cell.mtime()), (made.next(), made.into()), "{name}");
    };
    written("q", Mutation::Put(vec![put_cell("q", b"v", Time::AfterNewestSince(made))]));
    let delta = ColumnDelta { family: "f".into(), qualifier: b"log".to_vec(), delta: b"v".to_vec() };
    let append = Append { time: Time::AfterNewestSince(made), ..Append::to_newest(vec![delta]) };
    written("log", Mutation::Append(append));
}

#[test]
fn a_version_shows_its_mtime_wherever_it_is_moved() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let time = FileTime::from(SECOND);
    let shown = |qualifier: &str, range: TimeRange| {
        store.newest(&column("r", qualifier), range).unwrap().map(|cell| mtimes(&cell))
    };
    put_at(&store, "q", SECOND, Some(time));
    // Away to the present, to another version, back to its own time, exchanged, with its row.
    let rename = RenameCell::newest(column("r", "q"), column("r", "p"), RenameMode::Replace);
    store.rename_cell(&rename).unwrap();
    assert_eq!(shown("p", TimeRange::ALL), Some((Some(time), time)));
    let moved = |from: &str, to: &str, to_version: Timestamp| {
        let rename = RenameCell::newest(column("r", from), column("r", to), RenameMode::Replace);
        store.rename_cell(&RenameCell { to_version: Some(to_version), leaves: Leaves::History, ..rename }).unwrap();
        shown(to, TimeRange::at(to_version)).unwrap()
    };
    assert_eq!(moved("p", "version", Timestamp(2000)), (Some(time), time));
    assert_eq!(moved("version", "back", SECOND), (None, time));
    assert_eq!(moved("back", "again", Timestamp(3000)), (Some(time), time));
    assert_eq!(moved("again", "one", SECOND), (None, time));
    put_at(&store, "other", Timestamp(5000), None);
    store.rename_cell(&RenameCell::newest(column("r", "one"), column("r", "other"), RenameMode::Exchange)).unwrap();
    assert_eq!(shown("other", TimeRange::ALL), Some((Some(time), time)));
    assert_eq!(shown("one", TimeRange::ALL).map(|(_, shown)| shown), Some(Timestamp(5000).into()));
    let row = |row: &str| Directory { table: table(), row: row.into(), family: None };
    put_at(&store, "stays", SECOND, Some(time));
    store.rename_directory(&row("r"), &row("s"), Origin(0)).unwrap();
    let cell = store.newest(&column("s", "stays"), TimeRange::ALL).unwrap().unwrap();
    assert_eq!((cell.timestamp, mtimes(&cell)), (SECOND, (None, time)));
}

#[test]
fn a_version_tells_when_something_was_set_on_it_last() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let cell = put(&store, "r", "q", b"v");
    assert_eq!(cell.ctime(), cell.timestamp.into());
    env.advance(5000);
    let mode = |mode| AttributeChange { file: FileChange { mode: Some(mode), ..FileChange::default() }, ttl_ms: None };
    let set = store.set_attributes(&column("r", "q"), &cell, &mode(0o600), Origin(0)).unwrap();
    assert!(set.timestamp == cell.timestamp && set.mtime() == cell.mtime());
    assert!(Timestamp::from(set.ctime()).0 >= cell.timestamp.0 + 5000, "{:?}", set.ctime());
    // What it has already changes nothing.
    env.advance(5000);
    let same = store.set_attributes(&column("r", "q"), &set, &mode(0o600), Origin(0)).unwrap();
    assert_eq!((same.ctime(), same.seq), (set.ctime(), set.seq));
    drop(store);
    let store = open(&env);
    assert_eq!(store.newest(&column("r", "q"), TimeRange::ALL).unwrap().unwrap().ctime(), set.ctime());
    let next = put(&store, "r", "q", b"w");
    assert_eq!(next.ctime(), next.timestamp.into());
}
