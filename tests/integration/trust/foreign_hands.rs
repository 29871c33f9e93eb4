//! Whoever owns a directory may exchange it for a link between any two calls of a process that works in it: nothing
//! outside is read, made, changed or removed.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use crate::mount::fixture::{CELLFS, Fixture};

fn run(args: &[&str], store: &Path, more: &[&str]) -> Output {
    Command::new(CELLFS).args(args).arg(store).args(more).stdin(Stdio::null()).output().unwrap()
}

/// All that is below a directory, with its contents.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), Vec::new()));
            found.extend(tree(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// While `work` runs, `name` of the store is exchanged for a link to `outside` and back again, without end.
fn exchanging(store: &Path, name: &str, outside: &Path, work: impl FnOnce()) {
    // Beside the store: in it, it would be noticed whenever it is looked for.
    let (inside, link) = (store.join(name), store.with_file_name("exchanged"));
    symlink(outside, &link).unwrap();
    let done = AtomicBool::new(false);
    let swap = || renameat2(AT_FDCWD, &inside, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0_u64;
            while !done.load(Ordering::Relaxed) {
                swap().unwrap();
                swaps += 1;
            }
            swaps
        });
        let ended = catch_unwind(AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        if swapping.join().unwrap() % 2 == 1 {
            swap().unwrap();
        }
        if let Err(failure) = ended {
            resume_unwind(failure);
        }
    });
    fs::remove_file(&link).unwrap();
}

const COMMANDS: [(&[&str], &[&str]); 7] = [
    (&["list"], &[]),
    (&["get"], &["t", "r"]),
    (&["put"], &["t", "r", "f:q", "v"]),
    (&["compact"], &["t"]),
    (&["check"], &[]),
    (&["check", "--repair"], &[]),
    (&["status"], &[]),
];

#[test]
fn security_a_directory_that_is_exchanged_for_a_link_leads_nowhere() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    assert!(run(&["snapshot", "create"], &fixture.store(), &["s"]).status.success());
    fixture.unmount();
    let store = fixture.store();
    let rounds: usize = std::env::var("CELLFS_EXCHANGES").map_or(10, |text| text.parse().unwrap());
    for name in ["edits", "log", "blobs", "segments"] {
        let outside = fixture.directory.path().join("outside");
        // What a store would take for a leftover of its own.
        fs::create_dir_all(outside.join("half")).unwrap();
        fs::write(outside.join("half/file"), "someone's").unwrap();
        for file in ["00000001.seg", "00000001.log", "00000099.log", "00000001.blob", "00000001.edits", "00000001.copy"]
        {
            fs::write(outside.join(file), "someone's").unwrap();
        }
        fs::create_dir(outside.join("aside")).unwrap();
        fs::write(outside.join("aside/file"), "someone's").unwrap();
        let before = tree(&outside);
        exchanging(&store, name, &outside, || {
            for (args, more) in COMMANDS.iter().cycle().take(COMMANDS.len() * rounds) {
                run(args, &store, more);
                assert_eq!(tree(&outside), before, "{name}: {args:?}");
            }
        });
        fs::remove_dir_all(&outside).unwrap();
    }
    let got = run(&["get"], &store, &["t", "r"]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
}

#[test]
fn security_root_uses_the_store_of_another_only_when_told() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can give a directory away");
        return;
    }
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let store = fixture.store();
    for (path, _) in tree(&store).into_iter().chain([(store.clone(), Vec::new())]) {
        chown(path, Some(65534), Some(65534)).unwrap();
    }
    let before = tree(&store);
    for (args, more) in COMMANDS {
        let refused = run(args, &store, more);
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {words}");
        assert!(words.contains("belongs to user 65534") && words.contains("--other-owner"), "{words}");
    }
    let refused = run(&["mount"], &store, &[fixture.mnt().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(tree(&store), before, "nothing was made or changed");
    for (args, more) in COMMANDS {
        let done = run(&[&["--other-owner"], args].concat(), &store, more);
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    // The owner goes on with what root has made.
    for (path, _) in tree(&store) {
        assert_eq!(fs::metadata(&path).unwrap().uid(), 65534, "{}", path.display());
    }
    fixture.mount("other_owner");
    assert_eq!(fs::read(fixture.path("t/r/f/q")).unwrap(), b"v");
    fs::write(fixture.path("t/r/f/q"), "new").unwrap();
    fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let see_new = || {
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", CELLFS, "get"];
        let got = Command::new("setpriv").args(user).arg(&store).args(["t", "r"]).output().unwrap();
        let words = String::from_utf8_lossy(&got.stderr).into_owned();
        assert!(got.status.success() && String::from_utf8_lossy(&got.stdout).contains("new"), "{words}");
    };
    // Its owner comes to the daemon of root, and to what is left of one that was killed.
    see_new();
    fixture.kill();
    see_new();
}

/// Listens on a socket, answers with what it is given, and says nothing more.
const LIAR: &str = "import socket, sys, time
socket_ = socket.socket(socket.AF_UNIX)
socket_.bind(sys.argv[1])
socket_.listen(64)
print('listening', flush=True)
kept = []
while True:
    one, _ = socket_.accept()
    one.sendall(bytes.fromhex(sys.argv[2]))
    kept.append(one)
";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn security_umount_ends_no_process_that_a_socket_names() {
    let mut fixture = Fixture::new();
    let mut victim = Ended(Command::new("sleep").arg("1000").spawn().unwrap());
    let hello = cellfs::daemon::control::protocol::Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: victim.0.id(),
        mount_point: Some(fixture.mnt().as_os_str().as_encoded_bytes().to_vec()),
        read_only: false,
        no_xattr: false,
        value_limit: 1,
        now: cellfs::model::Timestamp(1),
        spelling: Default::default(),
        hash_key: [0; 16],
    };
    let mut said = Vec::new();
    cellfs::daemon::control::protocol::send(&mut said, &cellfs::daemon::control::protocol::Response::Hello(hello))
        .unwrap();
    let (socket, mnt) = (fixture.store().join("control.sock"), fixture.mnt());
    fs::remove_file(&socket).unwrap();
    let text: String = said.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut liar = Command::new("python3");
    liar.args(["-c", LIAR]).arg(&socket).arg(text).stdout(Stdio::piped());
    let mut liar = Ended(liar.spawn().unwrap());
    let mut word = [0];
    liar.0.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    let mut umount = Ended(Command::new(CELLFS).arg("umount").arg(&mnt).spawn().unwrap());
    // The real one ends with its mount; then only the liar is left to be waited for.
    fixture.wait();
    while umount.0.try_wait().unwrap().is_none() && liar.0.try_wait().unwrap().is_none() {
        assert!(victim.0.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    umount.0.wait().unwrap();
    assert!(victim.0.try_wait().unwrap().is_none(), "a process that has nothing to do with it was ended");
}
