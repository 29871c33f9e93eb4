//! Rows and values that are larger than what daemon and command line may hold.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use super::fixture::{CELLFS, Fixture};

const MIB: usize = 1 << 20;

/// Most memory that a process has taken, in MiB; none of one that has ended.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024)
}

fn start(args: &[&str]) -> Child {
    Command::new(CELLFS).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Reads all that a command prints; how much that was, and the command's own peak just before its end.
fn drain(command: &mut Child) -> (Vec<u8>, u64, u64) {
    let mut output = command.stdout.take().unwrap();
    let (mut first, mut total, mut highest) = (Vec::new(), 0, 0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let len = output.read(&mut buffer).unwrap();
        if len == 0 {
            return (first, total, highest);
        }
        if first.len() < 100 {
            first.extend_from_slice(&buffer[..len.min(100)]);
        }
        total += len as u64;
        if total % (8 * MIB as u64) < len as u64 {
            highest = highest.max(peak(command.id()));
        }
    }
}

#[test]
fn mount_commands_hold_neither_wide_rows_nor_long_values() {
    let fixture = Fixture::with_limit(268_435_456);
    let (store, value) = (fixture.store(), vec![b'v'; 3 * MIB]);
    let store = store.to_str().unwrap();
    let family = fixture.family("r");
    for n in 0..40 {
        fs::write(family.join(format!("q{n:02}")), &value).unwrap();
    }

    // A put of 120 MB from standard input.
    let mut put = start(&["put", store, "t", "long", "f:q", "-"]);
    let mut input = put.stdin.take().unwrap();
    (0..40).for_each(|_| input.write_all(&value).unwrap());
    let put_peak = peak(put.id());
    drop(input);
    assert!(put.wait().unwrap().success());
    assert!(put_peak < 60, "put took {put_peak} MiB");
    assert_eq!(fs::metadata(fixture.path("t/long/f/q")).unwrap().len(), value.len() as u64 * 40);

    for args in [
        ["scan", store, "t", "--limit=9"].as_slice(),
        &["get", store, "t", "r"],
        &["get", store, "t", "long"],
        &["get", store, "t", "long", "--value"],
    ] {
        let mut command = start(args);
        let (_, total, own) = drain(&mut command);
        assert!(command.wait().unwrap().success(), "{args:?}");
        assert!(total >= value.len() as u64 * 40, "{args:?}: {total}");
        assert!(own < 60, "{args:?} took {own} MiB");
    }
    let daemon = peak(fixture.daemon_pid());
    assert!(daemon < 90, "the daemon took {daemon} MiB");
}

/// Of a value that comes back the command has a piece at a time.
#[test]
fn mount_undelete_holds_no_long_value() {
    let fixture = Fixture::with_limit(268_435_456);
    let (store, value) = (fixture.store(), vec![b'v'; 120 * MIB]);
    let file = fixture.family("long").join("q");
    fs::write(&file, &value).unwrap();
    fs::remove_file(&file).unwrap();
    let mut command = start(&["undelete", store.to_str().unwrap(), "t/long/f/q"]);
    let mut own = 0;
    let status = loop {
        if let Some(status) = command.try_wait().unwrap() {
            break status;
        }
        own = own.max(peak(command.id()));
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(status.success());
    assert!(own < 60, "undelete took {own} MiB");
    assert!(fs::read(&file).unwrap() == value, "it is back as it was");
}

#[test]
fn mount_long_values_look_the_same_through_the_daemon_and_without_it() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    let value: Vec<u8> = (0..2 * MIB + 5).map(|n| (n * 7 % 251) as u8).collect();
    let family = fixture.family("r");
    fs::write(family.join("long"), &value).unwrap();
    fs::write(family.join("short"), "x").unwrap();
    fs::write(family.join("text"), vec![b'y'; MIB]).unwrap();
    let commands: [&[&str]; 5] = [
        &["scan", store, "t"],
        &["--json", "scan", store, "t"],
        &["get", store, "t", "r", "f:long", "--value"],
        &["get", store, "t", "r", "--filter", "PageFilter(1) AND ValueFilter(>,'binary:')"],
        &["get", store, "t", "r", "f:short", "f:text"],
    ];
    let outputs = |fixture: &Fixture| commands.map(|args| fixture.cellfs(args).stdout);
    let mounted = outputs(&fixture);
    fixture.unmount();
    let alone = outputs(&fixture);
    for (at, (one, other)) in mounted.iter().zip(&alone).enumerate() {
        assert!(one == other && !one.is_empty(), "{:?}: {} and {} bytes", commands[at], one.len(), other.len());
    }
    assert_eq!(mounted[2], value);
    assert_eq!(mounted[0].iter().filter(|byte| **byte == b'\n').count(), 3);
    fixture.mount("");
}

#[test]
fn mount_refuses_too_long_a_value_before_it_is_sent() {
    let fixture = Fixture::with_limit(1_000_000);
    let store = fixture.store();
    let mut put = start(&["put", store.to_str().unwrap(), "t", "r", "f:q", "-"]);
    put.stdin.take().unwrap().write_all(&vec![0; 1_000_001]).unwrap();
    assert_eq!(put.wait().unwrap().code(), Some(2));
    assert!(!fixture.path("t/r").exists());
}

#[test]
fn mount_lets_a_new_client_in_when_others_only_wait() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let shell = fixture.backend();
    let connect = || UnixStream::connect(store.join("control.sock")).unwrap();
    let waiting: Vec<UnixStream> = (0..64).map(|_| connect()).collect();
    assert!(fixture.cellfs(&["list", store.to_str().unwrap()]).status.success(), "nobody gave way");
    // The longest without a question had to go first; it comes back by itself.
    assert_eq!(shell.catalogue().unwrap().user_tables().count(), 1);
    drop(waiting);
}

