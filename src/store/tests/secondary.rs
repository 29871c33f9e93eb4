//! Secondary indexes: what they answer is what a scan with the same filter answers, whatever happens to the table.

use super::*;
use crate::backend::{CompactionKind, Directory, Existing, Leaves, PurgeScope, Restoration};
use crate::store::extents::flush;
use crate::store::jobs::{build, compact};
use crate::store::options::Broken;

const ROWS: [&str; 6] = ["a", "b", "b\0c", "c", "d", "zz"];
const QUALIFIERS: [&str; 3] = ["q", "other", "third"];

/// Values that an entry has as a whole, and some that share their first bytes.
fn domain() -> Vec<Vec<u8>> {
    let long = |last: u8, len: usize| [vec![b'l'; len], vec![last]].concat();
    let mut all = vec![vec![], b"0".to_vec(), b"1".to_vec(), b"1\0".to_vec(), b"12".to_vec(), vec![0xFF; 3]];
    all.extend([long(1, 300), long(2, 300), long(1, 20_000), long(2, 20_000)]);
    all
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

pub fn index(columns: &str) -> IndexSchema {
    let mut index = IndexSchema::new("i");
    index.set_attribute("columns", Some(columns)).unwrap();
    index
}

pub fn declare(store: &Store, index: Option<IndexSchema>) -> crate::Result<()> {
    let mut schema = store.catalogue().unwrap().tables[&table()].clone();
    match index {
        Some(index) => drop(schema.indexes.insert(index.name.clone(), index)),
        None => schema.indexes.clear(),
    }
    store.alter(CatalogueChange::AlterTable(schema), Origin(0))
}

/// The rows that have a value.
pub fn rows_by(backend: &dyn Backend, value: &[u8]) -> Vec<String> {
    let scan = Scan { by: Some(equal(value)), ..Scan::all(table()) };
    let rows = backend.scan(&scan).unwrap().map(|row| String::from_utf8(row.unwrap().row).unwrap());
    rows.collect()
}

pub fn equal(value: &[u8]) -> By {
    By { index: "i".into(), equals: vec![value.to_vec()], ..By::default() }
}

pub fn between(from: &[u8], before: &[u8]) -> By {
    let within = ColumnSlice { from: from.to_vec(), before: before.to_vec() };
    By { index: "i".into(), within, ..By::default() }
}

fn quoted(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|byte| if *byte == b'\'' { vec![b'\'', b'\''] } else { vec![*byte] }).collect()
}

fn comparison(op: &str, value: &[u8]) -> Vec<u8> {
    let head = format!("SingleColumnValueFilter('f','q',{op},'binary:");
    [head.as_bytes(), &quoted(value), b"',true,true)"].concat()
}

/// The filter that asks the same.
fn filter_of(by: &By) -> Vec<u8> {
    if let Some(value) = by.equals.first() {
        return comparison("=", value);
    }
    let from = comparison(">=", &by.within.from);
    if by.within.before.is_empty() {
        return from;
    }
    [&from[..], b" AND ", &comparison("<", &by.within.before)].concat()
}

type Answer = Result<Vec<RowResult>, ErrorKind>;

fn answer(backend: &dyn Backend, scan: &Scan) -> Answer {
    backend.scan(scan).and_then(Iterator::collect).map_err(|e| e.kind)
}

