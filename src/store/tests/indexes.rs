//! Secondary indexes: unique values, building beside writers and over crashes, what a repair does, and what is counted.

use super::secondary::{declare, index, rows_by};
use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::sync::{self, Limits, simulate};
use crate::store::check;

fn unique(columns: &str) -> IndexSchema {
    IndexSchema { unique: true, ..index(columns) }
}

fn state(store: &Store) -> IndexState {
    store.catalogue().unwrap().tables[&table()].indexes["i"].state.clone()
}

fn try_put(store: &Store, row: &str, qualifier: &str, value: &[u8]) -> crate::Result<Mutated> {
    let cell = put_cell(qualifier, value, Time::AfterNewest);
    mutate(store, row, Mutation::Put(vec![cell]), Durability::SyncWal)
}

fn taken(done: crate::Result<Mutated>, holder: &str) {
    let e = done.err().unwrap();
    assert_eq!(e.kind, ErrorKind::AlreadyExists);
    assert!(e.message.contains(&format!("row {holder} has")), "{e}");
}

fn with_index(env: &SimEnv, index: IndexSchema) -> Store {
    let store = open(env);
    let mut wanted = schema(FILES);
    wanted.indexes.insert("i".into(), index);
    store.alter(CatalogueChange::CreateTable(wanted), Origin(0)).unwrap();
    store
}

fn entries(store: &Store) -> u64 {
    let catalogue = store.catalogue().unwrap();
    let id = catalogue.tables[&table()].indexes["i"].entries.id;
    let flushed = store.engine.layout().runs(id).map_or(0, |runs| {
        let cells = runs.runs.iter().map(|run| run.sum(|facts| facts.cells));
        cells.sum()
    });
    flushed + store.engine.tables().of(id).map(|table| table.len()).sum::<u64>()
}

#[test]
fn a_unique_value_is_of_one_row() {
    let env = SimEnv::new();
    let store = with_index(&env, unique("f:q"));
    assert_eq!(state(&store), IndexState::Complete, "a new table has nothing to look at");
    put(&store, "a", "q", b"1");
    taken(try_put(&store, "b", "q", b"1"), "a");
    assert_eq!(value(&store, "b", "q"), None, "nothing of it is stored");
    put(&store, "a", "q", b"1");
    put(&store, "b", "other", b"1");
    store.flush(None).unwrap();
    taken(try_put(&store, "b", "q", b"1"), "a");
    put(&store, "a", "q", b"2");
    put(&store, "b", "q", b"1");
    taken(try_put(&store, "a", "q", b"1"), "b");
    unlink(&store, "b", "q");
    put(&store, "a", "q", b"1");
    // Increments and appends are puts as well.
    put(&store, "c", "q", b"");
    let delta = ColumnDelta { family: "f".into(), qualifier: b"q".to_vec(), delta: b"1".to_vec() };
    let (time_range, time) = (TimeRange::ALL, Time::AfterNewest);
    let append =
        Append { columns: vec![delta], time, ttl_ms: None, file: FileChange::default(), time_range, returns: false };
    taken(mutate(&store, "c", Mutation::Append(append), Durability::SyncWal), "a");
    let too_long = try_put(&store, "c", "q", &[b'x'; 20_000]).err().unwrap();
    assert_eq!(too_long.kind, ErrorKind::ValueTooLarge);
}

/// Row a had the value first, then b: whoever brings a's versions first meets it twice for a while.
#[test]
fn what_comes_from_a_backup_is_not_judged_for_unique_values() {
    let env = SimEnv::new();
    let store = with_index(&env, unique("f:q"));
    let restore = |row: &str, value: &[u8], at| {
        let cell = put_cell("q", value, Time::At(Timestamp(at)));
        mutate(&store, row, Mutation::Restore(Box::new(cell)), Durability::SyncWal).unwrap();
    };
    for (row, value, at) in [("b", b"1", 30), ("a", b"1", 10), ("a", b"2", 20)] {
        restore(row, value, at);
    }
    taken(try_put(&store, "c", "q", b"1"), "b");
    taken(try_put(&store, "c", "q", b"2"), "a");
}

