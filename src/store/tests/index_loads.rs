//! Entries of an index of a table that has much, which are stored past the log.

use super::checks::findings;
use super::secondary::{between, declare, index, rows_by};
use super::*;
use crate::backend::ChangesQuery;
use crate::env::sync::{self, Limits, simulate};
use crate::store::jobs::build;

const ROWS: usize = 400;

fn row(n: usize) -> String {
    format!("r{n:03}")
}

/// Neighbours have other values.
fn value_of(n: usize) -> String {
    format!("v{}", n * 7 % 10)
}

fn filled(env: &SimEnv) -> (Store, StoreOptions) {
    let mut settings = options(env);
    settings.memtable_bytes = 40_000;
    let store = Store::open(settings.clone()).unwrap();
    create(&store, FILES);
    (0..ROWS).for_each(|n| drop(put(&store, &row(n), "q", value_of(n).as_bytes())));
    store.flush(None).unwrap();
    (store, settings)
}

fn in_memory(store: &Store) -> u64 {
    let id = store.catalogue().unwrap().tables[&table()].indexes["i"].entries.id;
    store.engine.tables().of(id).map(|table| table.len()).sum()
}

fn expect(store: &Store) {
    for value in (0..10).map(|n| format!("v{n}")) {
        let wanted: Vec<String> = (0..ROWS).filter(|n| value_of(*n) == value).map(row).collect();
        assert_eq!(rows_by(store, value.as_bytes()), wanted);
    }
    for reversed in [false, true] {
        let scan = Scan { by: Some(between(b"v2", b"v5")), reversed, ..Scan::all(table()) };
        let found = store.scan(&scan).unwrap().map(|row| String::from_utf8(row.unwrap().row).unwrap());
        let mut wanted: Vec<String> = (0..ROWS).filter(|n| ("v2".."v5").contains(&&*value_of(*n))).map(row).collect();
        if reversed {
            wanted.reverse();
        }
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn entries_of_a_large_table_go_past_the_log_and_are_there_after_a_power_cut() {
    let env = SimEnv::new();
    let (store, settings) = filled(&env);
    let gone = || store.changes(&ChangesQuery::default()).unwrap().gone;
    let before = gone();
    declare(&store, Some(index("f:q"))).unwrap();
    build::build_indexes(&store.engine).unwrap();
    assert_eq!(in_memory(&store), 1, "the one that has given all of them its number");
    expect(&store);
    assert_eq!(gone(), before, "nobody who follows is told of a gap");
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = Store::open(settings).unwrap();
    assert!(store.catalogue().unwrap().tables[&table()].indexes["i"].is_complete());
    expect(&store);
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    expect(&store);
    store.close().unwrap();
    let found = findings(&env).1;
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_build_without_room_is_told_whatever_else_fails_until_it_is_made() {
    let env = SimEnv::new();
    let (store, _) = filled(&env);
    let told = Arc::new(sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    store.subscribe(Arc::new(move |event| {
        if let crate::backend::Event::Noted { sentence, .. } = event {
            noted.lock().push(sentence.clone());
        }
    }));
    declare(&store, Some(index("f:q"))).unwrap();
    env.set_space(Some(0));
    for _ in 0..2 {
        build::build_indexes(&store.engine).unwrap_err();
        // As a flush does that finds no room either.
        store.engine.signals.state.lock().last_error = Some("flush: there is no room".to_owned());
        let said = store.status().unwrap().last_error.unwrap();
        assert!(said.contains("flush: there is no room") && said.contains("build index i of table"), "{said}");
    }
    let told = told.lock().clone();
    assert!(told.len() == 1 && told[0].contains("build index i of table"), "{told:?}");
    env.set_space(None);
    build::build_indexes(&store.engine).unwrap();
    assert_eq!(store.status().unwrap().last_error.unwrap(), "flush: there is no room");
    expect(&store);
}

#[test]
fn a_build_that_fails_anywhere_says_so_and_is_made_again() {
    let mut tried = 0;
    for nth in 1.. {
        let env = SimEnv::new();
        let (store, settings) = filled(&env);
        declare(&store, Some(index("f:q"))).unwrap();
        let before = env.calls();
        env.fail_call(nth, FailMode::Once, if nth % 2 == 0 { libc::ENOSPC } else { libc::EIO });
        let _ = build::build_indexes(&store.engine);
        if env.calls() < before + nth {
            break;
        }
        tried += 1;
        expect(&store);
        env.crash(CrashMode::LoseUnsynced);
        drop(store);
        let store = Store::open(settings).unwrap();
        build::build_indexes(&store.engine).unwrap();
        expect(&store);
    }
    assert!(tried > 5, "{tried} calls");
}

#[test]
fn a_build_that_was_stopped_goes_on_at_the_open() {
    let simulated = simulate(1, Limits { steps: 3_000_000 }, || {
        let env = SimEnv::new();
        let (store, mut settings) = filled(&env);
        declare(&store, Some(index("f:q"))).unwrap();
        store.close().unwrap();
        settings.background = Background::On;
        let store = Store::open(settings).unwrap();
        let mut waited_ms = 0;
        while !store.catalogue().unwrap().tables[&table()].indexes["i"].is_complete() {
            sync::sleep(std::time::Duration::from_millis(100));
            waited_ms += 100;
        }
        assert!(waited_ms < 10_000, "{waited_ms} ms");
        expect(&store);
    });
    simulated.unwrap_or_else(|failure| panic!("{}", failure.text));
}

/// Who builds has looked at the family of that name which another takes the place of meanwhile.
#[test]
fn entries_of_a_family_that_comes_back_while_they_are_made_are_all_there() {
    for seed in 0..20 {
        let simulated = simulate(seed, Limits { steps: 3_000_000 }, || {
            let env = SimEnv::new();
            let store = Arc::new(filled(&env).0);
            let at = store.now();
            env.advance(10);
            let with = store.catalogue().unwrap().tables[&table()].clone();
            let mut without = with.clone();
            without.families.clear();
            for schema in [without, with] {
                store.alter(CatalogueChange::AlterTable(schema), Origin(0)).unwrap();
            }
            declare(&store, Some(index("f:q"))).unwrap();
            let other = Arc::clone(&store);
            let builder = sync::spawn("builder", move || build::build_indexes(&other.engine)).unwrap();
            let back = CatalogueChange::BringBack { table: table(), family: Some("f".into()), at: Some(at) };
            store.alter(back, Origin(0)).unwrap();
            builder.join().unwrap().unwrap();
            build::build_indexes(&store.engine).unwrap();
            expect(&store);
        });
        simulated.unwrap_or_else(|failure| panic!("{seed}: {}", failure.text));
    }
}
