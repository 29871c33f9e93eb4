//! The daemon of a cluster's mount: what commands ask it, and that an ordinary user may have one.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use super::server::Cluster;
use super::tree::{Mounted, cellfs};
use crate::mount::fixture::{CELLFS, errno};

const NOBODY: u32 = 65534;

fn well(args: &[&str]) -> String {
    let (out, said, done) = cellfs(args);
    assert!(done, "{args:?}: {said}{out}");
    out
}

#[test]
fn commands_ask_the_daemon_of_a_mount() {
    let mounted = Mounted::new(Cluster::shared(), "control", "");
    let (mnt, at) = (mounted.mnt(), mounted.cluster.address.clone());
    let mnt = mnt.to_str().unwrap();
    std::fs::write(mounted.path("r/f/q"), "v").unwrap();
    let _ = errno(std::fs::rename(mounted.path("r"), mounted.path("s")));
    let stats = well(&["stats", mnt]);
    assert!(stats.contains("(pid ") && stats.contains("open files") && stats.contains("lookup"), "{stats}");
    let plain = well(&["stats", &at]) + &well(&["stats", "--prometheus", mnt]) + &well(&["top", "--count", "1", mnt]);
    for word in ["cells", "flushes", "live", "dead", "sequence", "disk"] {
        assert!(!stats.contains(word) && !plain.contains(word), "{word} is not known: {stats}{plain}");
    }
    assert!(stats.contains("\nmemtable ") && plain.contains("cellfs_memtable_bytes"), "{stats}{plain}");
    for args in [["stats", "--json", mnt], ["status", "--json", mnt]] {
        let found: serde_json::Value = serde_json::from_str(&well(&args)).unwrap();
        let store = found.get("store").filter(|store| store.is_object()).unwrap_or(&found);
        for name in ["cells", "live_bytes", "dead_bytes", "cells_read", "flushes", "last_seq", "disk_total"] {
            assert_eq!(store.get(name), Some(&serde_json::Value::Null), "{name}: {found}");
        }
        assert!(store["segments"].is_u64() && store["memtable_bytes"].is_u64(), "{found}");
    }
    assert!(well(&["status", mnt]).contains(&format!("mounted at {mnt} by pid")));
    assert!(well(&["status", &at]).contains(&format!("{at} (mounted at ")));
    let top = well(&["top", "--count", "1", "--interval", "0.2", mnt]);
    assert!(top.contains("since its start") && top.contains("requests"), "{top}");
    assert!(well(&["why", mnt]).contains("one row in one step"));
    // Who unmounts waits for the end of the daemon.
    well(&["umount", mnt]);
    assert!(!well(&["status", &at]).contains(mnt));
}

/// What an ordinary user does, in a mount namespace of its own, where /dev/fuse is everybody's.
const ORDINARY: &str = r#"
mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse || exit 9
ordinary() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
ordinary "$1/cellfs" mount "$2" "$1/mnt" || exit 8
ordinary ls "$1/mnt" || exit 7
ordinary "$1/cellfs" status "$1/mnt" || exit 6
ordinary "$1/cellfs" umount "$1/mnt"
"#;

/// fusermount3 takes options between commas, and an address has some.
#[test]
fn an_ordinary_user_mounts_a_cluster_of_many_names() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can try as another user");
        return;
    }
    let cluster = Cluster::shared();
    let directory = tempfile::Builder::new().prefix("ordinary").tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // The program may lie where others cannot look.
    std::fs::copy(CELLFS, directory.path().join("cellfs")).unwrap();
    std::fs::create_dir(directory.path().join("mnt")).unwrap();
    chown(directory.path().join("mnt"), Some(NOBODY), Some(NOBODY)).unwrap();
    let host = cluster.address.trim_start_matches("hbase://").split('/').next().unwrap();
    let address = cluster.address.replace(host, &format!("{host},{host}"));
    let sockets = || Path::new(&format!("/tmp/cellfs-{NOBODY}")).read_dir().map_or(0, Iterator::count);
    let before = sockets();
    let output = Command::new("unshare")
        .args(["--mount", "bash", "-c", ORDINARY, "ordinary"])
        .arg(directory.path())
        .arg(&address)
        .current_dir("/")
        .output()
        .unwrap();
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}: {said}{out}", output.status.code());
    assert!(out.lines().any(|name| name == "default") && out.contains("mounted at"), "{out}");
    assert_eq!(sockets(), before, "a socket is left");
}