#[test]
fn mount_du_shows_what_is_stored() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    let blocks = |name: &str| fs::metadata(family.join(name)).unwrap().blocks() * 512;
    let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let (mib, page) = (1u64 << 20, 4096);
    let write = |name: &str, len: u64, at: &[(u64, usize)]| {
        let file = fs::File::options().create(true).truncate(false).write(true).open(family.join(name)).unwrap();
        file.set_len(len).unwrap();
        at.iter().for_each(|(offset, count)| file.write_all_at(&bytes[..*count], *offset).unwrap());
        let open = blocks(name);
        drop(file);
        open
    };
    for (name, len, at) in [
        ("empty", 0, &[][..]),
        ("short", 5, &[(0, 5)]),
        ("page", 0, &[(0, page)]),
        ("dense", 0, &[(0, 3 << 20)]),
        ("hole", 700 * mib, &[]),
        ("behind", 0, &[(600 * mib, 2 << 20)]),
        ("between", 700 * mib, &[(100 * mib, 3 << 20), (300 * mib + 7, page), (500 * mib, 2 << 20)]),
    ] {
        let open = write(name, len, at);
        let stored: u64 = at.iter().map(|(_, count)| *count as u64).sum();
        for (when, told) in [("open", open), ("closed", blocks(name))] {
            let most = stored + stored / 20 + 512;
            assert!((stored..=most).contains(&told), "{name} {when}: {told} bytes where {stored} are stored");
        }
    }
    // What is stored says so after a restart too.
    let told = ["short", "dense", "hole", "behind", "between"].map(blocks);
    fixture.remount();
    let family = fixture.path("t/r/f");
    let again = ["short", "dense", "hole", "behind", "between"]
        .map(|name| fs::metadata(family.join(name)).unwrap().blocks() * 512);
    assert_eq!(told, again);
}

#[test]
fn mount_status_knows_at_the_start_what_of_large_values_was_given_back() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    // What does not compress.
    let value = |n: u64| -> Vec<u8> {
        let mut state = n;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..3 * MIB).map(|_| next()).collect()
    };
    for n in 0..4 {
        fs::write(family.join(format!("q{n}")), value(n)).unwrap();
    }
    let store = fixture.store().into_os_string().into_string().unwrap();
    let live = |fixture: &Fixture| fixture.backend().status().unwrap().live_bytes;
    let before = live(&fixture);
    for n in 0..3 {
        fs::remove_file(family.join(format!("q{n}"))).unwrap();
    }
    let purged = fixture.cellfs(&["purge", &store, "t"]);
    assert!(purged.status.success(), "{purged:?}");
    // At the latest with the compactor's next look.
    let began = std::time::Instant::now();
    let mut after = live(&fixture);
    while after + 6 * MIB as u64 > before {
        assert!(began.elapsed() < std::time::Duration::from_secs(150), "{before} bytes were live, then {after}");
        std::thread::sleep(std::time::Duration::from_millis(100));
        after = live(&fixture);
    }
    fixture.remount();
    assert!(live(&fixture) < after + MIB as u64, "{after} bytes were live, then {}", live(&fixture));
    fixture.unmount();
    let status = String::from_utf8(fixture.cellfs(&["--json", "status", &store]).stdout).unwrap();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let told = status["live_bytes"].as_u64().unwrap();
    assert!(told < after + MIB as u64, "{after} bytes were live, then {told}");
}
