//! A cluster whose servers speak TLS alone, to who has a certificate.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::server::Cluster;
use super::tree::{Mounted, cellfs};

/// Makes an authority, a certificate of it for this machine, and another authority.
const CERTIFICATES: &str = r"
set -e
cd $1
for name in ca other; do
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=$name -keyout $name.key -out $name.pem
done
openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout own.key -out own.csr
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' >names
openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out own.pem
cat own.pem own.key >own-both.pem
";

fn settings(directory: &Path) -> String {
    let path = |name: &str| directory.join(name).display().to_string();
    let mut text = String::new();
    for (key, value) in [
        ("hbase.server.netty.tls.enabled", "true".to_owned()),
        ("hbase.server.netty.tls.supportplaintext", "false".to_owned()),
        ("hbase.client.netty.tls.enabled", "true".to_owned()),
        ("hbase.rpc.tls.keystore.location", path("own-both.pem")),
        ("hbase.rpc.tls.keystore.type", "PEM".to_owned()),
        ("hbase.rpc.tls.truststore.location", path("ca.pem")),
        ("hbase.rpc.tls.truststore.type", "PEM".to_owned()),
        ("hbase.server.netty.tls.client.auth.mode", "NEED".to_owned()),
    ] {
        text += &format!("{key} {value}\n");
    }
    text
}

#[test]
fn servers_are_spoken_to_by_tls() {
    let directory = tempfile::tempdir().unwrap();
    let made = Command::new("bash").args(["-c", CERTIFICATES, "bash"]).arg(directory.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut cluster = Cluster::start_with(Some(&settings(directory.path())));
    let plain = cluster.address.clone();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let with = |ca: &str| {
        format!("{plain}?timeout=10&tls_ca={}&tls_cert={}&tls_key={}", path(ca), path("own.pem"), path("own.key"))
    };
    for (wrong, says) in [
        (format!("{plain}?timeout=3"), ""),
        (with("other.pem").replace("timeout=10", "timeout=3"), "UnknownIssuer"),
        (with("none.pem"), "none.pem"),
    ] {
        let (_, said, done) = cellfs(&["list", &wrong]);
        assert!(!done && said.contains(says), "{wrong}: {said}");
    }
    cluster.address = with("ca.pem");
    let mounted = Mounted::new(Arc::new(cluster), "tls", "cache=0");
    // Longer than what is packed at once, and by many at once.
    let threads: Vec<_> = (0..8u8)
        .map(|at| {
            let cell = mounted.path(&format!("r/f/c{at}"));
            std::thread::spawn(move || {
                let value: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8 ^ at).collect();
                fs::write(&cell, &value).unwrap();
                assert!(fs::read(&cell).unwrap() == value);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let (out, said, done) = cellfs(&["count", &mounted.cluster.address, "tls"]);
    assert!(done && out.trim() == "1", "{out}{said}");
}
