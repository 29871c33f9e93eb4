//! What a store and its daemon have counted, as `stats` tells of it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::backend::{Backend, Status};
use crate::daemon::control::client::Client;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, DaemonNumbers, open_backend};
use crate::{Error, Result};

/// How much of a status is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    All,
    /// Files, memtables and why something fails: what a cluster tells.
    Files,
    /// Why something fails: the cluster tells nothing now.
    Nothing,
}

/// What no cluster tells.
const OF_STORES: [&str; 18] = [
    "cells",
    "live_bytes",
    "dead_bytes",
    "index_bytes",
    "memtable_cells",
    "last_seq",
    "checkpoint_seq",
    "synced_seq",
    "flushes",
    "compactions",
    "activity",
    "cells_read",
    "damaged_reads",
    "expired_segments",
    "disk_total",
    "disk_free",
    "disk_available",
    "disk_writable",
];
const OF_FILES: [&str; 3] = ["segments", "segment_bytes", "memtable_bytes"];

impl Known {
    fn of(backend: &dyn Backend) -> Self {
        match backend.cluster_numbers() {
            Ok(None) => Self::All,
            Ok(Some(_)) => Self::Files,
            Err(_) => Self::Nothing,
        }
    }

    /// A status for programs: what is not known is null.
    pub fn json(self, status: &Status) -> Json {
        let mut object = serde_json::to_value(status).unwrap_or_default();
        object["dead_bytes"] = json!(status.segment_bytes.saturating_sub(status.live_bytes));
        let (of_stores, of_files) = match self {
            Self::All => (&OF_STORES[..0], &OF_FILES[..0]),
            Self::Files => (&OF_STORES[..], &OF_FILES[..0]),
            Self::Nothing => (&OF_STORES[..], &OF_FILES[..]),
        };
        of_stores.iter().chain(of_files).for_each(|name| object[*name] = Json::Null);
        object
    }
}

/// What is known of a store.
pub struct Stats {
    pub directory: String,
    pub status: Status,
    pub known: Known,
    /// `None`: it is not mounted.
    pub mounted: Option<Mounted>,
}

/// What is known of its daemon.
pub struct Mounted {
    pub mount_point: String,
    pub version: String,
    pub pid: u32,
    pub numbers: DaemonNumbers,
}

/// Asks the store, and its daemon if there is one.
pub fn collect(store: &Path) -> Result<Stats> {
    let directory = locate::store_directory(store)?;
    let client = sockets::serving(store)?;
    let mounted = client.as_ref().map(|client| {
        let hello = client.hello();
        let (mount_point, version, pid) = (hello.shown_mount_point(), hello.version.clone(), hello.pid);
        Ok::<_, Error>(Mounted { mount_point, version, pid, numbers: client.numbers()? })
    });
    let mounted = mounted.transpose()?;
    let (backend, known) = telling(store, client)?;
    let status = backend.status()?;
    Ok(Stats { directory: directory.display().to_string(), status, known, mounted })
}

/// Who tells how it is, and how much: of a mounted cluster the daemon, which waits no longer than some seconds for it.
pub fn telling(store: &Path, daemon: Option<Client>) -> Result<(Arc<dyn Backend>, Known)> {
    match daemon {
        Some(daemon) if locate::is_cluster(&locate::store_directory(store)?) => {
            let known = if daemon.cluster_answers()? { Known::Files } else { Known::Nothing };
            Ok((Arc::new(daemon), known))
        }
        Some(_) | None => {
            let backend = open_backend(store, Absent::Refuse)?;
            let known = Known::of(backend.as_ref());
            Ok((backend, known))
        }
    }
}
