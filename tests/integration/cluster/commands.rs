//! Commands on the address of a cluster.

use super::server::Cluster;
use super::tree::cellfs;
use crate::mount::fixture::CELLFS;

/// Runs a command that is to end well; what it printed.
fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}");
    out
}

#[test]
fn commands_take_an_address_in_the_place_of_a_store() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    let table = "commands_table";
    cellfs(&["drop", at, table]);
    well(&["create", at, table, "f", "g,VERSIONS=3"]);
    assert!(well(&["list", at]).lines().any(|line| line.contains(table)));
    for (row, value) in [("r1", "one"), ("r2", "two"), ("r3", "three")] {
        well(&["put", at, table, row, "f:q", value]);
    }
    assert!(well(&["get", at, table, "r2"]).contains("two"));
    let scan = well(&["scan", at, table]);
    assert_eq!(["one", "two", "three"].map(|value| scan.contains(value)), [true; 3], "{scan}");
    assert!(well(&["count", at, table]).contains('3'));
    assert!(well(&["describe", at, table]).contains("VERSIONS=3"));
    well(&["incr", at, table, "r1", "f:n", "5"]);
    assert!(well(&["incr", at, table, "r1", "f:n", "2"]).contains('7'));
    well(&["append", at, table, "r1", "f:q", "!"]);
    assert!(well(&["get", at, table, "r1", "f:q"]).contains("one!"));
    well(&["delete", at, table, "r1", "f:q"]);
    assert!(!well(&["get", at, table, "r1"]).contains("one"));
    well(&["flush", at, table]);
    well(&["compact", at, table]);
    // Others may have it mounted meanwhile.
    assert!(well(&["status", at]).contains(at));
    well(&["truncate", at, table]);
    assert_eq!(cellfs(&["scan", at, table]).0, "");
    well(&["drop", at, table]);
    let (_, said, done) = cellfs(&["get", at, table, "r1"]);
    assert!(!done && said.contains(table), "{said}");
}

#[test]
fn snapshots_are_taken_and_brought_back() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    for table in ["commands_kept", "commands_clone"] {
        cellfs(&["drop", at, table]);
    }
    cellfs(&["snapshot", "delete", at, "commands_snapshot"]);
    well(&["create", at, "commands_kept", "f"]);
    well(&["put", at, "commands_kept", "r", "f:q", "before"]);
    well(&["snapshot", "create", at, "commands_snapshot", "--table", "commands_kept"]);
    assert!(well(&["snapshot", "list", at]).contains("commands_snapshot"));
    well(&["put", at, "commands_kept", "r", "f:q", "after"]);
    well(&["snapshot", "clone", at, "commands_snapshot", "commands_kept", "commands_clone"]);
    assert!(well(&["get", at, "commands_clone", "r"]).contains("before"));
    well(&["drop", at, "commands_kept"]);
    well(&["drop", at, "commands_clone"]);
    well(&["snapshot", "delete", at, "commands_snapshot"]);
    let (_, said, done) = cellfs(&["snapshot", "create", at, "whole"]);
    assert!(!done && said.contains("one of one table"), "{said}");
}

#[test]
fn lines_of_fields_have_the_columns_of_the_rows() {
    let mounted = super::tree::Mounted::new(Cluster::shared(), "commands_csv", "");
    let at = mounted.cluster.address.as_str();
    for (row, column, value) in [("r1", "f:a", "1"), ("r1", "f:b", "2"), ("r2", "f:c", "3")] {
        well(&["put", at, "commands_csv", row, column, value]);
    }
    let whole = "HBASE_ROW_KEY,f:a,f:b,f:c\nr1,1,2,\nr2,,,3\n";
    let read = |below: &str| std::fs::read_to_string(mounted.path(below)).unwrap();
    assert_eq!(well(&["export", at, "commands_csv", "--format", "csv"]), whole);
    assert_eq!(read(".export/csv"), whole);
    assert_eq!(read("r2/.export/csv"), "HBASE_ROW_KEY,f:c\nr2,3\n");
    let refused = mounted.mnt().join("x");
    let (_, said, done) = cellfs(&["mount", "-o", "value_limit=5", at, refused.to_str().unwrap()]);
    assert!(!done && said.contains("hbase.server.keyvalue.maxsize"), "{said}");
}

