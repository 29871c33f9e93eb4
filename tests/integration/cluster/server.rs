//! A real HBase for tests, started by `tests/hbase/server.sh` and killed when the last test that uses it ends.
//!
//! `CELLFS_CLUSTER` names one that runs already; then none is started, and tests that kill theirs still start their own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::hbase;

/// The file of more settings in the directory of a cluster.
pub const MORE: &str = "settings";

const PATIENCE: Duration = Duration::from_secs(120);

/// How long a cluster of many processes keeps a scanner that nobody asks for more.
pub const LEASE_MS: u64 = 3000;

/// A cluster of one process.
pub struct Cluster {
    pub address: String,
    own: Option<Own>,
}

struct Own {
    directory: tempfile::TempDir,
    home: PathBuf,
    ports: (u16, u16),
    process: Mutex<Child>,
}

static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

/// Ports that are free now and that no other cluster of this process was given: of the master, with that of its region
/// server 20 above, and of ZooKeeper.
pub fn free_ports() -> (u16, u16) {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 20_000 + (std::process::id() % 280) as u16 * 40;
    loop {
        let master = first + GIVEN.fetch_add(1, Ordering::Relaxed) * 40;
        assert!(master < 32_000, "no free ports");
        if free(master) && free(master + 1) && free(master + 20) {
            return (master, master + 1);
        }
    }
}

impl Cluster {
    /// The one that all tests share that leave it whole.
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(cluster) = shared.upgrade() {
            return cluster;
        }
        let cluster = Arc::new(match std::env::var("CELLFS_CLUSTER") {
            Ok(address) => Self { address, own: None },
            Err(_) => Self::start(),
        });
        *shared = Arc::downgrade(&cluster);
        cluster
    }

    /// One that a test may kill.
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// One of its own with more settings, each a name and a value on a line.
    pub fn start_with(settings: Option<&str>) -> Self {
        Self::start_behind(settings, |_| ())
    }

    /// The same, with something between that begins with the port that its region server names.
    pub fn start_behind(settings: Option<&str>, begin: impl FnOnce(u16)) -> Self {
        let home = hbase::prepare().expect("HBase can be fetched");
        let directory = tempfile::tempdir().unwrap();
        let ports = free_ports();
        if let Some(settings) = settings {
            std::fs::write(directory.path().join(MORE), settings).unwrap();
        }
        begin(ports.0 + 20);
        let process = launch(directory.path(), &home, ports, None);
        let address = format!("hbase://127.0.0.1:{}/hbase", ports.1);
        let cluster = Self { address, own: Some(Own { directory, home, ports, process: process.into() }) };
        cluster.wait(1);
        cluster
    }

    /// The port of the master.
    pub fn master_port(&self) -> Option<u16> {
        self.own.as_ref().map(|own| own.ports.0)
    }

    /// As a power cut would.
    pub fn kill(&self) {
        let own = self.own.as_ref().expect("a cluster of one's own");
        let mut process = own.process.lock().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Stops it as a cut network would, or lets it go on: connections stay, and nothing comes.
    pub fn stall(&self, is_stalled: bool) {
        use nix::sys::signal::{Signal, kill};
        let own = self.own.as_ref().expect("a cluster of one's own");
        let pid = nix::unistd::Pid::from_raw(own.process.lock().unwrap().id().cast_signed());
        kill(pid, if is_stalled { Signal::SIGSTOP } else { Signal::SIGCONT }).unwrap();
    }

    /// Starts it again after [`Cluster::kill`]; waits until it is up where that is wanted.
    pub fn start_again(&self) {
        let own = self.own.as_ref().expect("a cluster of one's own");
        let starts = self.log().matches("STARTING service HMaster").count();
        *own.process.lock().unwrap() = launch(own.directory.path(), &own.home, own.ports, None);
        self.wait(starts + 1);
    }

    fn log(&self) -> String {
        let own = self.own.as_ref().expect("a cluster of one's own");
        std::fs::read_to_string(own.directory.path().join("log")).unwrap_or_default()
    }

    fn wait(&self, starts: usize) {
        let started = Instant::now();
        while self.log().matches("Master has completed initialization").count() < starts {
            let own = self.own.as_ref().expect("a cluster of one's own");
            let ended = own.process.lock().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && started.elapsed() < PATIENCE, "HBase does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Starts one process: of a cluster of many where it has a role.
pub fn launch(directory: &Path, home: &Path, (master, zookeeper): (u16, u16), role: Option<&str>) -> Child {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hbase/server.sh"))
        .arg(directory)
        .args([master.to_string(), zookeeper.to_string()])
        .arg(home.join("classpath"))
        .args(role)
        .env("SCANNER_LEASE_MS", LEASE_MS.to_string())
        .envs(directory.join(MORE).exists().then(|| ("MORE_SITE", directory.join(MORE))))
        .stdin(Stdio::null())
        .spawn()
        .expect("server.sh can be run")
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            let mut process = own.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // It may have been killed already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
