//! The daemon under a supervisor: SIGKILL at random moments while a program writes; it comes back by itself, soon, and
//! with everything that was acknowledged.
//!
//! The supervisor is the smallest that does what the unit says: starts `cellfs mount -f` again whenever it ends, after
//! the unit's RestartSec, and knows by the READY of sd_notify(3) when it serves.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use cellfs::backend::Backend;
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::RngExt;

use super::history::{History, Tally, value};
use super::rounds;
use crate::mount::fixture::CELLFS;

/// A bound on liveness: a daemon that takes longer does not come back.
const FOREVER: Duration = Duration::from_secs(60);
/// Cells that are written again and again.
const WRITTEN: u64 = 200;
const ROW: u64 = 100;
/// Where they are in the mount. There is a cell from the beginning: nobody makes directories while it is not mounted.
const FAMILY: &str = "default/t/written/f";

/// A store with many cells, most of them flushed.
fn fill(path: &Path, cells: u64) {
    let store = Store::open(StoreOptions::new(path)).unwrap();
    let table = TableName::parse("t").unwrap();
    let schema = TableSchema::new(table.clone(), [FamilySchema::new("f", Default::default())]);
    store.alter(CatalogueChange::CreateTable(schema), Origin::default()).unwrap();
    let put = |row: String, cells: &[(String, String)]| {
        let put = |(qualifier, value): &(String, String)| {
            PutCell::new("f", qualifier.clone(), Time::AfterNewest, value.clone())
        };
        let mutations = vec![Mutation::Put(cells.iter().map(put).collect())];
        let (table, durability) = (table.clone(), Some(Durability::AsyncWal));
        store.mutate(RowMutations { table, row: row.into(), mutations, durability, origin: Origin(0) }, None).unwrap();
    };
    for row in 0..cells / ROW {
        let cells: Vec<_> = (0..ROW).map(|n| (format!("q{n:02}"), format!("value {row} {n}"))).collect();
        put(format!("r{row:07}"), &cells);
    }
    put("written".into(), &[("first".into(), "cell".into())]);
    store.close().unwrap();
}

/// How long the unit lets pass before it starts the service again.
fn restart_pause() -> Duration {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd/cellfs@.service");
    let text = fs::read_to_string(unit).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix("RestartSec=")).unwrap();
    match value.strip_suffix("ms") {
        Some(millis) => Duration::from_millis(millis.parse().unwrap()),
        None => Duration::from_secs(value.parse().unwrap()),
    }
}

/// What the supervisor and those who watch it share.
struct Service {
    directory: tempfile::TempDir,
    /// The daemon's number while it runs.
    pid: Mutex<Option<Pid>>,
    starts: AtomicU64,
    /// It is not started again.
    stop: AtomicBool,
}

impl Service {
    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn mnt(&self) -> PathBuf {
        self.directory.path().join("mnt")
    }

