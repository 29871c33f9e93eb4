//! Values that grow and large ones: a line to one cell again and again, and versions that differ by a page.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cells;
use crate::disk::bytes_in;
use crate::figures::{Notes, cpu_micros};
use crate::subjects::{Cellfs, Subject};

const LINES: u64 = 10_000;
const LINE: &[u8] = b"ten bytes\n";
/// The longest that the store is given to put itself in order.
const PATIENCE: Duration = Duration::from_secs(60);
/// So long nothing has changed in one that is in order.
const QUIET: Duration = Duration::from_secs(3);

const VERSIONS: u64 = 10;
const LARGE_BYTES: usize = 64 << 20;
const PIECE_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;

/// `echo >> log`, ten thousand times.
pub fn append(dir: &Path, notes: &mut Notes<'_>) {
    let subject = Cellfs::create(dir);
    subject.flush();
    let empty = bytes_in(dir);
    notes.note(">>, a line to one cell", cpu_micros(LINES, |_| subject.append(0, LINE)));
    assert_eq!(subject.len_of(0), Some(LINES * LINE.len() as u64));
    subject.flush();
    wait_for_order(&subject, dir);
    let ratio = || bytes_in(dir).saturating_sub(empty) as f64 / (LINES * LINE.len() as u64) as f64;
    notes.note(">>, disk / data, idle", ratio());
    subject.compact();
    wait_for_order(&subject, dir);
    notes.note(">>, disk / data, compacted", ratio());
}

/// Returns when nothing goes on and the disk has been the same for a while, or after a minute.
fn wait_for_order(subject: &Cellfs, dir: &Path) {
    let started = Instant::now();
    let (mut bytes, mut since) = (bytes_in(dir), started);
    while since.elapsed() < QUIET && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(250));
        let now = bytes_in(dir);
        if now != bytes || !subject.is_idle() {
            (bytes, since) = (now, Instant::now());
        }
    }
}

/// The same to a plain file.
pub fn append_to_file(dir: &Path, notes: &mut Notes<'_>) {
    std::fs::create_dir_all(dir).expect("make a directory");
    let path = dir.join("log");
    let append = |_| {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(LINE)).expect("append");
    };
    notes.note(">>, a line to one cell", cpu_micros(LINES, append));
    nix::unistd::sync();
    notes.note(">>, disk / data, idle", bytes_in(dir) as f64 / (LINES * LINE.len() as u64) as f64);
}

/// Ten versions of a large value that differ by a page each: the page is written, or the value as a whole.
pub fn versions(dir: &Path, notes: &mut Notes<'_>) {
    let mut value: Vec<u8> = noise().take(LARGE_BYTES).collect();
    let (names, disks) = (["64 MiB, ten times anew", "64 MiB, a page ten times"], ["disk / one version", PAGES]);
    for (at, (name, disk)) in names.into_iter().zip(disks).enumerate() {
        let dir = dir.join(at.to_string());
        std::fs::create_dir_all(&dir).expect("make a directory");
        let subject = Cellfs::create(&dir);
        subject.flush();
        let (empty, started) = (bytes_in(&dir), Instant::now());
        for version in 0..VERSIONS {
            let page = version as usize * 1_000_003 % (LARGE_BYTES / PAGE_BYTES) * PAGE_BYTES;
            value[page..][..PAGE_BYTES].copy_from_slice(&cells::page(!version, PAGE_BYTES));
            if at == 0 || version == 0 {
                subject.replace(0, &value.chunks(PIECE_BYTES).collect::<Vec<_>>());
            } else {
                subject.overwrite(0, (page as u64, &value[page..][..PAGE_BYTES]));
            }
        }
        subject.sync();
        notes.note(name, started.elapsed().as_secs_f64());
        assert_eq!(subject.len_of(0), Some(LARGE_BYTES as u64));
        notes.note(disk, bytes_in(&dir).saturating_sub(empty) as f64 / LARGE_BYTES as f64);
    }
}

const PAGES: &str = "disk / one version, pages";

fn noise() -> impl Iterator<Item = u8> {
    (0..).flat_map(|n| cells::page(n, PAGE_BYTES))
}
