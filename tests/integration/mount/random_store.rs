//! A store with a random history of every kind: deletes, renames, TTLs, mtimes, odd names and families.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellfs::backend::{Backend, RenameCell, RenameMode, Versions};
use cellfs::model::{
    AttributeChange, CatalogueChange, ColumnKey, DeleteKind, DeleteMarker, FamilyId, FamilyRules, FamilySchema,
    FileChange, FileTime, Mutation, NamespaceSchema, Origin, PutCell, RowMutations, TableId, TableName, TableSchema,
    TableState, Time, Timestamp, Value,
};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};

pub struct RandomStore {
    backend: Arc<dyn Backend>,
    dice: SmallRng,
    families: Vec<(TableName, String)>,
    rows: Vec<Vec<u8>>,
    qualifiers: Vec<Vec<u8>>,
    /// Explicit timestamps and deletes of everything.
    wild: bool,
}

fn text_map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn family(name: &str, attributes: &[(&str, &str)]) -> FamilySchema {
    FamilySchema {
        name: name.to_owned(),
        id: FamilyId(0),
        attributes: text_map(attributes),
        metadata: text_map(&[("note", "of a family")]),
        configuration: BTreeMap::new(),
        rules: FamilyRules::default(),
        complete: None,
        made_at: cellfs::model::Timestamp::ZERO,
        back_at: None,
        lives: Vec::new(),
        constraints: Default::default(),
    }
}

fn odd_name(dice: &mut impl Rng) -> Vec<u8> {
    let special: &[&[u8]] = &[b"%", b"@", b"~", b".", b"/", b"5", b"A", b"\0", b"\n", b"\xff", b"\xc3\xa9", b" "];
    let length = if dice.random_range(0..4) == 0 { 200 } else { dice.random_range(1..8) };
    (0..length).flat_map(|_| special.choose(dice).unwrap().to_vec()).collect()
}

const TABLES: [(&str, &str); 3] = [("default", "one"), ("other", "two"), ("other", "empty")];