/// What differs between the index and a filter, in words; how many rows were in the answers.
fn compare(backend: &dyn Backend, chance: &mut Chance, now: i64) -> (Vec<String>, usize) {
    let (mut wrong, mut found) = (Vec::new(), 0);
    let domain = domain();
    let mut asked: Vec<By> = domain.iter().map(|value| equal(value)).collect();
    asked.extend((0..4).map(|_| between(&chance.of(&domain), &chance.of(&domain))));
    asked.push(between(b"", b""));
    for by in asked {
        let mut scan = Scan { reversed: chance.below(3) == 0, ..Scan::all(table()) };
        if chance.below(3) == 0 {
            scan.start = chance.of(&ROWS).into();
            scan.start_inclusive = chance.below(2) == 0;
        }
        if chance.below(3) == 0 {
            (scan.stop, scan.stop_inclusive) = (chance.of(&ROWS).into(), chance.below(2) == 0);
        }
        if chance.below(4) == 0 {
            scan.limit = Some(1 + chance.below(3) as u64);
        }
        if chance.below(3) == 0 {
            scan.read.time_range = TimeRange::until(Timestamp((now - chance.below(200_000) as i64).max(1)));
        }
        scan.read.max_versions = 1 + chance.below(3) as u32;
        let by_filter = answer(
            backend,
            &Scan { read: ReadSpec { filter: Some(filter_of(&by)), ..scan.read.clone() }, ..scan.clone() },
        );
        let by_index = answer(backend, &Scan { by: Some(by.clone()), ..scan.clone() });
        found += by_filter.as_ref().map_or(0, Vec::len);
        if by_filter != by_index {
            wrong.push(format!("{by:?} {scan:?}: {by_filter:?}, by the index {by_index:?}"));
        }
    }
    (wrong, found)
}

/// One life of a random history: what is done to a table.
struct History {
    env: SimEnv,
    options: StoreOptions,
    store: Option<Store>,
    chance: Chance,
    deeds: BTreeMap<&'static str, u64>,
}

impl History {
    fn new(seed: u64, broken: Option<Broken>) -> Self {
        let (env, mut chance) = (SimEnv::new(), Chance(seed));
        env.advance(1_000_000_000);
        let mut options = options(&env);
        options.memtable_bytes = chance.of(&[4_000, 1 << 20]);
        options.segment_bytes = chance.of(&[1, 256 << 20]);
        options.broken = broken;
        let store = Store::open(options.clone()).unwrap();
        let kinds: [&[(&str, &str)]; 4] = [
            FILES,
            &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true"), ("TTL", "100")],
            &[("VERSIONS", "2")],
            &[("VERSIONS", "3"), ("KEEP_DELETED_CELLS", "TRUE"), ("TTL", "200"), ("MIN_VERSIONS", "1")],
        ];
        let mut wanted = schema(chance.of(&kinds));
        if chance.below(2) == 0 {
            wanted.indexes.insert("i".into(), index("f:q"));
        }
        store.alter(CatalogueChange::CreateTable(wanted), Origin(0)).unwrap();
        Self { env, options, store: Some(store), chance, deeds: BTreeMap::new() }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn row(&mut self) -> &'static str {
        self.chance.of(&ROWS)
    }

    fn column(&mut self) -> ColumnKey {
        let qualifier = if self.chance.below(3) == 0 { self.chance.of(&QUALIFIERS) } else { "q" };
        column(self.row(), qualifier)
    }

    fn time(&mut self) -> Time {
        let now = self.store().now().0;
        match self.chance.below(5) {
            0 => Time::At(Timestamp((now - 150_000 + self.chance.below(200_000) as i64).max(1))),
            1 => Time::Now,
            _ => Time::AfterNewest,
        }
    }

    fn put(&mut self) -> crate::Result<()> {
        let column = self.column();
        let (value, time) = (self.chance.of(&domain()), self.time());
        let mut cell = PutCell::new("f", column.qualifier.clone(), time, value);
        cell.ttl_ms = (self.chance.below(6) == 0).then_some(50_000);
        let mut mutation = Mutation::Put(vec![cell.clone()]);
        if self.chance.below(8) == 0 {
            cell.time = Time::At(self.store().now());
            cell.ended_at = Some(Timestamp(self.store().now().0 + 1));
            mutation = Mutation::Restore(Box::new(cell));
        }
        self.mutate(column.row, mutation)
    }

    fn mutate(&self, row: Vec<u8>, mutation: Mutation) -> crate::Result<()> {
        let (mutations, durability) = (vec![mutation], Some(Durability::SyncWal));
        let mutations = RowMutations { table: table(), row, mutations, durability, origin: Origin(0) };
        self.store().mutate(mutations, None).map(drop)
    }

