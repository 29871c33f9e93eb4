//! What the shell says of a cluster is the cluster's own: servers, regions, splits; and what it asks of the master.

use std::fs;

use super::server::Cluster;
use super::tree::{MountedAt, cellfs};

/// The shell's output, which is to end well.
fn shell(address: &str, script: &str) -> String {
    let (out, said, done) = cellfs(&["shell", "-q", "-n", address, "-e", script]);
    assert!(done, "{script}: {said}{out}");
    out
}

#[test]
fn the_shell_tells_of_the_servers_and_regions_that_there_are() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "regions_told"]);
    let status = shell(at, "status");
    assert!(status.contains("1 active master, 0 backup masters, 1 servers, 0 dead"), "{status}");
    let status = shell(at, "status 'simple'");
    assert!(status.contains("1 live servers\n    localhost:") && status.contains("numberOfOnlineRegions="), "{status}");
    shell(at, "create 'regions_told', 'f', SPLITS => ['g', 'p\\x00']");
    let list = shell(at, "list_regions 'regions_told'");
    assert!(list.contains("localhost,") && list.contains("3 rows") && list.contains("p\\x00"), "{list}");
    let name = list.lines().find_map(|line| line.find("regions_told,g,").map(|at| &line[at..])).unwrap();
    let name = name.split(' ').next().unwrap();
    for script in ["put 'regions_told', 'h', 'nofam:q', 'v'", "get 'regions_told', 'h', 'nofam'"] {
        let (out, said, done) = cellfs(&["shell", "-n", at, "-e", script]);
        let expected = format!("Column family nofam does not exist in region {name} in table 'regions_told'");
        assert!(!done && (out + &said).contains(&expected), "{said}, not {expected}");
    }
    let found = shell(at, "locate_region 'regions_told', 'h'");
    assert!(found.contains("localhost:") && found.contains("STARTKEY => 'g', ENDKEY => 'p\\x00'"), "{found}");
    assert!(shell(at, "get_splits 'regions_told'").contains("Total number of splits = 3\ng\np\\x00"));
    shell(at, "split 'regions_told', 'c'");
    assert!(shell(at, "get_splits 'regions_told'").contains("= 4\nc\ng\n"));
    let names: Vec<String> = shell(at, "list_regions 'regions_told'")
        .lines()
        .filter_map(|line| Some(line.rsplit_once(". |")?.0.rsplit_once('.')?.1.to_owned()))
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    shell(at, &format!("merge_region '{}', '{}'", names[0], names[1]));
    assert!(shell(at, "get_splits 'regions_told'").contains("= 3\ng\n"));
    let was_on = shell(at, "balance_switch false");
    assert!(was_on.contains("Previous balancer state : "), "{was_on}");
    assert!(shell(at, "balancer_enabled").contains("false"));
    shell(at, "balance_switch true");
    assert!(shell(at, "balancer_enabled").contains("true"));
    shell(at, "balancer");
    let name = &shell(at, "list_regions 'regions_told'");
    let name = name.lines().find_map(|line| Some(line.rsplit_once(". |")?.0.rsplit_once('.')?.1.to_owned())).unwrap();
    shell(at, &format!("unassign '{name}'; assign '{name}'; put 'regions_told', 'a', 'f:q', 'v'"));
    assert!(shell(at, "get 'regions_told', 'a'").contains("value=v"));
    for (create, count) in [("NUMREGIONS => 4, SPLITALGO => 'HexStringSplit'", 4), ("SPLITS_FILE => '/dev/null'", 1)] {
        shell(at, "disable 'regions_told'; drop 'regions_told'");
        shell(at, &format!("create 'regions_told', 'f', {{{create}}}"));
        let told = shell(at, "get_splits 'regions_told'");
        assert!(told.contains(&format!("Total number of splits = {count}")), "{told}");
    }
    cellfs(&["drop", at, "regions_told"]);
    for (splits, why) in [("['b', 'b']", "found duplicate: b, b"), ("['b', '']", "Empty split key")] {
        let (_, said, done) =
            cellfs(&["shell", "-q", "-n", at, "-e", &format!("create 'regions_told', 'f', SPLITS => {splits}")]);
        assert!(!done && said.contains(why), "{said}");
    }
    let said = cellfs(&["shell", "-q", "-n", at, "-e", "move 'abc'"]).1;
    assert!(said.contains("ERROR: org.apache.hadoop.hbase.UnknownRegionException: abc"), "{said}");
    // Splits are not switched off: other tests make them meanwhile.
    assert!(shell(at, "splitormerge_enabled 'SPLIT'; splitormerge_switch 'SPLIT', true").contains("true\ntrue"));
    assert!(shell(at, "splitormerge_switch 'MERGE', false").contains("true"));
    assert!(shell(at, "splitormerge_enabled 'MERGE'").contains("false"));
    assert!(shell(at, "splitormerge_switch 'MERGE', true").contains("false"));
    let (_, said, done) = cellfs(&["shell", "-q", "-n", at, "-e", "rit"]);
    assert!(!done && said.contains("HBase's own shell"), "{said}");
}

#[test]
fn a_file_tells_and_asks_where_regions_begin() {
    let cluster = Cluster::shared();
    let mounted = MountedAt::new(&cluster.address, "cache=0");
    let table = mounted.mnt().join("default/regions_file");
    cellfs(&["drop", &cluster.address, "regions_file"]);
    fs::create_dir(&table).unwrap();
    let splits = table.join(".schema/.table/SPLITS");
    fs::write(&splits, "p\\x00\ng\n").unwrap();
    assert_eq!(fs::read_to_string(&splits).unwrap(), "g\np\\x00\n");
    fs::create_dir(table.join(".schema/f")).unwrap();
    assert!(shell(&cluster.address, "get_splits 'regions_file'").contains("= 3\ng\np\\x00"));
    assert_eq!(fs::read_to_string(&splits).unwrap(), "g\np\\x00\n");
    let names: Vec<_> = fs::read_dir(table.join(".schema/.table")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().any(|name| name == "SPLITS"), "{names:?}");
    fs::write(&splits, "c\n").unwrap();
    assert_eq!(fs::read_to_string(&splits).unwrap(), "c\ng\np\\x00\n");
    cellfs(&["drop", &cluster.address, "regions_file"]);
}

#[test]
fn what_only_embedded_stores_have_is_refused_on_clusters() {
    let cluster = Cluster::shared();
    let at = cluster.address.as_str();
    cellfs(&["drop", at, "regions_refused"]);
    assert!(cellfs(&["create", at, "regions_refused", "f"]).2);
    for args in [
        &["create-index", at, "regions_refused", "by_q", "--columns", "f:q"][..],
        &["create-check", at, "regions_refused", "f", "text", "--type", "utf8"][..],
    ] {
        let (out, said, done) = cellfs(args);
        assert!(!done && said.contains("HBase"), "{args:?}: {out}{said}");
    }
    assert!(cellfs(&["describe", at, "regions_refused"]).2);
    assert!(cellfs(&["drop", at, "regions_refused"]).2);
}