    fn start(&self) -> Child {
        let log = File::options().append(true).create(true).open(self.directory.path().join("log")).unwrap();
        let mut daemon = Command::new(CELLFS);
        daemon.args(["mount", "-f"]).args([self.store(), self.mnt()]);
        daemon.env("NOTIFY_SOCKET", self.directory.path().join("notify"));
        daemon.stdin(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Restart=always; tells of each end.
    fn supervise(&self, ended: &Sender<()>) {
        let pause = restart_pause();
        while !self.stop.load(Ordering::SeqCst) {
            let mut daemon = self.start();
            *self.pid.lock().unwrap() = Some(Pid::from_raw(daemon.id().cast_signed()));
            self.starts.fetch_add(1, Ordering::SeqCst);
            daemon.wait().unwrap();
            *self.pid.lock().unwrap() = None;
            if ended.send(()).is_err() {
                return;
            }
            std::thread::sleep(pause);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.pid.lock().unwrap() {
            kill(pid, signal).unwrap();
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

/// Ends the service however the test ends.
impl Drop for Service {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = cellfs::fuse::unmount(&self.mnt(), cellfs::fuse::Detach::Now);
    }
}

/// Stops the threads of a scope, also when its body panics: else the scope would wait for them for ever.
struct Stopping<'a>(&'a Service);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.0.signal(Signal::SIGTERM);
    }
}

/// Ends the writer, also when the killing fails.
struct Until<'a>(&'a AtomicBool);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// One cell after another, through all the ends of the service; what fails is tried again. How many were acknowledged.
fn write(service: &Service, enough: &AtomicBool, history: &Mutex<History>) -> u64 {
    let mut acknowledged = 0;
    let family = service.mnt().join(FAMILY);
    let mut random = rand::rng();
    while !enough.load(Ordering::SeqCst) {
        let name = format!("c{}", random.random_range(0..WRITTEN));
        let n = history.lock().unwrap().begin(&name);
        let done = put(&family.join(&name), &value(&name, n), random.random());
        if done.is_ok() {
            history.lock().unwrap().acknowledge(&name, n);
            acknowledged += 1;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    acknowledged
}

/// Acknowledged by fsync, or by close(2): its answer is the daemon's.
fn put(path: &Path, value: &[u8], sync: bool) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(value)?;
    if sync {
        file.sync_all()?;
    }
    Ok(nix::unistd::close(file.into_raw_fd())?)
}

fn wait_until_ready(manager: &UnixDatagram, service: &Service) {
    let mut message = [0; 4096];
    loop {
        let len = manager.recv(&mut message).unwrap_or_else(|e| panic!("not READY: {e}: {}", service.log()));
        if String::from_utf8_lossy(&message[..len]).lines().any(|line| line == "READY=1") {
            return;
        }
    }
}

/// Reads one of the many cells until it is there; how long that took since `since`.
fn first_read(service: &Service, cells: u64, since: Instant) -> Duration {
    let mut random = rand::rng();
    let (row, n) = (random.random_range(0..cells / ROW), random.random_range(0..ROW));
    let path = service.mnt().join(format!("default/t/r{row:07}/f/q{n:02}"));
    loop {
        if let Ok(bytes) = fs::read(&path) {
            assert_eq!(bytes, format!("value {row} {n}").into_bytes());
            return since.elapsed();
        }
        assert!(since.elapsed() < FOREVER, "it does not come back: {}", service.log());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the service so often; each time until the first read.
fn kill_often(
    service: &Service,
    manager: &UnixDatagram,
    ended: &Receiver<()>,
    kills: u64,
    cells: u64,
) -> Vec<Duration> {
    let mut times = Vec::new();
    wait_until_ready(manager, service);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(rand::rng().random_range(5..150)));
        let killed = Instant::now();
        service.signal(Signal::SIGKILL);
        // Order: a thread of the dying daemon might still answer.
        ended.recv_timeout(FOREVER).unwrap();
        times.push(first_read(service, cells, killed));
        wait_until_ready(manager, service);
    }
    times
}

fn judge(service: &Service, mut history: History, tally: &mut Tally) {
    for name in history.names() {
        match fs::read(service.mnt().join(FAMILY).join(&name)) {
            Ok(bytes) => history.judge(&name, Some(&bytes), tally),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => history.judge(&name, None, tally),
            Err(e) => panic!("{name}: {e}: {}", service.log()),
        }
    }
}

#[test]
fn torture_a_supervised_service_comes_back_soon_and_whole() {
    let (kills, cells) = (rounds("CELLFS_SERVICE_KILLS", 5), rounds("CELLFS_SERVICE_CELLS", 30_000));
    let directory = tempfile::tempdir().unwrap();
    let manager = UnixDatagram::bind(directory.path().join("notify")).unwrap();
    manager.set_read_timeout(Some(FOREVER)).unwrap();
    let (pid, starts, stop) = (Mutex::new(None), AtomicU64::new(0), AtomicBool::new(false));
    let service = Service { directory, pid, starts, stop };
    fs::create_dir(service.mnt()).unwrap();
    fill(&service.store(), cells);
    let history = Mutex::new(History::default());
    let (tell, ended) = channel();
    let (mut tally, began) = (Tally { rounds: kills, ..Tally::default() }, Instant::now());
    let mut times = std::thread::scope(|scope| {
        let _stopping = Stopping(&service);
        scope.spawn(|| service.supervise(&tell));
        let enough = AtomicBool::new(false);
        let times = std::thread::scope(|writers| {
            let writer = writers.spawn(|| write(&service, &enough, &history));
            let until = Until(&enough);
            let times = kill_often(&service, &manager, &ended, kills, cells);
            drop(until);
            tally.acknowledged = writer.join().unwrap();
            times
        });
        judge(&service, std::mem::take(&mut history.lock().unwrap()), &mut tally);
        times
    });
    times.sort();
    tally.print("killed under a supervisor", began);
    let slow = times.iter().filter(|time| **time >= Duration::from_secs(2)).count();
    println!(
        "from SIGKILL to the first read, {cells} cells, RestartSec {:?}: min {:?}, median {:?}, max {:?}; {slow} of {} \
         took 2 s or more",
        restart_pause(),
        times[0],
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );
    assert_eq!(service.starts.load(Ordering::SeqCst), kills + 1);
    tally.assert_good();
    let store = service.store();
    let store = store.to_str().unwrap();
    // A segment whose cells were copied, and that a kill has kept from being deleted, goes first.
    for command in [&["flush", store][..], &["compact", "--major", store, "t"], &["check", store]] {
        let output = Command::new(CELLFS).args(command).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&words));
    }
}