#[test]
fn cells_come_packed_where_that_is_asked_for_and_scans_are_counted() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "commands_packed"]);
    well(&["create", at, "commands_packed", "f"]);
    for row in ["r1", "r2", "r3"] {
        well(&["put", at, "commands_packed", row, "f:q", &format!("value of {row}")]);
    }
    let plain = well(&["scan", at, "commands_packed"]);
    for packed in ["gzip", "deflate"] {
        let address = format!("{at}?compress={packed}");
        assert_eq!(well(&["scan", &address, "commands_packed"]), plain);
        assert!(well(&["get", &address, "commands_packed", "r2"]).contains("value of r2"));
        well(&["put", &address, "commands_packed", "r4", "f:q", packed]);
        well(&["delete", &address, "commands_packed", "r4", "f:q"]);
    }
    let output = std::process::Command::new(crate::mount::fixture::CELLFS)
        .args(["scan", at, "commands_packed", "--filter", "PrefixFilter('r2')"])
        .env("RUST_LOG", "debug")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a scan of commands_packed: ") && said.contains("ROWS_SCANNED="), "{said}");
    well(&["drop", at, "commands_packed"]);
}

#[test]
fn what_a_cluster_cannot_give_is_refused_with_a_sentence() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "commands_refused"]);
    well(&["create", at, "commands_refused", "f"]);
    for (args, word) in [
        (&["config", at, "value_limit", "5"][..], "hbase-site.xml"),
        (&["check", at][..], "hbck"),
        (&["watch", at, "commands_refused"][..], ".times"),
        (&["alter", at, "commands_refused", "f,PURGE_DELETED_AFTER=5"][..], "PURGE_DELETED_AFTER"),
        (&["undrop", at, "commands_refused"][..], "snapshot"),
    ] {
        let (_, said, done) = cellfs(args);
        assert!(!done && said.contains(word), "{args:?}: {said}");
    }
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("mount-scripts/backup.sh");
    let backup = std::process::Command::new(script).args([at, "/none"]).env("CELLFS", CELLFS).output().unwrap();
    assert!(String::from_utf8_lossy(&backup.stderr).contains("is a cluster, of which"), "{backup:?}");
    well(&["drop", at, "commands_refused"]);
}

#[test]
fn attributes_have_their_effect_on_a_cluster() {
    let mounted = super::tree::Mounted::new(Cluster::shared(), "commands_obeyed", "cache=0");
    let at = mounted.cluster.address.as_str();
    let quiet = |args: &[&str]| {
        let (out, said, done) = cellfs(args);
        assert!(done && !said.contains("kept and shown") && !out.contains("kept and shown"), "{args:?}: {said}{out}");
    };
    quiet(&["shell", "-n", at, "-e", "alter 'commands_obeyed', MAX_FILESIZE => '134217721'"]);
    quiet(&["shell", "-n", at, "-e", "alter 'commands_obeyed', {NAME => 'f', DATA_BLOCK_ENCODING => 'FAST_DIFF'}"]);
    quiet(&["alter", at, "commands_obeyed", "f,CACHE_DATA_ON_WRITE=true", "--set", "SPLIT_ENABLED=false"]);
    std::fs::write(mounted.mnt().join("default/commands_obeyed/.schema/.table/MAX_FILESIZE"), "134217722").unwrap();
    assert!(!mounted.errors().contains("kept and shown"), "{}", mounted.errors());
    assert!(well(&["describe", at, "commands_obeyed"]).contains("134217722"));
    cellfs(&["drop", at, "commands_made"]);
    quiet(&["shell", "-n", at, "-e", "create 'commands_made', {NAME => 'f', DFS_REPLICATION => 1}"]);
    well(&["drop", at, "commands_made"]);
}
