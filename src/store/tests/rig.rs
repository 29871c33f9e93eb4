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

/// Files of the simulated machine.
#[derive(Clone)]
pub struct Image {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

/// In place of a timestamp: the newest version, and what a listing says.
const NEWEST: i64 = -1;

/// Values of all live and kept versions by column and timestamp, and the newest of each.
pub type Shown = BTreeMap<(String, i64), Result<Vec<u8>, ErrorKind>>;

const COLUMNS: [&str; 9] = ["a", "b", "c", "area", "large", "larger", "moved", "late", "last"];
const ROWS: [&str; 3] = ["row one", "row two", "row three"];

impl Image {
    pub fn of(env: &SimEnv) -> Self {
        let mut files = BTreeMap::new();
        for dir in ["/store", "/store/segments", "/store/log", "/store/edits", "/store/blobs"] {
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
        Self { files }
    }

    pub fn machine(&self) -> SimEnv {
        let env = SimEnv::new();
        for dir in crate::store::open::opening::DIRECTORIES {
            env.create_dir(&Path::new("/store").join(dir)).unwrap();
        }
        for (path, bytes) in &self.files {
            let file = env.create_new(path).unwrap();
            file.write_at(bytes, 0).unwrap();
            file.sync().unwrap();
        }
        env.sync_dir("/store".as_ref()).unwrap();
        for dir in crate::store::open::opening::DIRECTORIES {
            env.sync_dir(&Path::new("/store").join(dir)).unwrap();
        }
        env.advance(1_000_000);
        env
    }

    pub fn names(&self) -> Vec<String> {
        let files = self.files.keys().map(|path| path.display().to_string());
        files.filter(|name| !name.ends_with("/LOCK")).collect()
    }

    pub fn bytes(&self, name: &str) -> &Vec<u8> {
        &self.files[Path::new(name)]
    }

    pub fn file(&mut self, name: &str) -> &mut Vec<u8> {
        self.files.get_mut(Path::new(name)).unwrap()
    }
}

/// Versions, tombstones, a renamed value, values of all sizes, a compacted segment; some of it in the log alone.
pub fn image() -> (Image, Shown) {
    let env = SimEnv::new();
    let store = open(&env);
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
    put(&store, "row two", "area", &[9; 700]);
    put(&store, "row three", "large", &large(1));
    store.flush(None).unwrap();
    put(&store, "row two", "late", b"in the log alone");
    put(&store, "row two", "larger", &large(2));
    unlink(&store, "row one", "b");
    put(&store, "row three", "last", b"the last record");
    store.sync().unwrap();
    let image = Image::of(&env);
    let shown = shown(&store);
    assert!(shown.len() > 5 && shown.values().all(Result::is_ok), "{shown:?}");
    assert!(image.files.keys().filter(|path| path.extension().is_some_and(|e| e == "seg")).count() > 1);
    (image, shown)
}

/// A value that is stored in chunks.
pub fn large(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(20_000).collect()
}

/// Whether a value may come back with the loss of a tombstone that nothing but the log has, or, after a repair, of one
/// that was in a damaged block.
fn was_put((column, _): &(String, i64), value: &[u8], repaired: bool) -> bool {
    let (row, qualifier) = column.split_once('/').unwrap();
    let text = String::from_utf8_lossy(value);
    match qualifier {
        "b" => row == "row one" && (0..4).any(|round| text == format!("{round} b")),
        "a" => repaired && (0..4).any(|round| text == format!("{row} {round} a")),
        _ => false,
    }
}

fn rename(store: &Store, row: &str, from: &str, to: &str) {
    let rename = RenameCell::newest(column(row, from), column(row, to), RenameMode::Replace);
    store.rename_cell(&rename).unwrap();
}

pub fn shown(store: &Store) -> Shown {
    let mut shown = Shown::new();
    for row in ROWS {
        for qualifier in COLUMNS {
            let of = |timestamp| (format!("{row}/{qualifier}"), timestamp);
            match store.list_versions(&column(row, qualifier), Versions::LiveAndKept, None, 100) {
                Ok(versions) => shown.extend(versions.iter().map(|cell| {
                    let value = store.read_value(cell, 0, usize::MAX).map_err(|e| e.kind);
                    (of(cell.timestamp.0), value)
                })),
                Err(e) => {
                    shown.insert(of(0), Err(e.kind));
                }
            }
            let newest = store.newest(&column(row, qualifier), TimeRange::ALL);
            let newest = newest.and_then(|cell| cell.map(|cell| store.read_value(&cell, 0, usize::MAX)).transpose());
            if let Some(newest) = newest.map_err(|e| e.kind).transpose() {
                shown.insert(of(NEWEST), newest);
            }
        }
    }
    let (time_range, which) = (TimeRange::ALL, Versions::Live);
    let listing = RowListing { table: table(), after: None, before: Vec::new(), time_range, which, limit: 100 };
    let rows = store.list_rows(&listing).map(|rows| rows.iter().collect::<Vec<_>>().join(&b'\n')).map_err(|e| e.kind);
    shown.insert(("rows".to_owned(), NEWEST), rows);
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
    pub wrong: Vec<String>,
    pub silent: Vec<String>,
    pub panics: Vec<String>,
    /// Damage that a repair has left.
    pub left: Vec<String>,
}

impl Tally {
    /// Opens the store and looks at all of it.
    pub fn judge(&mut self, what: &str, image: &Image, good: &Shown) {
        self.judge_machine(what, &image.machine(), good, false);
    }

