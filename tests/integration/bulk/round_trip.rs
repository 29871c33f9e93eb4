//! Random tables go through a file and are what they were: bytes, timestamps, TTLs, attributes, what was deleted and when.

use std::sync::Arc;

use cellfs::backend::{Backend, RowListing, Versions};
use cellfs::bulk::{
    Empty, Format, Import, Out, Outline, Plan, Position, history, import_mtime, import_time, refusal, writer,
};
use cellfs::model::{CatalogueChange, FamilySchema, FileRecord, Origin, Scan, TableName, TableSchema, TimeRange};
use cellfs::store::{Store, StoreOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::mount::random_store::RandomStore;

type Place = (Vec<u8>, String, Vec<u8>, i64, Option<i64>);
/// A version with all that must come back: TTL, attributes, value.
type Version = (Place, Option<u64>, String, Vec<u8>);

/// Qualifiers and values of a row.
type Cells = Vec<(Vec<u8>, Vec<u8>)>;

fn open(directory: &tempfile::TempDir) -> Arc<dyn Backend> {
    Arc::new(Store::open(StoreOptions::new(directory.path().join("store"))).unwrap())
}

/// All versions of a table, live and kept.
fn versions(backend: &dyn Backend, table: &TableName) -> Vec<Version> {
    let listing = RowListing {
        table: table.clone(),
        after: None,
        before: Vec::new(),
        time_range: TimeRange::ALL,
        which: Versions::LiveAndKept,
        limit: 100_000,
    };
    let mut found = Vec::new();
    for row in backend.list_rows(&listing).unwrap().iter() {
        for family in backend.list_families(table, row, TimeRange::ALL, Versions::LiveAndKept).unwrap() {
            for (qualifier, cell) in backend.list_history(table, row, &family, None, 100_000).unwrap() {
                let value = backend.read_value(&cell, 0, usize::MAX).unwrap();
                let ended = cell.deleted_at.map(|at| at.0);
                let place = (row.to_vec(), family.clone(), qualifier, cell.timestamp.0, ended);
                // Whatever comes back is set then.
                let file = FileRecord { changed: None, ..cell.tags.file.record().cloned().unwrap_or_default() };
                found.push((place, cell.tags.ttl_ms, format!("{file:?}"), value));
            }
        }
    }
    found
}

/// The text goes into the table in pieces of random lengths.
fn import(backend: &Arc<dyn Backend>, table: &TableName, format: Format, text: &[u8], dice: &mut SmallRng) {
    let plan = Plan {
        table: table.clone(),
        format,
        columns: None,
        empty: Empty::Absent,
        time: import_time(backend.as_ref(), table).unwrap(),
        mtime: None,
        recipe: None,
        record_max: 64 << 20,
        from: Position::default(),
    };
    let mut import = Import::new(Arc::clone(backend), plan).unwrap();
    let mut rest = text;
    while !rest.is_empty() {
        let most = *[1, 100, 10_000, 1_000_000].get(dice.random_range(0..4_usize)).unwrap();
        let piece = rest.split_at(dice.random_range(1..=most).min(rest.len()));
        import.feed(piece.0, &mut |bad| Err(refusal(bad))).unwrap();
        rest = piece.1;
    }
    import.finish(&mut |bad| Err(refusal(bad))).unwrap();
    assert_eq!(import.done().bytes, text.len() as u64);
}

fn exported(backend: &dyn Backend, table: &TableName) -> Vec<u8> {
    let (mut out, mut text) = (Out::new(), Vec::new());
    history(backend, &Scan::all(table.clone()), &mut out, &mut |out| {
        text.append(out);
        Ok(())
    })
    .unwrap();
    text.append(&mut out);
    text
}

fn lacking(one: &[Version], other: &[Version]) -> Vec<String> {
    let shown = |(place, ttl, file, value): &Version| {
        format!("{place:?} {ttl:?} {file} {}", value[..value.len().min(20)].escape_ascii())
    };
    one.iter().filter(|version| !other.contains(version)).map(shown).collect()
}

fn copy_schema(schema: &TableSchema, to: &dyn Backend) {
    let mut schema = schema.clone();
    schema.id = cellfs::model::TableId(0);
    schema.families.values_mut().for_each(|family| family.id = cellfs::model::FamilyId(0));
    to.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
}

#[test]
fn bulk_import_gives_no_file_another_time_because_of_what_was_just_written() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory);
    let table = TableName::parse("t").unwrap();
    let schema = TableSchema::new(table.clone(), [FamilySchema::new("f", Default::default())]);
    backend.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
    let mut dice = SmallRng::seed_from_u64(1);
    for n in 0..20 {
        // In the millisecond in which others have been written.
        import(&backend, &table, Format::Jsonl, format!("{{\"row\":\"r{n}\",\"f:q\":\"v\"}}\n").as_bytes(), &mut dice);
        let time = import_time(backend.as_ref(), &table).unwrap();
        assert_eq!(import_mtime(backend.as_ref(), time), None, "import {n}");
    }
}

