//! A disk that fills up at random points under a real mount: refused cleanly, and room can always be made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rand::RngExt;

use crate::mount::fixture::{Fixture, errno, is_alone};

/// A small disk over the store's directory.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`: this machine does not allow it, which is said.
    pub fn over(path: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let option = format!("size={size},mode=700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(path).output();
        if mounted.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self(path.to_owned()));
        }
        println!("skipped: only root can mount a small tmpfs ({mounted:?})");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Nothing that fails here may hide the test's own failure.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = self.0.parent().map(fs::remove_dir_all);
    }
}

/// A mounted store on a small disk, with one table.
struct Small {
    fixture: Fixture,
    store: PathBuf,
    family: PathBuf,
    /// Order: dropped after the fixture, which is on it.
    _disk: SmallDisk,
}

impl Small {
    /// `None`: this machine does not allow it.
    fn new(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let disk = SmallDisk::over(&store, size)?;
        let fixture = Fixture::on(directory, "");
        fs::create_dir_all(fixture.path("t/.schema/f")).unwrap();
        let family = fixture.family("r");
        Some(Self { fixture, store, family, _disk: disk })
    }

    fn run(&self, command: &[&str], table: &[&str]) -> Output {
        let store = [self.store.to_str().unwrap()];
        self.fixture.cellfs(&[command, &store, table].concat())
    }
}

fn put(path: &Path, value: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(value)?;
    file.sync_all()
}

fn value(n: u32, len: usize) -> Vec<u8> {
    n.to_le_bytes().iter().copied().cycle().take(len).collect()
}

/// Cells until there is no room; what was acknowledged.
fn fill(family: &Path, from: u32, kept: &mut BTreeMap<String, Vec<u8>>) -> u32 {
    let mut random = rand::rng();
    for n in from.. {
        let name = format!("q{n:05}");
        let value = value(n, [100, 3_000, 70_000, 400_000][random.random_range(0..4)]);
        match put(&family.join(&name), &value) {
            Ok(()) => drop(kept.insert(name, value)),
            Err(e) => {
                assert_eq!(e.raw_os_error(), Some(libc::ENOSPC), "{e}");
                return n;
            }
        }
    }
    from
}

