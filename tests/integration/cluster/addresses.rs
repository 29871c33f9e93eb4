//! What is said of addresses at which there is no cluster.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use super::server::Cluster;
use crate::mount::fixture::CELLFS;

/// What `cellfs list ADDRESS` says, and that it fails.
fn refused(address: &str) -> String {
    let output = Command::new(CELLFS).args(["list", address]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

#[test]
fn wrong_addresses_are_told_apart() {
    let cluster = Cluster::shared();
    assert!(refused("hbase://").contains("is no address of a cluster"));
    // Nor is a directory made.
    for address in ["hbase:zk1", "hbase:/zk1", "hbase+rpc:m1"] {
        let directory = tempfile::tempdir().unwrap();
        let create = ["create", "--make", address, "t", "f"];
        let output = Command::new(CELLFS).args(create).current_dir(directory.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("hbase://zk1,zk2:2181/hbase"), "{said}");
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "{address}");
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let said = refused(&format!("hbase://127.0.0.1:{port}/hbase?timeout=2"));
    assert!(said.contains("does not answer as ZooKeeper does"), "{said}");
    drop(silent);
    let said = refused(&format!("hbase://127.0.0.1:{port}/hbase?timeout=2"));
    assert!(said.contains("Connection refused") && said.contains("ZooKeeper"), "{said}");
    let said = refused(&format!("hbase+rpc://127.0.0.1:{port}?timeout=2"));
    assert!(said.contains("Connection refused"), "{said}");
    let zookeeper = cluster.address.trim_end_matches("/hbase");
    let said = refused(&format!("{zookeeper}/elsewhere"));
    assert!(said.contains("knows no cluster at /elsewhere"), "{said}");
    let said = refused(&format!("{}?timeout=2", zookeeper.replace("hbase://", "hbase+rpc://")));
    assert!(said.contains("is the port right?"), "{said}");
    if let Some(master) = cluster.master_port() {
        let said = refused(&format!("hbase://127.0.0.1:{master}/hbase?timeout=2"));
        assert!(said.contains("ZooKeeper"), "{said}");
        let output = Command::new(CELLFS).args(["list", &format!("hbase+rpc://127.0.0.1:{master}")]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
