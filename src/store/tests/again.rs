//! One name that is made and removed, or moved away, again and again: a look at it costs no more for that.

use super::*;

/// Cells that are looked at in one more round, after so many; the cells are in memory, or mostly in segments.
fn looks(rounds: u64, is_flushed: bool, round: impl Fn(&Store)) -> u64 {
    let store = open(&SimEnv::new());
    create(&store, FILES);
    (0..rounds).for_each(|_| round(&store));
    if is_flushed {
        store.flush(None).unwrap();
        round(&store);
    }
    let before = store.status().unwrap().cells_read;
    round(&store);
    store.status().unwrap().cells_read - before
}

fn is_gone(store: &Store, name: &str) {
    assert_eq!(store.newest(&column("r", name), TimeRange::ALL).unwrap(), None);
}

/// As a program that writes a file beside and renames it over the old one.
#[test]
fn a_name_that_is_moved_away_often_costs_no_more() {
    let save = |store: &Store| {
        is_gone(store, "new");
        put(store, "r", "new", b"v");
        let rename = RenameCell::newest(column("r", "new"), column("r", "saved"), RenameMode::Replace);
        store.rename_cell(&rename).unwrap();
        is_gone(store, "new");
        assert_eq!(value(store, "r", "saved").as_deref(), Some(&b"v"[..]));
    };
    for is_flushed in [false, true] {
        let (few, many) = (looks(3, is_flushed, save), looks(1000, is_flushed, save));
        assert!(many <= few + 64, "{many} cells of many, {few} of few, {is_flushed}");
    }
}

/// As a file that locks something.
#[test]
fn a_name_that_is_removed_often_costs_no_more() {
    let lock = |store: &Store| {
        is_gone(store, "lock");
        put(store, "r", "lock", b"v");
        unlink(store, "r", "lock");
        is_gone(store, "lock");
        assert!(store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 10).unwrap().is_empty());
    };
    for is_flushed in [false, true] {
        let (few, many) = (looks(3, is_flushed, lock), looks(1000, is_flushed, lock));
        assert!(many <= few + 600, "{many} cells of many, {few} of few, {is_flushed}");
    }
}

/// What is written behind a tombstone is seen, wherever the two are.
#[test]
fn a_put_behind_a_tombstone_is_seen() {
    let at = |timestamp| put_cell("q", b"behind", Time::At(Timestamp(timestamp)));
    for (is_flushed, is_opened, is_loaded) in
        [(false, false, false), (true, false, false), (false, true, false), (true, true, false), (false, false, true)]
    {
        let env = SimEnv::new();
        let mut store = open(&env);
        create(&store, FILES);
        put(&store, "r", "q", b"deleted");
        unlink(&store, "r", "q");
        if is_flushed {
            store.flush(None).unwrap();
        }
        if is_opened {
            store.close().unwrap();
            store = open(&env);
        }
        is_gone(&store, "q");
        if is_loaded {
            let mut load = store.bulk_load(&table()).unwrap().unwrap();
            load.put(&b"r".to_vec(), vec![at(7)]).unwrap();
            load.commit().unwrap();
        } else {
            mutate(&store, "r", Mutation::Put(vec![at(7)]), Durability::SyncWal).unwrap();
        }
        let what = format!("{is_flushed} {is_opened} {is_loaded}");
        assert_eq!(value(&store, "r", "q").as_deref(), Some(&b"behind"[..]), "{what}");
        if !is_loaded {
            mutate(&store, "r", Mutation::Put(vec![at(7)]), Durability::SyncWal).unwrap();
            assert_eq!(value(&store, "r", "q").as_deref(), Some(&b"behind"[..]), "{what}, again");
        }
        // It is a past of its own: a name that something is left of.
        put(&store, "r", "q", b"newest");
        unlink(&store, "r", "q");
        is_gone(&store, "q");
    }
}
