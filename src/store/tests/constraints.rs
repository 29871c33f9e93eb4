//! Constraints: what is refused is what a simple model of the rules refuses, on every way in, and whole.

use super::*;
use crate::backend::{Directory, Existing, Restoration};
use crate::env::sync::{self, Limits, simulate};

pub fn check(name: &str, attributes: &[(&str, &str)]) -> ConstraintSchema {
    let mut made = ConstraintSchema::new(name);
    attributes.iter().for_each(|(name, text)| made.set_attribute(name, Some(text)).unwrap());
    made
}

pub fn declare(store: &Store, family: &str, constraint: ConstraintSchema) -> crate::Result<()> {
    let mut schema = store.catalogue().unwrap().tables[&table()].clone();
    let of = &mut schema.families.get_mut(family).unwrap().constraints;
    of.insert(constraint.name.clone(), constraint);
    store.alter(CatalogueChange::AlterTable(schema), Origin(0))
}

pub fn parents() -> TableName {
    TableName::parse("p").unwrap()
}

/// Tables t with families f and g, and p with a family f.
pub fn two_tables(env: &SimEnv) -> Store {
    let store = open(env);
    let mut first = schema(FILES);
    first.declare(FamilySchema::new("g", first.families["f"].attributes.clone()));
    store.alter(CatalogueChange::CreateTable(first), Origin(0)).unwrap();
    let second = TableSchema { name: parents(), ..schema(FILES) };
    store.alter(CatalogueChange::CreateTable(second), Origin(0)).unwrap();
    store
}

pub fn of_row(table: &TableName, row: &str, mutations: Vec<Mutation>) -> RowMutations {
    RowMutations { table: table.clone(), row: row.into(), mutations, durability: None, origin: Origin(0) }
}

fn try_put(store: &Store, row: &str, cells: &[(&str, &[u8])]) -> crate::Result<Mutated> {
    let cells = cells.iter().map(|(name, value)| put_cell(name, value, Time::AfterNewest)).collect();
    store.mutate(of_row(&table(), row, vec![Mutation::Put(cells)]), None)
}

fn refused<T>(done: crate::Result<T>, sentence: &str) {
    let e = done.err().unwrap();
    assert_eq!(e.kind, ErrorKind::Refused, "{e}");
    assert!(e.message.contains(sentence), "{e}, not {sentence}");
}

pub fn deletes(kind: DeleteKind) -> Mutation {
    Mutation::Delete(vec![DeleteMarker { kind, time: Time::AfterNewest, erases: false }])
}

pub fn append(qualifier: &str, bytes: &[u8]) -> Mutation {
    let delta = ColumnDelta { family: "f".into(), qualifier: qualifier.into(), delta: bytes.to_vec() };
    let (time_range, time) = (TimeRange::ALL, Time::AfterNewest);
    let (file, returns) = (FileChange::default(), false);
    Mutation::Append(Append { columns: vec![delta], time, ttl_ms: None, file, time_range, returns })
}

