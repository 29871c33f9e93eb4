//! Every bit of every file of a small store flipped, every file cut at every length: each time all cells are as they
//! were, or unreadable by name, or their loss is reported; never another value, never silence.
//!
//! A part of the places in `cargo test`; all of them with CELLFS_TORTURE=full.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::wal::ignored;

/// Files of the simulated machine, and of the index's real directory.
#[derive(Clone)]
struct Image {
    files: BTreeMap<PathBuf, Vec<u8>>,
    index: BTreeMap<String, Vec<u8>>,
}

/// Values of all live and kept versions by column and timestamp.
type Shown = BTreeMap<(String, i64), Result<Vec<u8>, ErrorKind>>;

const ROWS: [&str; 3] = ["row one", "row two", "row three"];

impl Image {
    fn of(env: &SimEnv) -> Self {
        let mut files = BTreeMap::new();
        for dir in ["/store", "/store/segments"] {
            for name in env.list(Path::new(dir)).unwrap() {
                let path = Path::new(dir).join(name);
                if let Ok(bytes) = env.read_file(&path) {
                    files.insert(path, bytes);
                }
            }
        }
        let dir = env.index_dir(Path::new("/store")).unwrap();
        let index = std::fs::read_dir(dir).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        });
        Self { files, index: index.filter(|(name, _)| !name.ends_with("-shm")).collect() }
    }

    fn machine(&self) -> SimEnv {
        let env = SimEnv::new();
        env.create_dir("/store/segments".as_ref()).unwrap();
        for (path, bytes) in &self.files {
            let file = env.create_new(path).unwrap();
            file.write_at(bytes, 0).unwrap();
            file.sync().unwrap();
        }
        env.sync_dir("/store".as_ref()).unwrap();
        env.sync_dir("/store/segments".as_ref()).unwrap();
        let dir = env.index_dir(Path::new("/store")).unwrap();
        for (name, bytes) in &self.index {
            std::fs::write(dir.join(name), bytes).unwrap();
        }
        env.advance(1_000_000);
        env
    }

    fn names(&self) -> Vec<String> {
        let files = self.files.keys().map(|path| path.display().to_string());
        let unlike = |name: &String| !["/LOCK", "/reserve"].iter().any(|end| name.ends_with(end));
        files.filter(unlike).chain(self.index.keys().cloned()).collect()
    }

    fn file(&mut self, name: &str) -> &mut Vec<u8> {
        match self.index.get_mut(name) {
            Some(bytes) => bytes,
            None => self.files.get_mut(Path::new(name)).unwrap(),
        }
    }
}

/// Versions, tombstones, a shared value, marks of dropped cells, a compacted segment; some of it in the log alone.
fn image() -> (Image, Shown) {
    let env = SimEnv::new();
    let mut small = options(&env);
    small.segment_bytes = 700;
    let store = Store::open(small).unwrap();
    create(&store, &[("VERSIONS", "2"), ("NEW_VERSION_BEHAVIOR", "true")]);
    for round in 0..4 {
        for row in ROWS {
            put(&store, row, "a", format!("{row} {round} a").as_bytes());
        }
        put(&store, "row one", "b", format!("{round} b").as_bytes());
    }
    unlink(&store, "row three", "a");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    rename(&store, "row two", "a", "moved");
    put(&store, "row one", "c", &[7; 300]);
    store.flush(None).unwrap();
    put(&store, "row two", "late", b"in the log alone");
    unlink(&store, "row one", "b");
    put(&store, "row three", "last", b"the last record");
    store.sync().unwrap();
    let image = Image::of(&env);
    let shown = shown(&store);
    assert!(shown.len() > 5 && shown.values().all(Result::is_ok), "{shown:?}");
    assert!(image.files.keys().any(|path| path.extension().is_some_and(|e| e == "dead")), "{:?}", image.names());
    assert!(image.index.contains_key("index.db-wal"), "{:?}", image.names());
    (image, shown)
}

/// Whether a value was ever put in a column.
fn was_put((column, _): &(String, i64), value: &[u8]) -> bool {
    let (row, qualifier) = column.split_once('/').unwrap();
    let text = String::from_utf8_lossy(value);
    match qualifier {
        "a" => (0..4).any(|round| text == format!("{row} {round} a")),
        "b" => row == "row one" && (0..4).any(|round| text == format!("{round} b")),
        _ => false,
    }
}

