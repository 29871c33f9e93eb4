//! Power cuts on real filesystems: ext4 and XFS in an image, stopped by their own shutdown call, which drops all that
//! was not synced. Needs root, loop devices, mkfs and python3; says so where something is missing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cellfs::backend::{Backend, CompactionKind};
use cellfs::env::{CarelessEnv, Env, Forgets, RealEnv};
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};
use rand::RngExt;

use super::history::{History, Tally, removes, value};
use super::rounds;
use crate::mount::fixture::{Fixture, errno};

const WRITERS: usize = 4;
const CELLS: usize = 10;

/// A filesystem in an image, mounted; taken down when dropped.
struct Disk {
    /// Where the image is.
    _directory: tempfile::TempDir,
    /// Where it is mounted.
    path: PathBuf,
    device: String,
    kind: &'static str,
    /// Reads paths and shuts the filesystem there down.
    switch: Child,
}

fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number; 2: without writing the journal.
const SWITCH: &str = "
import fcntl, os, struct, sys
for line in sys.stdin:
    fd = os.open(line.strip(), os.O_RDONLY)
    fcntl.ioctl(fd, 0x8004587D, struct.pack('I', 2))
    os.close(fd)
    print('down', flush=True)
";

impl Disk {
    fn new(kind: &'static str) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = directory.path().join("mnt");
        Self::at(kind, directory, path)
    }

    fn at(kind: &'static str, directory: tempfile::TempDir, path: PathBuf) -> Result<Self, String> {
        let image = directory.path().join("image");
        let file = fs::File::create(&image).map_err(|e| e.to_string())?;
        file.set_len(400 << 20).map_err(|e| e.to_string())?;
        let quiet = if kind == "xfs" { "-f" } else { "-F" };
        run(&format!("mkfs.{kind}"), &["-q", quiet, image.to_str().unwrap_or_default()])?;
        let device = run("losetup", &["-f", "--show", image.to_str().unwrap_or_default()])?;
        let mut switch = Command::new("python3");
        switch.args(["-u", "-c", SWITCH]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let switch = switch.spawn().map_err(|e| format!("python3: {e}"))?;
        let disk = Self { _directory: directory, path, device, kind, switch };
        fs::create_dir_all(&disk.path).map_err(|e| e.to_string())?;
        disk.mount()?;
        Ok(disk)
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-t", self.kind, &self.device, self.path().to_str().unwrap_or_default()]).map(drop)
    }

    fn cut_power(&mut self) {
        let path = self.path();
        let (Some(stdin), Some(stdout)) = (&mut self.switch.stdin, &mut self.switch.stdout) else { panic!() };
        writeln!(stdin, "{}", path.display()).unwrap();
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "down");
    }

    fn restart(&self) {
        // A process that another test has just forked may hold a copy of a descriptor until it executes.
        let unmounted = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            run("umount", &[self.path().to_str().unwrap()]).is_ok()
        });
        assert!(unmounted, "{} stays busy", self.path().display());
        self.mount().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = self.switch.kill();
        let _ = self.switch.wait();
        let _ = run("umount", &["-l", self.path().to_str().unwrap_or_default()]);
        let _ = run("losetup", &["-d", &self.device]);
    }
}

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

fn open(path: &Path, env: &Arc<dyn Env>) -> cellfs::Result<Store> {
    let mut options = StoreOptions::new(path.join("store"));
    options.env = Arc::clone(env);
    options.memtable_bytes = 256 << 10;
    Store::open(options)
}

fn make(store: &Store) {
    let attributes = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let family = FamilySchema::new("f", attributes);
    let schema = TableSchema::new(table(), [family]);
    store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
}

fn column(name: &str) -> ColumnKey {
    let row = name.split('-').next().unwrap().into();
    ColumnKey { table: table(), row, family: "f".into(), qualifier: name.into() }
}

fn mutation(name: &str, n: u64) -> Mutation {
    if removes(n) {
        let kind = DeleteKind::Column { family: "f".into(), qualifier: name.into() };
        return Mutation::Delete(vec![DeleteMarker { kind, time: Time::AfterNewest, erases: false }]);
    }
    Mutation::Put(vec![PutCell::new("f", name, Time::AfterNewest, value(name, n))])
}

/// Writes durably until the disk is gone. What is acknowledged while it goes is not counted: the kernel's fdatasync may
/// return 0 without having done anything while its filesystem is being shut down (seen on ext4 and XFS of Linux 6.18
/// with nothing but four threads that write to one file).
fn write(store: &Store, writer: usize, history: &Mutex<History>, cutting: &AtomicBool) -> u64 {
    let (mut random, mut acknowledged) = (rand::rng(), 0);
    loop {
        let name = format!("w{writer}-{}", random.random_range(0..CELLS));
        let n = history.lock().unwrap().begin(&name);
        let mutations = RowMutations {
            table: table(),
            row: column(&name).row,
            mutations: vec![mutation(&name, n)],
            durability: Some(Durability::FsyncWal),
            origin: Origin(0),
        };
        if store.mutate(mutations, None).is_err() || cutting.load(Ordering::SeqCst) {
            return acknowledged;
        }
        history.lock().unwrap().acknowledge(&name, n);
        acknowledged += 1;
    }
}

