//! Regions, as far as the shell speaks of them: a cluster tells its own; a store has none, but remembers where a table was
//! said to be split.

use super::arguments::Options;
use super::eval::failure::{Outcome, refuse};
use super::eval::value::Value;
use crate::backend::Backend;
use crate::model::declared::region;
use crate::model::{TableSchema, to_bytes_binary, to_string_binary};

/// The split points that SPLITS, SPLITS_FILE or NUMREGIONS and SPLITALGO ask for, in order; takes them out.
pub fn wanted_splits(options: &mut Options) -> Outcome<Option<Vec<Vec<u8>>>> {
    let Some(mut points) = given_splits(options)? else { return Ok(None) };
    points.sort();
    if points.first().is_some_and(Vec::is_empty) {
        return refuse("Empty split key must not be passed in the split keys.");
    }
    if let Some([one, ..]) = points.windows(2).find(|pair| pair[0] == pair[1]) {
        let shown = to_string_binary(one);
        return refuse(format!("All split keys must be unique, found duplicate: {shown}, {shown}"));
    }
    Ok(Some(points))
}

fn given_splits(options: &mut Options) -> Outcome<Option<Vec<Vec<u8>>>> {
    if let Some(path) = options.take("SPLITS_FILE") {
        let path = path.to_text();
        let Ok(text) = std::fs::read(&path) else { return refuse(format!("Splits file {path} doesn't exist")) };
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        return Ok(Some(lines.map(to_bytes_binary).collect()));
    }
    match options.take("SPLITS") {
        Some(Value::Array(splits)) => {
            return Ok(Some(splits.iter().map(|split| to_bytes_binary(&split.to_bytes())).collect()));
        }
        Some(_) => return refuse("SPLITS must be an array of row keys"),
        None => {}
    }
    match (options.take("NUMREGIONS"), options.take("SPLITALGO")) {
        (None, None) => Ok(None),
        (None, _) => refuse("Number of regions must be specified"),
        (_, None) => refuse("Split algorithm must be specified"),
        (Some(Value::Integer(count)), Some(algorithm)) if (2..=10_000).contains(&count) => {
            algorithm_splits(&algorithm.to_text(), count as u64).map(Some)
        }
        _ => refuse("Number of regions must be greater than 1"),
    }
}

/// Split points of RegionSplitter's algorithms.
fn algorithm_splits(name: &str, count: u64) -> Outcome<Vec<Vec<u8>>> {
    let points = 1..count;
    Ok(match name {
        "HexStringSplit" => {
            let part = (1u64 << 32) / count;
            points.map(|at| format!("{:08x}", part * at).into_bytes()).collect()
        }
        "DecimalStringSplit" => {
            let part = 100_000_000 / count;
            points.map(|at| format!("{:08}", part * at).into_bytes()).collect()
        }
        "UniformSplit" => {
            let part = (1u128 << 64) / u128::from(count);
            points.map(|at| ((part * u128::from(at)) as u64).to_be_bytes().to_vec()).collect()
        }
        _ => return refuse(format!("Class {name} not found")),
    })
}

/// A region: its name and encoded name, first key, end key (empty = open).
pub struct Region {
    pub name: String,
    pub encoded: String,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
    /// `HOST,PORT,START CODE` at a cluster.
    pub server: String,
}

impl Region {
    /// `HOST:PORT` at a cluster.
    pub fn host(&self) -> String {
        let mut parts = self.server.splitn(3, ',');
        match (parts.next(), parts.next()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => self.server.clone(),
        }
    }
}

/// The regions of a table.
pub fn regions(backend: &dyn Backend, table: &TableSchema) -> crate::Result<Vec<Region>> {
    let Some(found) = backend.regions(&table.name)? else { return Ok(of_splits(table)) };
    let own = |region: crate::backend::Region| Region {
        name: to_string_binary(&region.name),
        encoded: region.encoded,
        start: region.start,
        end: region.end,
        server: region.server,
    };
    Ok(found.into_iter().map(own).collect())
}

/// The regions that a table of these split points would have.
fn of_splits(table: &TableSchema) -> Vec<Region> {
    let own = |region: region::Region| Region {
        name: region.name,
        encoded: region.encoded,
        start: region.start,
        end: region.end,
        server: region::SERVER_NAME.to_owned(),
    };
    region::regions(table).into_iter().map(own).collect()
}

/// The region that has a row.
pub fn region_of(backend: &dyn Backend, table: &TableSchema, row: &[u8]) -> crate::Result<Option<Region>> {
    Ok(regions(backend, table)?.into_iter().rev().find(|region| region.start.as_slice() <= row))
}
