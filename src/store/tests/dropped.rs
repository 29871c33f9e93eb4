//! Families and tables that are dropped and kept for a while.

use super::*;
use crate::env::sync::{self, Limits, simulate};
use crate::store::jobs::compact;

const DAY: i64 = 86_400_000;

fn aside(store: &Store) {
    let change = CatalogueChange::SetFamilyAside { table: table(), family: "f".into() };
    store.alter(change, Origin(0)).unwrap();
}

fn undrop(store: &Store, family: Option<&str>) -> crate::Result<()> {
    store.alter(CatalogueChange::Undrop { table: table(), family: family.map(str::to_owned) }, Origin(0))
}

fn tidy(store: &Store) {
    store.flush(None).unwrap();
    compact::compact_as_needed(&store.engine).unwrap();
}

#[test]
fn a_dropped_family_is_kept_until_its_time_has_passed() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[FILES, &[("PURGE_DELETED_AFTER", "864000")]].concat());
    put(&store, "r", "flushed", b"1");
    store.flush(None).unwrap();
    put(&store, "r", "in memory", b"2");
    aside(&store);
    tidy(&store);
    env.advance(9 * DAY);
    drop(store);
    let store = open(&env);
    tidy(&store);
    undrop(&store, Some("f")).unwrap();
    assert_eq!(value(&store, "r", "flushed").unwrap(), b"1");
    assert_eq!(value(&store, "r", "in memory").unwrap(), b"2");
    aside(&store);
    env.advance(10 * DAY);
    tidy(&store);
    assert_eq!(undrop(&store, Some("f")).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(store.status().unwrap().cells, 0);
}

#[test]
fn a_dropped_table_is_kept_as_long_as_any_of_its_families() {
    let env = SimEnv::new();
    let store = open(&env);
    let mut wanted = schema(&[("PURGE_DELETED_AFTER", "86400")]);
    let mut second = wanted.families["f"].clone();
    second.attributes.insert("PURGE_DELETED_AFTER".into(), "172800".into());
    wanted.families.insert("g".into(), second);
    store.alter(CatalogueChange::CreateTable(wanted), Origin(0)).unwrap();
    put(&store, "r", "q", b"v");
    let drop_it = || store.alter(CatalogueChange::SetTableAside { name: table() }, Origin(0)).unwrap();
    drop_it();
    env.advance(2 * DAY - 1);
    tidy(&store);
    undrop(&store, None).unwrap();
    assert_eq!(value(&store, "r", "q").unwrap(), b"v");
    drop_it();
    env.advance(2 * DAY);
    tidy(&store);
    assert_eq!(undrop(&store, None).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn a_renamed_namespace_takes_everything_with_it() {
    let env = SimEnv::new();
    let store = open(&env);
    let properties = BTreeMap::from([("owner".to_owned(), "me".to_owned())]);
    let namespace = NamespaceSchema { name: "a".into(), properties };
    store.alter(CatalogueChange::CreateNamespace(namespace), Origin(0)).unwrap();
    for name in ["kept", "dropped"] {
        let schema = TableSchema { name: TableName::new("a", name).unwrap(), ..schema(FILES) };
        store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
    }
    let of = |namespace: &str, name: &str| TableName::new(namespace, name).unwrap();
    store.alter(CatalogueChange::SetTableAside { name: of("a", "dropped") }, Origin(0)).unwrap();
    let rename = |from: &str, to: &str| {
        store.alter(CatalogueChange::RenameNamespace { from: from.into(), to: to.into() }, Origin(0))
    };
    assert_eq!(rename("default", "b").unwrap_err().kind, ErrorKind::Constraint);
    assert_eq!(rename("a", "default").unwrap_err().kind, ErrorKind::NamespaceExists);
    assert_eq!(rename("x", "b").unwrap_err().kind, ErrorKind::NoSuchNamespace);
    rename("a", "b").unwrap();
    store.alter(CatalogueChange::Undrop { table: of("b", "dropped"), family: None }, Origin(0)).unwrap();
    drop(store);
    let catalogue = open(&env).catalogue().unwrap();
    assert!(!catalogue.namespaces.contains_key("a"));
    assert_eq!(catalogue.namespaces["b"].properties["owner"], "me");
    assert!(catalogue.times.keys().any(|key| key.owner == AttributeOwner::Namespace("b".into())));
    let names: Vec<_> = catalogue.user_tables().map(|table| table.name.clone()).collect();
    assert_eq!(names, [of("b", "dropped"), of("b", "kept")]);
}

/// Whoever drops what is empty, or takes its name for what was there before, drops nothing that was told to be stored.
#[test]
fn what_is_written_while_an_empty_table_goes_is_refused_or_keeps_it() {
    let changes = [
        |_| CatalogueChange::SetTableAside { name: table() }.if_empty(&table(), None),
        |_| CatalogueChange::SetFamilyAside { table: table(), family: "f".into() }.if_empty(&table(), Some("f")),
        |at| CatalogueChange::BringBack { table: table(), family: None, at }.if_empty(&table(), None),
    ];
    for (seed, change) in (0..60).zip(changes.into_iter().cycle()) {
        let simulated = simulate(seed, Limits { steps: 1_000_000 }, move || {
            let env = SimEnv::new();
            let store = Arc::new(open(&env));
            create(&store, FILES);
            put(&store, "before", "q", b"1");
            let at = store.now();
            env.advance(10);
            store.alter(CatalogueChange::SetCellsAside { name: table() }, Origin(0)).unwrap();
            let other = Arc::clone(&store);
            let writer = sync::spawn("writer", move || {
                let cell = put_cell("q", b"2", Time::AfterNewest);
                mutate(&other, "r", Mutation::Put(vec![cell]), Durability::SyncWal)
            });
            let changed = store.alter(change(Some(at)), Origin(0));
            let put = writer.unwrap().join().unwrap();
            let is_there = || store.catalogue().unwrap().tables.contains_key(&table());
            assert!(put.is_err() || is_there() && value(&store, "r", "q").is_some(), "{seed}: {changed:?}");
            match changed {
                Ok(()) => {}
                Err(e) => assert_eq!(e.kind, ErrorKind::NotEmpty),
            }
        });
        simulated.unwrap_or_else(|failure| panic!("{seed}: {}", failure.text));
    }
}