fn round(disk: &mut Disk, env: &Arc<dyn Env>, history: &Mutex<History>, tally: &mut Tally) -> Result<(), String> {
    let store = open(&disk.path(), env).map_err(|e| e.message)?;
    let pause = Duration::from_millis(rand::rng().random_range(3..60));
    let cutting = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (store, cutting) = (&store, &cutting);
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(store, writer, history, cutting))).collect();
        scope.spawn(move || {
            while store.flush(None).and_then(|()| store.compact(&table(), None, CompactionKind::Major)).is_ok() {}
        });
        std::thread::sleep(pause);
        cutting.store(true, Ordering::SeqCst);
        disk.cut_power();
        tally.acknowledged += writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>();
    });
    drop(store);
    disk.restart();
    // The machine has not started anew, as it would have.
    fs::remove_file(disk.path().join("store/boot")).map_err(|e| e.to_string())?;
    tally.rounds += 1;
    let store = open(&disk.path(), env).map_err(|e| e.message)?;
    let mut history = history.lock().unwrap();
    for name in history.names() {
        let found = store.newest(&column(&name), TimeRange::ALL).map_err(|e| e.message)?;
        let found = found.map(|cell| store.read_value(&cell, 0, usize::MAX)).transpose().map_err(|e| e.message)?;
        history.judge(&name, found.as_deref(), tally);
    }
    drop(history);
    store.close().map_err(|e| e.message)
}

/// `None`: this machine cannot do it, which is said.
fn cuts(kind: &'static str, count: u64, env: Arc<dyn Env>) -> Option<(Tally, Result<(), String>)> {
    let mut disk = match Disk::new(kind) {
        Ok(disk) => disk,
        Err(e) => {
            println!("skipped: power cuts on {kind} need root, loop devices, mkfs.{kind} and python3 ({e})");
            return None;
        }
    };
    let store = open(&disk.path(), &(Arc::new(RealEnv::default()) as Arc<dyn Env>)).unwrap();
    make(&store);
    store.close().unwrap();
    run("sync", &[]).unwrap();
    let (history, mut tally, began) = (Mutex::new(History::default()), Tally::default(), Instant::now());
    let result = (0..count).try_for_each(|_| round(&mut disk, &env, &history, &mut tally));
    tally.print(&format!("power cuts on {kind}"), began);
    Some((tally, result))
}

#[test]
fn torture_power_cuts_on_ext4_lose_nothing_that_was_synced() {
    if let Some((tally, result)) = cuts("ext4", rounds("CELLFS_POWER_CUTS", 30), Arc::new(RealEnv::default())) {
        result.unwrap();
        tally.assert_good();
    }
}

#[test]
fn torture_power_cuts_on_xfs_lose_nothing_that_was_synced() {
    if let Some((tally, result)) = cuts("xfs", rounds("CELLFS_POWER_CUTS", 30), Arc::new(RealEnv::default())) {
        result.unwrap();
        tally.assert_good();
    }
}

#[test]
fn torture_power_cuts_notice_a_store_that_does_not_sync() {
    let env = CarelessEnv::new(Arc::new(RealEnv::default()), Forgets::Sync);
    if let Some((tally, result)) = cuts("ext4", 8, Arc::new(env)) {
        assert!(tally.lost > 0 || result.is_err(), "the rig catches nothing: {tally:?}");
    }
}

#[test]
fn torture_a_disk_that_goes_away_ends_no_daemon() {
    let [images, directory] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut disk = match Disk::at("xfs", images, directory.path().join("store")) {
        Ok(disk) => disk,
        Err(e) => {
            return println!("skipped: a disk that goes away needs root, loop devices, mkfs.xfs and python3 ({e})");
        }
    };
    let mut fixture = Fixture::on(directory, "");
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    let family = fixture.family("r");
    let put = |name: &str| {
        fs::File::create(family.join(name)).and_then(|mut file| {
            file.write_all(name.as_bytes())?;
            file.sync_all()
        })
    };
    for n in 0..100 {
        put(&format!("before{n}")).unwrap();
    }
    fixture.backend().flush(None).unwrap();
    disk.cut_power();
    assert_eq!(errno(put("after")), libc::EIO);
    // The kernel may still have what is asked for; a wrong byte nobody has.
    for n in 0..100 {
        let name = format!("before{n}");
        assert!(
            fs::read(family.join(&name)).is_ok_and(|found| found == name.as_bytes())
                || errno(fs::read(family.join(&name))) == libc::EIO
        );
    }
    // A line for each call that is refused is information; the damage is told a few times.
    let told = fixture.log().lines().filter(|line| !line.contains(" INFO ")).count();
    assert!((1..20).contains(&told), "{}", fixture.log());
    let status = fixture.end();
    assert!(status.code().is_some(), "it ended by a signal: {status}: {}", fixture.log());
    // What was on the disk is there when it is back.
    disk.restart();
    fixture.mount("");
    for n in 0..100 {
        let name = format!("before{n}");
        assert_eq!(fs::read(family.join(&name)).unwrap(), name.as_bytes());
    }
    fixture.unmount();
    let below = fixture.mnt().parent().map(Path::to_owned);
    drop(fixture);
    drop(disk);
    // It could not be removed while the disk was mounted in it.
    below.map(fs::remove_dir_all).unwrap().unwrap();
}