#[test]
fn bulk_random_histories_go_through_jsonl_and_are_what_they_were() {
    let seeds = std::env::var("CELLFS_BULK_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let base: u64 = std::env::var("CELLFS_BULK_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut seen = (0, 0);
    for seed in base..base + seeds {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (source, target) = (open(&from), open(&to));
        RandomStore::new(Arc::clone(&source), seed).fill(400);
        let mut dice = SmallRng::seed_from_u64(seed);
        let namespace = source.catalogue().unwrap().namespaces["other"].clone();
        target.alter(CatalogueChange::CreateNamespace(namespace), Origin(0)).unwrap();
        for schema in source.catalogue().unwrap().user_tables() {
            let name = &schema.name;
            copy_schema(schema, target.as_ref());
            let text = exported(source.as_ref(), name);
            // A second time changes nothing.
            for _ in 0..2 {
                import(&target, name, Format::Jsonl, &text, &mut dice);
                let (had, has) = (versions(source.as_ref(), name), versions(target.as_ref(), name));
                let (lost, new) = (lacking(&had, &has), lacking(&has, &had));
                assert!(lost.is_empty() && new.is_empty(), "seed {seed}, {name}\nlost {lost:#?}\nnew {new:#?}");
            }
            seen.0 += text.iter().filter(|byte| **byte == b'\n').count();
            seen.1 += String::from_utf8_lossy(&text).matches("\"deleted\"").count();
        }
    }
    println!("{} lines, {} of deleted versions", seen.0, seen.1);
    assert!(seen.0 > 1000 && seen.1 > 100, "{seen:?}");
}

#[test]
fn bulk_rows_of_text_go_through_every_format() {
    for (seed, format) in (0..).zip([Format::Jsonl, Format::Json, Format::Csv, Format::Tsv]) {
        let directory = tempfile::tempdir().unwrap();
        let backend = open(&directory);
        let [from, to] = ["from", "to"].map(|name| TableName::parse(name).unwrap());
        for name in [&from, &to] {
            let family = cellfs::model::FamilySchema::new("f", Default::default());
            let schema = TableSchema::new(name.clone(), [family]);
            backend.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        }
        let mut dice = SmallRng::seed_from_u64(seed);
        let odd = |dice: &mut SmallRng, least: usize| -> Vec<u8> {
            let special =
                [b"a".as_slice(), b",", b"\"", b"\n", b"\t", b"\\", b"\r", b"\xC3\xA9", b"\xFF", b"n", b"{", b":"];
            (0..dice.random_range(least..9))
                .flat_map(|_| special[dice.random_range(0..special.len())].to_vec())
                .collect()
        };
        let columns: Vec<Vec<u8>> = (0..7).map(|_| odd(&mut dice, 0)).collect();
        for _ in 0..500 {
            let (row, mut puts) = (odd(&mut dice, 1), Vec::new());
            for qualifier in &columns {
                if dice.random_range(0..3) > 0 {
                    let time = cellfs::model::Time::AfterNewest;
                    puts.push(cellfs::model::PutCell::new("f", qualifier.as_slice(), time, odd(&mut dice, 1)));
                }
            }
            if !puts.is_empty() {
                let mutations = vec![cellfs::model::Mutation::Put(puts)];
                let table = from.clone();
                let row =
                    cellfs::model::RowMutations { table, row, mutations, durability: None, origin: Origin::default() };
                backend.mutate(row, None).unwrap();
            }
        }
        let columns =
            cellfs::bulk::columns_of(backend.as_ref(), &Scan::all(from.clone()), &Default::default(), |_| true)
                .unwrap();
        let (mut writer, mut out) = (writer(format, columns, &Outline::default()), Out::new());
        writer.begin(&mut out);
        backend.scan_pieces(&Scan::all(from.clone()), &mut |piece| writer.piece(piece, &mut out)).unwrap();
        writer.end(&mut out).unwrap();
        import(&backend, &to, format, &out, &mut dice);
        let rows = |table: &TableName| -> Vec<(Vec<u8>, Cells)> {
            let rows = backend.scan(&Scan::all(table.clone())).unwrap().map(Result::unwrap);
            rows.map(|row| (row.row, row.cells.into_iter().map(|cell| (cell.qualifier, cell.value)).collect()))
                .collect()
        };
        assert!(rows(&from).len() > 300);
        assert!(rows(&from) == rows(&to), "{format:?}");
    }
}
