//! SIGKILL at random moments under eight writers on a real mount, with flushes and compactions beside them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cellfs::daemon::{Absent, open_backend};
use rand::RngExt;

use super::history::{History, Tally, removes, value};
use super::rounds;
use crate::mount::fixture::{Fixture, names};

const WRITERS: usize = 8;
const CELLS: usize = 12;

fn is_alive(mnt: &Path) -> bool {
    // The filesystem's numbers are never cached.
    nix::sys::statfs::statfs(mnt).is_ok()
}

/// When the rig takes a write for acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    /// When the store has said so.
    Acknowledged,
    /// As soon as the bytes were handed over: the negative control.
    Written,
}

/// Writes cells of its own until the daemon is gone.
fn write(fixture: &Fixture, writer: usize, belief: Belief, history: &Mutex<History>, acknowledged: &Mutex<u64>) {
    let family = fixture.path("t").join(format!("w{writer}")).join("f");
    let mut random = rand::rng();
    while fs::create_dir_all(&family).is_ok() {
        let name = format!("c{writer}-{}", random.random_range(0..CELLS));
        let n = history.lock().unwrap().begin(&name);
        let path = family.join(&name);
        let done = if removes(n) {
            // Gone already is as good.
            matches!(fs::remove_file(&path), Err(e) if e.raw_os_error() != Some(libc::ENOENT)).then_some(()).is_none()
                && is_alive(&fixture.mnt())
        } else {
            let early = || {
                if belief == Belief::Written {
                    history.lock().unwrap().acknowledge(&name, n);
                }
            };
            put(&path, &value(&name, n), random.random(), &fixture.mnt(), &early)
        };
        if !done {
            return;
        }
        history.lock().unwrap().acknowledge(&name, n);
        *acknowledged.lock().unwrap() += 1;
    }
}

/// Whether it was acknowledged: by fsync, or by a close that the daemon has outlived.
fn put(path: &Path, value: &[u8], sync: bool, mnt: &Path, written: &dyn Fn()) -> bool {
    let Ok(mut file) = File::create(path) else { return false };
    if file.write_all(value).is_err() {
        return false;
    }
    written();
    if sync && file.sync_all().is_err() {
        return false;
    }
    drop(file);
    sync || is_alive(mnt)
}

/// Flushes and compacts all the time.
fn disturb(fixture: &Fixture, stop: &AtomicBool) {
    let table = cellfs::model::TableName::parse("t").unwrap();
    // It may have been killed before it was asked.
    let Ok(backend) = open_backend(&fixture.store(), Absent::Refuse) else { return };
    while !stop.load(Ordering::Relaxed) {
        let kind = cellfs::backend::CompactionKind::Major;
        if backend.flush(None).and_then(|()| backend.compact(&table, None, kind)).is_err() {
            return;
        }
    }
}

fn round(fixture: &mut Fixture, belief: Belief, history: &Mutex<History>, tally: &mut Tally) {
    let (stop, acknowledged) = (AtomicBool::new(false), Mutex::new(0));
    let pause = Duration::from_millis(rand::rng().random_range(3..120));
    let pid = nix::unistd::Pid::from_raw(fixture.daemon_pid().cast_signed());
    std::thread::scope(|scope| {
        let shared = &*fixture;
        for writer in 0..WRITERS {
            let acknowledged = &acknowledged;
            scope.spawn(move || write(shared, writer, belief, history, acknowledged));
        }
        scope.spawn(|| disturb(shared, &stop));
        std::thread::sleep(pause);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    fixture.kill();
    fixture.mount("");
    tally.rounds += 1;
    tally.acknowledged += acknowledged.into_inner().unwrap();
    let mut history = history.lock().unwrap();
    for name in history.names() {
        let path = fixture.path("t").join(name.split('-').next().unwrap().replace('c', "w")).join("f").join(&name);
        match fs::read(&path) {
            Ok(bytes) => history.judge(&name, Some(&bytes), tally),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => history.judge(&name, None, tally),
            Err(e) => panic!("{name}: {e}: {}", fixture.log()),
        }
    }
}

fn kills(fixture: &mut Fixture, belief: Belief, enough: &dyn Fn(&Tally) -> bool) -> Tally {
    let (history, mut tally) = (Mutex::new(History::default()), Tally::default());
    while !enough(&tally) {
        round(fixture, belief, &history, &mut tally);
    }
    tally
}

/// Nothing is damaged.
fn checked(fixture: &Fixture, what: &str) {
    let output = fixture.cellfs(&["check", fixture.store().to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stdout);
    println!("SIGKILL, {what}: {}", words.lines().last().unwrap_or_default());
    assert!(output.status.success(), "{words}");
}

#[test]
fn torture_sigkill_loses_nothing_that_was_acknowledged() {
    let (mut fixture, began) = (Fixture::new(), Instant::now());
    let tally = kills(&mut fixture, Belief::Acknowledged, &|tally| tally.rounds >= rounds("CELLFS_KILLS", 12));
    tally.print("SIGKILL", began);
    tally.assert_good();
    checked(&fixture, "as the last kill has left it");
    let store = fixture.store().to_str().unwrap().to_owned();
    for command in [&["flush", &store][..], &["compact", "--major", &store, "t"]] {
        assert!(fixture.cellfs(command).status.success());
    }
    checked(&fixture, "flushed and compacted");
    // Names are listed as they are read.
    for writer in 0..WRITERS {
        let family = fixture.path("t").join(format!("w{writer}")).join("f");
        if family.exists() {
            assert!(names(&family).iter().all(|name| family.join(name).is_file()));
        }
    }
}

#[test]
fn torture_sigkill_notices_writes_that_were_not_acknowledged() {
    let (mut fixture, began) = (Fixture::new(), Instant::now());
    // One kill may hit nobody between the last write and its close.
    let tally = kills(&mut fixture, Belief::Written, &|tally| tally.lost > 0 || tally.rounds >= 200);
    tally.print("SIGKILL, every write believed", began);
    assert!(tally.lost > 0 && tally.wrong == 0, "the rig catches nothing: {tally:?}");
}
