//! Compactions in slices: each is whole by itself, whatever ends the compaction, and needs little room.

use std::collections::BTreeSet;

use super::*;
use crate::backend::CompactionKind::Major;
use crate::backend::{Existing, Restoration};
use crate::store::jobs::{compact, make_room};
use crate::store::space::{level, reserve};

const ROWS: usize = 40;

fn sliced(env: &SimEnv, segment_bytes: u64) -> Store {
    let mut options = options(env);
    options.segment_bytes = segment_bytes;
    Store::open(options).unwrap()
}

/// Bytes at which flushes end a segment, and compactions a slice.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    flushed: u64,
    merged: u64,
}

/// A segment for each row, so that slices end where segments do.
const ROW_BY_ROW: Sizes = Sizes { flushed: 4000, merged: 4000 };
/// Slices end in the midst of what they read, whose rest goes on counting.
const ACROSS: Sizes = Sizes { flushed: 256 << 20, merged: 9000 };

/// Three runs that all reach over all rows; every third row is deleted.
fn filled(env: &SimEnv, sizes: Sizes) -> Store {
    let store = sliced(env, sizes.flushed);
    // What has been written is counted a block at a time.
    let block = if sizes.flushed > sizes.merged { "1024" } else { "65536" };
    create(&store, &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true"), ("BLOCKSIZE", block)]);
    for round in 0..3_u8 {
        for n in 0..ROWS {
            put(&store, &format!("r{n:02}"), "q", &[round; 600]);
        }
        store.flush(None).unwrap();
    }
    (0..ROWS).step_by(3).for_each(|n| unlink(&store, &format!("r{n:02}"), "q"));
    store.flush(None).unwrap();
    drop(store);
    sliced(env, sizes.merged)
}

/// Whether room was given back within a segment.
fn is_punched(env: &SimEnv) -> bool {
    use crate::env::Env;
    let dir = std::path::Path::new("/store/segments");
    let files = env.list(dir).unwrap().into_iter().map(|name| env_bytes(env, &dir.join(name)));
    files.into_iter().any(|bytes| bytes.chunks(4096).any(|unit| unit.len() == 4096 && unit.iter().all(|b| *b == 0)))
}

fn is_trimmed(store: &Store) -> bool {
    store.engine.layout().extents().any(|extent| extent.is_trimmed())
}

/// Versions of a row, each with its time.
type ShownRow = Vec<(i64, Vec<u8>)>;

fn shown(store: &dyn Backend, table: &TableName) -> Vec<(usize, ShownRow)> {
    let of_row = |n: usize| {
        let column = ColumnKey {
            table: table.clone(),
            row: format!("r{n:02}").into(),
            family: "f".into(),
            qualifier: "q".into(),
        };
        let versions = store.list_versions(&column, Versions::Live, None, 9).unwrap();
        let read = |cell: &CellInfo| store.read_value(cell, 0, 10_000).unwrap();
        (n, versions.iter().map(|cell| (cell.timestamp.0, read(cell))).collect())
    };
    (0..ROWS).map(of_row).collect()
}

fn is_half_merged(store: &Store) -> bool {
    store.engine.layout().families().any(|(_, runs)| runs.is_half_merged())
}

#[test]
fn slices_come_to_what_one_merge_comes_to() {
    let of = |sizes| {
        let env = SimEnv::new();
        let store = filled(&env, sizes);
        let before = shown(&store, &table());
        store.compact(&table(), None, Major).unwrap();
        assert_eq!(shown(&store, &table()), before);
        assert!(!is_half_merged(&store));
        let extents = store.engine.layout().extents().count();
        (before, store.status().unwrap().cells, extents)
    };
    let whole = of(Sizes { flushed: 256 << 20, merged: 256 << 20 });
    assert_eq!((whole.1, whole.2), ((ROWS - ROWS.div_ceil(3)) as u64 * 2, 1));
    for sizes in [ROW_BY_ROW, ACROSS] {
        let slices = of(sizes);
        assert_eq!(whole.1, slices.1);
        assert!(slices.2 > 1, "{} extents of {sizes:?}", slices.2);
    }
}

#[test]
fn a_compaction_that_ends_in_the_middle_shows_the_same_and_goes_on_later() {
    end_in_the_middle(ROW_BY_ROW);
}

#[test]
fn a_compaction_that_ends_in_the_middle_of_what_it_reads_goes_on_there() {
    end_in_the_middle(ACROSS);
}

fn end_in_the_middle(sizes: Sizes) {
    let calls = {
        let env = SimEnv::new();
        let store = filled(&env, sizes);
        let before = env.calls();
        store.compact(&table(), None, Major).unwrap();
        env.calls() - before
    };
    let (mut halves, mut trimmed, mut punched) = (0, 0, 0);
    for call in 1..=calls {
        let env = SimEnv::new();
        let store = filled(&env, sizes);
        let before = shown(&store, &table());
        env.fail_call(call, FailMode::Once, libc::ENOENT);
        let done = store.compact(&table(), None, Major);
        env.heal();
        if store.status().unwrap().poisoned.is_some() {
            continue;
        }
        assert_eq!(shown(&store, &table()), before, "call {call}");
        if done.is_err() && is_half_merged(&store) {
            halves += 1;
            trimmed += usize::from(is_trimmed(&store));
            punched += usize::from(is_punched(&env));
            // What a snapshot has seen half merged it always has.
            store.create_snapshot("half", None).unwrap();
            let existing = Existing::Refuse;
            let copy = TableName::parse("copy").unwrap();
            let restoration = Restoration { snapshot: "half".into(), tables: vec![(table(), copy.clone())], existing };
            store.restore(&restoration, Origin(0)).unwrap();
            compact::compact_as_needed(&store.engine).unwrap();
            assert!(!store.engine.layout().runs(FamilyId(1)).is_some_and(|runs| runs.is_half_merged()));
            assert!(!is_trimmed(&store), "what is merged counts no more");
            assert_eq!(shown(&store, &table()), before, "call {call}, gone on");
            assert_eq!(shown(&*store.snapshot("half").unwrap(), &table()), before, "call {call}, snapshot");
            assert_eq!(shown(&store, &copy), before, "call {call}, copy");
            drop(store);
            let store = sliced(&env, sizes.merged);
            assert_eq!(shown(&store, &table()), before, "call {call}, opened");
            assert_eq!(shown(&store, &copy), before, "call {call}, copy, opened");
            assert_eq!(shown(&*store.snapshot("half").unwrap(), &table()), before, "call {call}, snapshot, opened");
        }
    }
    assert!(halves > 3, "{halves} compactions ended in the middle");
    let is_across = sizes.flushed > sizes.merged;
    assert_eq!(trimmed, if is_across { halves } else { 0 }, "of what was read a part counts");
    assert_eq!(punched > 0, is_across, "the room of the other part is given back");
}

/// Whether room was given back within a segment of which the rest counts.
fn is_given_back(env: &SimEnv, store: &Store) -> bool {
    let layout = store.engine.layout();
    let trimmed = layout.extents().filter(|extent| extent.is_trimmed());
    let mut bytes = trimmed.map(|extent| env_bytes(env, &store.engine.structure.path(extent.reference.file)));
    bytes.any(|bytes| bytes.chunks(4096).any(|unit| unit.len() == 4096 && unit.iter().all(|b| *b == 0)))
}

/// Three runs over all rows, of which a compaction in slices gives back whole pages.
fn begun(env: &SimEnv) -> Store {
    let store = sliced(env, 256 << 20);
    create(&store, &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true"), ("BLOCKSIZE", "4096")]);
    for round in 1..4_u8 {
        (0..ROWS).for_each(|n| drop(put(&store, &format!("r{n:02}"), "q", &[round; 5000])));
        store.flush(None).unwrap();
    }
    drop(store);
    sliced(env, 60_000)
}

/// Lets a compaction fail at each call of its second half, and passes on what is half merged then.
fn half_merged(begin: impl Fn(&SimEnv) -> Store, mut each: impl FnMut(u64, &SimEnv, Store)) {
    let calls = {
        let env = SimEnv::new();
        let store = begin(&env);
        let before = env.calls();
        store.compact(&table(), None, Major).unwrap();
        env.calls() - before
    };
    for call in calls / 2..=calls {
        let env = SimEnv::new();
        let store = begin(&env);
        env.fail_call(call, FailMode::Once, libc::ENOENT);
        let done = store.compact(&table(), None, Major);
        env.heal();
        if done.is_err() && store.status().unwrap().poisoned.is_none() && is_half_merged(&store) {
            each(call, &env, store);
        }
    }
}

#[test]
fn what_a_scan_has_still_to_read_is_not_given_back_beside_it() {
    let env = SimEnv::new();
    let store = begun(&env);
    let mut scan = store.scan(&Scan::all(table())).unwrap();
    let first = scan.next().unwrap().unwrap();
    store.compact(&table(), None, Major).unwrap();
    let rest: Vec<RowResult> = scan.map(|row| row.unwrap()).collect();
    assert_eq!(rest.len() + 1, ROWS);
    assert!(rest.iter().chain([&first]).all(|row| row.cells[0].value == [3; 5000]));
}

/// The rest of what one compaction has read in part counts from there on, wherever the slices of a later one end.
#[test]
fn a_compaction_in_smaller_slices_goes_on_where_one_in_larger_ones_has_left_off() {
    let mut given_back = 0;
    half_merged(begun, |call, env, store| {
        given_back += usize::from(is_given_back(env, &store));
        let before = shown(&store, &table());
        drop(store);
        let store = sliced(env, 15_000);
        store.compact(&table(), None, Major).unwrap_or_else(|e| panic!("call {call}: {e}"));
        assert_eq!(shown(&store, &table()), before, "call {call}");
        assert!(!is_trimmed(&store) && !is_half_merged(&store), "call {call}");
    });
    assert!(given_back > 0, "no room was given back");
}

#[test]
fn a_compaction_needs_room_for_slices_only() {
    let env = SimEnv::new();
    let store = filled(&env, ROW_BY_ROW);
    // All of the table a second time in one run of many extents: of these each goes as it is read.
    store.compact(&table(), None, Major).unwrap();
    (0..ROWS).for_each(|n| drop(put(&store, &format!("r{n:02}"), "q", &[9; 600])));
    store.flush(None).unwrap();
    let before = shown(&store, &table());
    let status = store.status().unwrap();
    env.set_space(Some(status.disk_total - status.disk_free + status.segment_bytes / 2));
    assert!(status.segment_bytes > 60_000);
    store.compact(&table(), None, Major).unwrap();
    env.set_space(None);
    assert_eq!(shown(&store, &table()), before);
}

/// Else a check finds damage in what a merge has given back, while another family still needs the file.
#[test]
fn what_was_merged_away_is_not_checked() {
    let env = SimEnv::new();
    let store = sliced(&env, ACROSS.flushed);
    let rules = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true"), ("BLOCKSIZE", "1024")];
    let family = |name| FamilySchema::new(name, rules.map(|(name, value)| (name.into(), value.into())).into());
    let schema = TableSchema::new(table(), ["f", "g"].map(family));
    store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
    for round in 0..3_u8 {
        for n in 0..ROWS {
            let of =
                |family: &str| PutCell { family: family.into(), ..put_cell("q", &[round; 600], Time::AfterNewest) };
            let put = Mutation::Put(["f", "g"].map(of).into());
            mutate(&store, &format!("r{n:02}"), put, Durability::SyncWal).unwrap();
        }
        store.flush(None).unwrap();
    }
    drop(store);
    let store = sliced(&env, ACROSS.merged);
    let before = store.check(&mut |_| Ok(())).unwrap().bytes;
    store.compact(&table(), Some("g"), Major).unwrap();
    assert!(is_punched(&env), "nothing was given back");
    let checked = store.check(&mut |_| Ok(())).unwrap();
    assert_eq!(checked.damages, 0);
    assert!(checked.bytes < before, "{} bytes were read, {before} before: what is merged away is not", checked.bytes);
}

const MANY: usize = 3000;

/// Three runs of an extent each, which are much larger than what is reserved of them.
fn much(attributes: &[(&str, &str)]) -> (SimEnv, Store) {
    let env = SimEnv::new();
    let store = sliced(&env, 256 << 20);
    create(&store, attributes);
    for round in 0..3_u8 {
        (0..MANY).for_each(|n| drop(put(&store, &format!("r{n:04}"), "q", &[round; 600])));
        store.flush(None).unwrap();
    }
    reserve::restore_reserve(&store.engine).unwrap();
    (env, store)
}

/// On a large disk a slice is larger than what is reserved of a store that is not.
#[test]
fn a_disk_that_others_fill_makes_slices_small() {
    let (env, store) = much(&[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true")]);
    env.fill_disk(1 << 40);
    let before = (shown(&store, &table()), store.status().unwrap().segment_bytes);
    level::run_short(&store.engine);
    store.compact(&table(), None, Major).unwrap();
    assert!(store.status().unwrap().segment_bytes < before.1 * 3 / 4);
    env.set_space(None);
    assert_eq!(shown(&store, &table()), before.0);
}

/// Else slices whose inputs stay use up what deletes need, and a mount.
#[test]
fn beside_a_snapshot_a_full_disk_takes_deletes_all_the_same() {
    for behavior in ["true", "false"] {
        let (env, store) = much(&[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", behavior)]);
        store.create_snapshot("s", None).unwrap();
        env.fill_disk(1 << 40);
        assert_eq!(store.compact(&table(), None, Major).unwrap_err().kind, ErrorKind::NoSpace);
        (0..MANY).for_each(|n| unlink(&store, &format!("r{n:04}"), "q"));
        drop(store);
        let store = sliced(&env, 256 << 20);
        assert!(shown(&store, &table()).iter().all(|(_, versions)| versions.is_empty()));
        store.delete_snapshot("s").unwrap();
        make_room::make_disk_room(&store.engine);
        let status = store.status().unwrap();
        assert!(status.disk_free > 2 * MANY as u64 * 600, "{} bytes came back", status.disk_free);
    }
}

/// Else it comes back with the next compaction only.
#[test]
fn what_was_merged_beside_a_snapshot_is_given_back_when_that_goes() {
    let in_snapshot = |env: &SimEnv| {
        let store = begun(env);
        store.create_snapshot("s", None).unwrap();
        store
    };
    let mut given_back = 0;
    half_merged(in_snapshot, |call, env, store| {
        assert!(!is_given_back(env, &store), "call {call}");
        let before = shown(&store, &table());
        store.delete_snapshot("s").unwrap();
        given_back += usize::from(is_given_back(env, &store));
        assert_eq!(shown(&store, &table()), before, "call {call}");
    });
    assert!(given_back > 0, "no room was given back");
}

#[test]
fn a_file_that_is_full_takes_the_chunks_of_its_last_cell() {
    let env = SimEnv::new();
    let store = sliced(&env, 1);
    create(&store, &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let large =
        |n: u8| (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ n).collect::<Vec<u8>>();
    (0..3).for_each(|n| drop(put(&store, "r", &format!("q{n}"), &large(n))));
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    (0..3).for_each(|n| assert_eq!(value(&store, "r", &format!("q{n}")).unwrap(), large(n)));
}

/// Two runs of puts, of which each has rows that the other lacks; how many rows there are.
fn filled_apart(env: &SimEnv) -> (Store, u64) {
    let store = sliced(env, ACROSS.flushed);
    create(&store, &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true"), ("BLOCKSIZE", "1024")]);
    let mut rows = BTreeSet::new();
    for step in [2, 3] {
        for n in (0..4 * ROWS).step_by(step) {
            put(&store, &format!("r{n:03}"), "q", &[b'v'; 400]);
            rows.insert(n);
        }
        store.flush(None).unwrap();
    }
    drop(store);
    (sliced(env, ACROSS.merged), rows.len() as u64)
}

#[test]
fn rows_are_counted_right_wherever_a_merge_has_left_off() {
    let compact = |store: &Store| store.compact(&table(), None, Major);
    let calls = {
        let env = SimEnv::new();
        let (store, _) = filled_apart(&env);
        let before = env.calls();
        compact(&store).unwrap();
        env.calls() - before
    };
    let mut trimmed = 0;
    for call in 1..=calls {
        let env = SimEnv::new();
        let (store, rows) = filled_apart(&env);
        env.fail_call(call, FailMode::Once, libc::ENOENT);
        let _ = compact(&store);
        env.heal();
        trimmed += usize::from(is_trimmed(&store));
        assert_eq!(store.count_rows(&Scan::all(table())).unwrap(), Some(rows), "call {call} of {calls}");
    }
    assert!(trimmed > 10, "{trimmed} of {calls}");
}
