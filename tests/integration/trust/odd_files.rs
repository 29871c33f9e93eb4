//! Files of a store that are no regular files, or say nothing sensible: told with their path, and never waited for.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

use crate::mount::fixture::{CELLFS, Fixture};

/// Runs a command that must not wait for ever.
fn ends(args: &[&str]) -> Output {
    let mut child =
        Command::new(CELLFS).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{args:?} waits for ever");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut output = Output { status: child.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
    use std::io::Read;
    child.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn make_pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
}

#[test]
fn odd_a_pipe_in_place_of_the_newest_log_is_damage() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let logs = fixture.store().join("log");
    let newest = fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    assert_eq!(newest.extension().unwrap(), "log");
    make_pipe(&newest);
    let (store, mnt) = (fixture.store(), fixture.mnt());
    let (store, mnt) = (store.to_str().unwrap(), mnt.to_str().unwrap());
    let shown = newest.file_name().unwrap().to_str().unwrap();
    let mounted = ends(&["mount", store, mnt]);
    let got = ends(&["get", store, "t", "r"]);
    let is_mounted = nix::sys::statfs::statfs(mnt).unwrap().filesystem_type() == nix::sys::statfs::FUSE_SUPER_MAGIC;
    // Either nothing is served, or the cell is an error: it is never said to be absent.
    let words = [text(&mounted.stderr), text(&got.stderr)].concat();
    assert_eq!((mounted.status.code(), got.status.code()), (Some(2), Some(2)), "{words}");
    assert!(words.contains(shown) && words.contains("a pipe"), "{words}");
    assert!(!is_mounted);
    let checked = ends(&["check", store]);
    let found = [text(&checked.stdout), text(&checked.stderr)].concat();
    assert!(checked.status.code() != Some(0) && found.contains(shown) && found.contains("a pipe"), "{found}");
    assert!(fs::symlink_metadata(&newest).unwrap().file_type().is_fifo(), "it is left for whoever put it there");
}

/// Whether it is a file of the journal that is not the newest one.
fn is_old(store: &Path, name: &str) -> bool {
    let newest = fs::read_dir(store.join("edits")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    name.starts_with("edits/") && newest.file_stem() != Path::new(name).file_stem()
}

#[test]
fn odd_a_pipe_in_place_of_any_file_is_never_waited_for() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let (store, kept) = (fixture.store(), fixture.directory.path().join("kept"));
    let shown = store.to_str().unwrap();
    let edits = fs::read_dir(store.join("edits")).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        edits.map(|path| path.strip_prefix(&store).unwrap().to_str().unwrap().to_owned()).collect();
    let others = [
        "format",
        "format.copy",
        "progress",
        "LOCK",
        "boot",
        "reserve",
        "reserve.last",
        "lost",
        "damage",
        "cellfs.log",
        "segments/99999999.seg",
        "blobs/99999999.blob",
        "edits/99999999.edits",
        "edits/99999999.copy",
    ];
    names.extend(others.map(str::to_owned));
    for name in names {
        let path = store.join(&name);
        let before = fs::rename(&path, &kept).is_ok();
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        for args in
            [&["check", shown][..], &["get", shown, "t", "r"], &["mount", shown, fixture.mnt().to_str().unwrap()]]
        {
            let output = ends(args);
            let words = [text(&output.stdout), text(&output.stderr)].concat();
            // A journal that another has followed is no file of the store any more.
            if args[0] == "check" && before && !is_old(&store, &name) && name != "cellfs.log" {
                assert!(!output.status.success(), "{name}: {words}");
                assert!(words.contains(&name) && words.contains("it is a pipe"), "{name}: {words}");
            }
            if args[0] == "mount" && name == "cellfs.log" {
                assert!(words.contains(path.to_str().unwrap()) && words.contains("it is a pipe"), "{words}");
            }
            if args[0] == "get" {
                let good = output.status.success() && words.contains("\tv\n") || output.status.code() == Some(2);
                assert!(good, "{name}: {:?} {words}", output.status);
            }
            if args[0] == "mount" && output.status.success() {
                assert_eq!(fs::read(fixture.path("t/r/f/q")).unwrap(), b"v", "{name}");
                let ended = ends(&["umount", shown]);
                assert!(ended.status.success(), "{name}: {}", text(&ended.stderr));
            }
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_fifo()) {
            fs::remove_file(&path).unwrap();
        }
        if before {
            fs::rename(&kept, &path).unwrap();
        }
    }
    let got = ends(&["get", shown, "t", "r"]);
    assert!(got.status.success(), "{}", text(&got.stderr));
}

#[test]
fn odd_entries_of_the_directories_harm_nothing_and_stay() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    let store = fixture.store();
    let shown = store.to_str().unwrap().to_owned();
    assert!(ends(&["snapshot", "create", &shown, "good"]).status.success());
    fixture.unmount();
    let notes = ["segments", "log", "blobs", "edits"].map(|name| store.join(name).join("notes.txt"));
    notes.iter().for_each(|path| fs::write(path, "mine").unwrap());
    fixture.mount("");
    let listed = text(&ends(&["snapshot", "list", &shown]).stdout);
    assert!(listed.contains("good"), "{listed}");
    assert_eq!(fs::read(fixture.mnt().join(".snapshot/good/default/t/r/f/q")).unwrap(), b"v");
    fixture.unmount();
    let checked = ends(&["check", &shown]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    for path in notes {
        assert_eq!(fs::read(&path).unwrap(), b"mine", "{}", path.display());
    }
}
