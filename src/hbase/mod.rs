//! Apache HBase as a store: a client of its own, and the backend's contract on it.
//!
//! Must not know mounts, nor how addresses come to it. What a cluster cannot give is refused with a sentence that says
//! what to do.

mod backend;
mod cells;
pub mod client;
mod convert;
mod keeping;
mod numbers;
mod regions;
mod schema;

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::backend::{Event, Subscriber};
use crate::env::sync::RwLock;
use crate::env::{Env, RealEnv};
use crate::model::Timestamp;
use crate::{Error, ErrorKind, Result};
use cells::{times, values};
pub use client::is_address;
use client::{Address, Cluster, Config};
use schema::described;

/// The oldest release that has all that is asked of it (ClientMetaService, conditions with filters).
const OLDEST: (u32, u32) = (2, 4);

/// Whether a change is taken now.
pub type Check = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// A cluster as a store.
pub struct HBase {
    /// Asked before each change of what users see; `None`: all are taken.
    check: Option<Check>,
    cluster: Arc<Cluster>,
    described: Arc<described::Described>,
    values: values::Values,
    given: times::Given,
    told: numbers::Told,
    env: RealEnv,
    hash_key: [u8; 16],
    listeners: Arc<Listeners>,
}

/// Who is told of what happens.
#[derive(Default)]
struct Listeners(RwLock<Vec<Subscriber>>);

impl Listeners {
    fn tell(&self, event: &Event) {
        let subscribers = self.0.read().clone();
        subscribers.iter().for_each(|told| told(event));
    }
}

/// The address in one form: without what may be left out. Refuses one that is wrong.
pub fn check_address(text: &str) -> Result<()> {
    Address::parse(text).map(drop).map_err(Error::from)
}

impl HBase {
    /// Connects to the cluster at an address, as `user`.
    pub fn open(address: &str, user: &str) -> Result<Self> {
        let config = Config { address: Address::parse(address)?, user: user.to_owned() };
        let cluster = Cluster::new(config);
        let at = |e: client::Error| Error::from(e.at(address));
        let id = cluster.id().map_err(at)?;
        let listeners: Arc<Listeners> = Arc::default();
        let described = described::Described::new(Arc::clone(&listeners));
        match described::for_a_moment(&cluster, || cluster.version()).map_err(at) {
            Ok(version) => check_version(&version).map_err(|e| e.context(address))?,
            // Rows are served without a master.
            Err(e) if described::is_away(&e) => described.tell_away(&e, "what hbase:meta and regions tell is shown"),
            Err(e) => return Err(e),
        }
        let digest = Sha256::digest(id.as_bytes());
        let mut hash_key = [0; 16];
        hash_key.copy_from_slice(&digest[..16]);
        Ok(Self {
            check: None,
            cluster: Arc::new(cluster),
            described: Arc::new(described),
            values: values::Values::default(),
            given: times::Given::default(),
            told: numbers::Told::default(),
            env: RealEnv::default(),
            hash_key,
            listeners,
        })
    }

    /// The same, with changes taken only where `check` takes them.
    #[must_use]
    pub fn checked(self, check: Check) -> Self {
        Self { check: Some(check), ..self }
    }

    fn check_changes(&self) -> Result<()> {
        self.check.as_ref().map_or(Ok(()), |check| check())
    }

    /// Does something about one row or column: all that it asks the cluster for has the time of one operation.
    fn in_time<T>(&self, work: impl FnOnce() -> T) -> T {
        client::within(self.cluster.timeout(), work)
    }

    fn clock(&self) -> Timestamp {
        self.env.now()
    }

    /// Tells of what was changed from here; what others change is not told by a cluster.
    fn announce(&self, events: &[Event]) {
        events.iter().for_each(|event| self.listeners.tell(event));
    }
}

fn check_version(version: &str) -> Result<()> {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST {
        return Ok(());
    }
    let text = format!("the cluster runs HBase {version}; cellfs needs {}.{} or later", OLDEST.0, OLDEST.1);
    Err(Error::new(ErrorKind::Unsupported, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_that_are_too_old_are_refused() {
        for version in ["2.4.0", "2.6.4", "3.0.0-beta-1", "2.5.10-hadoop3"] {
            check_version(version).unwrap();
        }
        for version in ["1.7.2", "2.3.7", "", "unknown"] {
            assert!(check_version(version).unwrap_err().message.contains("2.4 or later"), "{version}");
        }
    }
}