#[test]
fn a_unique_value_moves_and_is_exchanged() {
    let env = SimEnv::new();
    let store = with_index(&env, unique("f:q"));
    put(&store, "a", "q", b"1");
    put(&store, "b", "q", b"2");
    let rename = |from: ColumnKey, to: ColumnKey, mode| store.rename_cell(&RenameCell::newest(from, to, mode));
    rename(column("a", "q"), column("c", "q"), RenameMode::Replace).unwrap();
    rename(column("c", "q"), column("b", "q"), RenameMode::Exchange).unwrap();
    assert_eq!((value(&store, "b", "q"), value(&store, "c", "q")), (Some(b"1".to_vec()), Some(b"2".to_vec())));
    // Another column of the row that has it is put at the place of a third.
    put(&store, "b", "copy", b"1");
    let e = rename(column("b", "copy"), column("d", "q"), RenameMode::Replace).err().unwrap();
    assert_eq!(e.kind, ErrorKind::AlreadyExists);
    let of = |row: &str| crate::backend::Directory { table: table(), row: row.into(), family: None };
    store.rename_directory(&of("b"), &of("e"), Origin(0)).unwrap();
    assert_eq!(rows_by(&store, b"1"), ["e"]);
}

#[test]
fn several_columns_are_unique_together() {
    let env = SimEnv::new();
    let store = with_index(&env, unique("f:q,f:r"));
    put(&store, "a", "q", b"1");
    put(&store, "b", "q", b"1");
    put(&store, "a", "r", b"x");
    taken(try_put(&store, "b", "r", b"x"), "a");
    put(&store, "b", "r", b"y");
    taken(try_put(&store, "b", "r", b"x"), "a");
    put(&store, "a", "q", b"2");
    put(&store, "b", "r", b"x");
}

#[test]
fn of_writers_of_one_unique_value_one_has_it() {
    for seed in 0..200 {
        let simulated = simulate(seed, Limits { steps: 1_000_000 }, move || {
            let env = SimEnv::new();
            let store = Arc::new(with_index(&env, unique("f:q")));
            let write = |row: &'static str| {
                let store = Arc::clone(&store);
                sync::spawn(row, move || {
                    (0..4).filter(|n| try_put(&store, row, "q", format!("{n}").as_bytes()).is_ok()).count()
                })
            };
            let all: Vec<_> = ["a", "b", "c"].map(|row| write(row).unwrap()).into();
            let done: usize = all.into_iter().map(|one| one.join().unwrap()).sum();
            assert!(done >= 4, "{done}");
            for n in 0..4 {
                let rows = rows_by(&*store, format!("{n}").as_bytes());
                assert!(rows.len() <= 1, "{n} is in {rows:?}");
            }
        });
        simulated.unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.text));
    }
}

#[test]
fn what_is_not_unique_is_said_and_comes_to_no_more() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for row in ["a", "b", "c"] {
        put(&store, row, "q", b"1");
        put(&store, row, "q", row.as_bytes());
    }
    declare(&store, Some(unique("f:q"))).unwrap();
    assert_eq!(state(&store), IndexState::Building);
    store.flush(None).unwrap();
    assert_eq!(state(&store), IndexState::Complete, "older versions are nobody's any more");
    declare(&store, Some(index("f:q"))).unwrap();
    put(&store, "a", "q", b"1");
    put(&store, "c", "q", b"1");
    assert_eq!(state(&store), IndexState::Complete);
    declare(&store, Some(unique("f:q"))).unwrap();
    store.flush(None).unwrap();
    let IndexState::Twofold(text) = state(&store) else { panic!("{:?}", state(&store)) };
    assert_eq!(text, "rows a and c have `1`");
    assert_eq!(rows_by(&store, b"1"), ["a", "c"]);
    assert!(try_put(&store, "d", "q", b"1").is_err());
}

/// Writers may put none of these, and equal ones are not told apart by what is looked at of them.
#[test]
fn what_is_too_long_to_be_unique_is_said() {
    let long = |last: u8| [vec![b'x'; 20_000], vec![last]].concat();
    let built = |columns: &str, cells: &[(&str, &str, Vec<u8>)]| {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, FILES);
        cells.iter().for_each(|(row, qualifier, value)| drop(put(&store, row, qualifier, value)));
        declare(&store, Some(unique(columns))).unwrap();
        store.flush(None).unwrap();
        let state = state(&store);
        (store, state)
    };
    let told = |row: &str, column: &str| {
        let text = format!("row {row} has 20001 bytes in {column}: values of a unique index have at most 16384 bytes");
        IndexState::Twofold(text)
    };
    let cell = |row: &'static str, qualifier: &'static str, value: &[u8]| (row, qualifier, value.to_vec());
    assert_eq!(built("f:q", &[cell("a", "q", &long(1)), cell("b", "q", &long(1))]).1, told("a", "f:q"));
    assert_eq!(built("f:q", &[cell("a", "q", b"1"), cell("b", "q", &long(1))]).1, told("b", "f:q"), "one alone");
    let both = [cell("a", "q", b"1"), cell("a", "r", &long(1))];
    let (store, state) = built("f:q,f:r", &both);
    assert_eq!(state, told("a", "f:r"), "a column without entries");
    assert_eq!(try_put(&store, "a", "q", b"2").err().unwrap().kind, ErrorKind::ValueTooLarge);
    assert_eq!(built("f:q,f:r", &[cell("a", "q", &long(1))]).1, IndexState::Complete, "a row that is not judged");
    let most = vec![b'x'; 16_384];
    let mended = [cell("a", "q", &long(1)), cell("a", "q", &most), cell("b", "q", &most[1..])];
    assert_eq!(built("f:q", &mended).1, IndexState::Complete, "older versions are nobody's any more");
}

