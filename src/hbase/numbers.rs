//! What a cluster says of itself; remembered for some seconds, for `df` and service managers ask often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::HBase;
use super::client::proto::admin::{ClusterStatus, RegionLoad};
use super::client::within;
use super::convert::unsupported;
use super::schema::altering::known;
use crate::Result;
use crate::backend::{FamilyNumbers, Status};
use crate::env::sync::Mutex;
use crate::model::TableName;

/// A cluster does not tell clients of its disks: so much is said to be there, for programs that look before they write.
const ROOM: u64 = 1 << 50;
/// How long it is believed.
const FRESH: Duration = Duration::from_secs(3);
/// How long the master may take to tell. Whoever unmounts asks for the numbers of the filesystem too.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the master said last, or why it said nothing.
#[derive(Default)]
pub(super) struct Told(Mutex<Option<(Instant, Result<Arc<ClusterStatus>>)>>);

impl HBase {
    /// What the master says, or has just said.
    pub(super) fn told(&self) -> Result<Arc<ClusterStatus>> {
        // Held while it is asked: who comes meanwhile wants the same.
        let mut told = self.told.0.lock();
        if let Some((_, said)) = told.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return said.clone();
        }
        let said = within(PATIENCE, || self.cluster.status()).map(Arc::new).map_err(crate::Error::from);
        *told = Some((Instant::now(), said.clone()));
        said
    }

    /// As the filesystem has numbers: also while no master answers.
    pub(super) fn numbers(&self) -> Status {
        let room = Status {
            disk_total: ROOM,
            disk_free: ROOM,
            disk_available: ROOM,
            disk_writable: ROOM,
            ..Status::default()
        };
        let status = match self.told() {
            Ok(status) => status,
            Err(e) => return Status { last_error: Some(e.message), ..room },
        };
        let loads = || status.live_servers.iter().flat_map(|server| &server.server_load.region_loads);
        let sum =
            |of: fn(&RegionLoad) -> Option<u32>| loads().map(|load| u64::from(of(load).unwrap_or(0))).sum::<u64>();
        let (files, bytes) = (sum(|load| load.storefiles), sum(|load| load.storefile_size_mb) << 20);
        let dead = status.dead_servers.len();
        Status {
            segments: files,
            segment_bytes: bytes,
            live_bytes: bytes,
            memtable_bytes: sum(|load| load.mem_store_size_mb) << 20,
            last_error: (dead > 0).then(|| format!("{dead} region servers of the cluster are dead")),
            ..room
        }
    }

    /// What the servers say of a table's files: by region, not by family, and without a count of cells.
    pub(super) fn numbers_of(&self, table: &TableName) -> Result<Vec<FamilyNumbers>> {
        known(&*self.described.catalogue(&self.cluster)?, table)?;
        unsupported("a cluster does not count the cells of its tables; `cellfs count` and `.count` scan them")
    }
}