    /// As [`Tally::judge`], after a repair.
    pub fn judge_repaired(&mut self, what: &str, image: &Image, good: &Shown) {
        self.judge_repaired_machine(what, &image.machine(), good);
    }

    pub fn judge_repaired_machine(&mut self, what: &str, env: &SimEnv, good: &Shown) {
        let (mut told, mut noted) = (false, false);
        match check::repair(options(env), &mut |_| Ok(())) {
            Ok(repaired) => {
                told = repaired.done.iter().any(|text| text.starts_with("lost of"));
                // What a repair has told of is a note from then on.
                noted = repaired.done.iter().any(|text| text.starts_with("a part of a large value is damaged"));
                let left = repaired.after.map_or(0, |after| after.damages);
                if left > 0 && !what.contains(".blob") {
                    self.left.push(format!("{what}: {left} damages are left: {:?}", repaired.done));
                }
            }
            Err(e) => assert!(matches!(e.kind, ErrorKind::Corrupt | ErrorKind::NewerFormat), "{what}: {e}"),
        }
        let silent = self.silent.len();
        self.judge_machine(what, env, good, told);
        if noted {
            self.silent.truncate(silent);
        }
    }

    fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.intact += other.intact;
        self.unreadable += other.unreadable;
        self.reported += other.reported;
        self.missing += other.missing;
        self.refused += other.refused;
        self.wrong.extend(other.wrong);
        self.silent.extend(other.silent);
        self.panics.extend(other.panics);
        self.left.extend(other.left);
    }

    fn judge_machine(&mut self, what: &str, env: &SimEnv, good: &Shown, repaired: bool) {
        self.tried += 1;
        let store = match Store::open(options(env)) {
            Ok(store) => store,
            Err(e) => {
                assert!(matches!(e.kind, ErrorKind::Corrupt | ErrorKind::NewerFormat), "{what}: {e}");
                self.refused += 1;
                return;
            }
        };
        let (mut now, mut good) = (shown(&store), good.clone());
        if repaired {
            // What is known to be lost shows what was before it.
            now.retain(|(_, at), _| *at != NEWEST);
            good.retain(|(_, at), _| *at != NEWEST);
        }
        if now == good {
            self.intact += 1;
            return;
        }
        // A listing that fails names its column, without a version.
        let failed: Vec<&String> =
            now.iter().filter(|((_, at), value)| *at == 0 && value.is_err()).map(|((name, _), _)| name).collect();
        let mut missing = 0;
        for (place, value) in &good {
            match now.get(place) {
                Some(same) if same == value => {}
                Some(Err(ErrorKind::Corrupt)) => self.unreadable += 1,
                None if failed.contains(&&place.0) => self.unreadable += 1,
                None if repaired => missing += 1,
                other => self.wrong.push(format!("{what}: {place:?} is {other:?}")),
            }
        }
        for (place, value) in now.iter().filter(|(place, value)| !good.contains_key(*place) && value.is_ok()) {
            // Where the record of a tombstone is lost nobody knows what it covered; what shows was put there once.
            if repaired && value.as_ref().is_ok_and(|value| was_put(place, value, repaired)) {
                missing += 1;
            } else {
                self.wrong.push(format!("{what}: {place:?} came back as {value:?}"));
            }
        }
        if missing > 0 {
            self.reported += 1;
            self.missing += missing;
        }
        // The status tells it, and every check does for as long as the segment is there.
        let told = repaired
            || store.status().unwrap().last_error.is_some()
            || store.check(&mut |_| Ok(())).unwrap().damages > 0;
        if !told {
            self.silent.push(what.to_owned());
        }
    }

    pub fn assert_good(&self) {
        let all = [&self.wrong, &self.silent, &self.panics, &self.left];
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