/// Writers, flushes and compactions go on while an index is built, and the machine stops somewhere.
#[test]
fn an_index_is_built_beside_writers_and_after_a_crash() {
    for seed in 0..60 {
        let simulated = simulate(seed, Limits { steps: 3_000_000 }, move || {
            let env = SimEnv::new();
            let mut settings = options(&env);
            settings.background = Background::On;
            // With small memtables entries go past the log.
            settings.memtable_bytes = if seed % 2 == 0 { 4000 } else { 1 << 20 };
            let store = Arc::new(Store::open(settings.clone()).unwrap());
            create(&store, FILES);
            for n in 0..40 {
                put(&store, &format!("r{n:02}"), "q", format!("{}", n % 4).as_bytes());
            }
            let writer = {
                let store = Arc::clone(&store);
                sync::spawn("writer", move || {
                    for n in 0..40 {
                        put(&store, &format!("r{:02}", (n * 7) % 40), "q", format!("{}", n % 5).as_bytes());
                        if n % 10 == 9 {
                            store.flush(None).unwrap();
                            store.compact(&table(), None, Major).unwrap();
                        }
                    }
                })
            };
            declare(&store, Some(index("f:q"))).unwrap();
            writer.unwrap().join().unwrap();
            let mut store = Arc::into_inner(store).unwrap();
            if seed % 3 > 0 {
                store.sync().unwrap();
                env.crash(if seed % 3 == 1 { CrashMode::ProcessOnly } else { CrashMode::LoseUnsynced });
                drop(store);
                store = Store::open(settings).unwrap();
            }
            let look = || {
                for value in 0..5 {
                    let wanted: Vec<String> = (0..40)
                        .map(|n| format!("r{n:02}"))
                        .filter(|row| super::value(&store, row, "q") == Some(format!("{value}").into_bytes()))
                        .collect();
                    assert_eq!(rows_by(&store, format!("{value}").as_bytes()), wanted);
                }
            };
            look();
            while state(&store) != IndexState::Complete {
                sync::sleep(std::time::Duration::from_millis(100));
            }
            look();
        });
        simulated.unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.text));
    }
}

/// A catalogue that believes in them is on the disk: what is damaged before them is no torn end of the log.
#[test]
fn entries_of_a_complete_index_are_not_cut_off_with_a_damaged_record_before_them() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "a", "q", b"1");
    store.flush(None).unwrap();
    put(&store, "b", "other", b"1");
    declare(&store, Some(index("f:q"))).unwrap();
    crate::store::jobs::build::build_indexes(&store.engine).unwrap();
    assert_eq!(state(&store), IndexState::Complete);
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let logs = crate::log::list(&env, "/store/log".as_ref()).unwrap();
    let damage = |bytes: &mut Vec<u8>| {
        let at = bytes.windows(4).position(|four| four == b"cRec").unwrap();
        bytes[at..at + 32].fill(0);
    };
    env.damage(&crate::log::path_of("/store/log".as_ref(), *logs.last().unwrap()), damage).unwrap();
    let store = open(&env);
    let scan = Scan { by: Some(super::secondary::equal(b"1")), ..Scan::all(table()) };
    let found: crate::Result<Vec<_>> = store.scan(&scan).and_then(Iterator::collect);
    assert!(found.as_ref().is_err_and(|e| e.kind == ErrorKind::Corrupt) || found.is_ok_and(|rows| rows.len() == 1));
}

