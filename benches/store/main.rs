//! The embedded store beside SQLite as it comes, fjall, and RocksDB where its library is installed: in one run, round by
//! round, on one processor.
//!
//! Puts, reads, scans, listings and compactions are told by the processor time of the process, threads behind it included,
//! so that other work on the machine counts little; what is said to wait is told by the clock. What is in Rust has the
//! allocator of the program.
//!
//! `cargo bench --bench store` prints medians, ratios and goals. CELLFS_BENCH_CELLS (1,000,000),
//! CELLFS_BENCH_ROUNDS (3) and CELLFS_BENCH_ONLY (cellfs: without the peers) change its size, CELLFS_BENCH_VALUE (100) the
//! bytes of a value, which CELLFS_BENCH_TEXT makes words. As root, `cold` is read with nothing in the kernel's caches.

#![allow(clippy::disallowed_types, reason = "a benchmark is not simulated")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says where")]

mod apart;
mod cells;
mod disk;
mod figures;
mod growth;
mod measures;
mod own;
mod round;
mod subjects;
mod table;
mod values;

use figures::Figures;
use subjects::Who;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    if apart::is_one() {
        return;
    }
    pin_to_first_processor();
    // Rows are whole.
    let count = (setting("CELLFS_BENCH_CELLS", 1_000_000) / cells::COLUMNS).max(10) * cells::COLUMNS;
    let subjects = if std::env::var("CELLFS_BENCH_ONLY").is_ok() { &Who::STORES[..1] } else { &Who::STORES };
    let mut figures = Figures::default();
    for _ in 0..setting("CELLFS_BENCH_ROUNDS", 3) {
        for &who in subjects.iter().filter(|who| who.lack().is_none()) {
            let dir = tempfile::tempdir_in(".").expect("a directory");
            round::round(dir.path(), count, &mut figures.of(who));
        }
    }
    let dir = tempfile::tempdir_in(".").expect("a directory");
    values::append(&dir.path().join("appended"), &mut figures.of(Who::Cellfs));
    values::append_to_file(&dir.path().join("file"), &mut figures.of(Who::Files));
    values::versions(&dir.path().join("versions"), &mut figures.of(Who::Cellfs));
    table::print(&figures, count);
}

fn pin_to_first_processor() {
    let mut set = nix::sched::CpuSet::new();
    let pinned = set.set(0).and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    if let Err(e) = pinned {
        eprintln!("not pinned to one processor ({e}): the figures will vary");
    }
}
