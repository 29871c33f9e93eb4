//! Starting, ending, crashing, and everything that can be wrong at the start.

use std::fs;
use std::process::{Command, Output};

use super::fixture::{CELLFS, Fixture, history};

fn mount(args: &[&std::path::Path]) -> Output {
    Command::new(CELLFS).arg("mount").args(args).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mount_survives_sigkill() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..100 {
        fs::write(family.join(format!("q{n:03}")), format!("value {n}")).unwrap();
    }
    fs::write(family.join("q000"), "newer").unwrap();
    fs::remove_file(family.join("q001")).unwrap();
    fixture.kill();
    fixture.mount("");
    assert_eq!(history(&family.join("q000")), ["value 0", "newer"]);
    assert!(!family.join("q001").exists());
    for n in 2..100 {
        assert_eq!(fs::read_to_string(family.join(format!("q{n:03}"))).unwrap(), format!("value {n}"));
    }
}

#[test]
fn mount_daemonizes_once_the_mount_answers() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mnt) = (directory.path().join("store"), directory.path().join("mnt"));
    fs::create_dir(&mnt).unwrap();
    let output = mount(&[&store, &mnt]);
    assert!(output.status.success(), "{}", words(&output));
    assert!(mnt.join("default").is_dir());
    let again = mount(&[&store, &mnt]);
    assert!(!again.status.success() && words(&again).contains("mounted already"), "{}", words(&again));
    let umount = Command::new(CELLFS).arg("umount").arg(&store).status().unwrap();
    assert!(umount.success() && !mnt.join("default").exists());
    let umount = Command::new(CELLFS).arg("umount").arg(&mnt).output().unwrap();
    assert_eq!(umount.status.code(), Some(2));
    assert!(words(&umount).contains("neither a mount point nor"));
}

/// Else a script that reads from a pipe of its own waits for its end as long as the mount lives.
#[test]
fn mount_keeps_no_file_of_whoever_mounts() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("mnt")).unwrap();
    let script = r#"
        mkfifo pipe
        timeout 60 cat pipe & reader=$!
        exec 3>pipe
        "$1" mount store mnt || exit 2
        exec 3>&-
        wait $reader
    "#;
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", script, "sh", CELLFS]).current_dir(&directory).status().unwrap();
    let umount = Command::new(CELLFS).arg("umount").arg(directory.path().join("mnt")).status().unwrap();
    assert!(status.success() && umount.success(), "{status} {umount}");
}

#[test]
fn mount_of_a_held_store_names_the_holder() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    let output = mount(&[&fixture.store(), other.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains(&fixture.daemon_pid().to_string()), "{}", words(&output));
    assert!(fixture.path("t").is_dir(), "the first mount goes on");
}

/// Else each command sends whoever asks to a mount that is not there any more.
#[test]
fn mount_that_was_taken_away_from_its_users_is_told_as_that() {
    let mut fixture = Fixture::new();
    let (store, other) = (fixture.store(), tempfile::tempdir().unwrap());
    let held = fs::File::open(fixture.path("t")).unwrap();
    cellfs::fuse::unmount(&fixture.mnt(), cellfs::fuse::Detach::Now).unwrap();
    let told = format!("was unmounted from {} while programs used it", fixture.mnt().display());
    for args in
        [&["mount", store.to_str().unwrap(), other.path().to_str().unwrap()][..], &["umount", store.to_str().unwrap()]]
    {
        let output = fixture.cellfs(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(words(&output).contains(&told), "{args:?}: {}", words(&output));
    }
    let mnt = fixture.mnt();
    for asked in [&store, &mnt] {
        let status = fixture.cellfs(&["status", asked.to_str().unwrap()]);
        assert!(String::from_utf8_lossy(&status.stdout).contains(&told), "{status:?}");
    }
    let output = fixture.cellfs(&["umount", mnt.to_str().unwrap()]);
    assert!(output.status.code() == Some(2) && words(&output).contains(&told), "{}", words(&output));
    let output = fixture.cellfs(&["list", mnt.to_str().unwrap()]);
    let way = format!("until they end, ask by {}", store.display());
    assert!(output.status.code() == Some(2) && words(&output).contains(&way), "{}", words(&output));
    drop(held);
    fixture.wait();
    fixture.mount("");
    fixture.unmount();
}

#[test]
fn mount_points_that_will_not_do_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let full = directory.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("file"), "x").unwrap();
    for (point, sentence) in [
        (full.clone(), "is not empty"),
        (full.join("file"), "is not a directory"),
        (directory.path().join("absent"), "does not exist; make it with: mkdir"),
    ] {
        let output = mount(&[&store, &point]);
        assert_eq!(output.status.code(), Some(2));
        assert!(words(&output).contains(sentence), "{}", words(&output));
    }
    let mnt = directory.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    let output = mount(&[&full, &mnt]);
    assert!(words(&output).contains("neither a store nor empty"), "{}", words(&output));
    let names: Vec<_> = fs::read_dir(&full).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"], "nothing was left there");
    let output = mount(&[&full.join("file"), &mnt]);
    assert!(words(&output).contains("is not a directory. A store is one"), "{}", words(&output));
    let output = Command::new(CELLFS).args(["mount", "-o", "nonsense"]).arg(&store).arg(&mnt).output().unwrap();
    assert!(words(&output).contains("unknown mount option"), "{}", words(&output));
    assert!(!store.exists(), "nothing was made");
}