#[test]
fn entries_that_nothing_needs_go_with_a_major_compaction() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    declare(&store, Some(index("f:q"))).unwrap();
    store.flush(None).unwrap();
    for round in 0..10 {
        for row in ["a", "b"] {
            put(&store, row, "q", format!("{round}").as_bytes());
        }
    }
    unlink(&store, "b", "q");
    assert_eq!(entries(&store), 20);
    let cells = store.status().unwrap().cells;
    store.flush(None).unwrap();
    // Versions first, then what was for them.
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(entries(&store), 1);
    assert_eq!((cells, store.status().unwrap().cells), (21, 1), "entries are no cells");
    assert_eq!(rows_by(&store, b"9"), ["a"]);
}

#[test]
fn a_repair_has_all_indexes_built_anew() {
    let env = SimEnv::new();
    let store = with_index(&env, index("f:q"));
    for n in 0..200 {
        put(&store, &format!("r{n:03}"), "q", format!("value {n}").as_bytes());
    }
    store.flush(None).unwrap();
    store.create_snapshot("s", None).unwrap();
    store.close().unwrap();
    // The entries' extent is the second one of the segment: the damage is in its first block.
    let path = {
        use crate::env::Env;
        let mut names = env.list("/store/segments".as_ref()).unwrap();
        names.sort();
        format!("/store/segments/{}", names.into_iter().rfind(|name| name.ends_with(".seg")).unwrap())
    };
    let needle = b"\x01value 10\x00\x01";
    let mut found = 0;
    env.damage(path.as_ref(), |bytes| {
        let at = bytes.windows(4).rposition(|part| part == b"r100").unwrap_or(0);
        found = bytes.windows(needle.len()).filter(|part| *part == needle).count();
        bytes[at] ^= 0x20;
    })
    .unwrap();
    let repaired = check::repair(options(&env), &mut |_| Ok(())).unwrap();
    assert!(repaired.before.damages > 0, "{found} {:?}", repaired.done);
    let store = open(&env);
    assert_eq!(state(&store), IndexState::Building);
    let look = |backend: &dyn Backend| {
        for n in 0..200 {
            let row = format!("r{n:03}");
            let value = format!("value {n}").into_bytes();
            let is_there = backend.newest(&column(&row, "q"), TimeRange::ALL).unwrap().is_some();
            assert_eq!(rows_by(backend, &value), if is_there { vec![row] } else { Vec::new() });
        }
    };
    look(&store);
    look(&*store.snapshot("s").unwrap());
    store.flush(None).unwrap();
    assert_eq!(state(&store), IndexState::Complete);
    look(&store);
    look(&*store.snapshot("s").unwrap());
    put(&store, "r000", "q", b"later");
    let restoration = crate::backend::Restoration {
        snapshot: "s".into(),
        tables: vec![(table(), table())],
        existing: crate::backend::Existing::Replace,
    };
    store.restore(&restoration, Origin(0)).unwrap();
    look(&store);
}

#[test]
fn a_filter_of_an_index_narrows_it() {
    let env = SimEnv::new();
    let mut wanted = index("f:q");
    wanted.set_attribute("where", Some("SingleColumnValueFilter('f','on',=,'binary:1',true,true)")).unwrap();
    let store = with_index(&env, wanted);
    for row in ["a", "b", "c"] {
        put(&store, row, "q", b"v");
    }
    put(&store, "b", "on", b"1");
    assert_eq!(rows_by(&store, b"v"), ["b"]);
    unlink(&store, "b", "on");
    put(&store, "c", "on", b"1");
    assert_eq!(rows_by(&store, b"v"), ["c"]);
    let refused = declare(&store, Some(IndexSchema { condition: Some(b"Nope(".to_vec()), ..index("f:q") }));
    assert_eq!(refused.err().unwrap().kind, ErrorKind::IllegalArgument);
}

#[test]
fn what_is_asked_wrongly_is_refused_with_the_way_out() {
    let env = SimEnv::new();
    let store = with_index(&env, IndexSchema::new("i"));
    let ask = |by: By| store.scan(&Scan { by: Some(by), ..Scan::all(table()) }).err().unwrap().message;
    let by =
        |name: &str, values: usize| By { index: name.into(), equals: vec![b"v".to_vec(); values], ..By::default() };
    assert!(ask(by("i", 1)).contains("has no columns yet"));
    assert!(ask(by("j", 1)).contains("no index j; it has i"));
    declare(&store, Some(index("f:q"))).unwrap();
    assert!(ask(by("i", 2)).contains("has 1 columns"));
    for wrong in ["f:q,f:q", "f"] {
        assert!(
            IndexSchema::new("i").set_attribute("columns", Some(wrong)).is_err() || {
                declare(&store, Some(index(wrong))).is_err()
            }
        );
    }
}