    fn append(&mut self) -> crate::Result<()> {
        let row = self.row();
        let delta = ColumnDelta { family: "f".to_owned(), qualifier: b"q".to_vec(), delta: b"2".to_vec() };
        let append = Append::to_newest(vec![delta]);
        self.mutate(row.into(), Mutation::Append(append))
    }

    fn delete(&mut self) -> crate::Result<()> {
        let column = self.column();
        let (family, qualifier) = ("f".to_owned(), column.qualifier.clone());
        let kind = match self.chance.below(4) {
            0 => DeleteKind::Version { family, qualifier },
            1 => DeleteKind::Family { family },
            2 => DeleteKind::Row,
            _ => DeleteKind::Column { family, qualifier },
        };
        let time = if matches!(kind, DeleteKind::Version { .. }) { Time::Now } else { Time::AfterNewest };
        let erases = self.chance.below(2) == 0;
        self.mutate(column.row, Mutation::Delete(vec![DeleteMarker { kind, time, erases }]))
    }

    fn rename(&mut self) -> crate::Result<()> {
        let (from, to) = (self.column(), self.column());
        let mode = self.chance.of(&[RenameMode::Replace, RenameMode::Exchange]);
        let rename = RenameCell { leaves: Leaves::History, ..RenameCell::newest(from, to, mode) };
        self.store().rename_cell(&rename).map(drop)
    }

    fn relocate(&mut self) -> crate::Result<()> {
        let mut of = || Directory { table: table(), row: self.row().into(), family: None };
        let (from, to) = (of(), of());
        if from.row == to.row { Ok(()) } else { self.store().rename_directory(&from, &to, Origin(0)).map(drop) }
    }

    fn compact(&mut self) -> crate::Result<()> {
        self.store().flush(None)?;
        match self.chance.below(4) {
            0 => compact::compact_as_needed(&self.store().engine),
            1 => self.store().compact(&table(), None, CompactionKind::Minor),
            2 => self.store().purge(&PurgeScope { table: table(), row: None, family: None, qualifier: None }),
            _ => self.store().compact(&table(), None, CompactionKind::Major),
        }
    }

    fn alter(&mut self, change: CatalogueChange) -> crate::Result<()> {
        self.store().alter(change, Origin(0))
    }

    fn restore(&mut self) -> crate::Result<()> {
        let tables = vec![(table(), table())];
        let restoration = Restoration { snapshot: "s".into(), tables, existing: Existing::Replace };
        self.store().restore(&restoration, Origin(0))
    }

    fn snapshot(&mut self) -> crate::Result<()> {
        let _ = self.store().delete_snapshot("s");
        self.store().create_snapshot("s", None)
    }

    fn drop_and_bring_back(&mut self) -> crate::Result<()> {
        let family = (self.chance.below(2) == 0).then(|| "f".to_owned());
        match &family {
            Some(family) => self.alter(CatalogueChange::SetFamilyAside { table: table(), family: family.clone() })?,
            None => self.alter(CatalogueChange::SetTableAside { name: table() })?,
        }
        if self.chance.below(2) == 0 {
            self.store().flush(None)?;
            compact::compact_as_needed(&self.store().engine)?;
        }
        self.alter(CatalogueChange::Undrop { table: table(), family })
    }

    fn there_and_back(&mut self) -> crate::Result<()> {
        let other = TableName::parse("away").unwrap();
        self.alter(CatalogueChange::RenameTable { from: table(), to: other.clone() })?;
        self.alter(CatalogueChange::RenameTable { from: other, to: table() })
    }

    fn reopen(&mut self) {
        let mode = self.chance.below(3);
        if mode > 0 {
            self.store().sync().unwrap();
        }
        if mode == 2 {
            self.store.take().unwrap().close().unwrap();
        } else {
            self.env.crash(if mode == 0 { CrashMode::ProcessOnly } else { CrashMode::LoseUnsynced });
            drop(self.store.take());
        }
        self.store = Some(Store::open(self.options.clone()).unwrap());
    }