#[test]
fn mount_read_only_makes_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let mnt = directory.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    let mistyped = directory.path().join("sotre");
    for flags in [&["-o", "ro"][..], &["-f", "-o", "ro"]] {
        let output = Command::new(CELLFS).arg("mount").args(flags).arg(&mistyped).arg(&mnt).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = words(&output);
        assert!(text.contains("there is no store in") && text.contains("sotre"), "{text}");
        assert!(!mistyped.exists());
    }
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let output = Command::new(CELLFS).args(["mount", "-o", "ro"]).arg(&empty).arg(&mnt).output().unwrap();
    assert!(words(&output).contains("there is no store in"), "{}", words(&output));
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
}

fn can_give_up_capabilities() -> bool {
    let can = nix::unistd::geteuid().is_root();
    if !can {
        println!("skipped: only root can give up a capability");
    }
    can
}

#[test]
fn mount_that_fails_leaves_no_store_behind_that_it_has_made() {
    if !can_give_up_capabilities() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mnt = directory.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    let fails = |store: &std::path::Path, flags: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", CELLFS, "mount"])
            .args(flags)
            .args([store, &mnt])
            .env("FUSERMOUNT_PATH", "/nonexistent/fusermount3")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    };
    for flags in [&[][..], &["-f"]] {
        fails(&directory.path().join("made/for/store"), flags);
        assert!(!directory.path().join("made").exists());
    }
    let used = directory.path().join("used");
    let create = Command::new(CELLFS).args(["create", "--make"]).arg(&used).args(["t", "f"]).status().unwrap();
    assert!(create.success());
    fails(&used, &[]);
    let describe = Command::new(CELLFS).arg("describe").arg(&used).arg("t").output().unwrap();
    assert!(describe.status.success(), "{}", words(&describe));
}

/// Ends a daemon and mounts at once: the dying process still has the lock for a while.
#[test]
fn mount_right_after_sigkill_waits_for_the_dying_daemon() {
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    // Memory that the kernel has to take back before it closes files.
    fs::write(&cell, vec![7; 60 << 20]).unwrap();
    for _ in 0..10 {
        assert_eq!(fs::read(&cell).unwrap().len(), 60 << 20);
        let mut dying = fixture.kill_unwaited();
        fixture.mount("");
        dying.wait().unwrap();
    }
    assert!(!fixture.log().contains("in use"), "{}", fixture.log());
}

#[test]
fn mount_cleans_up_a_dead_mount_of_its_own() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.kill();
    let dead = fs::read_dir(fixture.mnt()).unwrap_err();
    assert_eq!(dead.raw_os_error(), Some(libc::ENOTCONN));
    let status = fixture.cellfs(&["status", fixture.mnt().to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("has ended: mount there again"), "{status:?}");
    fixture.mount("");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_leaves_a_dead_mount_until_the_store_is_open() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.kill();
    let lock = fs::File::options().write(true).open(fixture.store().join("LOCK")).unwrap();
    lock.lock().unwrap();
    fs::write(fixture.store().join("LOCK"), format!("pid {}\n", std::process::id())).unwrap();
    let output = mount(&[&fixture.store(), &fixture.mnt()]);
    assert!(words(&output).contains(&format!("in use by process {}", std::process::id())), "{}", words(&output));
    // Whoever writes there now is told, and leaves nothing in the directory below.
    assert_eq!(fs::create_dir_all(fixture.path("t/r/f")).unwrap_err().raw_os_error(), Some(libc::ENOTCONN));
    drop(lock);
    fixture.mount("");
    assert_eq!(fs::read_to_string(fixture.path("t/r/f/q")).unwrap(), "v");
}

