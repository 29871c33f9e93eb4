//! One writer: daemons against daemons and against the command line, on one store at one time.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::mount::fixture::CELLFS;

const STORE_IN_USE: &str = "is in use by process ";

fn spawn(args: &[&str]) -> Child {
    Command::new(CELLFS).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn words(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Unmounts what a race has left, also when it has failed.
struct Mounts<'a>(Vec<&'a Path>);

impl Drop for Mounts<'_> {
    fn drop(&mut self) {
        for mnt in &self.0 {
            // Most are not mounted.
            let _ = cellfs::fuse::unmount(mnt, cellfs::fuse::Detach::Now);
        }
    }
}

fn is_mounted(mnt: &Path) -> bool {
    nix::sys::statfs::statfs(mnt).is_ok_and(|s| s.filesystem_type() == nix::sys::statfs::FUSE_SUPER_MAGIC)
}

/// Two daemons and three puts at once; the mount that won, if it was not the command line that held the store.
fn race(directory: &Path, round: usize) -> usize {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let store = text(&directory.join("store"));
    let mounts = [directory.join("one"), directory.join("two")];
    let _guard = Mounts(mounts.iter().map(|mnt| mnt.as_path()).collect());
    let mut daemons: Vec<Child> = mounts.iter().map(|mnt| spawn(&["mount", "-f", &store, &text(mnt)])).collect();
    let puts: Vec<(String, Child)> = (0..3)
        .map(|n| {
            let row = format!("r{round}-{n}");
            let put = spawn(&["put", &store, "t", &row, "f:q", &row]);
            (row, put)
        })
        .collect();
    let pids: Vec<String> =
        daemons.iter().map(Child::id).chain(puts.iter().map(|(_, put)| put.id())).map(|pid| pid.to_string()).collect();
    let (mut written, mut winners) = (Vec::new(), 0);
    for (row, mut put) in puts {
        let text = words(&mut put);
        match put.wait().unwrap().code() {
            Some(0) => written.push(row),
            _ => assert!(text.contains(STORE_IN_USE), "{text}"),
        }
    }
    for (daemon, mnt) in daemons.iter_mut().zip(&mounts) {
        let ended = loop {
            match daemon.try_wait().unwrap() {
                None if is_mounted(mnt) => break None,
                None => std::thread::yield_now(),
                ended => break ended,
            }
        };
        match ended {
            None => winners += 1,
            Some(status) => {
                let text = words(daemon);
                assert_eq!(status.code(), Some(2), "{text}");
                // Where the winner has it mounted follows its number, once it has.
                let named =
                    |pid: &String| [';', ','].iter().any(|end| text.contains(&format!("{STORE_IN_USE}{pid}{end}")));
                assert!(pids.iter().any(named), "{text}");
            }
        }
    }
    assert!(winners <= 1, "{winners} daemons have one store");
    for row in &written {
        let get = Command::new(CELLFS).args(["get", &store, "t", row]).output().unwrap();
        assert!(String::from_utf8_lossy(&get.stdout).contains(row), "{row}: {}", String::from_utf8_lossy(&get.stderr));
    }
    for (daemon, mnt) in daemons.iter_mut().zip(&mounts) {
        if is_mounted(mnt) {
            cellfs::fuse::unmount(mnt, cellfs::fuse::Detach::Now).unwrap();
        }
        daemon.wait().unwrap();
    }
    winners
}

#[test]
fn races_for_a_store_have_one_winner_and_losers_that_name_it() {
    let directory = tempfile::tempdir().unwrap();
    for mnt in ["one", "two"] {
        fs::create_dir(directory.path().join(mnt)).unwrap();
    }
    let store = directory.path().join("store");
    let made = Command::new(CELLFS).args(["create", "--make", store.to_str().unwrap(), "t", "f"]).status().unwrap();
    assert!(made.success());
    let rounds = std::env::var("CELLFS_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let began = std::time::Instant::now();
    let mounted: usize = (0..rounds).map(|round| race(directory.path(), round)).sum();
    println!("races: {rounds} tried, {mounted} won by a daemon, 0 with two winners; {} s", began.elapsed().as_secs());
    assert!(mounted > 0);
}
