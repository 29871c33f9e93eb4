//! Where the master and hbase:meta are, and what the cluster is called: from ZooKeeper, or from the masters themselves.

use std::time::Duration;

use prost::Message;

use super::address::Registry;
use super::zookeeper;
use crate::hbase::client::deadline::Left;
use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::proto::schema::{
    ActiveMaster, ClusterId, Empty, Master, MetaLocations, MetaRegionServer, ServerName,
};
use crate::hbase::client::wire::connection::{Call, Caller, Connection, Priority, Server, Service};
use crate::hbase::client::wire::tls::Tls;

/// What a registry is asked, as whom and how long.
pub struct Asking<'a> {
    pub registry: &'a Registry,
    pub user: &'a str,
    pub timeout: Duration,
    pub tls: Option<Tls>,
}

impl TryFrom<ServerName> for Server {
    type Error = Error;

    fn try_from(name: ServerName) -> Result<Self> {
        let port = name.port.and_then(|port| u16::try_from(port).ok());
        let port = port.ok_or_else(|| Error::protocol("a server without a port"))?;
        Ok(Self { host: name.host_name, port })
    }
}

impl Asking<'_> {
    /// The server of hbase:meta.
    pub fn meta(&self) -> Result<Server> {
        let server = match self.registry {
            Registry::ZooKeeper { .. } => self.node::<MetaRegionServer>("meta-region-server")?.map(|meta| meta.server),
            Registry::Masters(_) => {
                let found: MetaLocations = self.ask("GetMetaRegionLocations")?;
                let first = |location: &crate::hbase::client::proto::schema::RegionLocation| {
                    location.region_info.replica_id.unwrap_or(0) == 0
                };
                found.locations.into_iter().find(first).and_then(|location| location.server_name)
            }
        };
        server.ok_or_else(|| Error::new(Kind::MasterAway, "hbase:meta is not served yet"))?.try_into()
    }

    /// The master that is active.
    pub fn master(&self) -> Result<Server> {
        let server = match self.registry {
            Registry::ZooKeeper { .. } => self.node::<Master>("master")?.map(|found| found.master),
            Registry::Masters(_) => self.ask::<ActiveMaster>("GetActiveMaster")?.server_name,
        };
        server.ok_or_else(|| Error::new(Kind::MasterAway, "the cluster has no active master now"))?.try_into()
    }

    /// What tells the cluster from all others.
    pub fn cluster_id(&self) -> Result<String> {
        let found = match self.registry {
            Registry::ZooKeeper { ensemble, znode } => {
                self.node::<ClusterId>("hbaseid")?.ok_or_else(|| no_cluster(ensemble, znode))?
            }
            Registry::Masters(_) => self.ask::<ClusterId>("GetClusterId")?,
        };
        found.cluster_id.ok_or_else(|| Error::protocol("the cluster has no id"))
    }

    /// The message in a node below the cluster's; `None`: there is no such node.
    fn node<M: Message + Default>(&self, name: &str) -> Result<Option<M>> {
        let Registry::ZooKeeper { ensemble, znode } = self.registry else { return Ok(None) };
        match zookeeper::read(ensemble, &format!("{znode}/{name}"), self.timeout) {
            Err(e) if e.kind == Kind::NoNode => Ok(None),
            Err(e) => Err(e),
            Ok(node) => {
                let message = zookeeper::message(&node).ok_or_else(|| Error::protocol(format!("{znode}/{name}")))?;
                M::decode(message).map(Some).map_err(Error::protocol)
            }
        }
    }

    /// The answer of the first master that gives one.
    fn ask<M: Message + Default>(&self, method: &'static str) -> Result<M> {
        let Registry::Masters(masters) = self.registry else { return Ok(M::default()) };
        let mut failed = Error::new(Kind::Address, "no master is named");
        let message = Empty {}.encode_to_vec();
        let left = Left::new(self.timeout);
        let caller = Caller { user: self.user, compression: None, tls: self.tls.as_ref() };
        for (at, server) in masters.iter().enumerate() {
            // One that is silent leaves time for the others.
            let part = Left::new(left.time() / u32::try_from(masters.len() - at).unwrap_or(u32::MAX));
            let answer = Connection::open(server, Service::Registry, caller, part.time()).and_then(|connection| {
                let timeout = part.time();
                connection.call(&Call { method, message: &message, priority: Priority::Normal, timeout })?.message()
            });
            match answer {
                // A service that is not known ends the connection without a word; so does what is no HBase.
                Err(e) if e.kind == Kind::Lost => failed = strange(server, &e),
                Err(e) if e.may_pass() => failed = e,
                answered => return answered,
            }
        }
        Err(failed)
    }
}

fn strange(server: &Server, error: &Error) -> Error {
    let text = format!("{server} does not answer as a master of HBase does ({}); is the port right?", error.text);
    Error::new(Kind::Unreachable, text)
}

fn no_cluster(ensemble: &[Server], znode: &str) -> Error {
    let asked: Vec<String> = ensemble.iter().map(Server::to_string).collect();
    let text = format!(
        "ZooKeeper {} knows no cluster at {znode}; the node behind the address is HBase's zookeeper.znode.parent",
        asked.join(",")
    );
    Error::new(Kind::NoNode, text)
}