fn rename(store: &Store, row: &str, from: &str, to: &str) {
    let rename = RenameCell {
        from: column(row, from),
        from_version: None,
        to: column(row, to),
        to_version: None,
        mode: RenameMode::Replace,
        origin: Origin(0),
    };
    store.rename_cell(&rename).unwrap();
}

fn shown(store: &Store) -> Shown {
    let mut shown = Shown::new();
    for row in ROWS {
        for qualifier in ["a", "b", "c", "moved", "late", "last"] {
            let of = |timestamp| (format!("{row}/{qualifier}"), timestamp);
            match store.list_versions(&column(row, qualifier), Versions::LiveAndKept, None, 100) {
                Ok(versions) => shown.extend(versions.iter().map(|cell| {
                    let value = store.read_value(cell, 0, 1000).map_err(|e| e.kind);
                    (of(cell.timestamp.0), value)
                })),
                Err(e) => {
                    shown.insert(of(0), Err(e.kind));
                }
            }
        }
    }
    shown
}

/// What became of the places that were damaged.
#[derive(Debug, Default)]
struct Tally {
    tried: u64,
    intact: u64,
    unreadable: u64,
    reported: u64,
    refused: u64,
    wrong: Vec<String>,
    silent: Vec<String>,
}

impl Tally {
    fn judge(&mut self, what: &str, image: &Image, good: &Shown) {
        self.tried += 1;
        let env = image.machine();
        let store = match Store::open(options(&env)) {
            Ok(store) => store,
            Err(e) => {
                assert!(matches!(e.kind, ErrorKind::Corrupt | ErrorKind::NewerFormat), "{what}: {e}");
                self.refused += 1;
                return;
            }
        };
        let now = shown(&store);
        if now == *good {
            self.intact += 1;
            return;
        }
        // A listing that fails names its column, without a version.
        let failed: Vec<&String> =
            now.iter().filter(|((_, at), value)| *at == 0 && value.is_err()).map(|((name, _), _)| name).collect();
        let mut missing = 0;
        for (place, value) in good {
            match now.get(place) {
                Some(same) if same == value => {}
                Some(Err(ErrorKind::Corrupt)) => self.unreadable += 1,
                None if failed.contains(&&place.0) => self.unreadable += 1,
                None => missing += 1,
                other => self.wrong.push(format!("{what}: {place:?} is {other:?}")),
            }
        }
        let told = store.status().unwrap().last_error.is_some();
        for (place, value) in now.iter().filter(|(place, value)| !good.contains_key(*place) && value.is_ok()) {
            // Where the record of a tombstone is lost nobody knows what it covered; what shows was put there once.
            if told && value.as_ref().is_ok_and(|value| was_put(place, value)) {
                missing += 1;
            } else {
                self.wrong.push(format!("{what}: {place:?} came back as {value:?}"));
            }
        }
        if missing > 0 && told {
            self.reported += 1;
        } else if missing > 0 {
            self.silent.push(format!("{what}: {missing} versions are missing"));
        }
    }

    fn assert_good(&self) {
        assert!(self.wrong.is_empty() && self.silent.is_empty() && self.refused == 0, "{self:#?}");
    }
}

fn full() -> bool {
    std::env::var("CELLFS_TORTURE").is_ok_and(|form| form == "full")
}

/// Every `step`-th bit flipped; each file.
fn flip(image: &Image, good: &Shown, steps: &dyn Fn(&str) -> usize) -> Tally {
    let mut tally = Tally::default();
    for name in image.names() {
        let mut damaged = image.clone();
        for bit in (0..damaged.file(&name).len() * 8).step_by(steps(&name)) {
            damaged.file(&name)[bit / 8] ^= 1 << (bit % 8);
            tally.judge(&format!("{name}, bit {bit}"), &damaged, good);
            damaged.file(&name)[bit / 8] ^= 1 << (bit % 8);
        }
    }
    tally
}

/// Bits that are passed over in the short form: prime to 8, so that all bits of a byte have their turn.
fn step(name: &str) -> usize {
    match name {
        _ if full() => 1,
        _ if name.starts_with("index") => 3331,
        _ if name.ends_with(".seg") => 37,
        _ => 61,
    }
}

