//! Large files: what is written to them is what it costs.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rand::RngExt;

use super::fixture::{CELLFS, Fixture};
use crate::trust::full_disk::SmallDisk;

const MIB: usize = 1 << 20;

/// Bytes that nothing can make shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rand::fill(&mut bytes[..]);
    bytes
}

/// Bytes that the store's files take of the disk, without what is reserved.
fn taken(store: &Path) -> u64 {
    let of = |directory: &str| -> u64 {
        let entries = fs::read_dir(store.join(directory)).unwrap();
        let blocks = entries.filter_map(|entry| nix::sys::stat::stat(&entry.unwrap().path()).ok());
        blocks.map(|stat| stat.st_blocks as u64 * 512).sum()
    };
    of("blobs") + of("segments")
}

/// Most memory that a process has taken, in MiB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

fn append(path: &Path, bytes: &[u8]) {
    File::options().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn mount_appends_to_a_large_file_cost_what_they_add() {
    let mut fixture = Fixture::new();
    let path = fixture.family("r").join("log");
    let mut is = noise(32 * MIB);
    fs::write(&path, &is).unwrap();
    let before = taken(&fixture.store());
    for n in 0..1000 {
        let line = format!("line {n} of what is appended to a file that was large before\n");
        append(&path, line.as_bytes());
        is.extend_from_slice(line.as_bytes());
    }
    assert!(fs::read(&path).unwrap() == is);
    let cost = taken(&fixture.store()) - before;
    assert!(cost < 8 * MIB as u64, "{cost} bytes for 1,000 lines");
    // One that begins with appends and grows large by them.
    let grown = fixture.family("r").join("grown");
    let mut file = File::options().append(true).create(true).open(&grown).unwrap();
    is.chunks(700_000).for_each(|piece| file.write_all(piece).unwrap());
    drop(file);
    append(&grown, b"end");
    is.extend_from_slice(b"end");
    fixture.remount();
    assert!(fs::read(&grown).unwrap() == is && fs::read(&path).unwrap() == is[..is.len() - 3]);
}

#[test]
fn mount_appenders_to_a_large_file_all_keep_their_lines() {
    let fixture = Fixture::new();
    let path = fixture.family("r").join("log");
    fs::write(&path, noise(2 * MIB)).unwrap();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    std::thread::scope(|scope| {
        for who in 0..4 {
            let (path, fixture) = (&path, &fixture);
            scope.spawn(move || {
                for n in 0..25 {
                    let line = format!("<{who} {n}>");
                    // Through the mount, and beside it.
                    match who {
                        0 => assert!(fixture.cellfs(&["append", store, "t", "r", "f:log", &line]).status.success()),
                        _ => append(path, line.as_bytes()),
                    }
                }
            });
        }
    });
    let is = fs::read(&path).unwrap();
    let tail = String::from_utf8_lossy(&is[2 * MIB..]).into_owned();
    for (who, n) in (0..4).flat_map(|who| (0..25).map(move |n| (who, n))) {
        assert_eq!(tail.matches(&format!("<{who} {n}>")).count(), 1, "<{who} {n}> in {tail}");
    }
}

#[test]
fn mount_pages_of_a_large_file_are_on_the_disk_after_fsync() {
    let mut fixture = Fixture::new();
    let path = fixture.family("r").join("database");
    let mut is = noise(32 * MIB);
    fs::write(&path, &is).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let before = taken(&fixture.store());
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let pages = 40;
    for _ in 0..pages {
        let at = rand::rng().random_range(0..is.len() / 4096) * 4096;
        let page = noise(4096);
        file.write_all_at(&page, at as u64).unwrap();
        file.sync_data().unwrap();
        is[at..at + 4096].copy_from_slice(&page);
    }
    let cost = taken(&fixture.store()) - before;
    // A chunk has 256 KiB at most, and about 64.
    assert!(cost < pages * 300_000, "{cost} bytes for {pages} pages");
    // Not asked for: it may be there or not.
    file.write_all_at(b"later", 7).unwrap();
    fixture.kill();
    fixture.mount("");
    let mut read = fs::read(&path).unwrap();
    read[7..12].copy_from_slice(&is[7..12]);
    assert!(read == is, "what was synced is not there");
}

#[test]
fn mount_large_files_are_cut_and_extended_and_read_while_they_are_written() {
    let mut fixture = Fixture::new();
    let path = fixture.family("r").join("file");
    let mut is = noise(6 * MIB);
    fs::write(&path, &is).unwrap();
    let mut random = rand::rng();
    for round in 0..6 {
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        for step in 0..30 {
            let at = random.random_range(0..is.len() + 2 * MIB);
            match random.random_range(0..6) {
                0 => {
                    let len = if random.random_range(0..5) == 0 { random.random_range(0..40_000) } else { at };
                    file.set_len(len as u64).unwrap();
                    is.resize(len, 0);
                }
                1 => {
                    let bytes = noise(random.random_range(1..3 * MIB));
                    file.seek(SeekFrom::End(0)).unwrap();
                    file.write_all(&bytes).unwrap();
                    is.extend_from_slice(&bytes);
                }
                2 | 3 => {
                    let bytes = noise(random.random_range(1..200_000));
                    file.write_all_at(&bytes, at as u64).unwrap();
                    is.resize(is.len().max(at + bytes.len()), 0);
                    is[at..at + bytes.len()].copy_from_slice(&bytes);
                }
                4 => {
                    // Another handle sees what is not committed yet.
                    let mut read = Vec::new();
                    File::open(&path).unwrap().read_to_end(&mut read).unwrap();
                    assert!(read == is, "round {round}, step {step}");
                }
                _ => file.sync_all().unwrap(),
            }
            assert_eq!(file.metadata().unwrap().len(), is.len() as u64, "round {round}, step {step}");
            is.truncate(24 * MIB);
            file.set_len(is.len() as u64).unwrap();
        }
        drop(file);
        assert!(fs::read(&path).unwrap() == is, "round {round}");
        if round == 3 {
            fixture.remount();
            assert!(fs::read(&path).unwrap() == is, "mounted again");
        }
    }
    // What is open stays as it is when its name goes.
    let mut file = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mut read = Vec::new();
    file.read_to_end(&mut read).unwrap();
    assert!(read == is);
}

#[test]
fn mount_copies_of_large_files_take_little_memory() {
    let mut fixture = Fixture::new();
    let (store, path) = (fixture.store(), fixture.family("r").join("large"));
    let piece = noise(MIB);
    let mut file = File::create(&path).unwrap();
    for n in 0..400u32 {
        let mut piece = piece.clone();
        piece.chunks_mut(4096).for_each(|page| page[..4].copy_from_slice(&n.to_le_bytes()));
        file.write_all(&piece).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    // The same through the daemon's socket.
    let source = File::open(&path).unwrap();
    let put = ["put", store.to_str().unwrap(), "t", "r", "f:copy", "-"];
    assert!(Command::new(CELLFS).args(put).stdin(Stdio::from(source)).status().unwrap().success());
    let (mut one, mut other) = (File::open(&path).unwrap(), File::open(fixture.family("r").join("copy")).unwrap());
    let (mut left, mut right) = (vec![0; MIB], vec![0; MIB]);
    for n in 0..400 {
        one.read_exact(&mut left).unwrap();
        other.read_exact(&mut right).unwrap();
        assert!(left == right && left[4..4096] == piece[4..4096], "MiB {n}");
    }
    drop((one, other));
    let peak = peak(fixture.daemon_pid());
    assert!(peak < 100, "the daemon took {peak} MiB");
    // The copy shares what it can; nothing else of it was stored on the way.
    let (taken, few) = (taken(&store) / MIB as u64, 430);
    assert!(taken < few, "{taken} MiB");
    fixture.unmount();
}

#[test]
fn mount_renames_and_snapshots_of_large_files_copy_nothing() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let is = noise(24 * MIB);
    fs::write(fixture.family("r").join("large"), &is).unwrap();
    let before = taken(&store);
    fs::rename(fixture.path("t/r"), fixture.path("t/s")).unwrap();
    fs::rename(fixture.path("t/s/f/large"), fixture.path("t/s/f/other")).unwrap();
    assert!(fixture.cellfs(&["snapshot", "create", store.to_str().unwrap(), "kept"]).status.success());
    let path = fixture.path("t/s/f/other");
    for n in 0..10 {
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"ten versions", n * 2 * MIB as u64).unwrap();
    }
    let cost = taken(&store) - before;
    assert!(cost < 10 * 400_000, "{cost} bytes for two names, a snapshot and ten versions");
    fixture.remount();
    let mut now = fs::read(&path).unwrap();
    (0..10).for_each(|n| now[n * 2 * MIB..][..12].copy_from_slice(&is[n * 2 * MIB..][..12]));
    assert!(now == is);
    let kept = fixture.mnt().join(".snapshot/kept/default/t/s/f/other");
    assert!(fs::read(kept).unwrap() == is, "the snapshot");
}

#[test]
fn full_disk_refuses_large_writes_and_keeps_the_old_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::over(&directory.path().join("store"), "64m") else { return };
    let mut fixture = Fixture::on(directory, "");
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    let path = fixture.family("r").join("large");
    let is = noise(5 * MIB);
    fs::write(&path, &is).unwrap();
    for round in 0..4 {
        // Over the old bytes, or behind them. By a process of its own: what another one inherits of a file of ours for
        // a moment, it closes, and a close is a version.
        let how: &[&str] = if round % 2 == 0 { &[] } else { &["conv=notrunc", "oflag=append"] };
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/urandom", "bs=1M", "count=100"]).args(how).arg(format!("of={}", path.display()));
        let refused = dd.env("LC_ALL", "C").output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("No space left on device"), "round {round}: {said}");
        fixture.remount();
        let read = fs::read(&path).unwrap();
        assert!(read == is, "round {round}: {} bytes in place of the old ones", read.len());
        fs::write(fixture.family("r").join(format!("small{round}")), noise(2 * MIB)).unwrap();
    }
    fixture.unmount();
    let checked = fixture.cellfs(&["check", fixture.store().to_str().unwrap()]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
