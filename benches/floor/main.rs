//! The mount beside the floor: a minimal in-memory FUSE filesystem, in one run, round by round.
//!
//! Client and daemons run on one processor: across two, every request pays a wake-up of the virtual
//! machine. `cargo bench --bench floor` prints microseconds an operation (medians) and their ratio, and the
//! messages that each operation costs: with the floor's own setting, by which the kernel judges who may do what, and as root
//! mounts for itself. The large listing is made on all processors too. CELLFS_BENCH_ROUNDS (5), CELLFS_BENCH_FILES (10,000)
//! and CELLFS_BENCH_ROWS (1,000,000 rows for the large listing) change its size.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says where")]

mod client;
mod memory_fs;
mod mounts;

use std::collections::BTreeMap;

use client::Operation;
use mounts::Mount;

/// As the floor is mounted, and as root mounts for itself.
const JUDGED: &str = "threads=1,default_permissions";
const FOR_ROOT: &str = "threads=1";

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, mount_point] = args.as_slice()
        && flag == "--serve-floor"
    {
        return memory_fs::serve(mount_point.as_ref());
    }
    mounts::pin_to_first_processor();
    let (rounds, files) = (setting("CELLFS_BENCH_ROUNDS", 5), setting("CELLFS_BENCH_FILES", 10_000));
    let rows = setting("CELLFS_BENCH_ROWS", 1_000_000);
    let targets = [Mount::floor(), Mount::cellfs(0, JUDGED), Mount::cellfs(rows, FOR_ROOT)];
    let mut figures: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    for round in 0..rounds {
        for (index, target) in targets.iter().enumerate() {
            for (operation, micros) in client::round(target, round, files) {
                figures.entry((index, operation.name())).or_default().push(micros);
            }
        }
    }
    println!(
        "{files} files of 100 bytes, {rounds} rounds, client and daemon on one processor; us an operation, medians"
    );
    println!(
        "{:<28} {:>9} {:>9} {:>7} {:>9} {:>7}  messages",
        "operation", "floor", "cellfs", "ratio", "for root", "ratio"
    );
    for operation in Operation::ALL {
        let [floor, cellfs, root] =
            [0, 1, 2].map(|i| median(figures.get(&(i, operation.name())).map_or(&[], Vec::as_slice)));
        let messages = targets.each_ref().map(|target| client::messages(target, *operation));
        let name = operation.name();
        println!(
            "{name:<28} {floor:>9.2} {cellfs:>9.2} {:>6.2}x {root:>9.2} {:>6.2}x  {}",
            cellfs / floor,
            root / floor,
            messages.join(" / ")
        );
    }
    let [floor, judged, root] = targets;
    drop(judged);
    large_listing(&[floor, root], rows);
    mounts::unpin();
    println!("on all processors:");
    large_listing(&[Mount::floor(), Mount::cellfs(rows, FOR_ROOT)], rows);
}

/// `ls` of a directory of very many rows: time an entry, and the daemon's memory above idle.
fn large_listing(targets: &[Mount; 2], rows: usize) {
    if rows == 0 {
        return;
    }
    let mut seconds = Vec::new();
    for target in targets {
        let directory = target.make_rows(rows);
        let before = target.memory_kib();
        let times: Vec<f64> = (0..5).map(|_| client::list(&directory, rows)).collect();
        seconds.push(median(&times));
        println!(
            "{:<28} {rows} rows in {:.2} s, {:.2} us an entry, daemon {} KiB before, {} KiB more after",
            format!("ls of {}", target.name()),
            seconds[seconds.len() - 1],
            seconds[seconds.len() - 1] * 1e6 / rows as f64,
            before,
            target.memory_kib().saturating_sub(before)
        );
    }
    println!("{:<28} {:.2}x", "ls ratio", seconds[1] / seconds[0]);
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