#[test]
fn every_way_in_is_judged_and_refused_whole() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    declare(&store, "f", check("age", &[("columns", "age"), ("type", "i64"), ("length", "1..3")])).unwrap();
    refused(try_put(&store, "a", &[("x", b"1"), ("age", b"old")]), "row a, f:age: `old` is no whole number");
    assert!(rows(&store).is_empty(), "nothing of the batch is there");
    try_put(&store, "a", &[("x", b"old"), ("age", b"42")]).unwrap();
    refused(store.mutate(of_row(&table(), "a", vec![append("age", b"00")]), None), "4 bytes, and 3 is the most");
    let counter = Increment {
        columns: vec![ColumnDelta { family: "f".into(), qualifier: b"age".to_vec(), delta: 1 }],
        time: Time::AfterNewest,
        ttl_ms: None,
        file: FileChange::default(),
        time_range: TimeRange::ALL,
    };
    refused(store.mutate(of_row(&table(), "new", vec![Mutation::Increment(counter)]), None), "8 bytes");
    let rename = |from: ColumnKey, to: ColumnKey, mode| store.rename_cell(&RenameCell::newest(from, to, mode));
    refused(rename(column("a", "x"), column("a", "age"), RenameMode::Replace), "`old` is no");
    refused(rename(column("a", "x"), column("a", "age"), RenameMode::Exchange), "`old` is no");
    assert_eq!(value(&store, "a", "age"), Some(b"42".to_vec()));
    let put = |value: &[u8]| vec![Mutation::Put(vec![put_cell("age", value, Time::AfterNewest)])];
    let rows_of = vec![(b"b".to_vec(), put(b"1")), (b"c".to_vec(), put(b"x"))];
    let many = ManyRows { table: table(), rows: rows_of, durability: None, origin: Origin(0), keeps_files: false };
    refused(store.mutate_rows(many), "row c, f:age");
    assert_eq!(value(&store, "b", "age"), None, "the other row neither");
    let dated = put_cell("age", b"x", Time::At(Timestamp(5)));
    refused(mutate(&store, "a", Mutation::Put(vec![dated.clone()]), Durability::SyncWal), "`x` is no");
    // What a backup brings was taken once, and what ended long ago is nobody's value.
    mutate(&store, "a", Mutation::Restore(Box::new(dated)), Durability::SyncWal).unwrap();
    let ended = PutCell { ended_at: Some(Timestamp(9)), ..put_cell("age", b"y", Time::At(Timestamp(6))) };
    mutate(&store, "a", Mutation::Put(vec![ended]), Durability::SyncWal).unwrap();
    // A row takes its history along.
    let of = |row: &str| Directory { table: table(), row: row.into(), family: None };
    store.rename_directory(&of("a"), &of("e"), Origin(0)).unwrap();
    let elsewhere = |table: TableName, row: &str, family: Option<&str>| Directory {
        table,
        row: row.into(),
        family: family.map(str::to_owned),
    };
    store.mutate(of_row(&parents(), "bad", put(b"no")), None).unwrap();
    refused(store.rename_directory(&elsewhere(parents(), "bad", None), &of("bad"), Origin(0)), "row bad, f:age: `no`");
    refused(try_put(&store, "a", &[("age", &[b'1'; 20_000])]), "20000 bytes, and 3 is the most");
}

#[test]
fn large_values_are_looked_into_up_to_a_limit() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    declare(&store, "f", check("text", &[("type", "utf8")])).unwrap();
    let mut long = vec![b'a'; 300_000];
    try_put(&store, "a", &[("q", &long)]).unwrap();
    long[299_999] = 0xFF;
    refused(try_put(&store, "a", &[("q", &long)]), "byte 299999 of it is no UTF-8");
    let most = usize::try_from(crate::model::declared::constraint::JUDGED_MAX).unwrap();
    refused(try_put(&store, "a", &[("q", &vec![b'a'; most + 1])]), "what is looked into has");
}

#[test]
fn required_columns_are_those_of_the_row_as_it_will_be() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    declare(&store, "f", check("whole", &[("required", "f:name,g:on")])).unwrap();
    refused(try_put(&store, "a", &[("name", b"n")]), "the row has no g:on");
    let on = PutCell { family: "g".into(), ..put_cell("on", b"1", Time::AfterNewest) };
    store.mutate(of_row(&table(), "a", vec![Mutation::Put(vec![on.clone()])]), None).unwrap();
    refused(try_put(&store, "a", &[("x", b"")]), "the row has no f:name");
    try_put(&store, "a", &[("name", b"n"), ("x", b"")]).unwrap();
    try_put(&store, "a", &[("x", b"2")]).unwrap();
    // Deletes are free; the next put is not.
    unlink(&store, "a", "name");
    refused(try_put(&store, "a", &[("x", b"3")]), "the row has no f:name");
    try_put(&store, "a", &[("name", b"n")]).unwrap();
    let column_of = |qualifier: &str| DeleteKind::Column { family: "f".into(), qualifier: qualifier.into() };
    let put = |name: &str| Mutation::Put(vec![put_cell(name, b"v", Time::AfterNewest)]);
    let both = |first: Mutation, second: Mutation| store.mutate(of_row(&table(), "a", vec![first, second]), None);
    refused(both(put("x"), deletes(column_of("name"))), "the row has no f:name");
    assert_eq!(value(&store, "a", "name"), Some(b"n".to_vec()));
    refused(both(deletes(DeleteKind::Family { family: "f".into() }), put("x")), "the row has no");
    refused(both(deletes(DeleteKind::Row), put("name")), "the row has no");
    both(put("x"), deletes(column_of("y"))).unwrap();
    // A required column of a family that is dropped.
    let e = store.alter(CatalogueChange::SetFamilyAside { table: table(), family: "g".into() }, Origin(0)).unwrap_err();
    assert!(e.kind == ErrorKind::Constraint && e.message.contains("check whole of family f"), "{e}");
    let mut without = store.catalogue().unwrap().tables[&table()].clone();
    without.families.remove("g");
    assert!(store.alter(CatalogueChange::AlterTable(without.clone()), Origin(0)).is_err());
    without.families.get_mut("f").unwrap().constraints.clear();
    store.alter(CatalogueChange::AlterTable(without), Origin(0)).unwrap();
    try_put(&store, "b", &[("x", b"")]).unwrap();
}