impl RandomStore {
    pub fn new(backend: Arc<dyn Backend>, seed: u64) -> Self {
        let mut dice = SmallRng::seed_from_u64(seed);
        let mut families = Vec::new();
        let properties = text_map(&[("owner", "somebody"), ("hbase.namespace.quota.maxtables", "9")]);
        let namespace = NamespaceSchema { name: "other".into(), properties };
        backend.alter(CatalogueChange::CreateNamespace(namespace), Origin(0)).unwrap();
        for (namespace, table) in TABLES {
            let name = TableName::new(namespace, table).unwrap();
            let of = [
                family("new", &[("VERSIONS", "4"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")]),
                family("new_one", &[("NEW_VERSION_BEHAVIOR", "true"), ("COMPRESSION", "ZSTD")]),
                family("classic", &[("VERSIONS", "3"), ("KEEP_DELETED_CELLS", "TRUE")]),
                family("plain", &[]),
                family("deep", &[("VERSIONS", "2147483647"), ("KEEP_DELETED_CELLS", "TTL"), ("MIN_VERSIONS", "1")]),
            ];
            if table != "empty" {
                families.extend(of.iter().map(|family| (name.clone(), family.name.clone())));
            }
            let schema = TableSchema {
                new_families: Default::default(),
                indexes: Default::default(),
                name,
                id: TableId(0),
                state: TableState::Enabled,
                // A compaction of a classic family shows what a tombstone has hidden: beside a backup, that.
                attributes: text_map(&[("DURABILITY", "ASYNC_WAL"), ("COMPACTION_ENABLED", "false")]),
                metadata: text_map(&[("a key", "a value\nof two lines")]),
                configuration: text_map(&[("x.y", "")]),
                families: of.into_iter().map(|family| (family.name.clone(), family)).collect(),
            };
            backend.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        }
        let mut rows: Vec<Vec<u8>> = vec![b"r".to_vec(), b".dot".to_vec(), vec![b'R'; 300]];
        rows.extend((0..3).map(|_| odd_name(&mut dice)));
        let mut qualifiers: Vec<Vec<u8>> =
            vec![Vec::new(), b"q".to_vec(), b"%".to_vec(), b"a@5".to_vec(), b".q@5.tmp".to_vec(), vec![b'Q'; 230]];
        qualifiers.extend((0..6).map(|_| odd_name(&mut dice)));
        Self { backend, dice, families, rows, qualifiers, wild: true }
    }

    /// One family that exists already.
    pub fn of_family(backend: Arc<dyn Backend>, seed: u64, table: &str, family: &str) -> Self {
        let mut dice = SmallRng::seed_from_u64(seed);
        let families = vec![(TableName::parse(table).unwrap(), family.to_owned())];
        let rows = vec![b"r".to_vec(), b"s".to_vec()];
        let mut qualifiers = vec![Vec::new(), b"q".to_vec(), vec![b'Q'; 230]];
        qualifiers.push(odd_name(&mut dice));
        Self { backend, dice, families, rows, qualifiers, wild: true }
    }

    /// Nothing more is put.
    pub fn make_read_only(&self) {
        for table in self.backend.catalogue().unwrap().user_tables() {
            let mut table = table.clone();
            table.attributes.insert("READONLY".into(), "true".into());
            self.backend.alter(CatalogueChange::AlterTable(table), Origin(0)).unwrap();
        }
    }

    /// From now on nothing is put at a time that was used before.
    pub fn only_later_puts_and_deletes(&mut self) {
        self.wild = false;
    }

    pub fn fill(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
        if self.wild {
            let value: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
            let column = self.column();
            self.put(&column, Time::AfterNewest, value, None);
        }
    }

    fn step(&mut self) {
        let column = self.column();
        match self.dice.random_range(0..100) {
            0..50 => {
                let time = if self.wild && self.dice.random_range(0..3) > 0 { self.time() } else { Time::AfterNewest };
                let ttl = (time == Time::AfterNewest && self.dice.random_range(0..5) == 0).then_some(900_000_000);
                let value = self.value();
                self.put(&column, time, value, ttl);
            }
            50..65 => self.delete(&column),
            65..75 => self.rename(&column),
            75..97 => self.set_attributes(&column),
            97 => self.backend.flush(None).unwrap(),
            _ => {
                // Only where it changes nothing that is seen.
                self.backend.sync().unwrap();
            }
        }
    }

    fn column(&mut self) -> ColumnKey {
        let (table, family) = self.families.choose(&mut self.dice).unwrap().clone();
        let row = self.rows.choose(&mut self.dice).unwrap().clone();
        let qualifier = self.qualifiers.choose(&mut self.dice).unwrap().clone();
        ColumnKey { table, row, family, qualifier }
    }

    fn time(&mut self) -> Time {
        Time::At(Timestamp(*[0, 1, 2, 3, 5, 8, 1_416_300_000_123, 9_000_000_000_000].choose(&mut self.dice).unwrap()))
    }

    fn value(&mut self) -> Vec<u8> {
        let length = *[0, 1, 5, 100, 70_000].choose(&mut self.dice).unwrap();
        (0..length).map(|_| self.dice.random_range(0..=255) as u8).collect()
    }

    fn mutate(&self, column: &ColumnKey, mutation: Mutation) {
        let (table, row) = (column.table.clone(), column.row.clone());
        let mutations =
            RowMutations { table, row, mutations: vec![mutation], durability: None, origin: Origin::default() };
        self.backend.mutate(mutations, None).unwrap();
    }

    fn put(&self, column: &ColumnKey, time: Time, value: Vec<u8>, ttl_ms: Option<u64>) {
        let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
        let value = Value::Bytes(value);
        let put = PutCell { family, qualifier, time, value, ttl_ms, file: Default::default(), ended_at: None };
        self.mutate(column, Mutation::Put(vec![put]));
    }

    fn delete(&mut self, column: &ColumnKey) {
        let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
        let kind = match self.dice.random_range(0..if self.wild { 8 } else { 6 }) {
            0..2 => DeleteKind::Version { family, qualifier },
            2..5 => DeleteKind::Column { family, qualifier },
            5 => DeleteKind::Family { family },
            6 => DeleteKind::FamilyVersion { family },
            _ => DeleteKind::Row,
        };
        let at_a_time = matches!(kind, DeleteKind::FamilyVersion { .. }) || self.dice.random_range(0..4) == 0;
        let time = if self.wild && at_a_time { self.time() } else { Time::AfterNewest };
        let erases = self.dice.random_range(0..10) == 0;
        self.mutate(column, Mutation::Delete(vec![DeleteMarker { kind, time, erases }]));
    }

    fn rename(&mut self, from: &ColumnKey) {
        let to = self.column();
        let rename = RenameCell::newest(from.clone(), to, RenameMode::Replace);
        // There may be nothing to rename.
        let _ = self.backend.rename_cell(&rename);
    }

    fn set_attributes(&mut self, column: &ColumnKey) {
        let versions = self.backend.list_versions(column, Versions::Live, None, 5).unwrap();
        let Some(cell) = versions.choose(&mut self.dice) else { return };
        let seconds = *[-2_000_000_000, -1, 0, 1, 1_234_567_890, 4_000_000_000].choose(&mut self.dice).unwrap();
        let mtime = FileTime { seconds, nanos: self.dice.random_range(0..1_000_000_000) };
        let late = cell.timestamp > Timestamp(1_500_000_000_000);
        let ttl = (late && self.dice.random_range(0..4) == 0).then_some(Some(800_000_000));
        let mut file = FileChange::of_time(Some(mtime));
        if self.dice.random_range(0..3) == 0 {
            file.mode = Some(*[0o600, 0o755, 0o444, 0o4711].choose(&mut self.dice).unwrap());
            file.uid = nix::unistd::geteuid().is_root().then_some(self.dice.random_range(1..5));
        }
        self.backend.set_attributes(column, cell, &AttributeChange { file, ttl_ms: ttl }, Origin(0)).unwrap();
    }
}
