//! What a daemon may still do once it serves, and what a limit of its own does to it.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use crate::mount::fixture::{CELLFS, Fixture};

/// Of each thread of a process: its name, effective capabilities, and whether it may gain rights or is filtered.
fn threads(pid: u32) -> Vec<(String, u64, bool)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let one = |task: std::io::Result<fs::DirEntry>| {
        let status = fs::read_to_string(task.unwrap().path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        let confined = field("NoNewPrivs:") == "1" && field("Seccomp:") == "2";
        Some((field("Name:"), u64::from_str_radix(&field("CapEff:"), 16).unwrap(), confined))
    };
    tasks.filter_map(one).collect()
}

#[test]
fn rights_of_the_threads_that_serve_are_given_up() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let mut file = File::create(family.join("q")).unwrap();
    file.write_all(b"v").unwrap();
    file.sync_all().unwrap();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    for args in [&["snapshot", "create", store, "s"][..], &["flush", store], &["compact", store, "t", "--major"]] {
        let output = fixture.cellfs(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fs::read(fixture.mnt().join(".snapshot/s/default/t/r/f/q")).unwrap(), b"v");
    assert!(!fixture.log().contains("keep some rights"), "{}", fixture.log());
    let all = threads(fixture.daemon_pid());
    // The main thread, those of the session, one that waited for the sync, and the control socket's.
    let confined: Vec<_> = all.iter().filter(|(_, _, confined)| *confined).collect();
    assert!(confined.len() >= 4, "{all:?}");
    assert!(confined.iter().all(|(_, capabilities, _)| *capabilities == 0), "{all:?}");
    for name in ["control", "cellfs-waits"] {
        assert!(confined.iter().any(|(other, _, _)| other == name), "{name}: {all:?}");
    }
    drop(file);
    fixture.unmount();
}

#[test]
fn rights_to_long_files_that_are_missing_end_no_daemon() {
    let mut fixture = Fixture::new();
    fixture.unmount();
    let mut limited = Command::new("prlimit");
    limited.arg("--fsize=1000000").args([CELLFS, "mount", "-f"]).arg(fixture.store()).arg(fixture.mnt());
    fixture.mount_by(limited);
    let family = fixture.family("r");
    let refused = (0..50).any(|n| {
        let written = File::create(family.join(format!("q{n}"))).and_then(|mut file| {
            file.write_all(&(0..100_000).map(|_| rand::random()).collect::<Vec<u8>>())?;
            file.sync_all()
        });
        written.is_err()
    });
    assert!(refused, "the limit was never met");
    assert!(fs::read_dir(&family).unwrap().count() > 0, "the daemon lives");
    fixture.remount();
}

#[test]
fn descriptors_that_run_out_refuse_and_lose_nothing() {
    let mut fixture = Fixture::new();
    fixture.unmount();
    let mut limited = Command::new("prlimit");
    limited.arg("--nofile=64:128").args([CELLFS, "mount", "-f"]).arg(fixture.store()).arg(fixture.mnt());
    fixture.mount_by(limited);
    let (store, family) = (fixture.store(), fixture.family("r"));
    let write = |n: usize| {
        let mut file = File::create(family.join(format!("q{n}")))?;
        file.write_all(n.to_string().as_bytes())?;
        file.sync_all()
    };
    let made = (0..200).find(|n| {
        write(*n).unwrap();
        let name = format!("s{n}");
        !Command::new(CELLFS).args(["snapshot", "create"]).arg(&store).arg(name).output().unwrap().status.success()
    });
    let made = made.expect("a bound");
    assert!(made > 64, "the soft limit was not raised: {made} snapshots");
    // No sync has failed: what needs no file is stored.
    write(made + 1).unwrap();
    fixture.remount();
    for n in 0..=made + 1 {
        assert_eq!(fs::read_to_string(family.join(format!("q{n}"))).unwrap(), n.to_string());
    }
}