#[test]
fn expiry_takes_required_columns_and_the_next_put_is_told() {
    let env = SimEnv::new();
    env.advance(1_000_000);
    let store = two_tables(&env);
    declare(&store, "f", check("whole", &[("required", "f:name")])).unwrap();
    let name = PutCell { ttl_ms: Some(1000), ..put_cell("name", b"n", Time::AfterNewest) };
    mutate(&store, "a", Mutation::Put(vec![name]), Durability::SyncWal).unwrap();
    try_put(&store, "a", &[("x", b"")]).unwrap();
    env.advance(2000);
    refused(try_put(&store, "a", &[("x", b"")]), "the row has no f:name");
}

#[test]
fn a_reference_is_to_a_row_that_is_there_at_the_commit() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    declare(&store, "f", check("of", &[("columns", "of"), ("references", "p")])).unwrap();
    refused(try_put(&store, "a", &[("of", b"p1")]), "table p has no row `p1`");
    let parent = Mutation::Put(vec![put_cell("q", b"", Time::AfterNewest)]);
    store.mutate(of_row(&parents(), "p1", vec![parent.clone()]), None).unwrap();
    try_put(&store, "a", &[("of", b"p1")]).unwrap();
    refused(try_put(&store, "a", &[("of", b"p1\n")]), "ends in a newline");
    refused(try_put(&store, "a", &[("of", b"")]), "it is empty");
    store.mutate(of_row(&parents(), "p1", vec![deletes(DeleteKind::Row)]), None).unwrap();
    refused(try_put(&store, "b", &[("of", b"p1")]), "table p has no row");
    assert_eq!(value(&store, "a", "of"), Some(b"p1".to_vec()), "what was there stays");
    store.alter(CatalogueChange::DropTable { name: parents() }, Origin(0)).unwrap();
    refused(try_put(&store, "b", &[("of", b"p1")]), "there is no such table");
    // Its own table, a row that comes with it.
    declare(&store, "f", check("of", &[("columns", "up"), ("references", "t")])).unwrap();
    try_put(&store, "root", &[("up", b"root")]).unwrap();
    refused(try_put(&store, "x", &[("up", b"y")]), "table t has no row `y`");
}

#[test]
fn what_is_stored_is_judged_before_a_check_counts() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    for n in 0..20 {
        put(&store, &format!("r{n:02}"), "age", format!("{n}").as_bytes());
        put(&store, &format!("r{n:02}"), "x", b"-");
    }
    for (row, value) in [("r03", "three"), ("r07", ""), ("r11", "1.1")] {
        put(&store, row, "age", value.as_bytes());
    }
    store.flush(None).unwrap();
    let age = check("age", &[("columns", "age"), ("type", "i64")]);
    let before = store.catalogue().unwrap();
    let e = declare(&store, "f", age.clone()).unwrap_err();
    for told in ["nothing is changed", "row r03, f:age: `three`", "row r07, f:age: ``", "row r11, f:age: `1.1`"] {
        assert!(e.message.contains(told), "{e}");
    }
    assert_eq!(*store.catalogue().unwrap(), *before);
    put(&store, "z", "age", b"any");
    unlink(&store, "z", "age");
    for row in ["r03", "r07", "r11"] {
        put(&store, row, "age", b"1");
    }
    declare(&store, "f", age).unwrap();
    put(&store, "r05", "name", b"n");
    let e = declare(&store, "f", check("whole", &[("required", "f:name")])).unwrap_err();
    assert!(e.message.contains("row r00: the row has no f:name") && e.message.contains("and perhaps more"), "{e}");
    assert!(!e.message.contains("r05") && !e.message.contains("r06"), "the first few: {e}");
    refused(try_put(&store, "r05", &[("age", b"x")]), "`x` is no");
    for wrong in [check("a/b", &[]), check("c", &[("columns", "q")])] {
        let done = declare(&store, "f", wrong.clone());
        assert_eq!(done.is_err(), wrong.name == "a/b");
    }
}