    fn step(&mut self) {
        let (name, done) = match self.chance.below(40) {
            0..14 => ("put", self.put()),
            14..18 => ("delete", self.delete()),
            18..20 => ("rename", self.rename()),
            20 => ("relocate", self.relocate()),
            21 | 22 => ("append", self.append()),
            23..26 => ("flush", flush::flush(&self.store().engine)),
            26..30 => ("compact", self.compact()),
            30 => ("declare", declare(self.store(), Some(index("f:q")))),
            31 => ("build", build::build_indexes(&self.store().engine)),
            32 => ("snapshot", self.snapshot()),
            33 => ("restore", self.restore()),
            34 if self.chance.below(4) == 0 => {
                ("truncate", self.alter(CatalogueChange::TruncateTable { name: table() }))
            }
            35 => ("drop and bring back", self.drop_and_bring_back()),
            36 if self.chance.below(3) == 0 => ("drop the index", declare(self.store(), None)),
            37 => ("rename the table", self.there_and_back()),
            38 => ("reopen", {
                self.reopen();
                Ok(())
            }),
            _ => ("step the clock", {
                self.env.advance(self.chance.below(90_000) as i64 - 20_000);
                Ok(())
            }),
        };
        match done {
            Ok(()) => *self.deeds.entry(name).or_default() += 1,
            // Nothing there to be renamed, restored, brought back.
            Err(e) => assert!(
                matches!(e.kind, ErrorKind::NotFound | ErrorKind::CrossDevice | ErrorKind::AlreadyExists),
                "{name}: {e}"
            ),
        }
    }

    /// What is wrong now, here and in the snapshot; how many rows were in answers, by a complete index.
    fn look(&mut self) -> (Vec<String>, usize) {
        let (store, now) = (self.store.take().unwrap(), self.options.env.now().0);
        let is_complete = |backend: &dyn Backend| {
            backend.catalogue().unwrap().tables.get(&table()).and_then(|t| Some(t.indexes.get("i")?.is_complete()))
        };
        let (mut wrong, mut found) = (Vec::new(), 0);
        let kept = store.snapshot("s").ok();
        for backend in [Some(&store as &dyn Backend), kept.as_deref()].into_iter().flatten() {
            if let Some(is_complete) = is_complete(backend) {
                let (text, rows) = compare(backend, &mut self.chance, now);
                wrong.extend(text);
                found += if is_complete { rows } else { 0 };
            }
        }
        drop(kept);
        self.store = Some(store);
        (wrong, found)
    }
}

/// Runs histories; the first thing that is wrong, and how many rows were compared.
fn run(seeds: std::ops::Range<u64>, broken: Option<Broken>) -> (Option<String>, usize, BTreeMap<&'static str, u64>) {
    let (mut all, mut deeds) = (0, BTreeMap::new());
    for seed in seeds {
        let mut history = History::new(seed, broken);
        for step in 0..60 {
            history.step();
            let (wrong, found) = history.look();
            all += found;
            if let Some(text) = wrong.into_iter().next() {
                return (Some(format!("seed {seed}, step {step}: {text}")), all, deeds);
            }
        }
        for (name, count) in history.deeds {
            *deeds.entry(name).or_default() += count;
        }
    }
    (None, all, deeds)
}

#[test]
fn an_index_answers_as_a_filter_does_whatever_happens_to_the_table() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("CELLFS_SEED", 1);
    let (wrong, found, deeds) = run(first..first + number("CELLFS_SEEDS", 40), None);
    assert_eq!(wrong, None);
    assert!(found > 5_000, "{found} rows by complete indexes");
    println!("{found} rows by complete indexes; {deeds:?}");
    assert_eq!(deeds.len(), 17, "{deeds:?}");
}

/// What the histories would notice.
#[test]
fn entries_that_are_missing_are_noticed() {
    for broken in [Broken::WritesNoEntries, Broken::DropsEntries] {
        assert!(run(1..40, Some(broken)).0.is_some(), "{broken:?}");
    }
}
