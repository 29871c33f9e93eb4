//! The shell on a cluster answers as on a store, and as HBase's own.

use super::server::Cluster;
use super::tree::{MountedAt, cellfs};
use crate::shell::{ASKED, BEFORE_ASKED, QUICK, TOO_LONG, check_quick, told};

/// The shell's output, which is to end well.
fn shell(options: &[&str], address: &str, script: &str) -> String {
    let (out, said, done) = cellfs(&[options, &["shell", "-q", "-n", address, "-e", script]].concat());
    assert!(done, "{script}: {said}{out}");
    out
}

#[test]
fn the_shell_changes_a_row_of_a_cluster_once_a_millisecond() {
    let cluster = Cluster::shared();
    let mounted = MountedAt::new(&cluster.address, "");
    for at in [cluster.address.as_str(), mounted.mnt().to_str().unwrap()] {
        cellfs(&["drop", &cluster.address, "lw"]);
        check_quick(&shell(&[], at, QUICK));
    }
    cellfs(&["drop", &cluster.address, "lw"]);
}

#[test]
fn the_shell_finds_the_rows_and_columns_of_a_cluster_that_hbases_does() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "cr"]);
    shell(&[], at, BEFORE_ASKED);
    for (statement, wanted) in ASKED {
        assert_eq!(told(&shell(&["--json"], at, statement)), *wanted, "{statement}");
    }
    cellfs(&["drop", at, "cr"]);
}

#[test]
fn a_ttl_that_hbase_has_no_number_for_is_refused_on_a_cluster() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "told"]);
    shell(&[], at, "create 'told', {NAME => 'f', TTL => 60}");
    for statement in TOO_LONG {
        let (out, said, done) = cellfs(&["shell", "-q", "-n", at, "-e", statement]);
        assert!(!done && (said + &out).contains("TTL is at most 2147483647 seconds"), "{statement}");
    }
    assert!(shell(&[], at, "describe 'told'").contains("TTL => '60 SECONDS (1 MINUTE)'"));
    cellfs(&["drop", at, "told"]);
}
