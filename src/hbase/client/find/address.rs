//! How a cluster is named: `hbase://zk1,zk2:2181/hbase`, `hbase+rpc://master1,master2:16000`; options behind,
//! `?timeout=SECONDS&compress=gzip`.

use std::path::PathBuf;
use std::time::Duration;

use crate::hbase::client::error::{Error, Kind, Result};
use crate::hbase::client::wire::compress::Compression;
use crate::hbase::client::wire::connection::Server;
use crate::hbase::client::wire::tls::TlsOptions;

const BY_ZOOKEEPER: &str = "hbase://";
const BY_MASTERS: &str = "hbase+rpc://";
const ZOOKEEPER_PORT: u16 = 2181;
const MASTER_PORT: u16 = 16000;
/// Where HBase keeps its nodes unless it is told otherwise.
const ZNODE: &str = "/hbase";
/// How long an operation may take, all tries together.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOST_SECONDS: u64 = 3600;
const OPTIONS: &str = "behind ? stand timeout=SECONDS, 1 to 3600, compress=gzip or deflate, and tls, tls_ca=FILE, \
                       tls_cert=FILE, tls_key=FILE with whole paths, with & between them";

/// Who tells where the master and hbase:meta are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registry {
    ZooKeeper { ensemble: Vec<Server>, znode: String },
    Masters(Vec<Server>),
}

/// The address of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub registry: Registry,
    pub timeout: Duration,
    /// How servers are asked to send cells.
    pub compression: Option<Compression>,
    /// Whether servers are spoken to by TLS, and how.
    pub tls: Option<TlsOptions>,
}

/// Whether a text is meant as an address, rather than a path; also one that lacks its slashes. A directory of such a name
/// is `./hbase:x`.
pub fn is_address(text: &str) -> bool {
    [BY_ZOOKEEPER, BY_MASTERS].iter().any(|scheme| text.starts_with(scheme.trim_end_matches('/')))
}

impl Address {
    pub fn parse(text: &str) -> Result<Self> {
        let (place, options) = text.split_once('?').map_or((text, None), |(place, options)| (place, Some(options)));
        let registry = if let Some(rest) = place.strip_prefix(BY_ZOOKEEPER) {
            let (hosts, znode) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let znode = znode.trim_end_matches('/');
            let znode = if znode.is_empty() { ZNODE } else { znode };
            if znode.contains("//") {
                return Err(wrong(text, "the node of ZooKeeper has an empty part"));
            }
            Registry::ZooKeeper { ensemble: servers(text, hosts, ZOOKEEPER_PORT)?, znode: znode.to_owned() }
        } else if let Some(rest) = place.strip_prefix(BY_MASTERS) {
            let hosts = rest.strip_suffix('/').unwrap_or(rest);
            if hosts.contains('/') {
                return Err(wrong(text, "masters have no path behind them"));
            }
            Registry::Masters(servers(text, hosts, MASTER_PORT)?)
        } else {
            return Err(wrong(text, "it begins with neither hbase:// nor hbase+rpc://"));
        };
        let mut address = Self { registry, timeout: TIMEOUT, compression: None, tls: None };
        for option in options.into_iter().flat_map(|options| options.split('&')) {
            address.set(option).ok_or_else(|| wrong(text, OPTIONS))?;
        }
        if address.tls.as_ref().is_some_and(|tls| tls.certificate.is_some() != tls.key.is_some()) {
            return Err(wrong(text, "tls_cert and tls_key go together"));
        }
        Ok(address)
    }
}

impl Address {
    /// Takes an option; `None`: it is none.
    fn set(&mut self, option: &str) -> Option<()> {
        if option == "tls" {
            self.tls.get_or_insert_default();
            return Some(());
        }
        // A daemon has another working directory.
        let file = |path: &str| path.starts_with('/').then(|| PathBuf::from(path));
        match option.split_once('=')? {
            ("tls_ca", path) => self.tls.get_or_insert_default().authorities = Some(file(path)?),
            ("tls_cert", path) => self.tls.get_or_insert_default().certificate = Some(file(path)?),
            ("tls_key", path) => self.tls.get_or_insert_default().key = Some(file(path)?),
            ("timeout", seconds) => {
                let seconds = seconds.parse().ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds))?;
                self.timeout = Duration::from_secs(seconds);
            }
            ("compress", name) => self.compression = Some(Compression::named(name)?),
            _ => return None,
        }
        Some(())
    }
}

