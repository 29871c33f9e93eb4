//! Random chains of steps on a real mount against the scan with the same options.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cellfs::backend::Backend;
use cellfs::model::{
    By, ColumnSlice, Columns, FileAttributes, Mutation, Origin, PutCell, RowMutations, Scan, TableName, Time,
    TimeRange, Timestamp, Value, after_prefix,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::fixture::{Fixture, errno, names};

fn cell(family: &str, qualifier: &str, time: Time, value: &str) -> PutCell {
    PutCell {
        family: family.to_owned(),
        qualifier: qualifier.as_bytes().to_vec(),
        time,
        value: Value::Bytes(value.as_bytes().to_vec()),
        ttl_ms: None,
        file: FileAttributes::default(),
        ended_at: None,
    }
}

fn apply(backend: &dyn Backend, row: &str, cells: Vec<PutCell>) {
    let (table, row) = (TableName::parse("t").unwrap(), row.as_bytes().to_vec());
    let mutations = vec![Mutation::Put(cells)];
    backend.mutate(RowMutations { table, row, mutations, durability: None, origin: Origin::default() }, None).unwrap();
}

/// Puts a text.
pub fn put(backend: &dyn Backend, row: &str, family: &str, qualifier: &str, value: &str) {
    apply(backend, row, vec![cell(family, qualifier, Time::AfterNewest, value)]);
}

/// Puts many: row, qualifier, value; neighbours of a row at once.
pub fn put_many(backend: &dyn Backend, family: &str, cells: impl Iterator<Item = (String, String, String)>) {
    let (mut open, mut row): (Vec<PutCell>, String) = (Vec::new(), String::new());
    for (of, qualifier, value) in cells {
        if of != row || open.len() == 500 {
            if !open.is_empty() {
                apply(backend, &row, std::mem::take(&mut open));
            }
            row = of;
        }
        open.push(cell(family, &qualifier, Time::AfterNewest, &value));
    }
    apply(backend, &row, open);
}

/// A row of an answer: each file's path below the row, and its content.
type Tree = BTreeMap<String, BTreeMap<String, Vec<u8>>>;

fn walked(fixture: &Fixture, path: &str) -> Tree {
    let root = fixture.path("t").join(path);
    let mut tree = Tree::new();
    for row in names(&root) {
        let mut files = BTreeMap::new();
        for family in names(&root.join(&row)) {
            for cell in names(&root.join(&row).join(&family)) {
                let bytes = fs::read(root.join(&row).join(&family).join(&cell)).unwrap();
                files.insert(format!("{family}/{cell}"), bytes);
            }
        }
        assert!(!files.is_empty(), "{path}/{row} is empty");
        tree.insert(row, files);
    }
    tree
}

/// What the backend says: the newest of a column by its name, older ones by their times.
fn scanned(backend: &dyn Backend, scan: &Scan) -> Tree {
    let mut tree = Tree::new();
    for result in backend.scan(scan).unwrap() {
        let result = result.unwrap();
        let mut files = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for cell in result.cells {
            let name = format!("{}/{}", cell.family, String::from_utf8(cell.qualifier).unwrap());
            let is_newest = seen.insert(name.clone());
            files.insert(if is_newest { name } else { format!("{name}@{}", cell.timestamp) }, cell.value);
        }
        tree.insert(String::from_utf8(result.row).unwrap(), files);
    }
    tree
}

/// Filters of each scope.
const FILTERS: [&str; 10] = [
    "ValueFilter(=, 'substring:1')",
    "ColumnPrefixFilter('a')",
    "PrefixFilter('b') OR QualifierFilter(=, 'binary:b')",
    "FamilyFilter(=, 'binary:g') AND ValueFilter(!=, 'binary:v1')",
    "SingleColumnValueFilter('f', 'a', =, 'binary:v1', true, true)",
    "FirstKeyOnlyFilter()",
    "SKIP ValueFilter(!=, 'binary:v2')",
    "PageFilter(3)",
    "WHILE RowFilter(<, 'binary:b3')",
    "ColumnPaginationFilter(1, 1)",
];

struct Asked {
    steps: Vec<String>,
    scan: Scan,
    last: Option<usize>,
}

fn range(scan: &mut Scan, from: Vec<u8>, before: Vec<u8>) {
    scan.start = scan.start.clone().max(from);
    if !before.is_empty() && (scan.stop.is_empty() || before < scan.stop) {
        scan.stop = before;
    }
}

fn chain(random: &mut StdRng) -> Asked {
    let mut asked = Asked { steps: Vec::new(), scan: Scan::all(TableName::parse("t").unwrap()), last: None };
    let row =
        |random: &mut StdRng| format!("{}{}", ['a', 'b', 'c'][random.random_range(0..3)], random.random_range(0..6));
    let scan = &mut asked.scan;
    let mut picks = random.random_range(0..6);
    if random.random_ratio(1, 3) {
        let from = row(random);
        range(scan, from.clone().into_bytes(), Vec::new());
        asked.steps.push(format!(".from/{from}"));
    }
    if random.random_ratio(1, 3) {
        let to = row(random);
        range(scan, Vec::new(), to.clone().into_bytes());
        asked.steps.push(format!(".to/{to}"));
    }
    if random.random_ratio(1, 4) {
        let value = format!("v{}", random.random_range(0..4)).into_bytes();
        let by = By { index: "i".to_owned(), ..By::default() };
        let within = ColumnSlice { from: value.clone(), before: after_prefix(&value) };
        let (by, says) = match random.random_bool(0.5) {
            true => (By { equals: vec![value.clone()], ..by }, ""),
            // A `.from` would take a `.to` behind it for one of values.
            false => (By { within, ..by }, ".prefix/"),
        };
        asked.steps.push(format!(".by/i/{says}{}", String::from_utf8(value).unwrap()));
        scan.by = Some(by);
    }
    if random.random_ratio(1, 4) {
        range(scan, b"b".to_vec(), after_prefix(b"b"));
        asked.steps.push(".prefix/b".to_owned());
    }
    if random.random_ratio(1, 3) {
        let filter = FILTERS[random.random_range(0..FILTERS.len())];
        scan.read.filter = Some(filter.as_bytes().to_vec());
        asked.steps.push(format!(".filter/{filter}"));
    }
    if random.random_ratio(1, 4) {
        let all = random.random_bool(0.5);
        let names = (!all).then(|| BTreeSet::from([b"a".to_vec(), b"c".to_vec()]));
        scan.read.columns = Columns::from([("f".to_owned(), names)]);
        asked.steps.push(if all { ".columns/f" } else { ".columns/f:a,f:c" }.to_owned());
    }
    if random.random_ratio(1, 3) {
        let versions = random.random_range(1..4);
        scan.read.max_versions = versions;
        asked.steps.push(format!(".versions/{versions}"));
    }
    if random.random_ratio(1, 4) {
        let (from, to) = (random.random_range(0..30), random.random_range(31..60));
        scan.read.time_range = TimeRange { min: from, max: to, ..TimeRange::ALL };
        asked.steps.push(format!(".times/{from}..{to}"));
    } else if random.random_ratio(1, 5) {
        let at = random.random_range(1..60);
        scan.read.time_range = TimeRange::until(Timestamp(at));
        asked.steps.push(format!(".at/{at}"));
    }
    let most = random.random_range(1..8);
    if picks == 0 {
        scan.limit = Some(most);
        asked.steps.push(format!(".first/{most}"));
    } else if picks == 1 {
        asked.last = Some(usize::try_from(most).unwrap());
        asked.steps.push(format!(".last/{most}"));
    } else if asked.steps.is_empty() {
        picks = 2;
        asked.steps.push(".versions/1".to_owned());
    }
    let _ = picks;
    for at in (1..asked.steps.len()).rev() {
        asked.steps.swap(at, random.random_range(0..=at));
    }
    asked
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn fill(backend: &dyn Backend, random: &mut StdRng, part: usize) {
    for _ in 0..120 {
        let row = format!("{}{}", ['a', 'b', 'c'][random.random_range(0..3)], random.random_range(0..6));
        let (family, qualifier) =
            (["f", "g"][random.random_range(0..2)], ["a", "b", "c", "ab"][random.random_range(0..4)]);
        let time = Time::At(Timestamp(random.random_range(1..60)));
        let value = format!("v{}", random.random_range(0..4));
        apply(backend, &row, vec![cell(family, qualifier, time, &value)]);
    }
    if part.is_multiple_of(2) {
        backend.flush(None).unwrap();
    }
}

#[test]
fn mount_path_random_chains_answer_as_the_scan_with_the_same_options() {
    let (count, seed) = (number("CELLFS_PATHS", 250), number("CELLFS_PATHS_SEED", 1));
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("t/.schema/g")).unwrap();
    fs::create_dir(fixture.path("t/.schema/.index/i")).unwrap();
    fs::write(fixture.path("t/.schema/.index/i/columns"), "f:a").unwrap();
    let backend = fixture.backend();
    let mut random = StdRng::seed_from_u64(seed);
    (0..3).for_each(|part| fill(backend.as_ref(), &mut random, part));
    for family in ["f", "g"] {
        fs::remove_dir_all(fixture.path("t/b1").join(family)).unwrap_or_default();
    }
    for n in 0..count {
        let Asked { steps, scan, last } = chain(&mut random);
        let path = steps.join("/");
        let mut expected = scanned(backend.as_ref(), &scan);
        if let Some(last) = last {
            let drop = expected.len().saturating_sub(last);
            expected = expected.into_iter().skip(drop).collect();
        }
        let found = walked(&fixture, &path);
        assert_eq!(found, expected, "chain {n} of seed {seed}: {path}");
        for row in ["a0", "a3", "b1", "b2", "b4", "c0", "c5"] {
            let is_there = errno(fs::metadata(fixture.path("t").join(&path).join(row))) == 0;
            assert_eq!(is_there, expected.contains_key(row), "chain {n} of seed {seed}: {path}/{row}");
        }
        let counted = fs::read_to_string(fixture.path("t").join(&path).join(".count")).unwrap();
        assert_eq!(counted.trim(), expected.len().to_string(), "chain {n} of seed {seed}: {path}/.count");
    }
    println!("{count} chains");
}