#[test]
fn mount_store_of_another_format_is_refused_untouched() {
    let mut fixture = Fixture::new();
    fixture.unmount();
    let format = fixture.store().join("format");
    let text = fs::read_to_string(&format).unwrap();
    for (number, wanted) in [("99", "Use a newer release"), ("4", "a store of an older release")] {
        let other = text.replace("\"cellfs_store_format\": 5", &format!("\"cellfs_store_format\": {number}"));
        assert_ne!(text, other);
        fs::write(&format, &other).unwrap();
        fs::write(format.with_extension("copy"), &other).unwrap();
        let said = words(&mount(&[&fixture.store(), &fixture.mnt()]));
        assert!(said.contains(&format!("format {number}")) && said.contains(wanted), "{said}");
        assert_eq!(fs::read_to_string(&format).unwrap(), other);
    }
}

#[test]
fn mount_without_fusermount3_says_what_to_install() {
    if !can_give_up_capabilities() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mnt = directory.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    // Without the capability mount(2) is not allowed, as for any other user.
    let output = Command::new("setpriv")
        .args(["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", CELLFS, "mount", "-f"])
        .arg(directory.path().join("store"))
        .arg(&mnt)
        .env("FUSERMOUNT_PATH", "/nonexistent/fusermount3")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("install the package fuse3"), "{}", words(&output));
}

#[test]
fn mount_commits_what_is_open_when_it_is_told_to_stop() {
    use std::io::Write;
    let mut fixture = Fixture::new();
    let cell = fixture.family("r").join("q");
    let mut file = fs::File::create(&cell).unwrap();
    file.write_all(b"not closed").unwrap();
    let pid = nix::unistd::Pid::from_raw(fixture.daemon_pid().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    drop(file);
    let gone = (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        !fixture.mnt().join("default").exists()
    });
    assert!(gone);
    fixture.wait();
    fixture.mount("");
    assert_eq!(fs::read_to_string(&cell).unwrap(), "not closed");
}

#[test]
fn command_line_works_on_a_store_that_is_not_mounted() {
    let mut fixture = Fixture::new();
    fs::write(fixture.family("r").join("q"), "v").unwrap();
    fixture.unmount();
    let store = fixture.store();
    let store = store.to_str().unwrap();
    assert!(fixture.cellfs(&["put", store, "t", "r2", "f:q", "w", "7"]).status.success());
    let scan = fixture.cellfs(&["scan", store, "t"]);
    assert!(String::from_utf8_lossy(&scan.stdout).contains("r2\tf:q\t7\tw"));
    let absent = fixture.cellfs(&["get", store, "t", "none"]);
    assert_eq!(absent.status.code(), Some(1));
    let wrong = fixture.cellfs(&["put", store, "t", "r", "g:q", "v"]);
    assert_eq!(wrong.status.code(), Some(2));
    let refused = fixture.cellfs(&["put", "--if-absent", store, "t", "r2", "f:q", "x"]);
    assert_eq!(refused.status.code(), Some(1));
    fixture.mount("");
    assert_eq!(fs::read_to_string(fixture.path("t/r2/f/q")).unwrap(), "w");
}

#[test]
fn mount_an_end_flushes_what_a_killed_daemon_has_left_in_the_log() {
    let mut fixture = Fixture::new();
    let family = fixture.family("r");
    for n in 0..300 {
        fs::write(family.join(format!("q{n}")), vec![b'x'; 1000]).unwrap();
    }
    fixture.kill();
    fixture.mount("");
    assert!(in_memory(&fixture) >= 300);
    fixture.unmount();
    assert_eq!(in_memory(&fixture), 0);
    // As a command does that finds it so.
    fixture.mount("");
    for n in 0..300 {
        fs::write(fixture.family("r").join(format!("q{n}")), vec![b'y'; 1000]).unwrap();
    }
    fixture.kill();
    let store = fixture.store();
    assert!(fixture.cellfs(&["get", store.to_str().unwrap(), "t", "r", "f:q1"]).status.success());
    assert_eq!(in_memory(&fixture), 0);
    fixture.mount("");
}

fn in_memory(fixture: &Fixture) -> u64 {
    fixture.backend().status().unwrap().memtable_cells
}
