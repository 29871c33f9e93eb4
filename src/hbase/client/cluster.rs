//! A cluster: its connections, and calls to its servers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prost::Message;

use super::deadline::Left;
use super::error::{Error, Kind, Result};
use super::find::address::Address;
use super::find::region::Locations;
use super::find::registry::Asking;
use super::retry::{Tries, random};
use super::wire::connection::{Answer, Call, Caller, Connection, Priority, Server, Service};
use super::wire::tls::Tls;

/// Longest wait for one answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Which cluster, and as whom.
#[derive(Clone, Debug)]
pub struct Config {
    pub address: Address,
    /// The user that the servers are told.
    pub user: String,
}

/// A connection that may not be there yet: who comes second waits for the first.
type Slot = Arc<Mutex<Option<Arc<Connection>>>>;

/// A client of one cluster. All calls may be made from many threads at once.
pub struct Cluster {
    config: Config,
    /// At most one for each server and service.
    connections: Mutex<HashMap<(Server, Service), Slot>>,
    /// What its files say, once they were read.
    tls: Mutex<Option<Tls>>,
    pub(super) locations: Locations,
    meta: Mutex<Option<Server>>,
    master: Mutex<Option<Server>>,
    /// What tells this client's nonces from those of others.
    pub(super) nonce_group: u64,
}

impl Cluster {
    /// A client; nothing is asked yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            connections: Mutex::default(),
            tls: Mutex::default(),
            locations: Locations::default(),
            meta: Mutex::default(),
            master: Mutex::default(),
            nonce_group: random(),
        }
    }

    /// How long an operation may take.
    pub fn timeout(&self) -> Duration {
        self.config.address.timeout
    }

    /// The tries of an operation that begins now.
    pub(super) fn tries(&self, what: impl Into<String>) -> Tries {
        Tries::new(what, self.timeout())
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let Some(options) = &self.config.address.tls else { return Ok(None) };
        let mut tls = self.tls.lock();
        if tls.is_none() {
            *tls = Some(Tls::load(options)?);
        }
        Ok(tls.clone())
    }

    fn asking(&self, timeout: Duration) -> Result<Asking<'_>> {
        // One that is silent is to leave time for the others.
        let timeout = timeout.min(CALL_TIMEOUT / 6);
        Ok(Asking { registry: &self.config.address.registry, user: &self.config.user, timeout, tls: self.tls()? })
    }

    /// What tells the cluster from all others.
    pub fn id(&self) -> Result<String> {
        let mut tries = self.tries("asking for the cluster");
        loop {
            match self.asking(tries.left())?.cluster_id() {
                // Who has just been given an address wants to hear that nobody listens there.
                Err(e) if e.kind == Kind::Unreachable && tries.failures() > 1 => return Err(e),
                Err(e) => tries.again(e)?,
                id => return id,
            }
        }
    }

    /// Where hbase:meta is, as far as is known.
    pub(super) fn meta(&self, timeout: Duration) -> Result<Server> {
        self.known(&self.meta, |asking| asking.meta(), timeout)
    }

    /// The master, as far as is known.
    pub(super) fn master(&self, timeout: Duration) -> Result<Server> {
        self.known(&self.master, |asking| asking.master(), timeout)
    }

    fn known(
        &self,
        place: &Mutex<Option<Server>>,
        ask: impl FnOnce(&Asking<'_>) -> Result<Server>,
        timeout: Duration,
    ) -> Result<Server> {
        if let Some(server) = &*place.lock() {
            return Ok(server.clone());
        }
        let found = ask(&self.asking(timeout)?)?;
        *place.lock() = Some(found.clone());
        Ok(found)
    }

    pub(super) fn forget_master(&self) {
        *self.master.lock() = None;
    }

    pub(super) fn forget_meta(&self) {
        *self.meta.lock() = None;
    }

    /// Makes one call, which takes no longer than `timeout`.
    pub(super) fn call(
        &self,
        (server, service): (&Server, Service),
        (method, message): (&'static str, &impl Message),
        priority: Priority,
        timeout: Duration,
    ) -> Result<Answer> {
        let timeout = timeout.min(CALL_TIMEOUT).max(Duration::from_millis(1));
        let left = Left::new(timeout);
        log::trace!("{method} at {server}");
        let connection = self.connection(server, service, timeout)?;
        let message = message.encode_to_vec();
        connection.call(&Call { method, message: &message, priority, timeout: left.time() })
    }

    fn connection(&self, server: &Server, service: Service, timeout: Duration) -> Result<Arc<Connection>> {
        let left = Left::new(timeout);
        let slot = Arc::clone(self.connections.lock().entry((server.clone(), service)).or_default());
        // Whoever else connects there may be waiting for a server that is silent.
        let busy = || Error::new(Kind::Unreachable, format!("nobody could connect to {server} within {timeout:?}"));
        let mut slot = slot.try_lock_for(timeout).ok_or_else(busy)?;
        if let Some(connection) = slot.as_ref().filter(|connection| connection.is_whole()) {
            return Ok(Arc::clone(connection));
        }
        let tls = self.tls()?;
        let Config { user, address } = &self.config;
        let caller = Caller { user, compression: address.compression, tls: tls.as_ref() };
        let opened = Arc::new(Connection::open(server, service, caller, left.time())?);
        *slot = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Forgets what a failed call to a server has shown to be wrong.
    pub(super) fn note(&self, server: &Server, error: &Error) {
        if matches!(error.kind, Kind::Unreachable | Kind::Lost | Kind::ServerAway) {
            self.locations.forget_server(server);
            let mut meta = self.meta.lock();
            if meta.as_ref() == Some(server) {
                *meta = None;
            }
            // Servers come and go; one that is gone is not remembered.
            let is_broken = |slot: &Slot| {
                slot.try_lock().is_some_and(|slot| slot.as_ref().is_none_or(|connection| !connection.is_whole()))
            };
            self.connections.lock().retain(|(of, _), slot| of != server || !is_broken(slot));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let closed = Error::new(Kind::Unreachable, "the client was closed");
        for slot in self.connections.lock().values() {
            if let Some(connection) = &*slot.lock() {
                connection.break_off(&closed);
            }
        }
    }
}