fn check(family: &Path, kept: &BTreeMap<String, Vec<u8>>) {
    for (name, value) in kept {
        let read = fs::read(family.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(read == *value, "{name} is not what was acknowledged");
    }
}

#[test]
fn full_disk_refuses_and_room_can_be_made_without_a_restart() {
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    let rounds = std::env::var("CELLFS_FULL_DISKS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (mut kept, mut n, began) = (BTreeMap::new(), 0, std::time::Instant::now());
    for round in 0..rounds {
        n = fill(&family, n, &mut kept) + 1;
        check(&family, &kept);
        // Removing works on a full disk, and so does making room of what was removed.
        // What is left must fit into the reserve once more, where it is copied to.
        let mut left = 0;
        let gone: Vec<String> = kept
            .iter()
            .filter(|(_, value)| {
                let stays = rand::rng().random_range(0..10) < 3 && left + value.len() < 1 << 20;
                left += if stays { value.len() } else { 0 };
                !stays
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            fs::remove_file(family.join(name)).unwrap_or_else(|e| panic!("round {round}, {name}: {e}"));
            kept.remove(name);
        }
        check(&family, &kept);
        for (command, table) in [(&["flush"][..], &[][..]), (&["purge"], &["t"]), (&["compact", "--major"], &["t"])] {
            let output = small.run(command, table);
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        check(&family, &kept);
        let again = put(&family.join("again"), &value(round, 300_000));
        let status = small.run(&["status"], &[]);
        assert!(again.is_ok(), "{again:?}: {}{}", String::from_utf8_lossy(&status.stdout), small.fixture.log());
        fs::remove_file(family.join("again")).unwrap();
    }
    println!("full disks: {rounds} tried, 0 lost, 0 wrong; {} s", began.elapsed().as_secs());
    assert!(n > 50, "{n}");
    fill(&family, n, &mut kept);
    small.fixture.kill();
    small.fixture.mount("");
    check(&family, &kept);
    let output = small.run(&["check"], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    small.fixture.unmount();
}

/// So many files fitted.
fn fill_with_files(family: &Path) -> usize {
    (0..100_000)
        .find(|n| {
            let path = family.join(format!("q{n:05}"));
            // Refused when it is written, not at the close whose answer hardly anybody reads; nothing of it is there.
            let Err(e) = fs::write(&path, rand::random::<[u8; 2000]>()) else { return false };
            assert_eq!(e.raw_os_error(), Some(libc::ENOSPC), "{e}");
            // The name goes with the last close, which nobody waits for.
            let patience = Instant::now() + Duration::from_secs(20);
            while path.exists() {
                assert!(Instant::now() < patience, "{} is there", path.display());
                std::thread::yield_now();
            }
            true
        })
        .expect("the disk is too large") as usize
}

#[test]
fn full_disk_is_emptied_by_rm_alone() {
    let Some(mut small) = Small::new("32m") else { return };
    let family = small.family.clone();
    // Else what is removed is kept for a while.
    fs::write(small.fixture.path("t/.schema/f/KEEP_DELETED_CELLS"), "FALSE").unwrap();
    let first = fill_with_files(&family);
    assert!(first > 1000, "{first}");
    assert_eq!(nix::sys::statvfs::statvfs(&family).unwrap().blocks_available(), 0);
    assert!(String::from_utf8_lossy(&small.run(&["status"], &[]).stdout).contains("full"));
    for round in 0..3 {
        let rm = Command::new("rm").arg("-r").arg(&family).output().unwrap();
        assert!(rm.status.success(), "round {round}: {}", String::from_utf8_lossy(&rm.stderr));
        fs::create_dir_all(&family).unwrap();
        let again = fill_with_files(&family);
        assert!(again * 3 > first * 2, "round {round}: {again} files of {first}, {}", small.fixture.log());
    }
    small.fixture.unmount();
}

#[test]
fn full_disk_is_refused_when_the_write_is_made() {
    let Some(mut small) = Small::new("16m") else { return };
    let family = small.family.clone();
    put(&family.join("small"), b"acknowledged").unwrap();
    // By a program that has no children: those of this one, which other tests make, close copies in the midst of it,
    // and what is written until then is a value.
    let mut dd = Command::new("dd");
    dd.arg(format!("of={}", family.join("big").display())).args(["if=/dev/urandom", "bs=1M", "count=40", "conv=fsync"]);
    let refused = dd.output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("No space left on device"), "{words}");
    assert_eq!(fs::read(family.join("small")).unwrap(), b"acknowledged");
    // It goes when the kernel has said that nobody has it open, and its room comes back by itself.
    let until = Instant::now() + Duration::from_secs(60);
    while let Ok(left) = fs::metadata(family.join("big")) {
        assert!(Instant::now() < until, "{left:?}: {}", small.fixture.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    while let Err(e) = put(&family.join("small"), b"goes on") {
        let is_due = e.raw_os_error() == Some(libc::ENOSPC) && Instant::now() < until;
        assert!(is_due, "{e}: {}", small.fixture.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    small.fixture.unmount();
}

/// Bytes that `df` says can be written.
fn free(family: &Path) -> u64 {
    let numbers = nix::sys::statvfs::statvfs(family).unwrap();
    numbers.blocks_available() * numbers.fragment_size()
}

#[test]
fn full_disk_has_the_room_that_df_tells_right_after_a_purge() {
    let Some(small) = Small::new("64m") else { return };
    let family = &small.family;
    for round in 0..4 {
        let mut names = Vec::new();
        for n in 0.. {
            let path = family.join(format!("q{round}-{n}"));
            if put(&path, &noise(1 << 20)).is_err() {
                break;
            }
            names.push(path);
        }
        assert!(free(family) < 4 << 20, "round {round}: {} bytes are free of a full disk", free(family));
        let gone = names.len() as u64 * (1 << 20);
        names.iter().for_each(|path| fs::remove_file(path).unwrap());
        let output = small.run(&["purge"], &["t"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Who still reads what was purged holds it for a moment.
        let (began, mut told) = (Instant::now(), free(family));
        while told < gone / 2 {
            assert!(began.elapsed() < Duration::from_secs(60), "round {round}: {told} of {gone} bytes are free");
            std::thread::sleep(Duration::from_millis(20));
            told = free(family);
        }
        // What is told can be had.
        let large = family.join("large");
        put(&large, &noise(told as usize * 9 / 10)).unwrap();
        fs::remove_file(&large).unwrap();
        assert!(small.run(&["purge"], &["t"]).status.success());
    }
}

/// Bytes that nothing can make shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rand::fill(&mut bytes[..]);
    bytes
}

/// How a program that makes or overwrites a file by open, write and close fared: the call that failed, and its errno.
fn overwrite(path: &Path, value: &[u8]) -> Result<(), (&'static str, i32)> {
    let failed = |call: &'static str| move |e: std::io::Error| (call, e.raw_os_error().unwrap_or(0));
    let mut file = File::create(path).map_err(failed("open"))?;
    let written = file.write_all(value).map_err(failed("write"));
    let closed = nix::unistd::close(file).map_err(|e| ("close", e as i32));
    written.and(closed)
}

#[test]
fn full_disk_tells_four_writers_that_it_is_full() {
    let Some(mut small) = Small::new("64m") else { return };
    let (family, mut refusals) = (small.family.clone(), BTreeMap::new());
    let write = |writer: u32| {
        let one = |n| overwrite(&family.join(format!("q{}", n % 40)), &value(writer * 10_000 + n, 200_000)).err();
        // All write the same files, so that who is refused takes a file from another that has it open; then new ones.
        let many = |n| overwrite(&family.join(format!("w{writer}-{n}")), &noise(200_000)).err();
        (0..200).filter_map(one).chain((0..400).filter_map(many)).chain((0..200).filter_map(one)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|writer| scope.spawn(move || write(writer))).collect();
        for refusal in writers.into_iter().flat_map(|writer| writer.join().unwrap()) {
            *refusals.entry(refusal).or_insert(0) += 1;
        }
    });
    println!("refusals by call and errno: {refusals:?}");
    assert!(refusals.keys().all(|(_, errno)| *errno == libc::ENOSPC), "{refusals:?}");
    let at_close = refusals.get(&("close", libc::ENOSPC)).copied().unwrap_or(0);
    let sooner = refusals.get(&("write", libc::ENOSPC)).copied().unwrap_or(0)
        + refusals.get(&("open", libc::ENOSPC)).copied().unwrap_or(0);
    assert!(sooner > 100 && at_close * 20 < sooner, "shells ignore close(2): {refusals:?}");
    small.fixture.unmount();
}

#[test]
fn full_disk_of_garbage_refuses_no_put() {
    // What is kept is 10 versions of 50 cells: 2, 10 and 20 MB.
    for len in [4_000, 20_000, 40_000] {
        let Some(mut small) = Small::new("57m") else { return };
        // Beside that up to 100 versions would be kept for an hour, which a full disk takes only when it is full.
        fs::write(small.fixture.path("t/.schema/f/KEEP_VERSIONS_FOR"), "0").unwrap();
        let (family, began, mut slowest) = (small.family.clone(), Instant::now(), Duration::ZERO);
        let puts = 16_000.min(100_000_000 / len as u32);
        for n in 0..puts {
            let since = Instant::now();
            let put = overwrite(&family.join(format!("q{}", n % 50)), &noise(len));
            assert_eq!(put, Ok(()), "put {n} of {len} bytes: {}", small.fixture.log());
            slowest = slowest.max(since.elapsed());
        }
        println!("{puts} puts of {len} bytes, 0 refused, the slowest {slowest:?}; {} s", began.elapsed().as_secs());
        small.fixture.unmount();
    }
}

/// Takes all room; the file that does.
pub fn fill_up(store: &Path) -> PathBuf {
    let full = store.join("another's file");
    let mut piece = 1 << 20;
    while piece > 0 {
        let mut file = fs::File::options().append(true).create(true).open(&full).unwrap();
        if file.write_all(&vec![1; piece]).is_err() {
            piece /= 16;
        }
    }
    full
}

#[test]
fn full_disk_refuses_for_good_what_a_close_was_refused() {
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    put(&family.join("old"), b"acknowledged").unwrap();
    let mut stored = BTreeMap::from([(family.join("old"), b"acknowledged".to_vec())]);
    let mut refused = Vec::new();
    for n in 0..20 {
        let (mut full, new) = (fill_up(&small.store), family.join(format!("new{n}")));
        for path in [family.join("old"), new] {
            let mut file = match File::create(&path) {
                Ok(file) => file,
                // It was seen before that the disk is full.
                Err(e) => {
                    assert_eq!(e.raw_os_error(), Some(libc::ENOSPC), "{e}");
                    refused.push((n, path, true, Ok(())));
                    continue;
                }
            };
            let value = [n; 5000];
            let (written, copy) = (file.write_all(&value), file.try_clone().unwrap());
            let closed = nix::unistd::close(file);
            // There may be room before the last copy is closed, which any child has for a moment. The store may have
            // given some back before the first one, too.
            fs::remove_file(&full).unwrap();
            let last = nix::unistd::close(copy);
            full = fill_up(&small.store);
            assert!(closed.is_ok() || last == closed, "{closed:?}, then {last:?}");
            match written.is_ok() && closed.is_ok() {
                true => drop(stored.insert(path, value.to_vec())),
                false => refused.push((n, path, written.is_err(), closed)),
            }
        }
        fs::remove_file(&full).unwrap();
    }
    assert!(refused.len() > 20, "of 40 were refused {refused:?}");
    small.fixture.unmount();
    small.fixture.mount("");
    for (path, value) in &stored {
        let read = fs::read(path).unwrap();
        let log = small.fixture.log();
        assert!(read == *value, "{}: {:?}.. refused: {refused:?}\n{log}", path.display(), read.first());
    }
    assert_eq!(fs::read_dir(&family).unwrap().count(), stored.len());
    small.fixture.unmount();
}

#[test]
fn full_disk_lets_who_has_the_file_open_try_again() {
    let Some(mut small) = Small::new("32m") else { return };
    let family = small.family.clone();
    put(&family.join("old"), b"acknowledged").unwrap();
    let (full, file) = loop {
        let full = fill_up(&small.store);
        let mut file = File::create(family.join("again"));
        match file.as_mut().map(|file| file.write_all(&[7; 5000])) {
            Ok(Ok(())) => break (full, file.unwrap()),
            // It was seen before the write that the disk is full.
            _ => fs::remove_file(full).unwrap(),
        }
        drop(file);
        while put(&family.join("old"), b"acknowledged").is_err() {}
    };
    let other = file.try_clone().unwrap();
    assert_eq!(nix::unistd::close(file), Err(nix::Error::ENOSPC));
    fs::remove_file(&full).unwrap();
    // The room may be back a moment later.
    let started = Instant::now();
    while let Err(e) = other.sync_all() {
        assert!(e.raw_os_error() == Some(libc::ENOSPC) && started.elapsed().as_secs() < 10, "{e}");
        std::thread::sleep(Duration::from_millis(20));
    }
    nix::unistd::close(other).unwrap();
    fill_with_files(&family);
    // A write that was refused, but then the file is to be empty: that needs no room.
    let mut file = File::options().write(true).open(family.join("old")).unwrap();
    assert_eq!(errno(file.write_all(&[8; 5000])), libc::ENOSPC);
    file.set_len(0).unwrap();
    file.sync_all().unwrap();
    nix::unistd::close(file).unwrap();
    small.fixture.unmount();
    small.fixture.mount("");
    assert_eq!(fs::read(family.join("again")).unwrap(), [7; 5000]);
    assert_eq!(fs::read(family.join("old")).unwrap(), b"");
    small.fixture.unmount();
}

/// Writes until a write is refused for want of room.
fn write_too_much(file: &mut File) {
    let refused = (0..100).find_map(|_| file.write_all(&noise(1_000_000)).err()).unwrap();
    assert_eq!(refused.raw_os_error(), Some(libc::ENOSPC), "{refused}");
}

/// It may be seen a moment later that there is room again, or that a file is another.
fn becomes(so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    std::iter::repeat_with(so).any(|so| so || began.elapsed().as_secs() > 10) && began.elapsed().as_secs() <= 10
}

/// Whoever looks at the file meanwhile, and goes on with it, has what is stored.
#[test]
fn full_disk_leaves_a_file_as_it_is_stored_while_who_was_refused_has_it_open() {
    if !is_alone() {
        return;
    }
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    for len in [5, 100_000, 2_000_000] {
        let (path, stored) = (family.join(format!("q{len}")), noise(len));
        put(&path, &stored).unwrap();
        let reader = File::open(&path).unwrap();
        let read = || {
            let mut bytes = vec![0; len + 10_000];
            let taken = reader.read_at(&mut bytes, 0).unwrap();
            bytes.truncate(taken);
            (bytes, reader.metadata().unwrap().len())
        };
        for truncates in [false, true] {
            let open = || File::options().write(true).truncate(truncates).open(&path).unwrap();
            let mut file = open();
            file.write_all(&noise(3_000)).unwrap();
            // The kernel has pages of what is not stored.
            assert!(read().0 != stored);
            let full = fill_up(&small.store);
            write_too_much(&mut file);
            assert!(fs::read(&path).unwrap() == stored && fs::metadata(&path).unwrap().len() == len as u64);
            assert!(becomes(|| read() == (stored.clone(), len as u64)), "{len} {truncates}: {}", read().1);
            // Nor is anything left of another that is refused.
            let mut other = open();
            write_too_much(&mut other);
            assert!(fs::read(&path).unwrap() == stored);
            fs::remove_file(full).unwrap();
            assert!(fs::read(&path).unwrap() == stored);
            assert_eq!(errno(file.write_all(b"more")), libc::ENOSPC, "it would be a part of a value");
            assert_eq!([file, other].map(nix::unistd::close), [Err(nix::Error::ENOSPC); 2]);
        }
        let mut file = File::options().write(true).open(&path).unwrap();
        let full = fill_up(&small.store);
        write_too_much(&mut file);
        fs::remove_file(full).unwrap();
        let mut other = File::options().append(true).open(&path).unwrap();
        assert!(becomes(|| other.write_all(b"!").is_ok()));
        nix::unistd::close(other).unwrap();
        assert_eq!(nix::unistd::close(file), Err(nix::Error::ENOSPC));
        assert!(fs::read(&path).unwrap() == [&stored[..], b"!"].concat());
    }
    small.fixture.unmount();
}

/// Whoever is refused a longer file has changed nothing, and hides nothing of what others make of it.
#[test]
fn full_disk_shows_what_others_put_after_a_length_was_refused() {
    let Some(mut small) = Small::new("24m") else { return };
    for how in ["by its name", "by who has it open"] {
        let path = small.family.join("q");
        put(&path, b"old").unwrap();
        let held = File::options().read(true).write(true).open(&path).unwrap();
        let full = fill_up(&small.store);
        let refused = match how {
            "by its name" => nix::unistd::truncate(&path, 5 << 20).map_err(std::io::Error::from),
            _ => held.set_len(5 << 20),
        };
        assert_eq!(errno(refused), libc::ENOSPC, "{how}");
        fs::remove_file(full).unwrap();
        assert!(becomes(|| small.run(&["put"], &["t", "r", "f:q", "newer"]).status.success()));
        assert!(becomes(|| fs::read_to_string(&path).unwrap() == "newer"), "{how}");
        File::options().write(true).open(&path).unwrap().write_all(b"X").unwrap();
        assert_eq!(small.run(&["get", "--value"], &["t", "r", "f:q"]).stdout.trim_ascii(), b"Xewer", "{how}");
        drop(held);
    }
    small.fixture.unmount();
}

/// A log: what was taken stays, what was refused is not there, and it goes on where there is room again.
#[test]
fn full_disk_lets_who_appends_go_on() {
    if !is_alone() {
        return;
    }
    for (len, syncs) in [(100, true), (100, false), (5_000, true), (60_000, true), (60_000, false), (700_000, true)] {
        let Some(mut small) = Small::new("48m") else { return };
        let path = small.family.join("log");
        put(&path, &noise(40_000)).unwrap();
        let mut is = fs::read(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        for round in 0..3 {
            let full = fill_up(&small.store);
            let (mut refused, began) = (0, Instant::now());
            while refused < 3 && began.elapsed().as_secs() < 20 {
                let line = noise(len);
                match file.write(&line) {
                    // The kernel parts what does not begin with a page.
                    Ok(taken) => is.extend_from_slice(&line[..taken]),
                    Err(e) => {
                        assert_eq!(e.raw_os_error(), Some(libc::ENOSPC), "{e}");
                        refused += 1;
                    }
                }
                if syncs && let Err(e) = file.sync_all() {
                    assert_eq!(e.raw_os_error(), Some(libc::ENOSPC), "{e}");
                    refused += 1;
                }
            }
            assert!(fs::read(&path).is_ok_and(|read| read == is), "{len} {syncs} round {round}");
            fs::remove_file(full).unwrap();
            let began = Instant::now();
            while let Err(e) = file.write_all(b"again\n").and_then(|()| file.sync_all()) {
                assert!(e.raw_os_error() == Some(libc::ENOSPC) && began.elapsed().as_secs() < 10, "{e}");
                is = fs::read(&path).unwrap();
            }
            is.extend_from_slice(b"again\n");
        }
        nix::unistd::close(file).unwrap();
        assert!(fs::read(&path).unwrap() == is, "{len} {syncs}");
        small.fixture.kill();
        small.fixture.mount("");
        assert!(fs::read(&path).unwrap() == is, "{len} {syncs}, after a kill");
        small.fixture.unmount();
    }
}

#[test]
fn full_disk_that_others_have_filled_is_told_and_refused_alike() {
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    put(&family.join("old"), b"acknowledged").unwrap();
    fs::create_dir_all(small.fixture.path("spare/.schema/f")).unwrap();
    // Little is left, but not nothing.
    let left = 3 << 20;
    let numbers = nix::sys::statvfs::statvfs(&small.store).unwrap();
    let ballast = small.store.join("another's file");
    let bytes = (numbers.blocks_available() * numbers.fragment_size()) as usize - left;
    fs::write(&ballast, vec![1; bytes]).unwrap();
    let status = String::from_utf8_lossy(&small.run(&["status"], &[]).stdout).into_owned();
    assert!(status.contains("full: only removing"), "{status}");
    assert_eq!(free(&family), 0);
    assert_eq!(errno(put(&family.join("new"), b"v")), libc::ENOSPC);
    assert!(small.fixture.log().contains("is full"), "{}", small.fixture.log());
    // Shells do not look at what close(2) says.
    let texts =
        [("t/r/f/n@counter", "+1"), ("t/r/.json", "{\"f:new\": \"v\"}\n"), ("t/.import/jsonl", "{\"row\": \"r\"}\n")];
    for (path, text) in texts {
        assert_eq!(errno(fs::write(small.fixture.path(path), text)), libc::ENOSPC, "{path}");
    }
    assert_eq!(errno(fs::write(small.fixture.path("t/r/.json"), "{\"f:none\": null}\n")), 0, "it only removes");
    // What is new is refused at every level, by the command line too; what gets less is not.
    let schema = small.fixture.path("t/.schema");
    for path in [small.fixture.path("new"), small.fixture.mnt().join("new"), schema.join("new")] {
        assert_eq!(errno(fs::create_dir(&path)), libc::ENOSPC, "{}", path.display());
    }
    let output = small.run(&["create"], &["new", "f"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("is full: ") && said.contains("cellfs purge"), "{said}");
    fs::write(schema.join("f/VERSIONS"), "2").unwrap();
    fs::remove_dir(small.fixture.path("spare")).unwrap();
    fs::remove_file(family.join("old")).unwrap();
    fs::remove_file(&ballast).unwrap();
    put(&family.join("new"), b"v").unwrap();
    assert!(free(&family) > 0);
    small.fixture.unmount();
}

#[test]
fn full_disk_is_no_reason_not_to_open() {
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    put(&family.join("small"), b"acknowledged").unwrap();
    small.fixture.unmount();
    let full = fill_up(&small.store);
    small.fixture.mount("");
    assert_eq!(fs::read(family.join("small")).unwrap(), b"acknowledged");
    fs::remove_file(family.join("small")).unwrap();
    fs::remove_file(&full).unwrap();
    put(&family.join("small"), b"goes on").unwrap();
    small.fixture.unmount();
}

/// With all that is reserved used up: what is stored is read as it is, by commands and by a mount that changes nothing.
#[test]
fn full_disk_without_a_reserve_is_read() {
    let Some(mut small) = Small::new("48m") else { return };
    let family = small.family.clone();
    put(&family.join("small"), b"acknowledged").unwrap();
    small.fixture.kill();
    ["reserve", "reserve.last"].iter().for_each(|name| fs::remove_file(small.store.join(name)).unwrap());
    let full = fill_up(&small.store);
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let stored = || {
        // A daemon that was killed has left its socket.
        let is_stored = |path: &PathBuf| path.is_file() && *path != full && !path.ends_with("LOCK");
        let all = files(&small.store).into_iter().filter(is_stored);
        all.map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let before = stored();
    let got = small.run(&["get"], &["t", "r"]);
    assert!(stored() == before, "a read has changed files of the store");
    assert!(got.status.success() && String::from_utf8_lossy(&got.stdout).contains("acknowledged"), "{}", told(&got));
    let refused = small.run(&["put"], &["t", "r", "f:small", "newer"]);
    assert!(!refused.status.success() && told(&refused).contains("has no room left"), "{}", told(&refused));
    let refused = small.run(&["mount", "-f"], &[small.fixture.mnt().to_str().unwrap()]);
    assert!(!refused.status.success() && told(&refused).contains("option ro"), "{}", told(&refused));
    // All that changes something says the same, and nobody promises what is not done.
    let refusals = |small: &Small| {
        let commands: [(&[&str], &[&str]); 3] =
            [(&["put"], &["t", "r", "f:q", "v"]), (&["snapshot", "create"], &["s"]), (&["delete"], &["t", "r", "f:q"])];
        let said = commands.map(|(command, rest)| told(&small.run(command, rest)));
        assert!(said[0].contains("has no room left") && said.iter().all(|one| *one == said[0]), "{said:?}");
        let status = String::from_utf8_lossy(&small.run(&["status"], &[]).stdout).into_owned();
        assert!(status.contains("has no room left") && !status.contains("removing"), "{status}");
    };
    refusals(&small);
    let mounted = small.run(&["mount"], &[small.fixture.mnt().to_str().unwrap(), "-o", "ro"]);
    assert!(mounted.status.success() && told(&mounted).contains("is full: the mount shows"), "{}", told(&mounted));
    refusals(&small);
    assert!(small.run(&["umount"], &[]).status.success());
    small.fixture.mount("ro");
    assert_eq!(fs::read(family.join("small")).unwrap(), b"acknowledged");
    assert_eq!(errno(put(&family.join("small"), b"newer")), libc::EROFS);
    small.fixture.unmount();
    fs::remove_file(&full).unwrap();
    small.fixture.mount("");
    assert_eq!(fs::read(family.join("small")).unwrap(), b"acknowledged");
    put(&family.join("small"), b"goes on").unwrap();
    small.fixture.unmount();
}

/// Everything in the store's directory but what is being written all the time.
fn files(store: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![store.to_owned()]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn a_snapshot_on_a_full_disk_works_or_leaves_nothing() {
    let Some(mut small) = Small::new("64m") else { return };
    let mut kept = BTreeMap::new();
    assert!(small.run(&["snapshot", "create"], &["early"]).status.success(), "a small disk with room");
    fill(&small.family, 0, &mut kept);
    let mut made = 1;
    let said = loop {
        let output = small.run(&["snapshot", "create"], &[&format!("late{made}")]);
        if !output.status.success() {
            break String::from_utf8(output.stderr).unwrap();
        }
        made += 1;
    };
    assert!(said.contains("is full: ") && said.contains("cellfs purge"), "{said}");
    let listed = String::from_utf8(small.run(&["snapshot", "list"], &[]).stdout).unwrap();
    assert_eq!(listed.lines().count(), made, "{listed}");
    small.fixture.unmount();
    let last = format!("late{made}");
    let leftover = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "new") || path.iter().any(|part| part.to_str() == Some(&last))
    };
    assert!(!files(&small.store).iter().any(leftover), "{:?}", files(&small.store));
    small.fixture.mount("");
    check(&small.family, &kept);
}
