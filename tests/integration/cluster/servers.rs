//! A real HBase of many processes: ZooKeeper, a master, two region servers, each of which can be killed and started again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::server::{MORE, free_ports, launch};
use crate::hbase;

const PATIENCE: Duration = Duration::from_secs(120);
pub const ZOOKEEPER: &str = "zookeeper";
pub const MASTER: &str = "master";
pub const SERVERS: [&str; 2] = ["regionserver-1", "regionserver-2"];

/// See the module; all its processes end when it is dropped.
pub struct Servers {
    directory: tempfile::TempDir,
    home: PathBuf,
    ports: (u16, u16),
    processes: Mutex<HashMap<&'static str, Child>>,
}

impl Servers {
    /// With settings beside those of all, each a name and a value on a line.
    pub fn start(settings: &str) -> Self {
        let home = hbase::prepare().expect("HBase can be fetched");
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(MORE), settings).unwrap();
        let servers = Self { directory, home, ports: free_ports(), processes: Mutex::default() };
        for role in [ZOOKEEPER, MASTER, SERVERS[0], SERVERS[1]] {
            servers.launch(role);
        }
        servers.wait_for(MASTER, "Master has completed initialization", 1);
        for role in SERVERS {
            servers.wait_for(role, "Serving as localhost", 1);
        }
        servers
    }

    pub fn address(&self) -> String {
        format!("hbase://127.0.0.1:{}/hbase", self.ports.1)
    }

    /// The port of one of [`SERVERS`].
    pub fn port(&self, server: usize) -> u16 {
        self.ports.0 + 21 + u16::try_from(server).unwrap()
    }

    fn launch(&self, role: &'static str) {
        let child = launch(self.directory.path(), &self.home, self.ports, Some(role));
        self.processes.lock().unwrap().insert(role, child);
    }

    /// As a power cut would.
    pub fn kill(&self, role: &str) {
        let mut child = self.processes.lock().unwrap().remove(role).expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts again what was killed.
    pub fn start_again(&self, role: &'static str) {
        self.launch(role);
    }

    /// Starts again those that have ended by themselves, as they do where ZooKeeper was away for longer than their session
    /// lasts.
    pub fn start_ended(&self) {
        let ended = |(role, child): (&&'static str, &mut Child)| child.try_wait().unwrap().map(|_| *role);
        let ended: Vec<_> = self.processes.lock().unwrap().iter_mut().filter_map(ended).collect();
        for role in ended {
            println!("{role} has ended by itself and is started again");
            self.launch(role);
        }
    }

    fn log(&self, role: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(format!("log-{role}"))).unwrap_or_default()
    }

    /// The last that the region servers have said.
    pub fn last_said(&self) -> String {
        let last = |role| {
            let log = self.log(role);
            let lines: Vec<_> = log.lines().rev().take(20).collect();
            format!("{role}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        SERVERS.map(last).concat()
    }

    /// How often a process has said something.
    pub fn said(&self, role: &str, text: &str) -> usize {
        self.log(role).matches(text).count()
    }

    /// Waits until a process has said something so often.
    pub fn wait_for(&self, role: &str, text: &str, times: usize) {
        let started = Instant::now();
        while self.said(role, text) < times {
            let ended = self.processes.lock().unwrap().get_mut(role).is_none_or(|it| it.try_wait().unwrap().is_some());
            assert!(!ended && started.elapsed() < PATIENCE, "{role} does not say {text}: {}", self.log(role));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let mut processes = self.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for child in processes.values_mut() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
