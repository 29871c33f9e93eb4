//! A small store with something of everything, damaged in one place after the other, and what is counted of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::Env;
use crate::store::check;

/// Files of the simulated machine, and of the index's real directory.
#[derive(Clone)]
pub struct Image {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub index: BTreeMap<String, Vec<u8>>,
}

/// Values of all live and kept versions by column and timestamp.
pub type Shown = BTreeMap<(String, i64), Result<Vec<u8>, ErrorKind>>;

const ROWS: [&str; 3] = ["row one", "row two", "row three"];

impl Image {
    pub fn of(env: &SimEnv) -> Self {
        let mut files = BTreeMap::new();
        for dir in ["/store", "/store/segments"] {
            for name in env.list(Path::new(dir)).unwrap() {
                let path = Path::new(dir).join(name);
                // Room that is kept free: an open makes it again.
                if path.file_stem().is_some_and(|stem| stem == "reserve") {
                    continue;
                }
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

    pub fn machine(&self) -> SimEnv {
        let env = SimEnv::in_memory();
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

    pub fn names(&self) -> Vec<String> {
        let files = self.files.keys().map(|path| path.display().to_string());
        files.filter(|name| !name.ends_with("/LOCK")).chain(self.index.keys().cloned()).collect()
    }

    pub fn bytes(&self, name: &str) -> &Vec<u8> {
        self.index.get(name).unwrap_or_else(|| &self.files[Path::new(name)])
    }

    pub fn file(&mut self, name: &str) -> &mut Vec<u8> {
        match self.index.get_mut(name) {
            Some(bytes) => bytes,
            None => self.files.get_mut(Path::new(name)).unwrap(),
        }
    }
}

/// Versions, tombstones, a shared value, marks of dropped cells, a compacted segment; some of it in the log alone.
pub fn image() -> (Image, Shown) {
    crate::index::pages::small(make_image)
}

fn make_image() -> (Image, Shown) {
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

/// Whether a value may come back with the loss of a tombstone that nothing but the log has.
fn was_put((column, _): &(String, i64), value: &[u8]) -> bool {
    let (row, qualifier) = column.split_once('/').unwrap();
    let text = String::from_utf8_lossy(value);
    match qualifier {
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

pub fn shown(store: &Store) -> Shown {
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
pub struct Tally {
    pub tried: u64,
    pub intact: u64,
    pub unreadable: u64,
    /// Tries that lost versions whose keys nothing names, and said so.
    pub reported: u64,
    /// These versions.
    pub missing: u64,
    pub refused: u64,
    /// Tries that cost more than two versions.
    pub heavy: u64,
    pub wrong: Vec<String>,
    pub silent: Vec<String>,
    pub panics: Vec<String>,
}

impl Tally {
    /// Opens the store and looks at all of it.
    pub fn judge(&mut self, what: &str, image: &Image, good: &Shown) {
        self.judge_machine(what, &image.machine(), good);
    }

    /// As [`Tally::judge`], after a repair.
    pub fn judge_repaired(&mut self, what: &str, image: &Image, good: &Shown) {
        let env = image.machine();
        if let Err(e) = check::repair(options(&env), &mut |_| Ok(())) {
            assert!(matches!(e.kind, ErrorKind::Corrupt | ErrorKind::NewerFormat), "{what}: {e}");
        }
        self.judge_machine(what, &env, good);
    }

    fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.intact += other.intact;
        self.unreadable += other.unreadable;
        self.reported += other.reported;
        self.missing += other.missing;
        self.refused += other.refused;
        self.heavy += other.heavy;
        self.wrong.extend(other.wrong);
        self.silent.extend(other.silent);
        self.panics.extend(other.panics);
    }

    fn judge_machine(&mut self, what: &str, env: &SimEnv, good: &Shown) {
        self.tried += 1;
        let store = match Store::open(options(env)) {
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
        // The status tells it, and every check does for as long as the segment is there.
        let told = store.status().unwrap().last_error.is_some() || store.check(&mut |_| Ok(())).unwrap().damages > 0;
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
            self.missing += missing;
        } else if missing > 0 {
            self.silent.push(format!("{what}: {missing} versions are missing"));
        }
    }

    /// Versions that are not as they were.
    pub fn lost(&self) -> u64 {
        self.unreadable + self.missing
    }

    pub fn assert_good(&self) {
        let all = [&self.wrong, &self.silent, &self.panics];
        assert!(all.iter().all(|cases| cases.is_empty()) && self.refused == 0, "{self:#?}");
    }

    /// The line of figures; `began`: when the rig did.
    pub fn print(&self, what: &str, began: Instant) {
        println!(
            "{what}: {} tried, {} without a loss, {} versions unreadable by name, {} missing and reported; \
             {} missing in silence, {} wrong, {} refused to open, {} panics; {} s",
            self.tried,
            self.intact,
            self.unreadable,
            self.missing,
            self.silent.len(),
            self.wrong.len(),
            self.refused,
            self.panics.len(),
            began.elapsed().as_secs()
        );
    }
}

/// Numbers below `count`, each given to `one` on some thread; all processors are used. What each thread has gathered.
pub fn spread<T: Default + Send>(count: usize, one: impl Fn(usize, &mut T) + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut gathered = T::default();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= count {
                return gathered;
            }
            one(n, &mut gathered);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// One place of damage.
pub struct Case {
    pub what: String,
    pub image: Image,
}

/// Judges every case; a panic is counted with its case.
pub fn judge_all(count: usize, case: impl Fn(usize) -> Case + Sync, judge: impl Fn(&mut Tally, &Case) + Sync) -> Tally {
    let all = spread(count, |n, tally: &mut Tally| {
        let case = case(n);
        if catch_unwind(AssertUnwindSafe(|| judge(tally, &case))).is_err() {
            tally.panics.push(case.what);
        }
    });
    all.into_iter().fold(Tally::default(), |mut sum, tally| {
        sum.add(tally);
        sum
    })
}

pub fn full() -> bool {
    std::env::var("CELLFS_TORTURE").is_ok_and(|form| form == "full")
}
