//! fsx: random reads, writes, truncations and mappings of one file, compared with what they should give.
//!
//! `CELLFS_FSX_OPERATIONS` (default 20,000 for each seed) and `CELLFS_FSX_SEEDS` (default 2) choose how many,
//! `CELLFS_FSX_FIRST` the first seed.
//! A seed's operations are done on one cell in runs of 20,000: the program leaves parts of its mappings behind, and
//! every truncation walks over all of them.

use std::process::Command;

use super::{data, tool};
use crate::mount::fixture::Fixture;

/// Operations of one run of the program.
const RUN: u64 = 20_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn posix_fsx_finds_nothing() {
    let Some(fsx) = tool("fsx") else { return };
    let operations = setting("CELLFS_FSX_OPERATIONS", 20_000);
    let first = setting("CELLFS_FSX_FIRST", 1);
    for seed in first..first + setting("CELLFS_FSX_SEEDS", 2) {
        // A store for each: every close is a version that is kept, 10 GB of them in 200,000 operations.
        let fixture = Fixture::new();
        for run in 0..operations.div_ceil(RUN) {
            let count = RUN.min(operations - run * RUN);
            let run_seed = seed + 1000 * run;
            let mut command = Command::new(&fsx);
            command.arg("-f").arg(data("fsx.toml")).args(["-N", &count.to_string(), "-S", &run_seed.to_string()]);
            let output = command.arg(fixture.family("r").join("fsx")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "seed {run_seed}: {said}");
        }
        println!("fsx: {operations} operations, seed {seed}: nothing found");
    }
}
