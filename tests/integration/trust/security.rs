//! Strangers: who may see the store, talk to its daemon, or lead it elsewhere by links.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::mount::fixture::{CELLFS, Fixture, damage, errno, holding};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn security_nobody_else_can_look_into_a_store_or_talk_to_its_daemon() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("store")).unwrap();
    fs::set_permissions(directory.path().join("store"), fs::Permissions::from_mode(0o777)).unwrap();
    let fixture = Fixture::on(directory, "");
    fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
    fs::write(fixture.family("r").join("q"), "secret").unwrap();
    assert!(fixture.cellfs(&["flush", fixture.store().to_str().unwrap()]).status.success());
    assert_eq!(mode(&fixture.store()), 0o700);
    let all = files(&fixture.store());
    assert!(all.len() > 5, "{all:?}");
    for path in all {
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    let socket = fixture.store().join("control.sock");
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    if nix::unistd::geteuid().is_root() {
        // Even where the directory lets them through, another user is refused by the daemon itself.
        fs::set_permissions(fixture.store(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
        let status = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", CELLFS, "status"])
            .arg(fixture.store())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&status.stderr).into_owned();
        assert!(!status.status.success() && !words.contains("cells"), "{words}");
        assert!(fixture.mnt().join("default").metadata().is_ok());
    } else {
        println!("skipped: only root can try as another user");
    }
}

#[test]
fn security_links_in_a_store_are_not_followed() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "the value").unwrap();
    fixture.unmount();
    let elsewhere = fixture.directory.path().join("elsewhere");
    let log = holding(&fixture.store(), b"the value").0;
    let edits = fs::read_dir(fixture.store().join("edits")).unwrap().map(|entry| entry.unwrap().path());
    let files = edits.chain([log]).map(|path| path.strip_prefix(fixture.store()).unwrap().to_owned());
    let others = ["format", "LOCK", "boot", "progress", "segments", "log", "blobs", "edits"].map(PathBuf::from);
    for name in files.chain(others).collect::<Vec<PathBuf>>() {
        let name = name.to_str().unwrap();
        let path = fixture.store().join(name);
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let before = if elsewhere.is_file() { fs::read(&elsewhere).unwrap() } else { Vec::new() };
        let output = fixture.cellfs(&["get", fixture.store().to_str().unwrap(), "t", "r"]);
        let followed = output.status.success() && fs::symlink_metadata(&path).unwrap().is_symlink();
        assert!(!followed, "{name}: {}", String::from_utf8_lossy(&output.stdout));
        if elsewhere.is_file() {
            assert_eq!(fs::read(&elsewhere).unwrap(), before, "{name}");
        }
        if fs::symlink_metadata(&path).unwrap().is_symlink() {
            fs::remove_file(&path).unwrap();
        } else if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        fs::rename(&elsewhere, &path).unwrap();
    }
    fixture.mount("");
    assert_eq!(fs::read(fixture.path("t/r/f/q")).unwrap(), b"the value");
}

#[test]
fn security_a_store_of_another_user_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can give a directory away");
        return;
    }
    let mut fixture = Fixture::new();
    fixture.unmount();
    let run = || {
        fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", CELLFS, "list"])
            .arg(fixture.store())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, words) = run();
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("Permission denied") || words.contains("belongs to"), "{words}");
}

#[test]
fn security_the_daemon_outlives_whatever_is_said_to_its_socket() {
    let fixture = Fixture::new();
    let address = fixture.store().join("control.sock");
    for said in
        [&b"\xff\xff\xff\xff"[..], b"\0\0\0\0", b"\x05\0\0\0\xff\xff\xff\xff\xff", b"GET / HTTP/1.0\r\n\r\n", b"\x01"]
    {
        let mut stream = UnixStream::connect(&address).unwrap();
        // The daemon may hang up in the middle.
        let _ = stream.write_all(said);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // More connections than it takes at once: those that say nothing give way.
    let many: Vec<UnixStream> = (0..80).map(|_| UnixStream::connect(&address).unwrap()).collect();
    let answered = (0..500).any(|_| {
        let asked = fixture.cellfs(&["status", fixture.store().to_str().unwrap()]);
        let refused = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success() || refused.contains("too many connections"), "{refused}");
        asked.status.success()
    });
    assert!(answered);
    drop(many);
}

#[test]
fn security_connections_that_say_half_of_something_give_way() {
    let fixture = Fixture::new();
    let (store, address) = (fixture.store(), fixture.store().join("control.sock"));
    let store = store.to_str().unwrap();
    fs::write(fixture.family("r").join("q"), vec![7; 1 << 20]).unwrap();
    // Half a length, half a message, and a long answer that nobody takes.
    let table = cellfs::model::TableName::parse("t").unwrap();
    let get = cellfs::model::Get { table, row: b"r".to_vec(), read: cellfs::model::ReadSpec::default() };
    let mut asked = Vec::new();
    cellfs::daemon::control::protocol::send(&mut asked, &cellfs::daemon::control::protocol::Request::Get(get)).unwrap();
    for said in [&b"\x01"[..], b"\x40\0\0\0half", &asked] {
        let crowd: Vec<UnixStream> = (0..64)
            .map(|_| {
                let mut stream = UnixStream::connect(&address).unwrap();
                // One of an earlier crowd may have to give way first.
                let _ = stream.write_all(said);
                stream
            })
            .collect();
        let command = Command::new(CELLFS).args(["status", store]).stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8_lossy(&command.stderr).into_owned();
        assert!(command.status.success(), "{said:?}: {words}");
        // More than one gives way, however often it is asked.
        for _ in 0..3 {
            assert!(fixture.cellfs(&["get", store, "t", "absent"]).status.code() == Some(1));
        }
        drop(crowd);
    }
}

#[test]
fn security_messages_and_logs_have_no_control_characters() {
    let mut fixture = Fixture::new();
    let store = fixture.store().to_str().unwrap().to_owned();
    let evil = "row\u{1b}[31mred\nforged line";
    let output = fixture.cellfs(&["get", &store, evil, "r"]);
    assert!(!output.stderr.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stderr));
    let long = "value that is found again".repeat(50);
    let put = fixture.cellfs(&["put", &store, "t", evil, "f:q\u{7}", &long]);
    assert!(put.status.success());
    assert!(fixture.cellfs(&["flush", &store]).status.success());
    fixture.unmount();
    damage(&fixture.store(), "that is f");
    let check = fixture.cellfs(&["check", &store]);
    assert_eq!(check.status.code(), Some(1));
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(text.contains("\\x1B[31mred\\x0Aforged"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    fixture.mount("");
    assert!(!fixture.log().chars().any(|c| c.is_control() && c != '\n'), "{:?}", fixture.log());
}

#[test]
fn security_open_files_are_limited_in_memory() {
    let fixture = Fixture::new();
    let family = fixture.family("r");
    let block = vec![7; 900 << 10];
    // Below the size at which one file alone would be spilled to the disk.
    let files: Vec<File> = (0..300)
        .map(|n| {
            let mut file = File::create(family.join(format!("q{n}"))).unwrap();
            file.write_all(&block).unwrap();
            file
        })
        .collect();
    let status = fs::read_to_string(format!("/proc/{}/status", fixture.daemon_pid())).unwrap();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 200 << 10, "{kib} KiB for {} open files", files.len());
    drop(files);
    for n in [0, 150, 299] {
        assert!(fs::read(family.join(format!("q{n}"))).unwrap() == block);
    }
    assert_eq!(errno(fs::metadata(family.join("absent"))), libc::ENOENT);
    assert!(fs::metadata(family.join("q0")).unwrap().size() == 900 << 10);
}
