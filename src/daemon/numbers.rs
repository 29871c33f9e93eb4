//! What a daemon has counted: requests of its mount, commands of its control socket, its own process.

use std::collections::BTreeMap;

use crate::env::sync::Mutex;
use serde::{Deserialize, Serialize};

use crate::fs::FsNumbers;

/// Numbers of a daemon since its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DaemonNumbers {
    /// When it began to serve, ms since 1970.
    pub started_at: i64,
    /// Bytes of memory that it takes now.
    pub resident_bytes: u64,
    pub mount: FsNumbers,
    /// How often each request came over the control socket.
    pub commands: BTreeMap<String, u64>,
}

/// Counts requests of the control socket by kind.
#[derive(Default)]
pub struct Commands(Mutex<BTreeMap<&'static str, u64>>);

impl Commands {
    pub fn count(&self, kind: &'static str) {
        *self.0.lock().entry(kind).or_default() += 1;
    }

    pub fn numbers(&self) -> BTreeMap<String, u64> {
        self.0.lock().iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }
}

/// Bytes of memory that this process takes; 0 where the kernel does not say.
pub fn resident_bytes() -> u64 {
    let kib = |line: &str| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(kib).unwrap_or(0) * 1024
}