#[test]
fn a_flipped_bit_is_mended_reported_or_an_error_never_another_value() {
    let (image, good) = image();
    let tally = flip(&image, &good, &step);
    println!("bits flipped: {tally:?}");
    tally.assert_good();
    assert!(tally.tried > 300 && tally.unreadable > 0, "{tally:?}");
}

#[test]
fn without_checksums_flipped_bits_give_other_values() {
    let (image, good) = image();
    let tally = ignored::during(|| flip(&image, &good, &|name| if name.ends_with(".seg") { 37 } else { usize::MAX }));
    assert!(tally.wrong.len() > 10, "the rig catches nothing: {tally:?}");
}

#[test]
fn a_file_that_is_cut_short_is_mended_reported_or_an_error() {
    let (image, good) = image();
    let mut tally = Tally::default();
    for name in image.names() {
        let mut cut = image.clone();
        let whole = cut.file(&name).clone();
        let step = if full() { 1 } else { step(&name).div_ceil(8) };
        for len in (0..whole.len()).step_by(step) {
            cut.file(&name).truncate(len);
            tally.judge(&format!("{name}, cut to {len}"), &cut, &good);
            cut.file(&name).clone_from(&whole);
        }
    }
    println!("files cut: {tally:?}");
    tally.assert_good();
}

#[test]
fn a_file_that_is_gone_is_mended_reported_or_an_error() {
    let (image, good) = image();
    let mut tally = Tally::default();
    for name in image.names() {
        let mut without = image.clone();
        without.index.remove(&name);
        without.files.remove(Path::new(&name));
        tally.judge(&format!("{name} is gone"), &without, &good);
    }
    println!("files removed: {tally:?}");
    tally.assert_good();
}

#[test]
fn an_index_that_is_absent_old_or_of_another_store_is_made_anew() {
    let (old, _) = image();
    let (foreign, _) = image();
    let env = old.machine();
    let store = open(&env);
    unlink(&store, "row one", "a");
    store.flush(None).unwrap();
    put(&store, "row two", "c", b"later");
    store.compact(&table(), None, Major).unwrap();
    store.flush(None).unwrap();
    store.sync().unwrap();
    let (image, good) = (Image::of(&env), shown(&store));
    drop(store);
    for (what, index) in [("absent", BTreeMap::new()), ("old", old.index), ("foreign", foreign.index)] {
        let mut tally = Tally::default();
        tally.judge(what, &Image { index, ..image.clone() }, &good);
        assert_eq!(tally.intact, 1, "{what}: {tally:?}");
    }
}

#[test]
fn a_power_cut_that_takes_commits_of_the_index_back_brings_nothing_back() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    put(&store, "r", "gone", b"deleted and compacted away");
    put(&store, "r", "stays", b"here");
    store.flush(None).unwrap();
    store.engine.index.make_durable().unwrap();
    let progress = env_bytes(&env, Path::new("/store/progress"));
    unlink(&store, "r", "gone");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(value(&store, "r", "gone"), None);
    // What SQLite has not moved from its own log into its file is lost, as nobody has synced it.
    let durable = Image::of(&env).index.remove("index.db").unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    std::fs::write(env.index_dir(Path::new("/store")).unwrap().join("index.db"), durable).unwrap();
    env.damage(Path::new("/store/progress"), |bytes| *bytes = progress).unwrap();
    let store = open(&env);
    assert_eq!(value(&store, "r", "stays").unwrap(), b"here");
    assert_eq!(value(&store, "r", "gone"), None);
}

#[test]
fn what_may_be_in_the_page_cache_alone_is_written_again_before_it_is_served() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "before", b"synced");
    store.sync().unwrap();
    put(&store, "r", "after", b"acknowledged, and the sync of it failed");
    env.fail_syncs();
    // As on Linux: the pages count as clean now, and the process ends before it can say so.
    assert!(store.sync().is_err());
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let store = open(&env);
    assert_eq!(value(&store, "r", "after").unwrap(), b"acknowledged, and the sync of it failed");
    store.sync().unwrap();
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    assert_eq!(value(&open(&env), "r", "after").unwrap(), b"acknowledged, and the sync of it failed");
}
