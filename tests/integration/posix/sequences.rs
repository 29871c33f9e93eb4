//! The same random operations on a real directory and on the mount: every answer and everything visible is
//! compared.
//!
//! `CELLFS_SEQUENCES` (default 400) and `CELLFS_SEQUENCES_SEED` (default 1) choose how many and which.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::mount::fixture::Fixture;

const NAMES: [&str; 5] = ["a", "b", "c.txt", "with space", "é%"];

/// One operation, drawn once and done on both sides.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, Vec<u8>),
    Append(usize, Vec<u8>),
    CreateNew(usize),
    WriteAt(usize, u64, Vec<u8>),
    Truncate(usize, u64),
    Unlink(usize),
    Rename(usize, usize, RenameFlags),
    SetTime(usize, u64),
    /// Opens a file and keeps the handle.
    Open(usize),
    WriteOpen(Vec<u8>),
    WriteOpenAt(u64, Vec<u8>),
    TruncateOpen(u64),
    ReadOpen,
    SyncOpen,
    CloseOpen,
}

fn bytes(dice: &mut SmallRng) -> Vec<u8> {
    let len = *[0, 1, 5, 100, 5000].get(dice.random_range(0..5)).unwrap();
    (0..len).map(|_| dice.random_range(b'a'..=b'z')).collect()
}

fn draw(dice: &mut SmallRng) -> Step {
    let name = dice.random_range(0..NAMES.len());
    let offset = dice.random_range(0..6000);
    match dice.random_range(0..22) {
        0..3 => Step::Write(name, bytes(dice)),
        3..5 => Step::Append(name, bytes(dice)),
        5 => Step::CreateNew(name),
        6 => Step::WriteAt(name, offset, bytes(dice)),
        7 => Step::Truncate(name, offset),
        8..10 => Step::Unlink(name),
        10..13 => {
            let flags = [RenameFlags::empty(), RenameFlags::RENAME_NOREPLACE, RenameFlags::RENAME_EXCHANGE];
            Step::Rename(name, dice.random_range(0..NAMES.len()), flags[dice.random_range(0..3)])
        }
        13 => Step::SetTime(name, dice.random_range(0..2_000_000_000)),
        14..16 => Step::Open(name),
        16 => Step::WriteOpen(bytes(dice)),
        17 => Step::WriteOpenAt(offset, bytes(dice)),
        18 => Step::TruncateOpen(offset),
        19 => Step::ReadOpen,
        20 => Step::SyncOpen,
        _ => Step::CloseOpen,
    }
}

/// One of the two directories, with the handle that is open in it.
struct Side {
    directory: PathBuf,
    open: Option<File>,
}

/// By name: length, sum of the bytes, and the time if it was set.
type Listing = BTreeMap<String, (u64, u32, Option<i64>)>;

/// What an operation answered: errno, or bytes.
type Answer = Result<Vec<u8>, i32>;

impl Side {
    fn path(&self, name: usize) -> PathBuf {
        self.directory.join(NAMES[name])
    }

    fn apply(&mut self, step: &Step) -> Answer {
        self.attempt(step).map_err(|e| e.raw_os_error().unwrap_or(-1))
    }

    fn attempt(&mut self, step: &Step) -> std::io::Result<Vec<u8>> {
        match step {
            Step::Write(name, data) => fs::write(self.path(*name), data)?,
            Step::Append(name, data) => {
                OpenOptions::new().append(true).create(true).open(self.path(*name))?.write_all(data)?;
            }
            Step::CreateNew(name) => drop(File::create_new(self.path(*name))?),
            Step::WriteAt(name, offset, data) => {
                OpenOptions::new().write(true).open(self.path(*name))?.write_all_at(data, *offset)?;
            }
            Step::Truncate(name, len) => OpenOptions::new().write(true).open(self.path(*name))?.set_len(*len)?,
            Step::Unlink(name) => fs::remove_file(self.path(*name))?,
            Step::Rename(from, to, flags) => {
                renameat2(AT_FDCWD, &self.path(*from), AT_FDCWD, &self.path(*to), *flags)?;
            }
            Step::SetTime(name, seconds) => {
                let time = UNIX_EPOCH + Duration::new(*seconds, 123_456_789);
                File::open(self.path(*name))?.set_times(FileTimes::new().set_modified(time))?;
            }
            Step::Open(name) => {
                self.open = None;
                self.open = Some(OpenOptions::new().read(true).write(true).open(self.path(*name))?);
            }
            _ => return self.attempt_open(step),
        }
        Ok(Vec::new())
    }

    fn attempt_open(&mut self, step: &Step) -> std::io::Result<Vec<u8>> {
        let Some(file) = &mut self.open else { return Ok(Vec::new()) };
        match step {
            Step::WriteOpen(data) => file.write_all(data)?,
            Step::WriteOpenAt(offset, data) => file.write_all_at(data, *offset)?,
            Step::TruncateOpen(len) => file.set_len(*len)?,
            Step::ReadOpen => {
                let mut all = Vec::new();
                file.seek(SeekFrom::Start(0))?;
                file.read_to_end(&mut all)?;
                return Ok(all);
            }
            Step::SyncOpen => file.sync_all()?,
            _ => self.open = None,
        }
        Ok(Vec::new())
    }

    /// Everything that is visible: names, lengths and sums of the bytes, times that were set, and the open file's own length.
    fn visible(&self) -> (Listing, Option<u64>) {
        let entries = fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap());
        let file = |entry: fs::DirEntry| {
            let found = entry.metadata().unwrap();
            let set = (found.mtime_nsec() == 123_456_789).then_some(found.mtime());
            let bytes = fs::read(entry.path()).unwrap();
            assert_eq!(found.len(), bytes.len() as u64, "{:?}", entry.path());
            (entry.file_name().into_string().unwrap(), (found.len(), crc32c::crc32c(&bytes), set))
        };
        (entries.map(file).collect(), self.open.as_ref().map(|file| file.metadata().unwrap().len()))
    }
}

fn compare(seed: u64, real: &Path, mounted: &Path) {
    let mut dice = SmallRng::seed_from_u64(seed);
    let side = |directory: &Path| Side { directory: directory.to_owned(), open: None };
    let (mut real, mut mounted) = (side(real), side(mounted));
    let mut steps = Vec::new();
    for _ in 0..dice.random_range(3..25) {
        let step = draw(&mut dice);
        steps.push(step.clone());
        let (wanted, found) = (real.apply(&step), mounted.apply(&step));
        assert_eq!(found, wanted, "seed {seed}: {steps:?}");
        assert_eq!(mounted.visible(), real.visible(), "seed {seed}: {steps:?}");
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn posix_sequences_give_what_a_real_directory_gives() {
    let fixture = Fixture::new();
    let (count, first) = (setting("CELLFS_SEQUENCES", 400), setting("CELLFS_SEQUENCES_SEED", 1));
    for seed in first..first + count {
        let real = tempfile::tempdir().unwrap();
        compare(seed, real.path(), &fixture.family(&format!("row{seed}")));
    }
    println!("{count} sequences from seed {first}: nothing differs");
}
