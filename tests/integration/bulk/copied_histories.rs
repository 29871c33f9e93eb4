//! Random histories of a row, copied: what reads of now and of the past show, and which deleted versions are kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use cellfs::backend::{Backend, RenameCell, RenameMode};
use cellfs::bulk::copy::{Job, copy, declare};
use cellfs::env::SimEnv;
use cellfs::model::{
    CatalogueChange, ColumnKey, DeleteKind, DeleteMarker, FamilySchema, Mutation, Origin, PutCell, RowMutations, Scan,
    TableName, TableSchema, Time, TimeRange, Timestamp,
};
use cellfs::store::{Background, Store, StoreOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const COLUMNS: [&[u8]; 2] = [b"a", b"b"];
const TIMES: std::ops::Range<i64> = 1..6;

fn store() -> (SimEnv, Arc<dyn Backend>) {
    let env = SimEnv::new();
    env.set_now(Timestamp(100));
    let mut options = StoreOptions::new("/store");
    (options.env, options.background) = (Arc::new(env.clone()), Background::Off);
    (env, Arc::new(Store::open(options).unwrap()))
}

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

fn change(backend: &dyn Backend, mutation: Mutation) {
    let (table, row, mutations) = (table(), b"r".to_vec(), vec![mutation]);
    backend.mutate(RowMutations { table, row, mutations, durability: None, origin: Origin(0) }, None).unwrap();
}

fn column(qualifier: &[u8]) -> ColumnKey {
    ColumnKey { table: table(), row: b"r".to_vec(), family: "f".into(), qualifier: qualifier.to_vec() }
}

/// One change; values of some length make a row one that is not held.
fn step(dice: &mut StdRng, env: &SimEnv, backend: &dyn Backend, (at, len): (usize, usize)) {
    let (family, qualifier) = ("f".to_owned(), COLUMNS[dice.random_range(0..2)].to_vec());
    let time = Time::At(Timestamp(dice.random_range(TIMES)));
    env.set_now(Timestamp(100 + 10 * at as i64));
    let delete = |kind| Mutation::Delete(vec![DeleteMarker { kind, time, erases: false }]);
    match dice.random_range(0..20) {
        0..11 => {
            let value = format!("v{at}{}", " ".repeat(len));
            change(backend, Mutation::Put(vec![PutCell::new(family, qualifier, time, value)]));
        }
        11..13 => change(backend, delete(DeleteKind::Column { family, qualifier })),
        13..16 => change(backend, delete(DeleteKind::Version { family, qualifier })),
        16 => change(backend, delete(DeleteKind::Family { family })),
        17 => change(backend, delete(DeleteKind::FamilyVersion { family })),
        _ => {
            let (from, to) = (column(COLUMNS[0]), column(COLUMNS[1]));
            let (from, to) = if dice.random_bool(0.5) { (from, to) } else { (to, from) };
            // There may be nothing to move.
            let _ = backend.rename_cell(&RenameCell::newest(from, to, RenameMode::Replace));
        }
    }
}

fn value(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// What is shown now and of each past.
fn shown(backend: &dyn Backend) -> String {
    let mut text = String::new();
    for end in TIMES.chain([i64::MAX]) {
        let mut scan = Scan::all(table());
        (scan.read.time_range, scan.read.max_versions) = (TimeRange::new(0, end).unwrap(), 9);
        for row in backend.scan(&scan).unwrap() {
            for cell in row.unwrap().cells {
                let (name, value) = (String::from_utf8_lossy(&cell.qualifier), value(&cell.value));
                writeln!(text, "before {end}: {name}@{} {value}", cell.timestamp.0).unwrap();
            }
        }
    }
    text
}

/// Live and kept versions, these with their ends.
fn kept(backend: &dyn Backend) -> String {
    let mut text = String::new();
    for (qualifier, info) in backend.list_history(&table(), b"r", "f", None, 1000).unwrap() {
        let value = value(&backend.read_value(&info, 0, 9).unwrap());
        let (name, end) = (String::from_utf8_lossy(&qualifier), info.deleted_at.map(|end| end.0));
        let alone = info.hidden_from.is_some_and(|hidden| hidden <= info.timestamp);
        writeln!(text, "{name}@{} {value} {end:?} {alone}", info.timestamp.0).unwrap();
    }
    text
}

fn declared(dice: &mut StdRng) -> TableSchema {
    let pick = |dice: &mut StdRng, from: &[&str]| from[dice.random_range(0..from.len())].to_owned();
    let attributes = BTreeMap::from([
        ("VERSIONS".to_owned(), pick(dice, &["1", "2", "3"])),
        ("KEEP_DELETED_CELLS".to_owned(), pick(dice, &["TRUE", "TRUE", "FALSE"])),
        ("NEW_VERSION_BEHAVIOR".to_owned(), "true".to_owned()),
    ]);
    TableSchema::new(table(), [FamilySchema::new("f", attributes)])
}

#[test]
fn bulk_copies_of_random_histories_show_and_keep_what_their_sources_do() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("CELLFS_SEED", 0);
    for seed in first..first + number("CELLFS_SEEDS", 400) {
        let mut dice = StdRng::seed_from_u64(seed);
        let (env, from) = store();
        from.alter(CatalogueChange::CreateTable(declared(&mut dice)), Origin(0)).unwrap();
        let (env_of_copy, to) = store();
        let (start, stop) = (Vec::new(), Vec::new());
        let job = Job { from: Arc::clone(&from), table: table(), to: Arc::clone(&to), target: table(), start, stop };
        let len = if dice.random_range(0..20) == 0 { 3 << 20 } else { 0 };
        for at in 0..dice.random_range(3..12) {
            step(&mut dice, &env, from.as_ref(), (at, len));
        }
        // Twice: what is there already is no other then.
        for again in 0..2 {
            env_of_copy.set_now(Timestamp(1000 + 100 * again));
            declare(&job).unwrap();
            copy(&job, None, &mut |_, _| Ok(())).unwrap();
            let [copied, source] = [&to, &from].map(|backend| shown(backend.as_ref()));
            assert_eq!(copied, source, "seed {seed}, copied again {again} times");
            let [copied, source] = [&to, &from].map(|backend| kept(backend.as_ref()));
            assert_eq!(copied, source, "seed {seed}, copied again {again} times");
        }
    }
}