fn wrong(text: &str, why: &str) -> Error {
    let shown = text.escape_debug();
    let form = "write hbase://zk1,zk2:2181/hbase (ZooKeeper and its node) or hbase+rpc://master:16000";
    Error::new(Kind::Address, format!("{shown} is no address of a cluster: {why}; {form}"))
}

/// Hosts with their ports; who has none takes that of the last one, as in HBase's `hbase.zookeeper.quorum`.
fn servers(text: &str, hosts: &str, usual: u16) -> Result<Vec<Server>> {
    let split: Vec<(String, Option<u16>)> = hosts.split(',').map(|one| host(text, one)).collect::<Result<_>>()?;
    let last = split.last().and_then(|(_, port)| *port).unwrap_or(usual);
    Ok(split.into_iter().map(|(host, port)| Server { host, port: port.unwrap_or(last) }).collect())
}

fn host(text: &str, one: &str) -> Result<(String, Option<u16>)> {
    let (host, port) = match one.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => one.split_once(':').map_or((one, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong(text, "a host is missing"));
    }
    let parsed = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0));
    match parsed {
        Some(None) => Err(wrong(text, "a port is a number from 1 to 65535")),
        Some(port) => Ok((host.to_owned(), port)),
        None => Ok((host.to_owned(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, port: u16) -> Server {
        Server { host: host.into(), port }
    }

    #[test]
    fn addresses_are_read() {
        let zookeeper = |ensemble: &[Server], znode: &str| Registry::ZooKeeper {
            ensemble: ensemble.to_vec(),
            znode: znode.to_owned(),
        };
        for (text, registry) in [
            ("hbase://a", zookeeper(&[server("a", 2181)], "/hbase")),
            ("hbase://a,b:2182", zookeeper(&[server("a", 2182), server("b", 2182)], "/hbase")),
            ("hbase://a:1,b:2/x/y/", zookeeper(&[server("a", 1), server("b", 2)], "/x/y")),
            ("hbase://[::1]:2181/hbase", zookeeper(&[server("::1", 2181)], "/hbase")),
            ("hbase+rpc://m1,m2", Registry::Masters(vec![server("m1", 16000), server("m2", 16000)])),
            ("hbase+rpc://m:7/", Registry::Masters(vec![server("m", 7)])),
        ] {
            let expected = Address { registry, timeout: TIMEOUT, compression: None, tls: None };
            assert_eq!(Address::parse(text).unwrap(), expected, "{text}");
        }
        assert_eq!(Address::parse("hbase://a/h?timeout=5").unwrap().timeout, Duration::from_secs(5));
        let both = Address::parse("hbase+rpc://a?compress=gzip&timeout=6").unwrap();
        assert_eq!(Address::parse("hbase://a?tls").unwrap().tls, Some(TlsOptions::default()));
        let tls = Address::parse("hbase://a?tls_ca=/ca.pem&tls_cert=/c.pem&tls_key=/k.pem").unwrap().tls.unwrap();
        assert_eq!(tls.authorities.unwrap().to_str(), Some("/ca.pem"));
        assert_eq!((both.timeout, both.compression), (Duration::from_secs(6), Some(Compression::Gzip)));
    }

    #[test]
    fn what_begins_as_an_address_is_none_of_a_directory() {
        for text in ["hbase://a", "hbase:a", "hbase:/a", "hbase+rpc:a", "hbase+rpc://a"] {
            assert!(is_address(text), "{text}");
        }
        for text in ["./hbase:a", "/hbase:a", "hbase", "hbase/x", "hbase+rpc"] {
            assert!(!is_address(text), "{text}");
        }
    }

    #[test]
    fn wrong_addresses_are_refused_with_a_sentence() {
        for text in [
            "hbase://",
            "hbase://a,",
            "hbase://a:x",
            "hbase://a:0",
            "hbase://a:70000",
            "hbase+rpc://m/x",
            "hbase://a//b",
            "hbase://a?timeout=0",
            "hbase://a?x=1",
            "hbase://a?compress=snappy",
            "hbase://a?tls=no",
            "hbase://a?tls_ca=relative.pem",
            "hbase://a?tls_cert=/c.pem",
            "hbase://a?timeout=5&",
            "http://a",
            "hbase:///hbase",
            "hbase:",
            "hbase:zk1",
            "hbase:/zk1",
            "hbase+rpc:m",
            "hbase://a b",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.kind, Kind::Address, "{text}");
            assert!(error.text.contains("hbase+rpc://master:16000"), "{}", error.text);
        }
    }
}
