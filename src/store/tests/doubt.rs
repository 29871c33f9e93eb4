//! While it is not known what the log has lost: a read of named columns answers where what it finds was written since,
//! and nothing else does.

use std::collections::BTreeSet;

use super::*;
use crate::store::health::lost;
use crate::store::read::point;

/// A store that has lost records up to the last of what its columns `old` and `last` have, and no others; `new` and
/// `both` were written since.
fn in_doubt(env: &SimEnv) -> Store {
    let store = open(env);
    let mut schema = schema(FILES);
    schema.families.insert("g".into(), FamilySchema::new("g", Default::default()));
    store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
    ["old", "both", "last"].into_iter().for_each(|name| drop(put(&store, "r", name, b"before")));
    let upto = store.newest(&column("r", "last"), TimeRange::ALL).unwrap().unwrap().seq;
    store.close().unwrap();
    lost::note(env, "/store".as_ref(), (SeqNo(0), upto), false).unwrap();
    let store = open(env);
    ["new", "both"].into_iter().for_each(|name| drop(put(&store, "r", name, b"since")));
    let fleeting = PutCell { ttl_ms: Some(1_000_000), ..put_cell("fleeting", b"since", Time::Now) };
    mutate(&store, "r", Mutation::Put(vec![fleeting]), Durability::SyncWal).unwrap();
    store
}

fn named(names: &[&str]) -> ReadSpec {
    let names: BTreeSet<Qualifier> = names.iter().map(|name| Qualifier::from(*name)).collect();
    ReadSpec { columns: [("f".to_owned(), Some(names))].into(), ..ReadSpec::default() }
}

/// The values of a get, all of which were written since.
fn got(store: &Store, read: ReadSpec) -> Result<usize, ErrorKind> {
    let found = store.get(&Get { table: table(), row: "r".into(), read }).map_err(|e| e.kind)?;
    assert!(found.cells.iter().all(|cell| cell.value == b"since"), "{found:?}");
    Ok(found.cells.len())
}

fn check(store: &Store) {
    assert_eq!(got(store, named(&["new"])), Ok(1));
    assert_eq!(got(store, named(&["both", "new"])), Ok(2));
    // What a version hides that expires will show again.
    for names in
        [&["fleeting"][..], &["old"], &["last"], &["absent"], &["new", "old"], &["last", "new"], &["absent", "new"]]
    {
        assert_eq!(got(store, named(names)), Err(ErrorKind::Corrupt), "{names:?}");
    }
    let range = TimeRange { min: 1, ..TimeRange::ALL };
    let mut whole_beside = named(&["new"]);
    whole_beside.columns.insert("g".into(), None);
    let whole = ReadSpec { columns: [("f".to_owned(), None)].into(), ..ReadSpec::default() };
    let refused = [
        ReadSpec::default(),
        whole,
        whole_beside,
        ReadSpec { time_range: range, ..named(&["new"]) },
        ReadSpec { family_time_ranges: [("f".to_owned(), range)].into(), ..named(&["new"]) },
        ReadSpec { max_versions: 2, ..named(&["new"]) },
        ReadSpec { filter: Some(b"ValueFilter(=, 'binary:since')".to_vec()), ..named(&["new"]) },
        ReadSpec { raw: true, ..named(&["new"]) },
    ];
    for read in refused {
        assert_eq!(got(store, read.clone()), Err(ErrorKind::Corrupt), "{read:?}");
    }
    let newest = |name, range| store.newest(&column("r", name), range).map(|cell| cell.is_some()).map_err(|e| e.kind);
    assert_eq!(newest("new", TimeRange::ALL), Ok(true));
    assert_eq!(newest("new", range), Err(ErrorKind::Corrupt));
    assert_eq!(newest("last", TimeRange::ALL), Err(ErrorKind::Corrupt));
    assert!(store.scan(&Scan::all(table())).is_err());
    assert!(store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 10).is_err());
    assert!(point::last_columns(&store.engine, (&table(), b"r", "f"), b"", TimeRange::ALL, 10).is_err());
    assert!(store.list_versions(&column("r", "new"), Versions::Live, None, 10).is_err());
}

#[test]
fn while_it_is_not_known_what_the_log_has_lost_named_columns_alone_are_read_that_were_written_since() {
    let env = SimEnv::new();
    let store = through_close_and_flush(&env, in_doubt(&env), check);
    store.close().unwrap();
    assert_eq!(lost::acknowledge(&env, "/store".as_ref()).unwrap().len(), 1);
    let store = open(&env);
    assert_eq!(value(&store, "r", "old").unwrap(), b"before");
    let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 10).unwrap();
    assert_eq!(columns.len(), 5);
}
