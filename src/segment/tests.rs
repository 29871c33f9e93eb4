//! What all tests of segments share: cells, files, a model.

mod damage;
mod golden;
mod round_trip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::env::{Env, SimEnv};
use crate::format::{Codec, StoreId, key};
use crate::model::{CellKind, FamilyId, FileRecord, FileTime, SeqNo, Tags, Timestamp, Tombstone, ValueBytes};

const STORE: StoreId = [7; 16];
const FILE: u64 = 42;

/// A value of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Bytes(Vec<u8>),
    Root(u64, Vec<u8>),
}

type Model = BTreeMap<Vec<u8>, (Tags, Given)>;

fn path() -> PathBuf {
    Path::new("/store/segments/00000042.seg").to_owned()
}

fn env() -> SimEnv {
    let env = SimEnv::new();
    env.create_dir(path().parent().unwrap()).unwrap();
    env
}

fn kind(n: u8) -> CellKind {
    match n {
        0 => CellKind::Tombstone(Tombstone::Version),
        1 => CellKind::Tombstone(Tombstone::FamilyVersion),
        2 => CellKind::Tombstone(Tombstone::Column),
        3 => CellKind::Tombstone(Tombstone::Family),
        _ => CellKind::Put,
    }
}

fn write(env: &SimEnv, extents: &[(ExtentOptions, Model)]) -> Vec<ExtentFacts> {
    write_with(env, extents, |writer| writer.claims(&[(3, 1)]), |_| ())
}

/// Writes extents; `first` comes before all, `each` at the front of each.
fn write_with(
    env: &SimEnv,
    extents: &[(ExtentOptions, Model)],
    first: impl FnOnce(&mut SegmentWriter),
    each: impl Fn(&mut SegmentWriter),
) -> Vec<ExtentFacts> {
    let mut writer = SegmentWriter::new(env, &path(), STORE, FILE, 5).unwrap();
    first(&mut writer);
    for (options, model) in extents {
        writer.begin_extent(options).unwrap();
        each(&mut writer);
        for (key, (tags, value)) in model {
            let value = match value {
                Given::Bytes(bytes) => ValueBytes::Bytes(bytes),
                Given::Root(len, bytes) => ValueBytes::Root { len: *len, bytes },
            };
            writer.add(&NewCell { key, tags, value }).unwrap();
        }
        writer.end_extent().unwrap();
    }
    writer.finish().unwrap()
}

fn open(env: &SimEnv) -> crate::Result<Arc<Segment>> {
    Segment::open(env, &path(), STORE, FILE, &Cache::new(8 << 20))
}

/// The cell that a cursor is at.
fn current(cursor: &mut ExtentCursor) -> Option<(Vec<u8>, (Tags, Given))> {
    let cell = cursor.cell()?;
    let (key, tags) = (cell.key.to_vec(), cell.tags.decode().unwrap());
    let (len, root) = match cell.value {
        StoredValue::Root { len, bytes } => (len, Some(bytes.to_vec())),
        value => (value.len(), None),
    };
    let mut value = Vec::new();
    cursor.read_value(&mut value).unwrap();
    let value = match root {
        Some(root) => Given::Root(len, root),
        None => {
            assert_eq!(len, value.len() as u64);
            Given::Bytes(value)
        }
    };
    Some((key, (tags, value)))
}
