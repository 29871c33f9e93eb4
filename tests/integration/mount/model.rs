//! The simplest possible correct mount: a map from names to values and histories, driven beside the real one.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;

use cellfs::backend::Backend;
use cellfs::model::{
    Append, ColumnDelta, ColumnKey, DeleteKind, DeleteMarker, Mutation, Origin, PutCell, RowMutations, TableName, Time,
    TimeRange,
};
use rand::{RngExt, SeedableRng};

use super::fixture::{Fixture, history, names};

fn mutate(backend: &dyn Backend, row: &[u8], mutation: Mutation) {
    let table = TableName::parse("t").unwrap();
    let mutations = RowMutations {
        table,
        row: row.to_vec(),
        mutations: vec![mutation],
        durability: None,
        origin: Origin::default(),
    };
    assert!(backend.mutate(mutations, None).unwrap().applied);
}

pub fn put_bytes(backend: &dyn Backend, row: &[u8], qualifier: &[u8], value: &[u8]) {
    let put = PutCell::new("f", qualifier.to_vec(), Time::AfterNewest, value.to_vec());
    mutate(backend, row, Mutation::Put(vec![put]));
}

pub fn put(backend: &dyn Backend, row: &str, qualifier: &str, value: &[u8]) {
    put_bytes(backend, row.as_bytes(), qualifier.as_bytes(), value);
}

pub fn append(backend: &dyn Backend, row: &str, qualifier: &str, more: &[u8]) {
    let column = ColumnDelta { family: "f".into(), qualifier: qualifier.into(), delta: more.to_vec() };
    let (columns, time_range) = (vec![column], TimeRange::ALL);
    let append =
        Append { columns, time: Time::AfterNewest, ttl_ms: None, file: Default::default(), time_range, returns: true };
    mutate(backend, row.as_bytes(), Mutation::Append(append));
}

/// The newest value in the store.
pub fn stored(backend: &dyn Backend, row: &str, qualifier: &str) -> Option<Vec<u8>> {
    let (table, family) = (TableName::parse("t").unwrap(), "f".to_owned());
    let column = ColumnKey { table, row: row.into(), family, qualifier: qualifier.into() };
    let cell = backend.newest(&column, TimeRange::ALL).unwrap()?;
    Some(backend.read_value(&cell, 0, usize::MAX).unwrap())
}

pub fn delete(backend: &dyn Backend, row: &str, qualifier: &str) {
    let kind = DeleteKind::Column { family: "f".into(), qualifier: qualifier.into() };
    let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
    mutate(backend, row.as_bytes(), Mutation::Delete(vec![marker]));
}

/// What a column is expected to be.
#[derive(Clone, Default)]
struct Column {
    value: Option<String>,
    history: Vec<String>,
}

impl Column {
    fn put(&mut self, value: String) {
        self.value = Some(value.clone());
        self.history.push(value);
    }
}

#[test]
fn mount_behaves_as_the_model_with_crashes_in_between() {
    let seed = std::env::var("CELLFS_MODEL_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut dice = rand::rngs::SmallRng::seed_from_u64(seed);
    let mut fixture = Fixture::new();
    fs::write(fixture.path("t/.schema/f/VERSIONS"), "1000").unwrap();
    let mut model: BTreeMap<String, Column> = BTreeMap::new();
    for step in 0..1500 {
        let family = fixture.family("r");
        let name = format!("q{}", dice.random_range(0..6));
        let path = family.join(&name);
        let column = model.entry(name.clone()).or_default();
        match dice.random_range(0..100) {
            0..35 => {
                let value = format!("{step}");
                fs::write(&path, &value).unwrap();
                column.put(value);
            }
            35..50 => {
                let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
                file.write_all(b"+").unwrap();
                let value = column.value.clone().unwrap_or_default() + "+";
                column.put(value);
            }
            50..65 => {
                assert_eq!(fs::remove_file(&path).is_ok(), column.value.is_some(), "step {step}");
                column.value = None;
            }
            65..80 => {
                let other = format!("q{}", dice.random_range(0..6));
                rename(&fixture, &mut model, &name, &other);
            }
            80..88 => {
                let value = format!("put {step}");
                put(fixture.backend().as_ref(), "r", &name, value.as_bytes());
                column.put(value);
            }
            88..96 => {
                delete(fixture.backend().as_ref(), "r", &name);
                column.value = None;
            }
            96 => {
                fixture.backend().flush(None).unwrap();
            }
            97 => {
                fixture.kill();
                fixture.mount("");
            }
            _ => fixture.remount(),
        }
        compare(&fixture, &model, step);
    }
}

fn rename(fixture: &Fixture, model: &mut BTreeMap<String, Column>, name: &str, other: &str) {
    let family = fixture.family("r");
    let source = model.entry(name.to_owned()).or_default().clone();
    let renamed = fs::rename(family.join(name), family.join(other));
    assert_eq!(renamed.is_ok(), source.value.is_some(), "{name} to {other}");
    let Some(value) = source.value.filter(|_| name != other) else { return };
    let emptied = model.entry(name.to_owned()).or_default();
    emptied.value = None;
    if emptied.history.len() == 1 {
        emptied.history.clear();
    }
    model.entry(other.to_owned()).or_default().put(value);
}

fn compare(fixture: &Fixture, model: &BTreeMap<String, Column>, step: usize) {
    let family = fixture.family("r");
    let live: Vec<&String> = model.iter().filter(|(_, c)| c.value.is_some()).map(|(name, _)| name).collect();
    assert_eq!(names(&family).iter().collect::<Vec<_>>(), live, "step {step}");
    for (name, column) in model {
        let path = family.join(name);
        assert_eq!(fs::read_to_string(&path).ok(), column.value, "step {step}, {name}");
        if step.is_multiple_of(25) && !column.history.is_empty() {
            assert_eq!(history(&path), column.history, "step {step}, {name}");
        }
    }
}