#[test]
fn checks_come_back_with_their_family_and_from_snapshots() {
    let env = SimEnv::new();
    let store = two_tables(&env);
    declare(&store, "f", check("age", &[("columns", "age"), ("type", "i64")])).unwrap();
    try_put(&store, "a", &[("age", b"1")]).unwrap();
    let time = store.catalogue().unwrap().times.len();
    store.create_snapshot("s", None).unwrap();
    store.alter(CatalogueChange::SetFamilyAside { table: table(), family: "f".into() }, Origin(0)).unwrap();
    store.alter(CatalogueChange::Undrop { table: table(), family: Some("f".into()) }, Origin(0)).unwrap();
    refused(try_put(&store, "a", &[("age", b"x")]), "`x` is no");
    assert_eq!(store.catalogue().unwrap().times.len(), time, "the times of its attributes too");
    let copy = TableName::parse("copy").unwrap();
    let tables = vec![(table(), copy.clone())];
    let restoration = Restoration { snapshot: "s".into(), tables, existing: Existing::Refuse };
    store.restore(&restoration, Origin(0)).unwrap();
    let put = |value: &[u8]| vec![Mutation::Put(vec![put_cell("age", value, Time::AfterNewest)])];
    refused(store.mutate(of_row(&copy, "b", put(b"x")), None), "table copy: row b, f:age");
    store.alter(CatalogueChange::TruncateTable { name: copy.clone() }, Origin(0)).unwrap();
    refused(store.mutate(of_row(&copy, "b", put(b"x")), None), "table copy: row b, f:age");
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(&env);
    refused(try_put(&store, "a", &[("age", b"x")]), "`x` is no");
    assert_eq!(store.catalogue().unwrap().tables[&table()].families["f"].constraints.len(), 1);
}

/// Writers go on while a check is added, and the machine stops somewhere: either it is there, and nothing stored breaks
/// it, or it is not, and its adding was refused or cut off.
#[test]
fn a_check_is_added_beside_writers_and_over_crashes() {
    let counts: Vec<bool> = (0..120)
        .map(|seed| {
            let outcome = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let told = Arc::clone(&outcome);
            let simulated = simulate(seed, Limits { steps: 1_000_000 }, move || {
                let env = SimEnv::new();
                let store = Arc::new(two_tables(&env));
                (0..10).for_each(|n| drop(put(&store, &format!("r{n}"), "age", b"1")));
                let writer = {
                    let store = Arc::clone(&store);
                    sync::spawn("writer", move || {
                        // Before or after most seeds have added it.
                        let bad = [1, 6][seed as usize / 2 % 2];
                        let value = |n: usize| if n == bad && seed % 2 == 0 { b"bad".as_slice() } else { b"7" };
                        (0..12).filter(|n| try_put(&store, &format!("w{n}"), &[("age", value(*n))]).is_err()).count()
                    })
                };
                let added = declare(&store, "f", check("age", &[("columns", "age"), ("type", "i64")]));
                let lost = writer.unwrap().join().unwrap();
                let mut store = Arc::into_inner(store).unwrap();
                if seed % 3 == 0 {
                    store.sync().unwrap();
                    env.crash(CrashMode::LoseUnsynced);
                    drop(store);
                    store = open(&env);
                }
                let is_there = !store.catalogue().unwrap().tables[&table()].families["f"].constraints.is_empty();
                assert_eq!(is_there, added.is_ok());
                let bad = rows(&store).iter().filter(|row| value(&store, row, "age") == Some(b"bad".to_vec())).count();
                assert!(!is_there || bad == 0);
                assert_eq!(lost + bad, usize::from(seed % 2 == 0));
                told.store(is_there, std::sync::atomic::Ordering::Relaxed);
            });
            simulated.unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.text));
            outcome.load(std::sync::atomic::Ordering::Relaxed)
        })
        .collect();
    let (even, odd): (Vec<_>, Vec<_>) = counts.iter().enumerate().partition(|(seed, _)| seed % 2 == 0);
    assert!(odd.iter().all(|(_, is_there)| **is_there), "nothing was in its way");
    let added = even.iter().filter(|(_, is_there)| **is_there).count();
    assert!(added > 0 && added < even.len(), "of {} that a writer may break {added} were added", even.len());
}
